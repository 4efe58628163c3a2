"""
Turns a question in plain words into the terms that the keyword retriever looks for. Any text is a query.

What a term is looked for by, and how much of an index that may read, is the same in every store: a store only counts.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.query import Term
from memory.text import identifiers
from memory.text.bigrams import pairs, split, unspaced
from memory.text.stems import stems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memory.schema.answer import Ranking

STOP = frozenset(
    """
    a about after again all also am an and any are as at be because been before being between both but by can could
    d did do does doing don during each few for from further had has have having he her here hers him his how i if in
    into is it its itself just ll m may me might more most my no nor not of off on once only or other our ours out over
    own re s same she should so some such t than that the their theirs them then there these they this those through
    to too under until up us ve very was we were what when where which while who whom whose why will with would you
    your yours
    """.split()
)
"""Words that shape a question but are not what it is about, including fragments of contractions ("don't")."""

_WORD = re.compile(r"\w")
_PART = re.compile(r'"([^"]*)"|(\w+(?:(?:\.|/|::)\w+)*)(\*?)')


def terms(text: str) -> tuple[Term, ...]:
    """
    The words and "quoted phrases" of a query without stop words, in order, each once.

    A name in code is a phrase: the parts of `user_id` or `config.yaml` must be adjacent,
    and `userId` also matches where its parts are. `Term.parts` says how to look for a name that no text has.
    `auth*` also matches longer words. Scripts without spaces become pairs of characters.
    A query of only stop words keeps them: a weak search is better than none.
    """
    found = list(dict.fromkeys(_found(text.replace("\0", " "))))
    kept = [term for term in found if term.text.lower() not in STOP]
    return tuple(kept or found)


def _found(text: str) -> Iterator[Term]:
    spaced = text.isascii()  # as most queries are
    for part in _PART.finditer(text if spaced else _with_marks(text)):
        phrase, word = text[slice(*part.span(1))], text[slice(*part.span(2))]
        if not spaced and unspaced(phrase or word):
            yield from _unspaced(phrase or word, together=not word)
        elif word:
            yield from _words(word, prefix=bool(part[3]))
        elif _WORD.search(phrase):
            yield Term(phrase, exact=True)


def _words(word: str, *, prefix: bool) -> Iterator[Term]:
    """The word, or the words between slashes if it is not a path: "client/server" is two words."""
    path = word.count("/") > 1 or any(sign in word for sign in "._:")
    *others, last = [word] if path else word.split("/")
    yield from map(_term, others)
    yield _term(last, prefix=prefix)


def _term(word: str, *, prefix: bool = False) -> Term:
    if word.isalpha() and (word[1:].islower() or word.isupper()):  # most words; spares the costlier test below
        return Term(word, prefix)
    if not identifiers.named(word):
        return Term(word, prefix)
    return Term(word, prefix, exact=True, other=identifiers.other(word), parts=_parts(word, prefix=prefix))


def _parts(name: str, *, prefix: bool) -> tuple[Term, ...]:
    """What to look for if no text has the name; without numbers and single letters, which say nothing."""
    if len(pieces := identifiers.pieces(name)) < 2:
        return ()
    made = [_term(piece, prefix=prefix and n == len(pieces)) for n, piece in enumerate(pieces, start=1)]
    worth = (part for part in made if len(part.text) > 1 and not part.text.isdigit() and part.text.lower() not in STOP)
    return tuple(part._replace(exact=False) for part in worth)


def _with_marks(text: str) -> str:
    r"""The text with a letter for each combining mark: for `\w` a mark ends a word, even a vowel sign of Thai."""
    from unicodedata import category

    return "".join("_" if category(c).startswith("M") else c for c in text)


def _unspaced(text: str, *, together: bool) -> Iterator[Term]:
    """The words in it, and the pairs of each run; as one phrase if they must be adjacent."""
    runs, others = split(text)
    yield from (Term(other) for other in others)
    for run in runs:
        grams = pairs(run)
        for gram in [" ".join(grams)] if together and grams else grams:
            yield Term(gram, prefix=len(gram) == 1, gram=True)


# What a term is looked for by --------------------------------------------------


class Phrase(NamedTuple):
    """One form of a term, with its words."""

    form: Term
    tokens: tuple[str, ...]


class Phrased(NamedTuple):
    """A term with its forms: as it is, and its other form if it has one."""

    term: Term
    phrases: tuple[Phrase, ...]

    def replace(self, *, prefix: bool) -> Phrased:
        """The same as the beginning of words, or as words."""
        longer = tuple(Phrase(form._replace(prefix=prefix), tokens) for form, tokens in self.phrases)
        return Phrased(self.term._replace(prefix=prefix), longer)


def phrased(terms: Sequence[Term]) -> list[Phrased]:
    """Terms as a keyword index reads them."""
    return [Phrased(term, tuple([Phrase(form, _tokens(form.text)) for form in forms([term])])) for term in terms]


@lru_cache(maxsize=256)  # a search asks for them at each of its steps
def _tokens(text: str) -> tuple[str, ...]:
    return stems(text)


def forms(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The terms, and behind them the other forms of those that have one; all as terms of one form."""
    return (
        *(term._replace(other="") for term in terms),
        *(Term(term.other, term.prefix) for term in terms if term.other),
    )


def folded(ranking: Ranking, terms: Sequence[Term]) -> Ranking:
    """A ranking whose `matched` speaks of the forms of terms, so that it speaks of the terms."""
    owners = [place for place, term in enumerate(terms) if term.other]
    if not owners:
        return ranking
    own = (1 << len(terms)) - 1

    def fold(bits: int) -> int:
        held = bits & own
        for number, place in enumerate(owners, start=len(terms)):
            held |= (bits >> number & 1) << place
        return held

    return tuple(one._replace(matched=fold(one.matched)) for one in ranking)


# What an index knows of terms --------------------------------------------------

SPARSE = 3
"""Fewer chunks than this holding a word make it a prefix: "auth" then also finds "authentication"."""

PRIOR = 50
"""Chunks without any word that are thought beside those that are there: of three chunks, which words are rare is chance."""


def weighed(
    terms: Sequence[Term], total: int, held: Callable[[str], tuple[int, int]], rows: Callable[[Phrased], int]
) -> tuple[Term, ...]:
    """
    See `memory.store.memories.Keywords.weigh`, which this is, given what an index can count.

    Args:
        total: Chunks.
        held: How many chunks hold a token, and how often they do together.
        rows: How many chunks hold a term in any of its forms.
    """
    wanted = phrased(terms)
    allowance = Allowance(held)
    answers = {place: _looked_for(wanted[place], rows, allowance) for place in allowance.order(wanted)}
    found: list[Term] = []
    seen: set[tuple[tuple[str, ...], bool]] = set()
    for term, phrases in (one for place in range(len(terms)) for one in answers[place]):
        keys = {(tokens, term.prefix) for _, tokens in phrases}
        if not keys <= seen:
            found.append(term if term.cut else term._replace(weight=idf(term.rows, total)))
            seen |= keys
    return tuple(found)


def _looked_for(wanted: Phrased, rows: Callable[[Phrased], int], allowance: Allowance) -> Sequence[Phrased]:
    """The term with its rows, or its parts with theirs; nothing if it holds no word."""
    if not wanted.phrases[0].tokens:
        return ()
    if not allowance.take(wanted):
        return [wanted._replace(term=wanted.term._replace(cut=True))]
    counted = _counted(wanted, rows)
    if counted.term.prefix:
        allowance.took(counted.term)
    if not counted.term.rows and wanted.term.parts:
        parts = [one for part in phrased(wanted.term.parts) for one in _looked_for(part, rows, allowance)]
        if any(part.term.rows for part in parts):
            return parts
    return [counted]


def _counted(wanted: Phrased, rows: Callable[[Phrased], int]) -> Phrased:
    """The term with its rows; as a prefix if it is a rare word that begins others."""
    term, found = wanted.term, rows(wanted)
    one = len(wanted.phrases[0].tokens) == 1 and len(term.text) > 2
    if found < SPARSE and one and not term.prefix and not term.gram:
        longer = wanted.replace(prefix=True)
        if (more := rows(longer)) > found:
            wanted, found = longer, more
    return wanted._replace(term=wanted.term._replace(rows=found))


def idf(rows: int, total: int) -> float:
    """
    ln(1 + (N + 50 - n + 0.5) / (n + 0.5)): above 0 also for a term that every chunk holds.

    The form of Robertson and Zaragoza 2009 with the 1 that Lucene adds, and `PRIOR` chunks without the term.
    """
    return math.log(1 + (total + PRIOR - rows + 0.5) / (rows + 0.5))


# How much of the index one query may read ---------------------------------------

POSTINGS = 16_000_000
"""
What a query's terms may read together, a word of a phrase at a time: see `cost`. To count the chunks that hold a phrase
and to rank them takes SQLite 15 to 25 ns for each, so 0.4 s. A store of 60,000 chunks of prose has no 64 words that
cost more.
"""

CHUNK = 3
"""What a chunk that holds a word costs beside its occurrences there: a row to be scored."""

COUNTING = 8
"""How many times as many occurrences may be counted as read: to count them takes a fourteenth of the time."""

PREFIX = 8
"""Of each chunk that holds a word which begins so: it may hold several, and each has entries of its own."""


def cost(chunks: int, occurrences: int) -> int:
    """What it takes to read and rank a word: FTS5 goes through the places of a word for a phrase, and for BM25."""
    return CHUNK * chunks + occurrences


class Allowance:
    """What is left to one query. A term that would take more is not looked for: what is to be read is known before."""

    def __init__(self, held: Callable[[str], tuple[int, int]]) -> None:
        """
        Args:
            held: How many chunks hold a token, and how often they do together.
        """
        self._held, self._known, self._taken = held, dict[str, int](), set[tuple[object, ...]]()
        self._left, self._uncounted = POSTINGS, COUNTING * POSTINGS

    def order(self, terms: Sequence[Phrased]) -> list[int]:
        """Places of terms, the cheapest first: where not all fit, the commonest are cut. Beginnings of words last."""
        return sorted(range(len(terms)), key=lambda place: (terms[place].term.prefix, self._needed(terms[place])))

    def take(self, term: Phrased) -> bool:
        """Whether a term may be looked for, in all its forms; then what it reads is taken off, once in a query."""
        key = (term.term.prefix, *(tokens for _, tokens in term.phrases))
        if key in self._taken:
            return True
        needed = self._needed(term)
        if not 0 < self._left >= needed:
            return False
        self._left -= int(needed)
        self._taken.add(key)
        return True

    def took(self, term: Term) -> None:
        """What a beginning of words has read, which is known afterwards only."""
        self._left -= PREFIX * term.rows

    def _needed(self, term: Phrased) -> float:
        """Infinite if it is more than any query may read, or its words cannot be counted any more."""
        needed = 0
        for token in (token for _, tokens in term.phrases for token in tokens):
            if token not in self._known:
                if self._uncounted <= 0:
                    return math.inf
                self._known[token] = cost(*self._held(token))
                self._uncounted -= self._known[token]
            needed += self._known[token]
            if needed > POSTINGS:
                return math.inf
        return needed

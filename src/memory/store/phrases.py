"""What a term is to a keyword index: its forms, the words of each, and how much of the index reading them takes."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast

import apsw

from memory.schema.query import Term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memory.schema.answer import Ranking


@lru_cache(maxsize=1)
def _tokenizer() -> Callable[..., Iterable[Iterable[str]]]:
    # The tokenizer outlives the connection it came from.
    made = apsw.Connection(":memory:").fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
    return cast("Callable[..., Iterable[Iterable[str]]]", made)


WORD = 40
"""Characters of a text that may be asked for again: the words of a query are, at each step of its search."""


def stems(text: str) -> tuple[str, ...]:
    """The tokens that FTS5's `porter unicode61 remove_diacritics 2` makes of a text, in order."""
    return _known(text) if len(text) <= WORD else _stems(text)


@lru_cache(maxsize=4096)
def _known(text: str) -> tuple[str, ...]:
    return _stems(text)


def _stems(text: str) -> tuple[str, ...]:
    found = _tokenizer()(text.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
    return tuple(token for tokens in found for token in tokens)


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
    return [Phrased(term, tuple(Phrase(form, stems(form.text)) for form in forms([term]))) for term in terms]


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


# How much of the index one query may read -----------------------------------

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

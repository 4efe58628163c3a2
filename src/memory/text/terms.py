"""Turns a question in plain words into the terms that the keyword retriever looks for. Any text is a query."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.schema.query import Term
from memory.text import identifiers
from memory.text.bigrams import pairs, split, unspaced

if TYPE_CHECKING:
    from collections.abc import Iterator

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

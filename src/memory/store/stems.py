"""What a term is to a keyword index: the forms in which it is written, each a phrase, and the words of each."""

from __future__ import annotations

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

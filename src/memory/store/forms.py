"""The ways in which a term is written, each of which is a phrase to a keyword index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.query import Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.query import Ranking


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

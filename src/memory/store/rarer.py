"""The best chunks of many by their rarer terms."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.schema.answer import Ranking

MOST = 2.2
"""What BM25 gives a term stays below this times its inverse document frequency: k1 + 1, and FTS5 has k1 = 1.2."""

# When k chunks are likely to score that much: measured with questions of four words.
ENOUGH, USUAL = 4, 1.5


class RareRows(Protocol):
    """
    Attributes:
        rows: How many chunks hold it.
    """

    @property
    def rows(self) -> int: ...


T = TypeVar("T", bound=RareRows)


def best_by_rarer(
    terms: Sequence[T], total: int, k: int, best: Callable[[Sequence[T] | None], Ranking], *, dear: bool = False
) -> Ranking:
    """
    The best k without a score for each of the many chunks that hold common terms only.

    If the k best of those that hold a rarer term score more than the other terms could together, they are the best of
    all (MaxScore: Turtle and Flood, Information Processing & Management 31, 1995).

    Args:
        total: Chunks.
        best: The best k of the chunks that hold one of these terms, by all terms; None stands for all of them.
        dear: Whether a score takes long, so that the rarest terms are always tried first.
    """
    rarest = sorted(terms, key=lambda term: term.rows)
    # As FTS5 has them.
    idfs = [max(1e-6, math.log((total - term.rows + 0.5) / (term.rows + 0.5))) for term in rarest]
    most = [MOST * sum(idfs[first:]) for first in range(1, len(idfs) + 1)]
    found = list(accumulate(term.rows for term in rarest))
    few = next((n for n, rows in enumerate(found) if rows >= ENOUGH * k), len(found) - 1)
    last = few if dear else _enough(most, USUAL * idfs[few] if found[few] >= ENOUGH * k else 0.0)
    while found[last] * 2 < found[-1]:
        ranking = best(rarest[: last + 1])
        score = ranking.scores[-1] if len(ranking) == k else 0.0
        if score > most[last]:
            return ranking
        last = _enough(most, score)
    return best(None)


def _enough(most: Sequence[float], score: float) -> int:
    """The last of the terms of which one must be held to score so much."""
    return next((n for n, other in enumerate(most) if other < score), len(most) - 1)

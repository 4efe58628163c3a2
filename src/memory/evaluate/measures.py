"""What a ranking is worth, and how sure a mean of that is."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

RESAMPLES = 1_000
SEED = 7


class Measures(NamedTuple):
    """Of one ranking, each 0..1, higher is better."""

    ndcg10: float
    recall5: float
    recall10: float
    mrr10: float
    hit5: float


class Mean(NamedTuple):
    """A mean with its interval: so it would lie 95 times of 100, were other questions of the same kind asked."""

    mean: float
    low: float
    high: float


def measures(ranking: Sequence[str], relevant: Mapping[str, float]) -> Measures:
    """
    Args:
        ranking: Ids of documents, best first, each once.
        relevant: Grades above 0 of those that answer; at least one.
    """
    return Measures(
        ndcg(ranking, relevant, 10),
        recall(ranking, relevant, 5),
        recall(ranking, relevant, 10),
        reciprocal(ranking, relevant, 10),
        float(any(id in relevant for id in ranking[:5])),
    )


def ndcg(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Normalised discounted cumulative gain with the grades as gains (Järvelin and Kekäläinen, TOIS 2002), 0..1."""
    gained = _discounted([relevant.get(id, 0.0) for id in ranking[:k]])
    return gained / _discounted(sorted(relevant.values(), reverse=True)[:k])


def _discounted(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def recall(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Share of what answers that is among the first k."""
    return sum(id in relevant for id in ranking[:k]) / len(relevant)


def reciprocal(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """1 / the place of the first that answers; 0 if it is not among the first k."""
    return next((1 / rank for rank, id in enumerate(ranking[:k], start=1) if id in relevant), 0.0)


def bootstrap(values: Sequence[float]) -> Mean:
    """
    The mean with its percentile bootstrap interval (Efron 1979): 1,000 resamples of as many values, always the same ones.

    Of differences between two systems at the same questions it is the paired interval.

    Args:
        values: At least one.
    """
    import numpy as np

    array = np.asarray(values, dtype=np.float64)
    means = _weights(len(array)) @ array
    low, high = np.percentile(means, (2.5, 97.5))
    return Mean(float(array.mean()), float(low), float(high))


@lru_cache(maxsize=2)
def _weights(count: int) -> NDArray[Any]:
    """How much each value counts in each resample: shape (RESAMPLES, count), rows that sum to 1."""
    import numpy as np

    drawn = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), RESAMPLES)
    return drawn / count

"""How good a ranking is, and how certain the mean over many is."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

RESAMPLES = 1_000
SEED = 7


T = TypeVar("T")


class Measures(NamedTuple, Generic[T]):
    """Measures of one ranking, each 0..1, higher is better; or a figure of each over several rankings."""

    ndcg10: T
    recall5: T
    recall10: T
    mrr10: T
    hit5: T


class Mean(NamedTuple):
    """A mean with its 95 % interval: where it would lie 95 times of 100 with other questions of the same kind."""

    mean: float
    low: float
    high: float


def measures(ranking: Sequence[str], relevant: Mapping[str, float]) -> Measures[float]:
    """
    Args:
        ranking: Ids of documents, best first, each once.
        relevant: The answering documents with grades above 0; at least one.
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
    """Share of the answering documents that are among the first k."""
    return sum(id in relevant for id in ranking[:k]) / len(relevant)


def reciprocal(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """1 / rank of the first answering document; 0 if none is among the first k."""
    return next((1 / rank for rank, id in enumerate(ranking[:k], start=1) if id in relevant), 0.0)


def bootstrap(values: Sequence[float]) -> Mean:
    """
    The mean with its percentile bootstrap interval (Efron 1979), from 1,000 resamples, always the same ones.

    For differences between two systems on the same questions, this is the paired interval.

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
    """The weight of each value in each resample: shape (RESAMPLES, count), rows that sum to 1."""
    import numpy as np

    drawn = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), RESAMPLES)
    return drawn / count

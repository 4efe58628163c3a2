"""
The vector of a question as a sum of rows in 8 bits.

To import numpy takes longer than a search of 10,000 passages: only a process that has it multiplies with the axes of a
store by numpy, which takes .03 ms instead of 3.
"""

from __future__ import annotations

import math
import sys
from array import array
from functools import lru_cache
from operator import add, mul
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.arrays import np
from memory.schema.space import Centre, dot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from memory.schema.space import Plain
    from memory.store import Asked

    Rows = Sequence[tuple[float, bytes]]
    """Each with its weight: an int8 for each number."""


class Summed(NamedTuple):
    """
    Attributes:
        terms: Rows along the axes of the store.
        words: Rows as wide as vectors, of words that have no other.
        mean: What is taken from the vector of each word, float32; empty if there is none.
        means: How often.
    """

    terms: Rows
    words: Rows = ()
    mean: bytes = b""
    means: float = 0.0


def pointed(summed: Summed, asked: Asked, centre: Centre) -> Plain | None:
    """
    Where a question lies that points from the centre in the direction of a sum: v = c + sqrt(1 - |c|²) · d.

    Passages lie around the centre of their generation, all at about the same distance. So does the question.

    Returns:
        Of length 1; None if the sum has no direction: nothing is known, or a row is damaged.
    """
    axes = _Axes(asked, len(centre.vector))
    along = _total(summed.terms, len(asked.spread))
    if summed.words:
        words = _total(summed.words, len(centre.vector))
        of_words = [one - summed.means * mean for one, mean in zip(words, array("f", summed.mean), strict=True)]
        along = [*map(add, along, axes.along(of_words))]
    direction = axes.back([*map(mul, along, stretch(asked))])
    length = dot(direction, direction) ** 0.5
    if not 0 < length < math.inf:
        return None
    outward = max(0.0, 1 - centre.square) ** 0.5 / length
    vector = [one + outward * other for one, other in zip(centre.vector, direction, strict=True)]
    length = dot(vector, vector) ** 0.5 or 1.0
    return array("f", [one / length for one in vector])


def stretch(asked: Asked) -> Sequence[float]:
    """
    What a vector along the axes is multiplied with, so that no few axes decide: σ^-1/4.

    σ is how far passages differ along an axis. Axes that are not the store's own are left as they are: σ of few
    passages says little.
    """
    if asked.basis is None:
        return [1.0] * len(asked.spread)
    return _stretch(asked.spread.tobytes(), max(1, asked.passages))


@lru_cache(maxsize=4)  # the next search needs it too, if nothing was learned meanwhile
def _stretch(spread: bytes, passages: int) -> tuple[float, ...]:
    numbers = array("d", spread)
    least = 1e-12 * max(1e-12, *numbers)
    return tuple([max(one / passages, least) ** (-1 / 8) for one in numbers])


def _total(rows: Rows, width: int) -> list[float]:
    total = [0.0] * width
    for weight, code in rows:
        total = [one + weight * step for one, step in zip(total, memoryview(code).cast("b"), strict=True)]
    return total


class _Axes:
    """The axes of a store, or `memory.vectors.term_vectors.learn.folding`."""

    def __init__(self, asked: Asked, dimension: int) -> None:
        self._dimension, self._each = dimension, -(-dimension // max(1, len(asked.spread)))
        self._basis = asked.basis

    def along(self, vector: Sequence[float]) -> Sequence[float]:
        """A vector along the axes."""
        dimension, each = self._dimension, self._each
        if self._basis is None:
            groups = [vector[start : start + each] for start in range(0, dimension, each)]
            return [sum(group) / len(group) ** 0.5 for group in groups]
        if "numpy" in sys.modules:
            return _product(_widened(self._basis, dimension), vector)
        basis = array("f", self._basis)
        return [dot(basis[start : start + dimension], vector) for start in range(0, len(basis), dimension)]

    def back(self, along: Sequence[float]) -> Sequence[float]:
        """The opposite."""
        dimension, each = self._dimension, self._each
        if self._basis is None:
            widths = [min(each, dimension - start) for start in range(0, dimension, each)]
            return [one / width**0.5 for one, width in zip(along, widths, strict=True) for _ in range(width)]
        if "numpy" in sys.modules:
            return _product(along, _widened(self._basis, dimension))
        basis = array("f", self._basis)
        return [dot(along, basis[place::dimension]) for place in range(dimension)]


@lru_cache(maxsize=4)
def _widened(basis: bytes, dimension: int) -> NDArray[np.float64]:
    """Axes as float64, so that not each search has to widen them."""
    return np.frombuffer(basis, "<f4").reshape(-1, dimension).astype(np.float64)


def _product(one: Any, other: Any) -> Sequence[float]:
    """The product of a matrix of numpy's and a vector."""
    with np.errstate(all="ignore"):  # of damaged numbers the length tells
        product: list[float] = (one @ other).tolist()
    return product

"""
The vector of a question as a sum of rows in 8 bits: with numpy in a process that has it, else without.

To import numpy takes longer than a search of 10,000 passages. Both ways give the same up to 1e-6, nearly always to the
last bit.
"""

from __future__ import annotations

import math
import sys
from array import array
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from memory.rank.fuse import dot

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memory.rank.fuse import Centre
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
    outward = max(0.0, 1 - centre.square) ** 0.5
    return (_with_numpy if "numpy" in sys.modules else _without)(summed, asked, centre.vector, outward)


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


@lru_cache(maxsize=4)
def _widened(basis: bytes | None, dimension: int) -> NDArray[np.float64]:
    """Axes as float64, so that not each search has to widen them."""
    import numpy as np

    from memory.search.term_vectors.axes import folding

    if basis is None:
        return folding(dimension).astype(np.float64)
    return np.frombuffer(basis, "<f4").reshape(-1, dimension).astype(np.float64)


def _with_numpy(summed: Summed, asked: Asked, centre: Plain, outward: float) -> Plain | None:
    import numpy as np

    dimension = len(centre)
    basis = _widened(asked.basis, dimension)

    def total(rows: Rows, width: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        codes = np.frombuffer(b"".join([code for _, code in rows]), np.int8).reshape(-1, width)
        return np.array([weight for weight, _ in rows], np.float64) @ codes

    with np.errstate(all="ignore"):  # of damaged numbers the length tells
        along = total(summed.terms, len(basis))
        if summed.words:
            along += basis @ (total(summed.words, dimension) - summed.means * np.frombuffer(summed.mean, "<f4"))
        direction = (along * stretch(asked)) @ basis
        length = float(direction @ direction) ** 0.5
    if not 0 < length < math.inf:
        return None
    vector = centre + outward / length * direction
    vector /= float(vector @ vector) ** 0.5 or 1.0
    return array("f", vector.astype(np.float32).tobytes())


def _without(summed: Summed, asked: Asked, centre: Plain, outward: float) -> Plain | None:
    axes = _Axes(asked, len(centre))
    along = _total(summed.terms, len(asked.spread))
    if summed.words:
        words = _total(summed.words, len(centre))
        of_words = [one - summed.means * mean for one, mean in zip(words, array("f", summed.mean), strict=True)]
        along = [one + other for one, other in zip(along, axes.along(of_words), strict=True)]
    direction = axes.back([one * times for one, times in zip(along, stretch(asked), strict=True)])
    length = dot(direction, direction) ** 0.5
    if not 0 < length < math.inf:
        return None
    vector = [one + outward / length * other for one, other in zip(centre, direction, strict=True)]
    length = dot(vector, vector) ** 0.5 or 1.0
    return array("f", [one / length for one in vector])


def _total(rows: Rows, width: int) -> list[float]:
    total = [0.0] * width
    for weight, code in rows:
        total = [one + weight * step for one, step in zip(total, memoryview(code).cast("b"), strict=True)]
    return total


class _Axes:
    """The axes of a store, or `memory.search.term_vectors.axes.folding`."""

    def __init__(self, asked: Asked, dimension: int) -> None:
        self._dimension, self._each = dimension, -(-dimension // max(1, len(asked.spread)))
        self._basis = None if asked.basis is None else array("f", asked.basis)

    def along(self, vector: Sequence[float]) -> list[float]:
        """A vector along the axes."""
        dimension, each = self._dimension, self._each
        if (basis := self._basis) is not None:
            return [dot(basis[start : start + dimension], vector) for start in range(0, len(basis), dimension)]
        groups = [vector[start : start + each] for start in range(0, dimension, each)]
        return [sum(group) / len(group) ** 0.5 for group in groups]

    def back(self, along: Sequence[float]) -> list[float]:
        """The opposite."""
        dimension, each = self._dimension, self._each
        if (basis := self._basis) is not None:
            return [dot(along, basis[place::dimension]) for place in range(dimension)]
        widths = [min(each, dimension - start) for start in range(0, dimension, each)]
        return [one / width**0.5 for one, width in zip(along, widths, strict=True) for _ in range(width)]

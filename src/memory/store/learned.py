"""What is known of the terms of a store, as values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.space import Plain, Vectors

LEAST = 25  # passages: term vectors that learned from fewer are not asked
HEARD = 200  # chunks learned from last: what each of them was the first to say is known


class Prior(NamedTuple):
    """
    How far the word vectors of a model count, with which term vectors begin.

    Attributes:
        words: How many word vectors there were when learning began.
        along, square: Sums over passages of a · b and a · a: a is what the word vectors of new terms foretold, b what
            the other terms did not.
    """

    words: int = 0
    along: float = 0.0
    square: float = 0.0

    @property
    def scale(self) -> float:
        """The least squares of all passages so far, from 0."""
        return max(0.0, self.along / self.square) if self.square else 0.0

    def met(self, along: float, square: float) -> Prior:
        """The same after one more passage."""
        return self._replace(along=self.along + along, square=self.square + square)


class Learned(NamedTuple):
    """
    What the term vectors of a generation have in common.

    Attributes:
        passages: Chunks they learned from, each as often as it got a vector, also those that are gone.
        fit: Mean cosine of the last chunks' vectors with what was foretold before learning from each, -1..1.
        spread: How far chunks lie from their centre along each axis: sums of squares, shape (axes,), float64.
        basis: Shape (axes, dimension), float32, rows orthonormal. None while the store has no axes of its own.
        prior: With what the vectors of new terms begin.
    """

    passages: int
    fit: float
    spread: NDArray[np.float64]
    basis: Vectors | None
    prior: Prior = Prior()


class LearningState(NamedTuple):
    """
    How far the term vectors of a generation are.

    Attributes:
        passages: See `Learned`; 0 if nothing was learned.
        terms: How many they are.
        waiting: Chunks with a vector that were not learned from yet.
    """

    passages: int = 0
    terms: int = 0
    waiting: int = 0


class Asked(NamedTuple):
    """
    What a question needs of `Learned`, without numpy.

    Attributes:
        passages: See `Learned`.
        spread: The same, an array of "d".
        basis: The rows of the same, one after the other, float32; None while the store has no axes of its own.
        scale: `Prior.scale`.
    """

    passages: int
    spread: Plain
    basis: bytes | None
    scale: float


class TermVector(NamedTuple):
    """
    The vector of a term: scale · code · basis.

    Attributes:
        term: One stem, or two with a blank between them.
        passages: How many chunks were learned from that hold it.
        last: Which was the last of them, counted by `Learned.passages`. If it has no vector: which of those that are
            known said it, from -1, the last one.
        met: Sum of the squares of its weights, from 0.
        code: An int8 for each axis; empty if it has no vector yet.
    """

    term: str
    passages: int
    last: int
    met: float
    scale: float
    code: bytes

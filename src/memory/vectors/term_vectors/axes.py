"""
The few axes along which term vectors are kept: of a large model's dimensions, those along which passages differ.

A small store begins with sums of dimensions; once it learned from `SETTLED` passages, it has axes of its own.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memory.schema.space import SHRINK
from memory.store.narrow import rounded
from memory.vectors.term_vectors.filter import rounded as coded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from memory.schema.space import Vectors
    from memory.store import Learned, TermVector

AXES = 128
"""Axes kept of the model's dimensions, those along which passages differ most; more changed no judged set, fewer did."""


FIRST = 384
"""The most axes of a store that is too small for its own: as many as a small model has dimensions."""

SETTLED = 372
"""From so many passages on a store has axes of its own: fewer say little about where others will differ."""

GRID = 1 << 20
"""Steps of a centre in 1. Sums of the same vectors in other orders differ by 1e-13, centres by less: all the same here."""

UNSHARED = 1 << 18
"""Products in one multiplication of matrices: OpenBLAS shares more among threads, which wait for one another."""


@lru_cache(maxsize=4)
def folding(dimension: int) -> Vectors:
    """
    Axes for any passages: each is the sum of some neighbouring dimensions, of one if there are at most `FIRST`.

    As good as random axes, if dimensions have no order (Charikar, Chen and Farach-Colton, ICALP 2002): believed, and
    exact up to `FIRST` dimensions.

    Returns:
        Shape (up to FIRST, dimension), float32, rows orthonormal.
    """
    each = -(-dimension // FIRST)
    rows = np.zeros((-(-dimension // each), dimension), np.float32)
    rows[np.arange(dimension) // each, np.arange(dimension)] = 1
    rows /= np.sqrt(rows.sum(axis=1, keepdims=True))
    rows.flags.writeable = False
    return rows


def basis(learned: Learned, dimension: int) -> Vectors:
    """The axes of term vectors, shape (axes, dimension), float32, rows orthonormal."""
    return folding(dimension) if learned.basis is None else learned.basis


def axes(rows: Vectors, most: int) -> Vectors:
    """
    Orthonormal axes along which rows differ most, approximately, those of most difference first.

    Two steps of subspace iteration from a fixed random start (Halko, Martinsson and Tropp, SIAM Review 53, 2011).
    A full decomposition would take minutes at 3,072 dimensions.

    Args:
        rows: Shape (n, dimension), centred.

    Returns:
        Shape (up to most, dimension), float32; fewer if rows differ along fewer, but at least one.
    """
    dimension = rows.shape[1]
    start = np.random.default_rng(0).standard_normal((dimension, min(most, dimension))).astype(np.float32)
    once = orthonormal((rows.T @ (rows @ start)).T)
    return orthonormal((rows.T @ (rows @ once.T)).T)


def orthonormal(rows: Vectors) -> Vectors:
    """
    Gram-Schmidt, each row twice. Rows that depend on earlier ones are dropped; if all are zero, one axis remains.

    Not LAPACK, which shares even such small work among threads and then waits up to a second for a busy processor.
    """
    made = np.zeros(rows.shape, np.float64)
    count = 0
    for row in rows.astype(np.float64):
        length = np.sqrt(np.vecdot(row, row))
        rest = row
        for _ in range(2):
            rest = rest - np.einsum("i,ij->j", np.vecdot(made[:count], rest), made[:count])
        left = np.sqrt(np.vecdot(rest, rest))
        if left > 1e-5 * length:
            made[count] = rest / left
            count += 1
    if not count:
        made[0, 0] = count = 1
    return np.ascontiguousarray(made[:count], np.float32)


def centre(total: NDArray[np.float64], count: int) -> Vectors:
    """As `memory.search.fuse.shrunk`, for whom numpy is there; rounded, for a sum depends on the order of its terms."""
    return (np.rint(total / (count + SHRINK) * GRID) / GRID).astype(np.float32)


def projected(rows: Vectors, across: Vectors) -> Vectors:
    """The rows · acrossᵀ, in pieces that no library shares among threads."""
    axes, dimension = across.shape
    width = next(one for one in range(min(64, dimension), 0, -1) if dimension % one == 0)
    parts = np.ascontiguousarray(across.T).reshape(-1, width, axes)
    height = max(2, UNSHARED // (axes * width))
    found = np.empty((len(rows), axes), np.float32)
    for start in range(0, len(rows), height):
        some = rows[start : start + height].reshape(-1, len(parts), width).transpose(1, 0, 2)
        found[start : start + height] = (some @ parts).sum(axis=0)
    return found


class OwnAxes(NamedTuple):
    """
    Attributes:
        basis: As in `Learned`.
        spread: The same of so many passages.
        passages: Those whose vectors are not damaged.
    """

    basis: Vectors
    spread: NDArray[np.float64]
    passages: int


def due(learned: Learned | None) -> bool:
    """Whether there are enough passages for axes of the store's own, which it does not have."""
    return learned is not None and learned.passages >= SETTLED and learned.basis is None


def own_axes(passages: Sequence[Vectors]) -> OwnAxes:
    """
    Those along which passages differ.

    Args:
        passages: The vectors of each, shape (windows, dimension).
    """
    vectors = np.stack([vectors.mean(axis=0) for vectors in passages])
    vectors = vectors[np.isfinite(vectors).all(axis=1)]
    differences = vectors - centre(vectors.sum(axis=0, dtype=np.float64), len(vectors))
    own = rounded(axes(differences.astype(np.float32), AXES))
    return OwnAxes(own, np.sum((differences @ own.T).astype(np.float64) ** 2, axis=0), len(differences))


def turned(term_vectors: Sequence[TermVector], turn: Vectors) -> list[TermVector]:
    """
    Term vectors along other axes.

    Args:
        turn: Shape (axes, new axes), float32.
    """
    codes = np.frombuffer(b"".join([one.code for one in term_vectors]), np.int8).reshape(-1, len(turn))
    rows = codes * np.array([one.scale for one in term_vectors], np.float32)[:, None]
    scales, codes = coded(rows.astype(np.float32, copy=False) @ turn)
    values = zip(term_vectors, scales.tolist(), map(bytes, codes), strict=True)
    return [one._replace(scale=scale, code=code) for one, scale, code in values]

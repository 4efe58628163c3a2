"""The few axes along which term vectors are kept: of a large model's dimensions, those along which passages differ."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from memory.schema.space import Vectors
    from memory.store import Learned

AXES = 128
"""Axes kept of the model's dimensions, those along which passages differ most; more changed no judged set, fewer did."""


FIRST = 384
"""The most axes of a store that is too small for its own: as many as a small model has dimensions."""


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

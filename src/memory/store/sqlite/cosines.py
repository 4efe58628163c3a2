"""Cosines of vectors that are at hand, as the database computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memory.store.sqlite.held import Owned

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw
    from numpy.typing import NDArray

    from memory.schema.space import Vectors


def cosines(rows: Vectors, vectors: Vectors) -> NDArray[np.float64]:
    """
    What `1 - vec_distance_cosine(…)` says, to the last bit.

    sqlite-vec adds float32 after float32 and rounds the distance. Sums along columns take the same order.

    Args:
        rows: Shape (n, dimension).
        vectors: Shape (k, dimension).

    Returns:
        Shape (k, n); not finite where a row is damaged.
    """
    alone = len(rows) == 1
    columns = np.ascontiguousarray((np.repeat(rows, 2, axis=0) if alone else rows).T)  # one column is added in parts
    pair = np.ascontiguousarray(vectors[[*range(len(vectors)), 0]].T)
    with np.errstate(all="ignore"):
        products = np.einsum("ik,ij->kj", pair[:, :-1], columns)
        lengths, own = (np.sqrt(np.einsum("ij,ij->j", some, some).astype(np.float64)) for some in (columns, pair))
        distances = (1 - products / (own[:-1, None] * lengths)).astype(np.float32)
    found: NDArray[np.float64] = 1 - distances.astype(np.float64)
    return found[:, :1] if alone else found


def speaking(chunks: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.intp]:
    """The row that speaks for each chunk, lowest chunk first: that with the highest value, of equal ones the first."""
    if (chunks[1:] > chunks[:-1]).all():  # as where no chunk has several
        return np.arange(len(chunks))
    order = np.lexsort((-values, chunks))
    found: NDArray[np.intp] = order[np.flatnonzero(np.diff(chunks[order], prepend=-1))]
    return found


def compared(owned: Owned, vectors: Sequence[bytes]) -> tuple[Owned, NDArray[np.float64]]:
    """The rows that are sound, and their cosines with some vectors, shape (vectors, rows)."""
    found = cosines(owned.rows, np.frombuffer(b"".join(vectors), np.float32).reshape(len(vectors), -1))
    sound = np.isfinite(found).all(axis=0)
    if sound.all():
        return owned, found
    return Owned(owned.chunks[sound], owned.memories[sound], owned.rows[sound]), found[:, sound]


def alike(db: apsw.Connection) -> bool:
    """Whether the database computes so on this machine: another compiler may round fewer times."""
    made = np.random.default_rng(0).standard_normal((8, 384)).astype(np.float32)
    rows, vectors = made[:6], made[6:]
    asked = [[db.execute("select 1 - vec_distance_cosine(?, ?)", (row.tobytes(), one.tobytes())).get for row in rows]
             for one in vectors]  # fmt: skip
    return bool((cosines(rows, vectors) == np.array(asked)).all())

"""The vectors of a generation in memory, for processes that search more than once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import apsw
    import numpy as np
    from numpy.typing import NDArray

    from memory.space import Vectors

LAST_DIGITS = 1e-5
"""Sums of float32 taken in another order differ by less; what is this near to the last one counts as a tie."""

LARGE_SHARE = 4
"""From a quarter of all chunks on, naming them costs more than a scan."""

MOST_BYTES = 256 << 20
"""A larger generation is scanned in the database."""


class _Held(NamedTuple):
    """
    Attributes:
        chunks: Of each row, shape (n,).
        rows: Shape (n, dimension).
    """

    generation: int
    changes: int
    chunks: NDArray[np.int64]
    rows: Vectors


class Matrix:
    """
    Says which chunks may be among the nearest; their exact cosines are the database's to compute.

    A scan of 10,000 vectors takes SQLite 10 ms, a product with this matrix 0.2. It is read when a search finds the
    vectors as the search before it did, so that neither a single search nor one after each save pays for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._held: _Held | None = None

    def nearest(self, db: apsw.Connection, generation: int, vector: Vectors, count: int) -> list[int] | None:
        """
        At least `count` chunks: the nearest, and all that tie with the last of them. None if the matrix is not held,
        or so many are asked for or tie that a scan costs less.

        Args:
            db: In a transaction, so that what is read belongs together.
        """
        vectors, changes, dimension = db.execute(
            "select vectors, changes, dimension from generations where id = ?", (generation,)
        ).get
        with self._lock:
            held = self._held
            if held is None or (held.generation, held.changes) != (generation, changes):
                self._held = held = None
                if self._seen == (generation, changes) and vectors * dimension * 4 <= MOST_BYTES:
                    self._held = held = _read(db, generation, changes, dimension)
                self._seen = (generation, changes)
        return None if held is None else _nearest(held, vector, count)


def _read(db: apsw.Connection, generation: int, changes: int, dimension: int) -> _Held:
    import numpy as np

    found: list[tuple[int, bytes]] = db.execute(f"select chunk_id, embedding from vectors_{generation}").fetchall()  # type: ignore[assignment]  # as the columns are declared
    chunks = np.fromiter((chunk for chunk, _ in found), np.int64, len(found))
    rows = np.frombuffer(b"".join(embedding for _, embedding in found), np.float32).reshape(-1, dimension)
    return _Held(generation, changes, chunks, rows)


def _nearest(held: _Held, vector: Vectors, count: int) -> list[int] | None:
    import numpy as np

    if count * LARGE_SHARE > len(held.rows):
        return None
    scores = held.rows @ vector
    size = count
    while size < len(scores):
        edge = np.partition(scores, -size)[-size]
        best = np.flatnonzero(scores >= edge - LAST_DIGITS)
        chunks: list[int] = np.unique(held.chunks[best]).tolist()
        if len(chunks) * LARGE_SHARE > len(scores):
            return None
        if len(chunks) >= count:
            return chunks
        size *= 2  # several windows of one chunk were among the best
    return None

"""The vectors of a generation in memory, for processes that search more than once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from memory.store.sqlite.rows import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw
    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.query import Scope
    from memory.schema.space import Vectors

LAST_DIGITS = 1e-5
"""Sums of float32 taken in another order differ by less; what is this near to the last one counts as a tie."""

LARGE_SHARE = 4
"""From a quarter of all chunks on, naming them costs more than a scan."""

FEW_SHARE = 4
"""Of fewer than a quarter of the rows between the first and the last, a copy takes less than a product with all."""

MOST_BYTES = 256 << 20
"""A larger generation is scanned in the database."""

PART = 1000  # vectors copied at once, so that there are never two copies of all


class _Held(NamedTuple):
    """
    Rows of one kind, and of one project or session in it, stand together: they are what is asked for together.

    Attributes:
        chunks, memories: Of each row, shape (n,).
        rows: Shape (n, dimension).
    """

    generation: int
    changes: int
    chunks: NDArray[np.int64]
    memories: NDArray[np.int64]
    rows: Vectors


class Matrix:
    """
    Says which chunks may be among the most similar; their exact cosines are the database's to compute.

    A scan of 10,000 vectors takes SQLite 10 ms, a product with this matrix 0.3. It is read when a search finds the
    vectors as the search before it did, so that neither a single search nor one after each save pays for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._held: _Held | None = None

    def most_similar(
        self, db: apsw.Connection, generation: int, vector: bytes, count: int, *, scope: Scope | None = None
    ) -> list[int] | None:
        """
        At least `count` chunks: the most similar, and all that tie with the last of them. None if the matrix is not held,
        or so many are asked for or tie that a scan costs less.

        Args:
            db: In a transaction, so that what is read belongs together.
            vector: float32.
            scope: None looks at all chunks.
        """
        held = self._current(db, generation)
        if held is None:
            return None
        return _most_similar(held, vector, count, None if scope is None else within(db, scope))

    def memory_similarities(
        self, db: apsw.Connection, generation: int, vector: bytes, memories: Sequence[int]
    ) -> dict[int, float] | None:
        """The best product of each of these memories, up to `LAST_DIGITS`; None if the matrix is not held."""
        held = self._current(db, generation)
        return None if held is None else _memory_similarities(held, vector, memories)

    def _current(self, db: apsw.Connection, generation: int) -> _Held | None:
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
        return held


def _read(db: apsw.Connection, generation: int, changes: int, dimension: int) -> _Held:
    import numpy as np

    found: list[tuple[int, int, bytes]] = db.execute(  # type: ignore[assignment]  # as the columns are declared
        f"""select v.chunk_id, c.memory_id, v.embedding
            from vectors_{generation} v
            cross join chunks c on c.id = v.chunk_id"""
    ).fetchall()
    ordered = db.execute("select id from memories order by kind, project, session_id, id")
    places = {id: place for place, (id,) in enumerate(ordered)}
    found.sort(key=lambda row: places[row[1]])
    chunks = np.fromiter((chunk for chunk, _, _ in found), np.int64, len(found))
    memories = np.fromiter((memory for _, memory, _ in found), np.int64, len(found))
    # Not the bytes themselves: numpy asks for huge pages, and a product takes two thirds of the time.
    rows = np.empty((len(found), dimension), np.float32)
    for first in range(0, len(found), PART):
        part = [embedding for _, _, embedding in found[first : first + PART]]
        rows[first : first + PART] = np.frombuffer(b"".join(part), np.float32).reshape(-1, dimension)
    return _Held(generation, changes, chunks, memories, rows)


def _most_similar(held: _Held, vector: bytes, count: int, inside: Sequence[int] | None) -> list[int] | None:
    """
    See `Matrix.most_similar`.

    Args:
        inside: The memories to look at; None takes all.
    """
    import numpy as np

    among = None if inside is None else np.flatnonzero(np.isin(held.memories, inside))
    owners = held.chunks if among is None else held.chunks[among]
    if count * LARGE_SHARE >= len(owners):
        return None
    scores = _products(held.rows, vector, among)
    size = count
    while size < len(scores):
        edge = np.partition(scores, -size)[-size]
        chunks: list[int] = np.unique(owners[scores >= edge - LAST_DIGITS]).tolist()
        if len(chunks) * LARGE_SHARE > len(scores):
            return None
        if len(chunks) >= count:
            return chunks
        size *= 2  # several windows of one chunk were among the best
    return None


def _memory_similarities(held: _Held, vector: bytes, memories: Sequence[int]) -> dict[int, float]:
    import numpy as np

    among = np.flatnonzero(np.isin(held.memories, memories))
    if not len(among):
        return {}
    owners = held.memories[among]
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))  # all rows of a memory stand together
    best = np.maximum.reduceat(_products(held.rows, vector, among), firsts)
    return dict(zip(owners[firsts].tolist(), best.tolist(), strict=True))


def _products(rows: Vectors, vector: bytes, among: NDArray[np.int64] | None) -> Vectors:
    """Of some rows with a vector; None takes all. Not `@`, which waits 8 ms for a second processor that is taken."""
    import numpy as np

    if among is not None:
        first, last = among[0], among[-1] + 1
        few = len(among) * FEW_SHARE < last - first
        rows, among = (rows.take(among, axis=0), None) if few else (rows[first:last], among - first)
    products: Vectors = np.vecdot(rows, np.frombuffer(vector, np.float32))
    return products if among is None else products[among]

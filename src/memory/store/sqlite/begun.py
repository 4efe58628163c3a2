"""Vectors of chunks that are not embedded to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.store.sqlite.rows import key, listed

if TYPE_CHECKING:
    from collections.abc import Collection

    import apsw

    from memory.schema.memory import ChunkId
    from memory.schema.space import Vectors
    from memory.store.sqlite.database import Database


class SqliteBegun:
    """See `memory.store.begun.Begun`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def vectors(self, generation: int, chunk: ChunkId, stamp: int) -> Vectors | None:
        with self._database.read() as db:
            rows: list[tuple[bytes, int]] = db.execute(
                """select b.embeddings, g.dimension from begun b
                   cross join generations g on g.id = b.generation
                   where b.chunk_id = ? and b.generation = ? and b.stamp = ? order by b.first""",
                (key(chunk), key(generation), stamp),
            ).fetchall()  # type: ignore[assignment]  # as the columns are declared
        if not rows:
            return None
        import numpy as np

        joined: Vectors = np.frombuffer(b"".join(blob for blob, _ in rows), "<f4").reshape(-1, rows[0][1])
        return joined

    def add(self, generation: int, chunk: ChunkId, stamp: int, first: int, vectors: Vectors) -> bool:
        place = (key(chunk), key(generation))
        with self._database.write(durable=False) as db:
            db.execute("delete from begun where chunk_id = ? and generation = ? and stamp <> ?", (*place, stamp))
            there = db.execute("select sum(windows) from begun where chunk_id = ? and generation = ?", place).get or 0
            added = db.execute(
                """insert into begun (chunk_id, generation, first, stamp, windows, embeddings)
                   select c.id, g.id, ?, ?, ?, ? from chunks c, generations g
                   where c.id = ? and g.id = ? and ? = ? returning 1""",
                (first, stamp, len(vectors), vectors.astype("<f4").tobytes(), *place, first, there),
            ).get
            return added is not None


def forget_begun(db: apsw.Connection, generation: int, ids: Collection[int] | None = None) -> None:
    """Take away what is there of some chunks; None takes all of the generation."""
    if ids is None:
        db.execute("delete from begun where generation = ?", (generation,))
    else:
        db.execute(
            "delete from begun where generation = ? and chunk_id in (select value from json_each(?))",
            (generation, listed(ids)),
        )

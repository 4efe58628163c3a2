"""Chunks that wait for a vector in the active generation, why they still do, and what is begun of them."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from memory.schema.errors import iso
from memory.schema.memory import ChunkId, Excerpt, MemoryId
from memory.store import Claim, Failure, Waiting
from memory.store.records import Row, key, moment
from memory.store.sqlite.database import Part, reading, writing
from memory.store.sqlite.excerpts import OWNER, excerpts
from memory.store.sqlite.rows import listed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    import apsw

    from memory.schema.space import Vectors

_FAILED = """
    select f.memory_id from embed_queue t cross join chunks f on f.id = t.chunk_id where t.tried_at is not null
"""


class SqliteQueue(Part):
    """See `memory.store.vectors.Queue`. None of it needs to survive a power cut: what is lost is done again."""

    @reading
    def queued(self, db: apsw.Connection) -> int:
        return self._db.remembered.once(db, "queued", lambda: int(db.execute("select count(*) from embed_queue").get))

    @writing(durable=False)
    def claim(
        self,
        db: apsw.Connection,
        limit: int,
        tried_before: datetime | None = None,
        *,
        now: datetime,
        until: datetime,
        by: str,
        of: Sequence[MemoryId] | None = None,
    ) -> Sequence[Excerpt]:
        due, values = "attempts = 0", []
        if tried_before is not None:
            due, values = "(attempts = 0 or tried_at < ?)", [iso(tried_before)]
        if of is not None:
            due += " and chunk_id in (select id from chunks where memory_id in (select value from json_each(?)))"
            values.append(listed(of))
        claimed = excerpts(
            db,
            f"""(
                    select chunk_id, attempts from embed_queue
                    where {due} and (claimed_until is null or claimed_until <= ?) order by attempts, chunk_id limit ?
                ) q
                cross join chunks c on c.id = q.chunk_id {OWNER}
                order by q.attempts, q.chunk_id""",
            (*values, iso(now), limit),
        )
        db.execute(
            "update embed_queue set claimed_until = ?, claimed_by = ? where chunk_id in (select value from json_each(?))",
            (iso(until), by, listed(excerpt.id for excerpt in claimed)),
        )
        return claimed

    @reading
    def claims(self, db: apsw.Connection, now: datetime) -> Sequence[Claim]:
        rows: Iterable[Row] = db.execute(
            """select coalesce(claimed_by, '') as holder, chunk_id, claimed_until from embed_queue
               where claimed_until > ? order by holder, chunk_id""",
            (iso(now),),
        )
        claims = []
        for holder, own in groupby(rows, itemgetter(0)):
            _, ids, untils = zip(*own, strict=True)
            claims.append(Claim(holder, ids, moment(max(untils))))
        return claims

    @writing(durable=False)
    def release(self, db: apsw.Connection, ids: Sequence[ChunkId], failure: Failure | None = None) -> None:
        noted = "" if failure is None else "attempts = attempts + 1, last_error = ?, tried_at = ?,"
        values = () if failure is None else (failure.error, iso(failure.moment))
        db.execute(
            f"""update embed_queue set {noted} claimed_until = null, claimed_by = null
                where chunk_id in (select value from json_each(?))""",
            (*values, listed(ids)),
        )

    @reading
    def waiting(
        self, db: apsw.Connection, ids: Sequence[MemoryId] | None = None, *, limit: int | None = None
    ) -> Sequence[Waiting]:
        among = _FAILED if ids is None else "select value from json_each(?)"
        values: list[str | int] = [] if ids is None else [listed(ids)]
        # With one max(), SQLite takes the bare columns from the row that has it; the id decides between equal moments.
        statement = f"""select c.memory_id, count(*), count(q.tried_at), q.last_error, q.tried_at,
                    max(q.tried_at || printf('%020d', q.chunk_id))
                from chunks c cross join embed_queue q on q.chunk_id = c.id
                where c.memory_id in ({among})
                group by c.memory_id order by q.tried_at desc, c.memory_id"""
        if limit is not None:  # a limit that leaves nothing out makes it take twice as long
            statement += " limit ?"
            values.append(limit)
        rows: Iterable[Row] = db.execute(statement, values)
        return [
            Waiting(MemoryId(memory), chunks, failed, error, None if at is None else moment(at))
            for memory, chunks, failed, error, at, _ in rows
        ]

    @reading
    def begun(self, db: apsw.Connection, generation: int, chunk: ChunkId, stamp: int) -> Vectors | None:
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

    @writing(durable=False)
    def add_begun(
        self, db: apsw.Connection, generation: int, chunk: ChunkId, stamp: int, vectors: Vectors, *, first: int
    ) -> bool:
        place = (key(chunk), key(generation))
        db.execute("delete from begun where chunk_id = ? and generation = ? and stamp <> ?", (*place, stamp))
        there = db.execute("select sum(windows) from begun where chunk_id = ? and generation = ?", place).get or 0
        added = db.execute(
            """insert into begun (chunk_id, generation, first, stamp, windows, embeddings)
               select c.id, g.id, ?, ?, ?, ? from chunks c, generations g
               where c.id = ? and g.id = ? and ? = ? returning 1""",
            (first, stamp, len(vectors), vectors.astype("<f4").tobytes(), *place, first, there),
        ).get
        return added is not None


def forget_begun(db: apsw.Connection, generation: int, ids: Collection[int]) -> None:
    """Take away what is there of some chunks."""
    db.execute(
        "delete from begun where generation = ? and chunk_id in (select value from json_each(?))",
        (generation, listed(ids)),
    )

"""Chunks that wait for a vector in the active generation, why they still do, and what is begun of them."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from memory.schema.errors import iso
from memory.schema.memory import ChunkId, Excerpt, MemoryId
from memory.store import Claim, Failure, Waiting
from memory.store.postgres.database import Part, asking, many, one, reading, writing
from memory.store.postgres.rows import excerpts, keys
from memory.store.records import key, moment

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from memory.schema.space import Vectors
    from memory.store.postgres.opening import Db
    from memory.store.records import Values


class PostgresQueue(Part):
    """See `memory.store.vectors.Queue`. None of it needs to survive a power cut: what is lost is done again."""

    @asking
    def queued(self, db: Db) -> int:
        return int(one(db, "select count(*) from embed_queue"))

    @writing(durable=False, lock=None)
    def claim(
        self,
        db: Db,
        limit: int,
        tried_before: datetime | None = None,
        *,
        now: datetime,
        until: datetime,
        by: str,
        of: Sequence[MemoryId] | None = None,
    ) -> Sequence[Excerpt]:
        due: str = "attempts = 0"
        values: Values = []
        if tried_before is not None:
            due, values = "(attempts = 0 or tried_at < %s)", [iso(tried_before)]
        if of is not None:
            due += " and chunk_id in (select id from chunks where memory_id = any(%s))"
            values.append(keys(of))
        # What others are about to claim is passed over: nobody waits for anybody.
        rows = many(
            db,
            f"""with due as (
                    select chunk_id from embed_queue
                    where {due} and (claimed_until is null or claimed_until <= %s)
                    order by attempts, chunk_id limit %s for update skip locked
                )
                update embed_queue q set claimed_until = %s, claimed_by = %s from due
                where q.chunk_id = due.chunk_id returning q.attempts, q.chunk_id""",
            [*values, iso(now), limit, iso(until), by],
        )
        found = {excerpt.id: excerpt for excerpt in excerpts(db, "c.id = any(%s)", ([id for _, id in rows],))}
        return [found[id] for _, id in sorted(rows) if id in found]

    @reading
    def claims(self, db: Db, now: datetime) -> Sequence[Claim]:
        rows = many(
            db,
            """select coalesce(claimed_by, '') as holder, chunk_id, claimed_until from embed_queue
               where claimed_until > %s order by holder, chunk_id""",
            (iso(now),),
        )
        claims = []
        for holder, own in groupby(rows, itemgetter(0)):
            _, ids, untils = zip(*own, strict=True)
            claims.append(Claim(holder, ids, moment(max(untils))))
        return claims

    @writing(durable=False)
    def release(self, db: Db, ids: Sequence[ChunkId], failure: Failure | None = None) -> None:
        noted = "" if failure is None else "attempts = attempts + 1, last_error = %s, tried_at = %s,"
        values = () if failure is None else (failure.error, iso(failure.moment))
        db.execute(
            f"update embed_queue set {noted} claimed_until = null, claimed_by = null where chunk_id = any(%s)",
            (*values, keys(ids)),
        )

    @reading
    def waiting(self, db: Db, ids: Sequence[MemoryId] | None = None, *, limit: int | None = None) -> Sequence[Waiting]:
        among, values = "c.memory_id = any(%s)", [keys(ids or ())]
        if ids is None:
            among, values = (
                "exists (select 1 from embed_queue t join chunks f on f.id = t.chunk_id where f.memory_id = c.memory_id and t.tried_at is not null)",
                [],
            )
        rows = many(
            db,
            f"""select c.memory_id, count(*), count(q.tried_at),
                    (array_agg(q.last_error order by q.tried_at desc nulls last, q.chunk_id desc))[1], max(q.tried_at)
                from chunks c join embed_queue q on q.chunk_id = c.id where {among}
                group by c.memory_id order by max(q.tried_at) desc nulls last, c.memory_id limit %s""",
            [*values, limit],
        )
        return [
            Waiting(MemoryId(memory), chunks, failed, error, None if at is None else moment(at))
            for memory, chunks, failed, error, at in rows
        ]

    @reading
    def begun(self, db: Db, generation: int, chunk: ChunkId, stamp: int) -> Vectors | None:
        rows = many(
            db,
            """select b.embeddings, g.dimension from begun b join generations g on g.id = b.generation
               where b.chunk_id = %s and b.generation = %s and b.stamp = %s order by b.first""",
            (key(chunk), key(generation), stamp),
        )
        if not rows:
            return None
        import numpy as np

        joined: Vectors = np.frombuffer(b"".join([blob for blob, _ in rows]), "<f4").reshape(-1, rows[0][1])
        return joined

    @writing(durable=False)
    def add_begun(self, db: Db, generation: int, chunk: ChunkId, stamp: int, vectors: Vectors, *, first: int) -> bool:
        place = (key(chunk), key(generation))
        db.execute("delete from begun where chunk_id = %s and generation = %s and stamp <> %s", (*place, stamp))
        there = one(db, "select sum(windows)::bigint from begun where chunk_id = %s and generation = %s", place) or 0
        if there != first:
            return False
        added = db.execute(
            """insert into begun (chunk_id, generation, first, stamp, windows, embeddings)
               select c.id, g.id, %s, %s, %s, %s from chunks c cross join generations g where c.id = %s and g.id = %s""",
            (first, stamp, len(vectors), vectors.astype("<f4").tobytes(), *place),
        )
        return added.rowcount > 0


def forget_begun(db: Db, generation: int, ids: Collection[int]) -> None:
    """Take away what is there of some chunks."""
    db.execute("delete from begun where generation = %s and chunk_id = any(%s)", (generation, list(ids)))

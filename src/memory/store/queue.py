"""Chunks that wait for a vector in the active generation, why they still do, and what is begun of them."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from memory.schema.errors import iso
from memory.schema.memory import ChunkId, Excerpt, MemoryId
from memory.store.records import Values, key, moment, most
from memory.store.shared import Part
from memory.store.values import Claim, Failure, Waiting

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.schema.space import Vectors


class Queue(Part):
    """
    Chunks that wait for a vector in the active generation, who embeds them at the moment, and the first windows of chunks
    that have too many to be embedded at once. Those answer no search: a chunk has the vectors of all its windows, or none.
    They go with the chunk, with the generation, and when `VectorIndex.set_vectors` gives the chunk its vectors.

    None of it needs to survive a power cut: what is lost is done again.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def queued(self) -> int:
        """How many chunks are in the queue."""
        return self._db.ask(lambda db: int(db.value("select count(*) from embed_queue")), once="queued")

    def claim(
        self,
        limit: int,
        tried_before: datetime | None = None,
        *,
        now: datetime,
        until: datetime,
        by: str,
        of: Sequence[MemoryId] | None = None,
    ) -> Sequence[Excerpt]:
        """
        Chunks in the queue that nobody claims `now`, those with the fewest failures first, of these the lowest id. They
        are claimed `until` then, so that two who backfill do not both embed them; a vector or `release` ends a claim.

        Args:
            tried_before: Leaves out those that failed at this moment or later; None takes only those never tried.
            by: Who claims them, as `claims` says it again.
            of: Only chunks of these memories.
        """
        with self._db.write(durable=False, lock=None) as db:
            due: str = "attempts = 0"
            values: Values = []
            if tried_before is not None:
                due, values = "(attempts = 0 or tried_at < ?)", [iso(tried_before)]
            if of is not None:
                due += f" and chunk_id in (select id from chunks where memory_id {db.IN})"
                values.append(db.ids(of))
            rows = db.rows(
                f"""select chunk_id from embed_queue where {due} and (claimed_until is null or claimed_until <= ?)
                    order by attempts, chunk_id limit ? {db.UNCLAIMED}""",
                (*values, iso(now), limit),
            )
            ids = [ChunkId(id) for (id,) in rows]
            claimed = f"update embed_queue set claimed_until = ?, claimed_by = ? where chunk_id {db.IN}"
            db.change(claimed, (iso(until), by, db.ids(ids)))
            found = {excerpt.id: excerpt for excerpt in db.excerpts(ids)}
            return [found[id] for id in ids if id in found]

    def claims(self, now: datetime) -> Sequence[Claim]:
        """What is claimed `now`: a line for each holder, in their order; the nameless one, of a former version, first."""
        with self._db.read() as db:
            rows = db.rows(
                """select coalesce(claimed_by, '') as holder, chunk_id, claimed_until from embed_queue
                   where claimed_until > ? order by holder, chunk_id""",
                (iso(now),),
            )
            claims = []
            for holder, own in groupby(rows, itemgetter(0)):
                _, ids, untils = zip(*own, strict=True)
                claims.append(Claim(holder, ids, moment(max(untils))))
            return claims

    def release(self, ids: Sequence[ChunkId], failure: Failure | None = None) -> None:
        """Give up the claims of queued chunks, and note on each that embedding it failed, if it did; others are skipped."""
        with self._db.write(durable=False) as db:
            noted = "" if failure is None else "attempts = attempts + 1, last_error = ?, tried_at = ?,"
            values = () if failure is None else (failure.error, iso(failure.moment))
            db.change(
                f"update embed_queue set {noted} claimed_until = null, claimed_by = null where chunk_id {db.IN}",
                (*values, db.ids(ids)),
            )

    def waiting(self, ids: Sequence[MemoryId] | None = None, *, limit: int | None = None) -> Sequence[Waiting]:
        """
        Memories with a chunk in the queue, the latest failure first, of those at one moment the lowest id.

        Args:
            ids: Only these; None takes those whose embedding failed.
        """
        with self._db.read() as db:
            queued = f"chunks c {db.JOIN} embed_queue q on q.chunk_id = c.id where c.memory_id"
            failed = f"""in (select f.memory_id from embed_queue t {db.JOIN} chunks f on f.id = t.chunk_id
                             where t.tried_at is not null)"""
            among, values = (failed, ()) if ids is None else (db.IN, (db.ids(ids),))
            rows = db.rows(
                f"""select c.memory_id, count(*), count(q.tried_at), max(q.tried_at) as latest from {queued} {among}
                    group by c.memory_id order by latest desc nulls last, c.memory_id limit ?""",
                (*values, most(limit)),
            )
            latest_last = f"""select c.memory_id, q.last_error from {queued} {db.IN}
                              order by q.tried_at nulls first, q.chunk_id"""
            errors: dict[int, str] = dict(db.rows(latest_last, (db.ids(id for id, *_ in rows),)))
            return [
                Waiting(MemoryId(id), chunks, failures, errors[id], None if at is None else moment(at))
                for id, chunks, failures, at in rows
            ]

    def begun(self, generation: int, chunk: ChunkId, stamp: int) -> Vectors | None:
        """
        The vectors that are there so far of a chunk that is not embedded to its end, shape (windows, dimension), in their order; None if that is nothing.

        Args:
            stamp: Of the text that is embedded: what is there of another does not count.
        """
        with self._db.read() as db:
            rows = db.rows(
                f"""select b.embeddings, g.dimension from begun b {db.JOIN} generations g on g.id = b.generation
                    where b.chunk_id = ? and b.generation = ? and b.stamp = ? order by b.first""",
                (key(chunk), key(generation), stamp),
            )
            if not rows:
                return None
            import numpy as np

            joined: Vectors = np.frombuffer(b"".join([blob for blob, _ in rows]), "<f4").reshape(-1, rows[0][1])
            return joined

    def add_begun(self, generation: int, chunk: ChunkId, stamp: int, vectors: Vectors, *, first: int) -> bool:
        """
        Keep the vectors of further windows. What is there of another text goes.

        Args:
            first: Number of the first window, from 0.

        Returns:
            Whether they are kept: not if the generation or the chunk is gone, or if `first` is not how many are there,
            for then somebody else goes on with it.
        """
        with self._db.write(durable=False) as db:
            place = (key(chunk), key(generation))
            db.change("delete from begun where chunk_id = ? and generation = ? and stamp <> ?", (*place, stamp))
            there = db.value("select sum(windows) from begun where chunk_id = ? and generation = ?", place) or 0
            added = """insert into begun (chunk_id, generation, first, stamp, windows, embeddings)
                       select c.id, g.id, ?, ?, ?, ? from chunks c cross join generations g where c.id = ? and g.id = ?"""
            windows = (first, stamp, len(vectors), vectors.astype("<f4").tobytes())
            return there == first and db.changed(added, (*windows, *place)) > 0

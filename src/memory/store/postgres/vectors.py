"""The vectors of chunks, and nearest neighbours inside a scope: exactly, and by an index where there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.query import EVERYTHING
from memory.store import State
from memory.store.nearness import against
from memory.store.postgres import chunks, generations, nearest, strangers
from memory.store.postgres.database import Database, Part, many, one, pipelined, reading, writing
from memory.store.postgres.generations import need
from memory.store.postgres.opening import Embedding
from memory.store.postgres.queue import forget_begun
from memory.store.postgres.rows import BROAD, excerpts, few_members, keys, read_vectors, where

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.schema.answer import Ranking
    from memory.schema.memory import ChunkId, Excerpt, MemoryId
    from memory.schema.query import Scope
    from memory.schema.space import Plain, Vectors, Window
    from memory.store.nearness import Comparison
    from memory.store.postgres.opening import Db


class PostgresVectors(Part):
    """See `memory.store.vectors.VectorIndex`."""

    def __init__(self, database: Database, *, exact: bool) -> None:
        super().__init__(database)
        self._exact = exact

    @reading
    def pending(self, db: Db, generation: int, after: ChunkId, limit: int) -> Sequence[Excerpt]:
        need(db, generation)
        # Asked of one chunk after the other: the server takes nearly all for having a vector, and would read all every time.
        rows = many(
            db,
            f"""select c.id from (select id, memory_id from chunks where id > %s order by id offset 0) c
                where (select not m.keyword_only from memories m where m.id = c.memory_id)
                and (select true from vectors_{generation} v where v.chunk_id = c.id limit 1) is null
                order by c.id limit {int(limit)}""",
            (after,),
        )
        return sorted(excerpts(db, "c.id = any(%s)", (keys(id for (id,) in rows),)), key=lambda one: one.id)

    @writing(durable=False)  # lost vectors can be made again
    def set_vectors(self, db: Db, generation: int, vectors: Vectors | None, windows: Sequence[Window]) -> int:
        if (into := chunks.target(db, generation)) is None:
            return 0
        rows = many(
            db,
            f"""select c.id, c.memory_id, exists (select 1 from vectors_{generation} v where v.chunk_id = c.id)
                from chunks c join memories m on m.id = c.memory_id where c.id = any(%s) and not m.keyword_only""",
            (keys({window.chunk for window in windows}),),
        )
        owners = {id: owner for id, owner, _ in rows}
        if any(there for *_, there in rows):
            chunks.forget(db, generation, owners)
            into = chunks.target(db, generation) or into
        if vectors is None:
            if into.state is State.ACTIVE:
                generations.renew(db, generation)
            return 0
        with pipelined(db):  # waits for nothing
            forget_begun(db, generation, owners)
            chunks.add(db, into, vectors, [window for window in windows if window.chunk in owners], owners)
            if into.state is State.ACTIVE:
                db.execute("delete from embed_queue where chunk_id = any(%s)", (list(owners),))
        return len(owners)

    def set_strangers(self, generation: int, vectors: Vectors | None, *, right: float = 0.0, stamp: int = 0) -> bool:
        # Several transactions: to compare a million vectors takes seconds, for which nobody should wait with the lock.
        if vectors is not None and self.strangers(generation) is not None:  # these serve until the new ones are known
            return self._switch(generation, self._whole(generation, against(vectors)), right=right, stamp=stamp)
        comparison = self._begin(generation, vectors, right, stamp)
        return comparison is not None and self._end(generation, self._whole(generation, comparison))

    def _whole(self, generation: int, comparison: Comparison) -> Comparison:
        """A comparison at its end."""
        while (further := self._compared(generation, comparison)) is not None:
            comparison = further
        return comparison

    @writing(durable=False)
    def _switch(self, db: Db, generation: int, done: Comparison, *, right: float, stamp: int) -> bool:
        if not generations.there(db, generation):
            return False
        strangers.keep(db, generation, done.strangers, right, stamp)
        return strangers.meet_anew(db, generation, chunks.total(db, generation)[0], done)

    @writing(durable=False)  # lost, they are embedded again
    def _begin(self, db: Db, generation: int, vectors: Vectors | None, right: float, stamp: int) -> Comparison | None:
        if not generations.there(db, generation):
            return None
        if vectors is not None:
            strangers.keep(db, generation, vectors, right, stamp)
        return strangers.begun(db, generation)

    @reading
    def _compared(self, db: Db, generation: int, comparison: Comparison) -> Comparison | None:
        return strangers.compared(db, generation, comparison) if generations.there(db, generation) else None

    @writing(durable=False)
    def _end(self, db: Db, generation: int, comparison: Comparison) -> bool:
        if not generations.there(db, generation):
            return False
        return strangers.ended(db, generation, comparison, chunks.total(db, generation)[0])

    @reading
    def strangers(self, db: Db, generation: int) -> Vectors | None:
        known = any(one.id == generation and one.strangers is not None for one in generations.every(db))
        return strangers.embeddings(db, generation) if known else None

    @reading
    def by_vector(self, db: Db, generation: int, vector: Vectors | Plain, scope: Scope, k: int) -> Ranking:
        dimension, there = nearest.described(db, generation)
        condition, values = where(scope)
        inside = f"exists (select from memories m where m.id = v.memory_id and {condition})"
        wanted = nearest.Wanted(generation, Embedding(vector), "true" if scope == EVERYTHING else inside, values)
        members = None if scope in BROAD else few_members(self._db, scope, nearest.FEW)
        if members is not None:
            wanted = wanted._replace(condition="v.memory_id = any(%s)", values=[members])
        if there and not self._exact and members is None:
            return nearest.by_index(db, wanted, dimension, k)
        return nearest.exactly(db, wanted, k)

    @reading
    def memory_similarities(self, db: Db, generation: int, vector: Vectors, scope: Scope) -> Mapping[MemoryId, float]:
        need(db, generation)
        condition, values = where(scope)
        rows = many(
            db,
            f"""select v.memory_id, 1 - min(v.embedding <=> %s)
                from vectors_{generation} v join memories m on m.id = v.memory_id
                where {condition} group by v.memory_id""",
            (Embedding(vector), *values),
        )
        return dict(rows)

    @reading
    def cosines(
        self,
        db: Db,
        generation: int,
        vector: Vectors | Plain,
        ids: Sequence[ChunkId],
        *,
        other: Vectors | Plain | None = None,
        shown: Vectors | Plain | None = None,
    ) -> Mapping[ChunkId, tuple[float, float, float]]:
        need(db, generation)
        queries = [Embedding(vector if one is None else one) for one in (other, shown, vector)]
        rows = many(
            db,
            f"""select distinct on (chunk_id) chunk_id, 1 - distance, 1 - (embedding <=> %s), 1 - nearest from (
                    select chunk_id, embedding, min(embedding <=> %s) over (partition by chunk_id) as nearest,
                        embedding <=> %s as distance
                    from vectors_{generation} where chunk_id = any(%s)
                ) compared order by chunk_id, distance""",
            (*queries, keys(ids)),
        )
        return {id: (cosine, with_other, with_shown) for id, cosine, with_other, with_shown in rows}

    @reading
    def heads(self, db: Db, generation: int, after: MemoryId, limit: int) -> tuple[Sequence[MemoryId], Vectors]:
        dimension, _ = nearest.described(db, generation)
        found = many(
            db,
            f"""select c.memory_id, vector_send(v.embedding) from chunks c
                join vectors_{generation} v on v.chunk_id = c.id and v.place = 0
                where c.chunk_index = 0 and c.memory_id > %s order by c.memory_id limit %s""",
            (after, limit),
        )
        return [id for id, _ in found], read_vectors([sent for _, sent in found], dimension)

    def unsigned(self) -> bool:
        return not self._exact and self._db.ask(nearest.due) is not None  # two statements need no snapshot for this

    def sign(self, going: Callable[[], bool] = lambda: True) -> bool:
        if not going():
            return False
        with self._db.alone() as db:
            generations.sweep(db)
            return not self._exact and nearest.sign(db)

    @reading
    def signed(self, db: Db, generation: int) -> int:
        if self._exact or not nearest.indexed(db, generation):
            return 0
        return int(one(db, "select vectors from generations where id = %s", (generation,)))

    @reading
    def centre(self, db: Db, generation: int) -> tuple[Plain, int]:
        need(db, generation)
        return chunks.total(db, generation)

"""The vectors of chunks, and nearest neighbours inside a scope: exactly, and by an index where there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.query import EVERYTHING, Scope
from memory.store import State
from memory.store.generations import need, renew
from memory.store.postgres import chunks, generations, nearest
from memory.store.postgres.opening import HalfVector
from memory.store.postgres.rows import BROAD, excerpts, few_members, keys, read_vectors, where
from memory.store.vectors import VectorIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.schema.answer import Ranking
    from memory.schema.memory import ChunkId, Excerpt, MemoryId
    from memory.schema.space import Plain, Vectors, Window
    from memory.store.postgres.database import ServerPool


class PostgresVectors(VectorIndex):
    """See `memory.store.vectors.VectorIndex`."""

    _db: ServerPool

    def __init__(self, database: ServerPool, *, exact: bool) -> None:
        super().__init__(database)
        self._exact = exact

    def pending(self, generation: int, after: ChunkId, limit: int) -> Sequence[Excerpt]:
        with self._db.read() as db:
            need(db, generation)
            # Asked of one chunk after the other: the server takes nearly all for having a vector, and would read all every time.
            rows = db.rows(
                f"""select c.id from (select id, memory_id from chunks where id > %s order by id offset 0) c
                    where (select not m.keyword_only from memories m where m.id = c.memory_id)
                    and (select true from vectors_{generation} v where v.chunk_id = c.id limit 1) is null
                    order by c.id limit {int(limit)}""",
                (after,),
            )
            return sorted(excerpts(db, "c.id = any(%s)", (keys(id for (id,) in rows),)), key=lambda one: one.id)

    def set_vectors(self, generation: int, vectors: Vectors | None, windows: Sequence[Window]) -> int:
        with self._db.write(durable=False) as db:  # lost vectors can be made again
            if (into := chunks.target(db, generation)) is None:
                return 0
            rows = db.rows(
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
                    renew(db, generation)
                return 0
            with db.pipelined():  # waits for nothing
                db.execute("delete from begun where generation = %s and chunk_id = any(%s)", (generation, list(owners)))
                chunks.add(db, into, vectors, [window for window in windows if window.chunk in owners], owners)
                if into.state is State.ACTIVE:
                    db.execute("delete from embed_queue where chunk_id = any(%s)", (list(owners),))
            return len(owners)

    def by_vector(self, generation: int, vector: Vectors | Plain, scope: Scope, k: int) -> Ranking:
        with self._db.read() as db:
            dimension, there = nearest.described(db, generation)
            condition, values = where(scope)
            inside = f"exists (select from memories m where m.id = v.memory_id and {condition})"
            wanted = nearest.NearestQuery(
                generation, HalfVector(vector), "true" if scope == EVERYTHING else inside, values
            )
            members = None if scope in BROAD else few_members(self._db, scope, nearest.FEW)
            if members is not None:
                wanted = wanted._replace(condition="v.memory_id = any(%s)", values=[members])
            if there and not self._exact and members is None:
                return nearest.by_index(db, wanted, dimension, k)
            return nearest.exactly(db, wanted, k)

    def memory_similarities(self, generation: int, vector: Vectors, scope: Scope) -> Mapping[MemoryId, float]:
        with self._db.read() as db:
            need(db, generation)
            condition, values = where(scope)
            rows = db.rows(
                f"""select v.memory_id, 1 - min(v.embedding <=> %s)
                    from vectors_{generation} v join memories m on m.id = v.memory_id
                    where {condition} group by v.memory_id""",
                (HalfVector(vector), *values),
            )
            return dict(rows)

    def cosines(
        self,
        generation: int,
        vector: Vectors | Plain,
        ids: Sequence[ChunkId],
        *,
        other: Vectors | Plain | None = None,
        shown: Vectors | Plain | None = None,
    ) -> Mapping[ChunkId, tuple[float, float, float]]:
        with self._db.read() as db:
            need(db, generation)
            queries = [HalfVector(vector if one is None else one) for one in (other, shown, vector)]
            rows = db.rows(
                f"""select distinct on (chunk_id) chunk_id, 1 - distance, 1 - (embedding <=> %s), 1 - nearest from (
                        select chunk_id, embedding, min(embedding <=> %s) over (partition by chunk_id) as nearest,
                            embedding <=> %s as distance
                        from vectors_{generation} where chunk_id = any(%s)
                    ) compared order by chunk_id, distance""",
                (*queries, keys(ids)),
            )
            return {id: (cosine, with_other, with_shown) for id, cosine, with_other, with_shown in rows}

    def heads(self, generation: int, after: MemoryId, limit: int) -> tuple[Sequence[MemoryId], Vectors]:
        with self._db.read() as db:
            dimension, _ = nearest.described(db, generation)
            found = db.rows(
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

    def signed(self, generation: int) -> int:
        with self._db.read() as db:
            if self._exact or not nearest.indexed(db, generation):
                return 0
            return int(db.value("select vectors from generations where id = %s", (generation,)))

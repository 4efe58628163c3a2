"""The vectors of chunks, and nearest neighbours inside a scope: exactly, and by an index where there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Ranking
from memory.schema.query import EVERYTHING
from memory.store.postgres import generations, strangers
from memory.store.postgres.database import Database, Part, many, one, reading, writing
from memory.store.postgres.generations import gone, need
from memory.store.postgres.opening import INDEXING, Embedding
from memory.store.postgres.queue import forget_begun
from memory.store.postgres.rows import excerpts, keys, read_vectors, where
from memory.store.records import key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.schema.memory import ChunkId, Excerpt, MemoryId
    from memory.schema.query import Scope
    from memory.schema.space import Plain, Vectors, Window
    from memory.store.nearness import Comparison
    from memory.store.postgres.opening import Db
    from memory.store.postgres.scopes import Scopes
    from memory.store.records import Row, Values


FROM = 20_000
"""Vectors from which on an index pays. A narrow scope is compared exactly even if there is one."""

WIDEST = 4000
"""Dimensions of the widest vectors that pgvector indexes, in 16 bits a number."""

MOST_MEMORY = 2_000_000
"""kB that the server may take while it makes an index."""

MORE = 40
"""Windows that are looked at beyond as many as are asked for: the index has them in 16 bits, and in order of these."""


class PostgresVectors(Part):
    """See `memory.store.vectors.VectorIndex`."""

    def __init__(self, database: Database, scopes: Scopes, *, exact: bool) -> None:
        super().__init__(database)
        self._scopes = scopes
        self._exact = exact

    @reading
    def pending(self, db: Db, generation: int, after: ChunkId, limit: int) -> Sequence[Excerpt]:
        need(db, generation)
        return excerpts(
            db,
            f"""c.id > %s and not m.keyword_only
                and not exists (select 1 from vectors_{generation} v where v.chunk_id = c.id)
                order by c.id limit %s""",
            (after, limit),
        )

    @writing(durable=False)  # lost vectors can be made again
    def set_vectors(self, db: Db, generation: int, vectors: Vectors | None, windows: Sequence[Window]) -> int:
        if not generations.there(db, generation):
            return 0
        rows = many(
            db,
            """select c.id from chunks c join memories m on m.id = c.memory_id
               where c.id = any(%s) and not m.keyword_only""",
            (keys({window.chunk for window in windows}),),
        )
        alive = {id for (id,) in rows}
        generations.forget(db, generation, alive)
        if vectors is None:
            if generation == generations.active(db):
                generations.renew(db, generation)
            return 0
        forget_begun(db, generation, alive)
        generations.add(db, generation, vectors, [window for window in windows if window.chunk in alive])
        if generation == generations.active(db):
            db.execute("delete from embed_queue where chunk_id = any(%s)", (list(alive),))
        return len(alive)

    def set_strangers(self, generation: int, vectors: Vectors | None, *, right: float = 0.0, stamp: int = 0) -> bool:
        # Several transactions: to compare a million vectors takes seconds, for which nobody should wait.
        if (comparison := self._begin(generation, vectors, right, stamp)) is None:
            return False
        while (more := self._compared(generation, comparison)) is not None:
            comparison = more
        return self._end(generation, comparison)

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
        return strangers.ended(db, generation, comparison, generations.total(db, generation)[0])

    @reading
    def strangers(self, db: Db, generation: int) -> Vectors | None:
        return strangers.embeddings(db, generation)

    @reading
    def by_vector(self, db: Db, generation: int, vector: Vectors | Plain, scope: Scope, k: int) -> Ranking:
        dimension, there = _described(db, generation)
        condition, values = where(scope)
        if (members := self._scopes.members(db, scope)) is not None:
            condition, values = "v.memory_id = any(%s)", [members]
        elif scope != EVERYTHING:
            condition = f"exists (select 1 from memories m where m.id = v.memory_id and {condition})"
        wanted = _Wanted(generation, Embedding(vector), condition, values)
        if there and not self._exact and members is None:
            return _by_index(db, wanted, dimension, k)
        return _ranking(_exactly(db, wanted, k))

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
        dimension, _ = _described(db, generation)
        found = many(
            db,
            f"""select c.memory_id, vector_send(v.embedding) from chunks c
                join vectors_{generation} v on v.chunk_id = c.id and v.place = 0
                where c.chunk_index = 0 and c.memory_id > %s order by c.memory_id limit %s""",
            (after, limit),
        )
        return [id for id, _ in found], read_vectors([sent for _, sent in found], dimension)

    @reading
    def unsigned(self, db: Db) -> bool:
        return not self._exact and _unindexed(db) is not None

    def sign(self, going: Callable[[], bool] = lambda: True) -> bool:
        with self._db.alone() as db:
            if self._exact or not going() or (generation := _unindexed(db)) is None:
                return False
            lock = (INDEXING, generation)
            if not one(db, "select pg_try_advisory_lock(%s::integer, %s::integer)", lock):
                return False
            try:
                _index(db, generation)
            finally:
                one(db, "select pg_advisory_unlock(%s::integer, %s::integer)", lock)
        return True

    @reading
    def signed(self, db: Db, generation: int) -> int:
        if self._exact or not indexed(db, generation):
            return 0
        return int(one(db, "select vectors from generations where id = %s", (generation,)))

    @reading
    def centre(self, db: Db, generation: int) -> tuple[Plain, int]:
        need(db, generation)
        return generations.total(db, generation)


# The index of a large generation ----------------------------------------------


def _name(generation: int) -> str:
    return f"vectors_{generation}_nearest"


def indexed(db: Db, generation: int) -> bool:
    """Whether an index of its vectors is there and whole."""
    whole = "select 1 from pg_index where indexrelid = to_regclass(%s) and indisvalid"
    return one(db, whole, (_name(generation),)) is not None


def _unindexed(db: Db) -> int | None:
    """The active generation, if an index of its vectors would pay and there is none."""
    rows = many(
        db,
        "select id from generations where state = 'active' and vectors >= %s and dimension <= %s",
        (FROM, WIDEST),
    )
    return next((id for (id,) in rows if not indexed(db, id)), None)


def _index(db: Db, generation: int) -> None:
    """Make the index, while others read and write."""
    [(dimension, count)] = many(db, "select dimension, vectors from generations where id = %s", (generation,))
    # Beyond its memory the server builds many times slower: 2 bytes a number, and some 500 for the neighbours.
    needed = min(MOST_MEMORY, count * (2 * dimension + 500) // 1024 + 65_536)
    db.execute("select set_config('maintenance_work_mem', %s, false)", (f"{needed}kB",))
    db.execute(f"drop index concurrently if exists {_name(generation)}")  # one that was begun and not ended
    db.execute(
        f"""create index concurrently {_name(generation)} on vectors_{generation}
            using hnsw ((embedding::halfvec({dimension})) halfvec_cosine_ops) with (m = 16, ef_construction = 200)"""
    )
    db.execute("reset maintenance_work_mem")


def _described(db: Db, generation: int) -> tuple[int, bool]:
    """The dimension of a generation, and whether there is an index of its vectors."""
    described = """select g.dimension, i.indexrelid is not null from generations g
        left join pg_index i on i.indexrelid = to_regclass(%s) and i.indisvalid where g.id = %s"""
    if not (rows := many(db, described, (_name(generation), key(generation)))):
        raise gone(generation)
    dimension, there = rows[0]
    return dimension, there


class _Wanted(NamedTuple):
    """What is most similar to a vector among the vectors v of a generation that meet a condition."""

    generation: int
    vector: Embedding
    condition: str
    values: Values


def _exactly(db: Db, wanted: _Wanted, k: int) -> list[Row]:
    return many(
        db,
        f"""select v.chunk_id, v.memory_id, 1 - min(v.embedding <=> %s) as cosine from vectors_{wanted.generation} v
            where {wanted.condition} group by v.chunk_id, v.memory_id order by cosine desc, v.chunk_id limit %s""",
        [wanted.vector, *wanted.values, k],
    )


def _by_index(db: Db, wanted: _Wanted, dimension: int, k: int) -> Ranking:
    """The most similar by the index, then compared exactly; more of them until k chunks are found, or there are no more."""
    near = f"(v.embedding::halfvec({dimension})) <=> %s::halfvec({dimension})"
    windows = k + MORE
    while True:
        rows = many(
            db,
            f"""select chunk_id, memory_id, 1 - min(distance) as cosine, sum(count(*)) over ()::bigint from (
                    select v.chunk_id, v.memory_id, v.embedding <=> %s as distance
                    from vectors_{wanted.generation} v where {wanted.condition} order by {near} limit %s
                ) found group by chunk_id, memory_id order by cosine desc, chunk_id limit %s""",
            (wanted.vector, *wanted.values, wanted.vector, windows, k),
        )
        if len(rows) == k or not rows or rows[0][3] < windows:
            return _ranking([row[:3] for row in rows])
        windows *= 4


def _ranking(rows: Sequence[Row]) -> Ranking:
    if not rows:
        return Ranking()
    chunks, memories, cosines = zip(*rows, strict=True)
    return Ranking(chunks, memories, cosines, cosines=cosines)

"""The vectors of chunks, their tables, and nearest neighbours in a scope: exactly, and by an index where there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Ranking
from memory.schema.query import EVERYTHING, Scope
from memory.store import State
from memory.store.generations import gone, need, open_generation, renew
from memory.store.postgres.memories import add_vectors, forget_vectors
from memory.store.postgres.opening import INDEXING, SCHEMA, HalfVector
from memory.store.postgres.rows import BROAD, excerpts, few_members, keys, read_vectors, where
from memory.store.records import Row, Values, key
from memory.store.vectors import VectorIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.schema.memory import ChunkId, Excerpt, MemoryId
    from memory.schema.space import Plain, Vectors, Window
    from memory.store.postgres.database import ServerPool
    from memory.store.postgres.rows import Db

_TABLE = """
drop table if exists vectors_{id};
create table vectors_{id} (
    id        bigint generated always as identity primary key,
    chunk_id  bigint not null references chunks on delete cascade,
    memory_id bigint not null,
    place     bigint not null,
    embedding vector({dimension}) not null,
    unique (chunk_id, place)
);
create index vectors_{id}_by_memory on vectors_{id} (memory_id)
"""

WIDEST_INLINE = 1900
"""Vectors of more numbers do not fit into their rows, and are kept beside them."""


def table(db: Db, id: int, dimension: int) -> None:
    """Make the table of a generation's vectors."""
    for statement in _TABLE.format(id=id, dimension=dimension).split(";"):  # a pipeline takes one at a time
        db.execute(statement)
    if dimension <= WIDEST_INLINE:
        db.execute(f"alter table vectors_{id} alter column embedding set storage plain")


_LEFT = """
select substring(c.relname from 9) from pg_class c
where c.relkind = 'r' and c.relnamespace = to_regnamespace(%s) and c.relname ~ '^vectors_[0-9]+$'
and not exists (select from generations g where 'vectors_' || g.id = c.relname)
"""

_DROP = """
do $$ begin
    lock table chunks, vectors_{id} in access exclusive mode {waiting};
    drop table vectors_{id};
exception when lock_not_available or undefined_table then null;
end $$
"""


def sweep(db: Db, *, patient: bool = False) -> None:
    """
    Drop the tables of deleted index versions, unless a reader holds them or `chunks`: waiting for that lock would block
    every other query. Tables that are left are dropped with the next deleted index version, by `memory doctor --fix`, and
    by `wipe`.

    Args:
        patient: Wait for readers, as long as for any lock.
    """
    for (id,) in db.rows(_LEFT, (SCHEMA,)):
        db.execute(_DROP.format(id=id, waiting="" if patient else "nowait"))


def missing(db: Db) -> list[int]:
    """Generations that have no table of vectors."""
    return [
        id for (id,) in db.rows("select id from generations where to_regclass('vectors_' || id) is null order by id")
    ]


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
            if (into := open_generation(db, generation)) is None:
                return 0
            rows = db.rows(
                f"""select c.id, c.memory_id, exists (select 1 from vectors_{generation} v where v.chunk_id = c.id)
                    from chunks c join memories m on m.id = c.memory_id where c.id = any(%s) and not m.keyword_only""",
                (keys({window.chunk for window in windows}),),
            )
            owners = {id: owner for id, owner, _ in rows}
            if any(there for *_, there in rows):
                forget_vectors(db, generation, owners)
                into = open_generation(db, generation) or into
            if vectors is None:
                if into.state is State.ACTIVE:
                    renew(db, generation)
                return 0
            with db.pipelined():  # waits for nothing
                db.execute("delete from begun where generation = %s and chunk_id = any(%s)", (generation, list(owners)))
                add_vectors(db, into, vectors, [window for window in windows if window.chunk in owners], owners)
                if into.state is State.ACTIVE:
                    db.execute("delete from embed_queue where chunk_id = any(%s)", (list(owners),))
            return len(owners)

    def by_vector(self, generation: int, vector: Vectors | Plain, scope: Scope, k: int) -> Ranking:
        with self._db.read() as db:
            dimension, there, each = described(db, generation)
            condition, values = where(scope)
            inside = f"exists (select from memories m where m.id = v.memory_id and {condition})"
            wanted = NearestQuery(generation, HalfVector(vector), "true" if scope == EVERYTHING else inside, values)
            members = None if scope in BROAD else few_members(self._db, scope, FEW)
            if members is not None:
                wanted = wanted._replace(condition="v.memory_id = any(%s)", values=[members])
            if there and not self._exact and members is None:
                return by_index(db, wanted, dimension, k, round(k * each) + MORE)
            return exactly(db, wanted, k)

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
            dimension, _, _ = described(db, generation)
            found = db.rows(
                f"""select c.memory_id, vector_send(v.embedding) from chunks c
                    join vectors_{generation} v on v.chunk_id = c.id and v.place = 0
                    where c.chunk_index = 0 and c.memory_id > %s order by c.memory_id limit %s""",
                (after, limit),
            )
            return [id for id, _ in found], read_vectors([sent for _, sent in found], dimension)

    def unsigned(self) -> bool:
        return not self._exact and self._db.ask(due) is not None  # two statements need no snapshot for this

    def sign(self, going: Callable[[], bool] = lambda: True) -> bool:
        if not going():
            return False
        with self._db.alone() as db:
            sweep(db)
            return not self._exact and sign(db)

    def signed(self, generation: int) -> int:
        with self._db.read() as db:
            if self._exact or not indexed(db, generation):
                return 0
            return int(db.value("select vectors from generations where id = %s", (generation,)))


FROM = 20_000
"""Vectors from which on an index pays. A narrow scope is compared exactly even if there is one."""

WIDEST = 4000
"""Dimensions of the widest vectors that pgvector indexes, in 16 bits a number."""

MOST_MEMORY = 2_000_000
"""kB that the server may take while it makes an index."""

MORE = 10
"""Windows that are looked at beyond those that k chunks have on average: the index has them in 16 bits, in order of these."""

FEW = 5_000
"""Memories of a scope whose vectors are all compared: by the index most of what it meets would be out of scope."""


def _name(generation: int) -> str:
    return f"vectors_{generation}_nearest"


def indexed(db: Db, generation: int) -> bool:
    """Whether an index of its vectors is there and whole."""
    whole = "select 1 from pg_index where indexrelid = to_regclass(%s) and indisvalid"
    return db.value(whole, (_name(generation),)) is not None


def due(db: Db) -> int | None:
    """The active generation, if an index of its vectors would pay and there is none."""
    rows = db.rows(
        "select id from generations where state = 'active' and vectors >= %s and dimension <= %s",
        (FROM, WIDEST),
    )
    return next((id for (id,) in rows if not indexed(db, id)), None)


def sign(db: Db) -> bool:
    """
    Make the index where it would pay, while others read and write; whether it was made.

    Args:
        db: See `Database.alone`.
    """
    if (generation := due(db)) is None:
        return False
    lock = (INDEXING, generation)
    if not db.value("select pg_try_advisory_lock(%s::integer, %s::integer)", lock):
        return False
    try:
        [(dimension, count)] = db.rows("select dimension, vectors from generations where id = %s", (generation,))
        # Beyond its memory the server builds many times slower: 2 bytes a number, and some 500 for the neighbours.
        needed = min(MOST_MEMORY, count * (2 * dimension + 500) // 1024 + 65_536)
        db.execute("select set_config('maintenance_work_mem', %s, false)", (f"{needed}kB",))
        db.execute(f"drop index concurrently if exists {_name(generation)}")  # one that was begun and not ended
        db.execute(
            f"""create index concurrently {_name(generation)} on vectors_{generation}
                using hnsw ((embedding::halfvec({dimension})) halfvec_cosine_ops)"""
        )
        db.execute("reset maintenance_work_mem")
        # Else it is taken for true of every second vector, and of new memories hardly any for active, so that all vectors
        # were compared instead: after a move, that is, for the minute until the server has looked by itself.
        for table in (f"vectors_{generation}", "memories"):
            db.execute(f"analyze {table}")
    finally:
        db.value("select pg_advisory_unlock(%s::integer, %s::integer)", lock)
    return True


def described(db: Db, generation: int) -> tuple[int, bool, float]:
    """The dimension of a generation, whether there is an index of its vectors, and how many a chunk has on average."""
    described = """select g.dimension, i.indexrelid is not null,
            g.vectors::float8 / greatest(1, (select value from counters where name = 'chunks')) from generations g
        left join pg_index i on i.indexrelid = to_regclass(%s) and i.indisvalid where g.id = %s"""
    if not (rows := db.rows(described, (_name(generation), key(generation)))):
        raise gone(generation)
    dimension, there, each = rows[0]
    return dimension, there, max(1.0, each)


class NearestQuery(NamedTuple):
    """What is most similar to a vector among the vectors v of a generation that meet a condition."""

    generation: int
    vector: HalfVector
    condition: str
    values: Values


def exactly(db: Db, wanted: NearestQuery, k: int) -> Ranking:
    rows = db.rows(
        f"""select v.chunk_id, v.memory_id, 1 - min(v.embedding <=> %s) as cosine from vectors_{wanted.generation} v
            where {wanted.condition} group by v.chunk_id, v.memory_id order by cosine desc, v.chunk_id desc limit %s""",
        [wanted.vector, *wanted.values, k],
    )
    return _ranking(rows)


def by_index(db: Db, wanted: NearestQuery, dimension: int, k: int, windows: int) -> Ranking:
    """So many of the most similar by the index, then compared exactly; more until they are of k chunks, or there are no more."""
    while True:
        rows = db.rows(
            f"""select chunk_id, memory_id, 1 - min(distance) as cosine, sum(count(*)) over ()::bigint from (
                    select v.chunk_id, v.memory_id, v.embedding <=> %s as distance from vectors_{wanted.generation} v
                    where {wanted.condition}
                    order by (v.embedding::halfvec({dimension})) <=> %s::halfvec({dimension}) limit {windows}
                ) found group by chunk_id, memory_id order by cosine desc, chunk_id desc limit {k}""",
            (wanted.vector, *wanted.values, wanted.vector),
        )
        if len(rows) == k or not rows or rows[0][3] < windows:
            return _ranking([row[:3] for row in rows])
        windows *= 4


def _ranking(rows: Sequence[Row]) -> Ranking:
    if not rows:
        return Ranking()
    chunks, memories, cosines = zip(*rows, strict=True)
    return Ranking(chunks, memories, cosines, cosines=cosines)

"""The nearest vectors of a generation: exactly, and by an index where there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Ranking
from memory.store.generations import gone
from memory.store.postgres.opening import INDEXING, HalfVector
from memory.store.records import Row, Values, key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.store.postgres.rows import Db

FROM = 20_000
"""Vectors from which on an index pays. A narrow scope is compared exactly even if there is one."""

WIDEST = 4000
"""Dimensions of the widest vectors that pgvector indexes, in 16 bits a number."""

MOST_MEMORY = 2_000_000
"""kB that the server may take while it makes an index."""

MORE = 40
"""Windows that are looked at beyond as many as are asked for: the index has them in 16 bits, and in order of these."""

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


def described(db: Db, generation: int) -> tuple[int, bool]:
    """The dimension of a generation, and whether there is an index of its vectors."""
    described = """select g.dimension, i.indexrelid is not null from generations g
        left join pg_index i on i.indexrelid = to_regclass(%s) and i.indisvalid where g.id = %s"""
    if not (rows := db.rows(described, (_name(generation), key(generation)))):
        raise gone(generation)
    dimension, there = rows[0]
    return dimension, there


class NearestQuery(NamedTuple):
    """What is most similar to a vector among the vectors v of a generation that meet a condition."""

    generation: int
    vector: HalfVector
    condition: str
    values: Values


def exactly(db: Db, wanted: NearestQuery, k: int) -> Ranking:
    rows = db.rows(
        f"""select v.chunk_id, v.memory_id, 1 - min(v.embedding <=> %s) as cosine from vectors_{wanted.generation} v
            where {wanted.condition} group by v.chunk_id, v.memory_id order by cosine desc, v.chunk_id limit %s""",
        [wanted.vector, *wanted.values, k],
    )
    return _ranking(rows)


def by_index(db: Db, wanted: NearestQuery, dimension: int, k: int) -> Ranking:
    """The most similar by the index, then compared exactly; more of them until k chunks are found, or there are no more."""
    windows = k + MORE
    while True:
        rows = db.rows(
            f"""select chunk_id, memory_id, 1 - min(distance) as cosine, sum(count(*)) over ()::bigint from (
                    select v.chunk_id, v.memory_id, v.embedding <=> %s as distance from vectors_{wanted.generation} v
                    where {wanted.condition}
                    order by (v.embedding::halfvec({dimension})) <=> %s::halfvec({dimension}) limit {windows}
                ) found group by chunk_id, memory_id order by cosine desc, chunk_id limit {k}""",
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

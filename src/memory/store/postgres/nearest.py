"""The nearest vectors of a generation: exactly, and by an index where there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Ranking
from memory.store.postgres.database import many, one
from memory.store.postgres.opening import INDEXING, Embedding
from memory.store.postgres.translate import gone
from memory.store.records import key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.store.postgres.opening import Db
    from memory.store.records import Row, Values

FROM = 20_000
"""Vectors from which on an index pays. A narrow scope is compared exactly even if there is one."""

WIDEST = 4000
"""Dimensions of the widest vectors that pgvector indexes, in 16 bits a number."""

MOST_MEMORY = 2_000_000
"""kB that the server may take while it makes an index."""

MORE = 40
"""Windows that are looked at beyond as many as are asked for: the index has them in 16 bits, and in order of these."""

COMPARED, LEAST_COMPARED = 5, 400
"""
So many times as many as are asked for, and at least so many, are compared exactly where signatures choose them: they have
.99 of the ten nearest and, of sums of texts' vectors and of texts' own, .88 and .98 of the hundred nearest (trial runs).
"""

FRESH = 500
"""
Vectors that may be there beside the index, to be compared by themselves: to put one into it takes some milliseconds, for which
whoever saves would keep all other writers waiting. From then on it does, until a program that stays has put them into it.
"""

SETTLED, AT_ONCE = 100, 50
"""So many of them are worth putting into the index; and so many at a time, for which nobody waits but who removes them."""


def _name(generation: int) -> str:
    return f"vectors_{generation}_nearest"


def indexed(db: Db, generation: int) -> bool:
    """Whether an index of its vectors is there and whole."""
    whole = "select 1 from pg_index where indexrelid = to_regclass(%s) and indisvalid"
    return one(db, whole, (_name(generation),)) is not None


def fresh(db: Db, generation: int) -> int:
    """How many vectors are not in the index yet."""
    return int(one(db, f"select count(*) from vectors_{generation} where fresh"))


def due(db: Db) -> tuple[int, bool] | None:
    """
    The active generation, if an index of its vectors would pay and there is none (True), or if so many are not in it that they
    should be put into it (False).
    """
    rows = many(
        db,
        """select g.id, g.vectors >= %s and g.dimension <= %s, i.indexrelid is not null from generations g
           left join pg_index i on i.indexrelid = to_regclass('vectors_' || g.id || '_nearest') and i.indisvalid
           where g.state = 'active'""",
        (FROM, WIDEST),
    )
    for id, pays, there in rows:
        if fresh(db, id) >= SETTLED if there else pays:
            return id, not there
    return None


def sign(db: Db, going: Callable[[], bool]) -> bool:
    """
    Make the index where it would pay, or put into it what is not yet, while others read and write; whether all is done.

    Args:
        db: See `Database.alone`.
    """
    if (found := due(db)) is None:
        return False
    generation, whole = found
    lock = (INDEXING, generation)
    if not one(db, "select pg_try_advisory_lock(%s::integer, %s::integer)", lock):
        return False
    try:
        return _make(db, generation) if whole else _settle(db, generation, going)
    finally:
        one(db, "select pg_advisory_unlock(%s::integer, %s::integer)", lock)


def _make(db: Db, generation: int) -> bool:
    [(dimension, count)] = many(db, "select dimension, vectors from generations where id = %s", (generation,))
    # Beyond its memory the server builds many times slower: 2 bytes a number, and some 500 for the neighbours.
    needed = min(MOST_MEMORY, count * (2 * dimension + 500) // 1024 + 65_536)
    db.execute("select set_config('maintenance_work_mem', %s, false)", (f"{needed}kB",))
    db.execute(f"drop index concurrently if exists {_name(generation)}")  # one that was begun and not ended
    db.execute(
        f"""create index concurrently {_name(generation)} on vectors_{generation}
            using hnsw ((embedding::halfvec({dimension})) halfvec_cosine_ops) where not fresh"""
    )
    db.execute("reset maintenance_work_mem")
    # Else it is taken for true of every second vector, and of new memories hardly any for active, so that all vectors were
    # compared instead: after a move, that is, for the minute until the server has looked by itself.
    # And of new rows none for visible to all, so that signatures would not be read from their index alone.
    for table in (f"vectors_{generation}", "memories"):
        db.execute(f"vacuum (index_cleanup off, analyze) {table}")
    return True


def _settle(db: Db, generation: int, going: Callable[[], bool]) -> bool:
    some = f"select id from vectors_{generation} where fresh order by id limit {AT_ONCE} for update skip locked"
    while going():
        if not db.execute(f"update vectors_{generation} set fresh = false where id in ({some})").rowcount:
            return True
    return False


def described(db: Db, generation: int) -> tuple[int, bool]:
    """The dimension of a generation, and whether there is an index of its vectors."""
    described = """select g.dimension, i.indexrelid is not null from generations g
        left join pg_index i on i.indexrelid = to_regclass(%s) and i.indisvalid where g.id = %s"""
    if not (rows := many(db, described, (_name(generation), key(generation)))):
        raise gone(generation)
    dimension, there = rows[0]
    return dimension, there


class Wanted(NamedTuple):
    """What is most similar to a vector among the vectors v of a generation that meet a condition."""

    generation: int
    vector: Embedding
    condition: str
    values: Values


def exactly(db: Db, wanted: Wanted, k: int) -> Ranking:
    rows = many(
        db,
        f"""select v.chunk_id, v.memory_id, 1 - min(v.embedding <=> %s) as cosine from vectors_{wanted.generation} v
            where {wanted.condition} group by v.chunk_id, v.memory_id order by cosine desc, v.chunk_id limit %s""",
        [wanted.vector, *wanted.values, k],
    )
    return _ranking(rows)


def by_signature(db: Db, wanted: Wanted, dimension: int, k: int, memories: int) -> Ranking:
    """
    The most similar of those whose signs are most alike, compared exactly. All are compared if these are not of k chunks,
    and where there are so few memories.

    An index has the signatures of a scope: of most rows nothing else is read.
    """
    compared = max(LEAST_COMPARED, COMPARED * k)
    if memories > compared:
        # In a subquery, so that it is made once and not for each row.
        alike = f"""select v.chunk_id from vectors_{wanted.generation} v where {wanted.condition}
                    order by v.signature <~> (select binary_quantize(%s)::bit({dimension})) limit {compared}"""
        near = wanted._replace(condition=f"v.chunk_id = any(array({alike}))", values=[*wanted.values, wanted.vector])
        if len(found := exactly(db, near, k)) == k:
            return found
    return exactly(db, wanted, k)


def by_index(db: Db, wanted: Wanted, dimension: int, k: int) -> Ranking:
    """
    The most similar by the index, and what is not in it yet, then compared exactly; more of them until k chunks are found, or
    there are no more.
    """
    near = f"(v.embedding::halfvec({dimension})) <=> %s::halfvec({dimension})"
    compared = f"""select v.chunk_id, v.memory_id, v.embedding <=> %s as distance
                   from vectors_{wanted.generation} v where {wanted.condition}"""
    windows = k + MORE
    while True:
        rows = many(
            db,
            f"""select chunk_id, memory_id, 1 - min(distance) as cosine, sum(count(*)) over ()::bigint from (
                    ({compared} and not v.fresh order by {near} limit {windows}) union all ({compared} and v.fresh)
                ) found group by chunk_id, memory_id order by cosine desc, chunk_id limit {k}""",
            (wanted.vector, *wanted.values, wanted.vector, wanted.vector, *wanted.values),
        )
        if len(rows) == k or not rows or rows[0][3] < windows:
            return _ranking([row[:3] for row in rows])
        windows *= 4


def _ranking(rows: Sequence[Row]) -> Ranking:
    if not rows:
        return Ranking()
    chunks, memories, cosines = zip(*rows, strict=True)
    return Ranking(chunks, memories, cosines, cosines=cosines)

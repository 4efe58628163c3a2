"""The vector retriever: generations, their tables, and exact nearest neighbours inside a scope."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from memory.schema.answer import Scored
from memory.schema.errors import NotFound
from memory.schema.query import EVERYTHING
from memory.store import Generation, State
from memory.store.sqlite import queue
from memory.store.sqlite.begun import forget_begun
from memory.store.sqlite.rows import broad, key, listed, where, within
from memory.store.sqlite.unlearn import forget as forget_term_vectors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import apsw

    from memory.schema.answer import Ranking
    from memory.schema.memory import ChunkId, MemoryId
    from memory.schema.query import Scope
    from memory.schema.space import Space, Vectors, Window
    from memory.store.sqlite.matrix import Matrix
    from memory.store.sqlite.rows import Row

SLACK = 20  # chunks ranked beyond k in a broad scope, for the few that it leaves out

# An ordinary table: it cascades with its chunks and takes any k, which a vec0 table does not.
_TABLE = """
create table vectors_{id} (
    chunk_id  integer not null references chunks on delete cascade,
    window    integer not null,
    embedding blob not null check (length(embedding) = 4 * {dimension}),
    unique (chunk_id, window)
) strict
"""


def generations(db: apsw.Connection) -> list[Generation]:
    from memory.schema.space import Space

    rows = db.execute("select id, provider, model, recipe, dimension, state from generations order by id")
    return [Generation(id, Space(*space), State(state)) for id, *space, state in rows]


def embedded_count(db: apsw.Connection, generation: int) -> int:
    """See `Store.embedded_count`."""
    if not there(db, generation):
        return 0
    count: int = db.execute(f"select count(distinct chunk_id) from vectors_{generation}").get
    return count


def there(db: apsw.Connection, generation: int) -> bool:
    return db.execute("select 1 from generations where id = ?", (key(generation),)).get is not None


def need(db: apsw.Connection, generation: int) -> None:
    """
    Raises:
        NotFound: The generation is gone, perhaps since the caller was told of it.
    """
    if not there(db, generation):
        raise NotFound(f"no generation {generation} of vectors", hint="Another process may have reindexed. Try again.")


def living(db: apsw.Connection, space: Space) -> int | None:
    """The id of the active, else of the building generation of a space."""
    found: int | None = db.execute(
        """select id from generations where state <> 'retired'
           and (provider, model, recipe, dimension) = (?, ?, ?, ?)
           order by state = 'active' desc limit 1""",
        (space.provider, space.model, space.recipe, space.dimension),
    ).get
    return found


def active(db: apsw.Connection) -> int | None:
    found: int | None = db.execute("select id from generations where state = 'active'").get
    return found


def building(db: apsw.Connection) -> int | None:
    found: int | None = db.execute("select id from generations where state = 'building'").get
    return found


def begin(db: apsw.Connection, space: Space, now: str) -> int:
    """See `Store.begin`."""
    if (found := living(db, space)) is not None:
        return found
    state = State.BUILDING if active(db) else State.ACTIVE
    if (unfinished := building(db)) is not None:
        drop(db, unfinished)
    if (retired := _revived(db, space, state)) is not None:
        return retired
    id: int = db.execute(
        """insert into generations (provider, model, recipe, dimension, state, total, created_at)
           values (?, ?, ?, ?, ?, zeroblob(?), ?) returning id""",
        (*space, state, 8 * space.dimension, now),
    ).get
    table(db, id, space.dimension)
    return id


def table(db: apsw.Connection, id: int, dimension: int) -> None:
    """Make the table of a generation's vectors."""
    db.execute(_TABLE.format(id=id, dimension=dimension))


def _revived(db: apsw.Connection, space: Space, state: State) -> int | None:
    """The latest of the retired generations of a space, put into a state; None if there is none."""
    id: int | None = db.execute(
        """update generations set state = ? where id = (
               select max(id) from generations
               where state = 'retired' and (provider, model, recipe, dimension) = (?, ?, ?, ?)
           ) returning id""",
        (state, *space),
    ).get
    if id is not None and state is State.ACTIVE:
        queue.renew(db, id)
    return id


def drop(db: apsw.Connection, id: int) -> None:
    if db.execute("delete from generations where id = ? and state <> 'active' returning 1", (key(id),)).get:
        db.execute(f"drop table vectors_{id}")


def activate(db: apsw.Connection, id: int, instead_of: int | None, former: State) -> bool:
    """See `Store.activate`."""
    need(db, id)
    if (before := active(db)) != instead_of:
        return False
    if before == id:
        return True
    if former is State.BUILDING and (unfinished := building(db)) not in {None, id}:
        drop(db, unfinished)
    # One after the other: at no moment may two be active, or two being built.
    for one, state in ((before, State.RETIRED), (id, State.ACTIVE), (before, former)):
        db.execute("update generations set state = ? where id = ?", (state, one))
    db.execute("delete from embed_queue")  # the failures were those of the former model
    queue.renew(db, id)
    return True


def fingerprint(db: apsw.Connection, generation: int) -> Vectors | None:
    """See `Store.fingerprint`."""
    need(db, generation)
    found: bytes | None = db.execute("select fingerprint from generations where id = ?", (generation,)).get
    if found is None:
        return None
    import numpy as np

    return np.frombuffer(found, dtype="<f4")


def mark(db: apsw.Connection, generation: int, fingerprint: Vectors) -> None:
    """See `Store.mark`."""
    db.execute(
        "update generations set fingerprint = ? where id = ? and fingerprint is null",
        (fingerprint.astype("<f4").tobytes(), key(generation)),
    )


def clear(db: apsw.Connection, generation: int, ids: Collection[int] | None) -> None:
    """See `Store.clear`."""
    need(db, generation)
    if ids is not None:
        forget(db, generation, ids)
    else:
        db.execute(f"delete from vectors_{generation}")
        forget_begun(db, generation)
        forget_term_vectors(db, generation)
        db.execute(
            """update generations set total = zeroblob(8 * dimension), vectors = 0, changes = changes + 1,
                   fingerprint = null where id = ?""",
            (generation,),
        )
    if generation == active(db):
        queue.renew(db, generation)


def set_vectors(db: apsw.Connection, generation: int, vectors: Vectors, windows: Sequence[Window]) -> int:
    """See `Store.set_vectors`."""
    if not there(db, generation):
        return 0
    named = listed({window.chunk for window in windows})
    rows = db.execute(
        """select c.id from chunks c cross join memories m on m.id = c.memory_id
           where c.id in (select value from json_each(?)) and m.keyword_only = 0""",
        (named,),
    )
    alive = {int(id) for (id,) in rows}
    forget(db, generation, alive)
    forget_begun(db, generation, alive)
    add(db, generation, vectors, [window for window in windows if window.chunk in alive])
    if generation == active(db):
        db.execute("delete from embed_queue where chunk_id in (select value from json_each(?))", (listed(alive),))
    return len(alive)


def add(db: apsw.Connection, generation: int, vectors: Vectors, windows: Sequence[Window]) -> None:
    """Write vectors of chunks that are there and have none in the generation."""
    import numpy as np

    db.executemany(
        f"insert into vectors_{generation} (chunk_id, window, embedding) values (?, ?, ?)",
        [(window.chunk, window.window, vectors[window.row].tobytes()) for window in windows],
    )
    _add(db, generation, vectors[[window.row for window in windows]].sum(axis=0, dtype=np.float64), len(windows))


def forget(db: apsw.Connection, generation: int, ids: Collection[int]) -> None:
    """Take away the vectors of chunks, also from the generation's total."""
    gone: list[bytes] = [
        embedding
        for (embedding,) in db.execute(
            f"delete from vectors_{generation} where chunk_id in (select value from json_each(?)) returning embedding",
            (listed(ids),),
        )
    ]
    if gone:
        import numpy as np

        removed = np.frombuffer(b"".join(gone), dtype=np.float32).reshape(len(gone), -1)
        _add(db, generation, -removed.sum(axis=0, dtype=np.float64), -len(gone))


def forget_memory(db: apsw.Connection, memory: int) -> None:
    """Take the vectors of a memory out of every generation, before its chunks cascade."""
    ids: list[int] = [id for (id,) in db.execute("select id from chunks where memory_id = ?", (memory,))]
    for generation in generations(db):
        forget(db, generation.id, ids)


def _add(db: apsw.Connection, generation: int, change: Vectors, count: int) -> None:
    before, vectors = total(db, generation)
    new = (before + change).astype("<f8").tobytes()
    db.execute(
        "update generations set total = ?, vectors = ?, changes = changes + 1 where id = ?",
        (new, vectors + count, generation),
    )


def total(db: apsw.Connection, generation: int) -> tuple[Vectors, int]:
    """The sum of a generation's vectors and how many there are, as they are kept up to date."""
    import numpy as np

    summed, vectors = db.execute("select total, vectors from generations where id = ?", (generation,)).get
    return np.frombuffer(summed, dtype="<f8"), vectors


def by_vector(
    db: apsw.Connection, generation: int, vector: Vectors, scope: Scope, k: int, *, matrix: Matrix
) -> Ranking:
    """See `Store.by_vector`."""
    need(db, generation)
    query = vector.tobytes()
    count, narrowed = (k + SLACK, None) if broad(scope) else (k, scope)
    among = matrix.most_similar(db, generation, vector, count, scope=narrowed)
    if narrowed is None or among is not None:
        ranking, exhausted = _ranked_then_filtered(db, generation, query, scope, count, among=among)
        if exhausted or len(ranking) >= k:
            return ranking[:k]
    condition, values = where(scope)
    rows = db.execute(
        f"""select v.chunk_id, c.memory_id, 1 - min(vec_distance_cosine(v.embedding, ?)) as cosine
            from memories m
            cross join chunks c on c.memory_id = m.id
            cross join vectors_{generation} v on v.chunk_id = c.id
            where {condition}
            group by v.chunk_id order by cosine desc, v.chunk_id limit ?""",
        (query, *values, k),
    )
    return _ranking(rows)


def _ranked_then_filtered(
    db: apsw.Connection, generation: int, query: bytes, scope: Scope, k: int, *, among: Sequence[int] | None
) -> tuple[Ranking, bool]:
    """
    The k most similar of all chunks, less those out of scope; and whether there were no more than k.

    Args:
        among: Chunks that are known to hold the k most similar; None looks at all.
    """
    condition, values = where(scope)
    named = [] if among is None else [listed(among)]
    rows = db.execute(
        f"""select v.chunk_id, v.cosine, c.memory_id, {condition}
            from (
                select chunk_id, 1 - min(vec_distance_cosine(embedding, ?)) as cosine
                from vectors_{generation}
                {"where chunk_id in (select value from json_each(?))" if named else ""}
                group by chunk_id order by cosine desc, chunk_id limit ?
            ) v
            cross join chunks c on c.id = v.chunk_id
            cross join memories m on m.id = c.memory_id
            order by v.cosine desc, v.chunk_id""",
        (*values, query, *named, k),
    ).fetchall()
    return _ranking((id, memory, cosine) for id, cosine, memory, inside in rows if inside), len(rows) < k


def _ranking(rows: Iterable[Row]) -> Ranking:
    return tuple(Scored(id, memory, cosine, cosine=cosine) for id, memory, cosine in rows)


def memory_similarities(
    db: apsw.Connection, generation: int, vector: Vectors, scope: Scope, *, matrix: Matrix
) -> Mapping[MemoryId, float]:
    """See `Store.memory_similarities`."""
    need(db, generation)
    exactly = scope.among is not None and scope == EVERYTHING._replace(among=scope.among)
    ids = list(scope.among or ()) if exactly else within(db, scope) or []
    found = matrix.memory_similarities(db, generation, vector, ids)
    if found is None:
        rows: Iterable[Row] = db.execute(
            f"""select c.memory_id, 1 - min(vec_distance_cosine(v.embedding, ?))
                from json_each(?) wanted
                cross join chunks c on c.memory_id = wanted.value
                cross join vectors_{generation} v on v.chunk_id = c.id
                group by c.memory_id""",
            (vector.tobytes(), listed(ids)),
        )
        found = dict(rows)
    return cast("dict[MemoryId, float]", found)


def cosines(
    db: apsw.Connection, generation: int, vector: Vectors, other: Vectors, ids: Sequence[ChunkId]
) -> Mapping[ChunkId, tuple[float, float]]:
    """See `Store.cosines`."""
    need(db, generation)
    rows: Iterable[Row] = db.execute(
        # With one min(), SQLite takes the bare columns from the row that has it.
        f"""select chunk_id, 1 - min(vec_distance_cosine(embedding, ?)), 1 - vec_distance_cosine(embedding, ?)
            from vectors_{generation} where chunk_id in (select value from json_each(?)) group by chunk_id""",
        (vector.tobytes(), other.tobytes(), listed(ids)),
    )
    return {id: (cosine, with_other) for id, cosine, with_other in rows}


def centre(db: apsw.Connection, generation: int) -> tuple[Vectors, int]:
    """See `Store.centre`."""
    need(db, generation)
    return total(db, generation)

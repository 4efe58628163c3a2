"""Generations of vectors: which one answers, their tables, and the queue of what has no vector in it."""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING, TypeAlias

from memory.schema.errors import NotFound, iso
from memory.store import Generation, Size, State
from memory.store.records import key
from memory.store.sqlite import lexicons, removals, strangers
from memory.store.sqlite.database import Part, reading, writing
from memory.store.sqlite.rows import listed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    import apsw
    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.space import Embedded, Plain, Space, Vectors, Window

    Sums: TypeAlias = NDArray[np.float64]

# Ordinary tables: they cascade with their chunks and take any k, which a vec0 table does not. Two rows of 384 numbers leave
# a quarter of a page empty, so that a block has the embeddings of three: it fills a page, and a ninth of another.
_TABLES = """
create table if not exists vector_rows_{id} (
    row      integer primary key,                     -- in the order in which they were written
    chunk_id integer not null references chunks on delete cascade,
    window   integer not null,
    unique (chunk_id, window)
) strict;

-- Before the blocks: `integrity_check` leaves free pages out where a view is the last of all tables.
create view if not exists vectors_{id} as
select r.row, r.chunk_id, r.window, substr(b.embeddings, r.row % 3 * {bytes} + 1, {bytes}) as embedding
from vector_rows_{id} r
cross join vector_blocks_{id} b on b.block = r.row / 3;

create table if not exists vector_blocks_{id} (
    block      integer primary key,                   -- of the rows 3 * block and the two behind it
    embeddings blob not null check (length(embeddings) = 3 * {bytes})  -- zeros where there is no row
) strict;

create trigger if not exists vector_{id}_added instead of insert on vectors_{id} begin
    insert into vector_rows_{id} (row, chunk_id, window) values (new.row, new.chunk_id, new.window);
    insert into vector_blocks_{id} (block, embeddings)
    select row / 3, zeroblob(3 * {bytes}) from vector_rows_{id} where chunk_id = new.chunk_id and window = new.window
    on conflict do nothing;
    update vectors_{id} set embedding = new.embedding where chunk_id = new.chunk_id and window = new.window;
end;

create trigger if not exists vector_{id}_changed instead of update of embedding on vectors_{id} begin
    update vector_blocks_{id}
    set embeddings = cast(
        substr(embeddings, 1, old.row % 3 * {bytes}) || new.embedding || substr(embeddings, (old.row % 3 + 1) * {bytes} + 1)
        as blob
    )
    where block = old.row / 3;
end;

create trigger if not exists vector_{id}_removed instead of delete on vectors_{id} begin
    delete from vector_rows_{id} where row = old.row;
end;

-- Also where a chunk goes by itself: no vector outlives it.
create trigger if not exists vector_{id}_gone after delete on vector_rows_{id} begin
    delete from vector_blocks_{id} where block = old.row / 3
    and not exists (select 1 from vector_rows_{id} where row between old.row / 3 * 3 and old.row / 3 * 3 + 2);
    update vector_blocks_{id}
    set embeddings = cast(
        substr(embeddings, 1, old.row % 3 * {bytes}) || zeroblob({bytes}) || substr(embeddings, (old.row % 3 + 1) * {bytes} + 1)
        as blob
    )
    where block = old.row / 3;
end;
"""

LARGEST = 1.001
"""No number of a vector of length 1 is larger, nor its negative."""


class SqliteGenerations(Part):
    """See `memory.store.vectors.Generations`."""

    @reading
    def every(self, db: apsw.Connection) -> Sequence[Generation]:
        return list(self._db.remembered.once(db, "generations", lambda: every(db)))

    @writing()
    def begin(self, db: apsw.Connection, space: Space, moment: datetime, *, alone: bool = False) -> Generation:
        if alone:
            for old in every(db):
                if old.state is State.RETIRED and old.space != space:
                    drop(db, old.id)
        id = begin(db, space, iso(moment))
        return next(found for found in every(db) if found.id == id)

    @writing()
    def activate(
        self, db: apsw.Connection, generation: int, *, instead_of: int | None, former: State = State.RETIRED
    ) -> bool:
        need(db, generation)
        if (before := active(db)) != instead_of:
            return False
        if before == generation:
            return True
        if former is State.BUILDING and (unfinished := active(db, State.BUILDING)) not in {None, generation}:
            drop(db, unfinished)
        # One after the other: at no moment may two be active, or two being built.
        for id, state in ((before, State.RETIRED), (generation, State.ACTIVE), (before, former)):
            db.execute("update generations set state = ? where id = ?", (state, id))
        db.execute("delete from embed_queue")  # the failures were those of the former model
        renew(db, generation)
        return True

    @reading
    def size(self, db: apsw.Connection, generation: int) -> Size:
        if not there(db, generation):
            return Size(0, 0)
        chunks = db.execute(f"select count(distinct chunk_id) from vectors_{generation}").get
        terms = db.execute("select terms from lexicons where generation = ?", (generation,)).get
        return Size(chunks, terms or 0)

    @writing(durable=False)
    def mark(self, db: apsw.Connection, generation: int, fingerprint: bytes, *, instead_of: bytes = b"") -> None:
        marked = db.execute(
            "update generations set fingerprint = ? where id = ? and ifnull(fingerprint, x'') = ? returning 1",
            (fingerprint, key(generation), instead_of),
        ).get
        if marked and instead_of:
            _empty(db, generation)


def every(db: apsw.Connection) -> list[Generation]:
    from memory.schema.space import Space

    rows = db.execute("select id, provider, model, recipe, dimension, state, fingerprint from generations order by id")
    known = strangers.read(db)
    return [Generation(id, Space(*space), State(state), sign or b"", known.get(id)) for id, *space, state, sign in rows]


def there(db: apsw.Connection, generation: int) -> bool:
    return db.execute("select 1 from generations where id = ?", (key(generation),)).get is not None


def need(db: apsw.Connection, generation: int) -> None:
    """
    Raises:
        NotFound: The generation is gone, perhaps since the caller was told of it.
    """
    if not there(db, generation):
        raise gone(generation)


def gone(generation: int) -> NotFound:
    """What is raised of a generation that is not there any more."""
    return NotFound(f"no generation {generation} of vectors", hint="Another process may have reindexed. Try again.")


def living(db: apsw.Connection, space: Space) -> int | None:
    """The id of the active, else of the building generation of a space."""
    own = _by_state(db, space)
    return own.get(State.ACTIVE, own.get(State.BUILDING))


def _by_state(db: apsw.Connection, space: Space) -> dict[State, int]:
    """The id of the latest generation of a space in each state."""
    return {one.state: one.id for one in every(db) if one.space == space}


def active(db: apsw.Connection, state: State = State.ACTIVE) -> int | None:
    """The id of the generation that answers, or of the one that is in another state of which there is one."""
    found: int | None = db.execute(f"select id from generations where state = '{state}'").get
    return found


def begin(db: apsw.Connection, space: Space, now: str) -> int:
    """See `Generations.begin`."""
    if (found := living(db, space)) is not None:
        return found
    state = State.BUILDING if active(db) else State.ACTIVE
    if (unfinished := active(db, State.BUILDING)) is not None:
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
    """Make the tables of a generation's vectors, as far as they are not there."""
    db.execute(_TABLES.format(id=id, bytes=4 * dimension))


def has_table(db: apsw.Connection, id: int) -> bool:
    """Whether the tables of a generation's vectors are there, with their view and its triggers."""
    parts = re.findall(r"if not exists (\w+)", _TABLES.format(id=id, bytes=0))
    return {name for (name,) in db.execute("select name from sqlite_schema")}.issuperset(parts)


def lone(id: int) -> dict[str, str]:
    """Which rows of a generation's tables, by their names, make no vector: rows without a block, blocks without a row."""
    return {
        f"vector_rows_{id}": f"row < 0 or row / 3 not in (select block from vector_blocks_{id})",
        f"vector_blocks_{id}": f"not exists (select 1 from vector_rows_{id} where row between 3 * block and 3 * block + 2)",
    }


def mend(db: apsw.Connection, id: int, dimension: int) -> None:
    """Make what is missing of the tables of a generation's vectors, and take away what makes no vector."""
    table(db, id, dimension)
    db.execute(f"drop trigger vector_{id}_gone")  # it would write beside the block of a row below 0
    for name, condition in lone(id).items():
        db.execute(f"delete from {name} where {condition}")
    table(db, id, dimension)


def drop_table(db: apsw.Connection, id: int) -> None:
    """Take away the tables of the vectors of a generation that is gone."""
    db.execute(
        f"drop view if exists vectors_{id}; drop table if exists vector_blocks_{id}; drop table if exists vector_rows_{id}"
    )


def _revived(db: apsw.Connection, space: Space, state: State) -> int | None:
    """The latest of the retired generations of a space, put into a state; None if there is none."""
    if (id := _by_state(db, space).get(State.RETIRED)) is None:
        return None
    db.execute("update generations set state = ? where id = ?", (state, id))
    if state is State.ACTIVE:
        renew(db, id)
    return id


def drop(db: apsw.Connection, id: int) -> None:
    if db.execute("delete from generations where id = ? and state <> 'active' returning 1", (key(id),)).get:
        drop_table(db, id)


def add(db: apsw.Connection, generation: int, vectors: Vectors, windows: Sequence[Window]) -> None:
    """Write vectors of chunks that are there and have none in the generation."""
    import numpy as np

    db.executemany(
        f"insert into vectors_{generation} (chunk_id, window, embedding) values (?, ?, ?)",
        [(window.chunk, window.window, vectors[window.row].tobytes()) for window in windows],
    )
    lexicons.teach(db, generation, {window.chunk for window in windows})
    added = vectors[[window.row for window in windows]]
    _add(db, generation, added.sum(axis=0, dtype=np.float64), len(windows))
    strangers.met(db, generation, added)


def add_new(db: apsw.Connection, ids: Sequence[int], embedded: Embedded, now: str) -> set[int]:
    """Add the vectors of new chunks, if their space lives; those that have one in the active generation now."""
    answering, generation = active(db), living(db, embedded.space)
    if generation is None and not every(db):
        generation = answering = begin(db, embedded.space, now)
    if generation is None:
        return set()  # the store is in another space
    windows = [window._replace(chunk=ids[window.chunk]) for window in embedded.windows]
    add(db, generation, embedded.vectors, windows)
    return {window.chunk for window in windows} if generation == answering else set()


def forget(db: apsw.Connection, generation: int, ids: Collection[int]) -> None:
    """Take away the vectors of chunks, also from the generation's total, and their rows that lost their blocks."""
    named, chunks = "where chunk_id in (select value from json_each(?))", (listed(ids),)
    gone: list[bytes] = [one for (one,) in db.execute(f"select embedding from vectors_{generation} {named}", chunks)]
    lost: set[int] = {
        chunk for (chunk,) in db.execute(f"delete from vector_rows_{generation} {named} returning chunk_id", chunks)
    }
    if lost:
        removals.note(db, generation, lost)
        lexicons.forget_chunks(db, generation, ids)
    if gone:
        import numpy as np

        removed = np.frombuffer(b"".join(gone), dtype=np.float32).reshape(len(gone), -1)
        whole = (np.abs(removed) <= LARGEST).all(axis=1)  # damaged numbers are none that were added
        _add(db, generation, -removed[whole].sum(axis=0, dtype=np.float64), -len(gone))
        strangers.missed(db, generation, removed)


def forget_memory(db: apsw.Connection, memory: int) -> None:
    """Take the vectors of a memory out of every generation, before its chunks cascade."""
    ids: list[int] = [id for (id,) in db.execute("select id from chunks where memory_id = ?", (memory,))]
    for generation in every(db):
        forget(db, generation.id, ids)


def _add(db: apsw.Connection, generation: int, change: Sums, count: int) -> None:
    before, vectors = total(db, generation)
    new = (change + before).astype("<f8").tobytes()
    db.execute(
        "update generations set total = ?, vectors = ?, changes = changes + 1 where id = ?",
        (new, vectors + count, generation),
    )


def total(db: apsw.Connection, generation: int) -> tuple[Plain, int]:
    """
    The sum of a generation's vectors and how many there are, as they are kept up to date.

    A sum of another length is damaged and counts as zero, so that memories are saved and found; the doctor makes it anew.
    """
    stored = db.execute("select total, vectors, dimension from generations where id = ?", (generation,)).get
    summed, vectors, dimension = stored
    return array("d", summed if len(summed) == 8 * dimension else bytes(8 * dimension)), vectors


def _empty(db: apsw.Connection, generation: int) -> None:
    """Take away all that the model of a generation made."""
    db.execute(f"delete from vector_blocks_{generation}; delete from vector_rows_{generation}")
    removals.note_all(db, generation)
    strangers.forget(db, generation)
    db.execute("delete from begun where generation = ?", (generation,))
    lexicons.forget_terms(db, generation)
    lexicons.forget_terms(db, -generation)
    db.execute(
        "update generations set total = zeroblob(8 * dimension), vectors = 0, changes = changes + 1 where id = ?",
        (generation,),
    )
    if generation == active(db):
        renew(db, generation)


KEYWORD_ONLY = "select id from chunks where memory_id in (select id from memories where keyword_only = 1)"
"""Chunks that are never to be embedded."""


def renew(db: apsw.Connection, active: int | None) -> None:
    """
    Queue the chunks that have no vector in the active generation, and no others; failures that hold stay noted. Chunks
    that are never embedded are not queued.
    """
    db.execute(f"delete from embed_queue where chunk_id not in (select id from chunks) or chunk_id in ({KEYWORD_ONLY})")
    missing = f"insert or ignore into embed_queue (chunk_id) select id from chunks where id not in ({KEYWORD_ONLY})"
    if active is None:
        db.execute(missing)
        return
    db.execute(f"delete from embed_queue where chunk_id in (select chunk_id from vectors_{active})")
    db.execute(f"{missing} and id not in (select chunk_id from vectors_{active})")

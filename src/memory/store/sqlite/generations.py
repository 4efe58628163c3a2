"""Generations of vectors: which one answers, their tables, and the queue of what has no vector in it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from memory.schema.errors import NotFound, iso
from memory.store import WEIGHTS, Generation, Size, State
from memory.store.sqlite.database import Part, reading, writing
from memory.store.sqlite.rows import Row, key, listed, packed
from memory.text.lookup import stems

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Sequence
    from datetime import datetime

    import apsw
    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.space import Embedded, Space, Vectors, Window

    Sums: TypeAlias = NDArray[np.float64]

# An ordinary table: it cascades with its chunks and takes any k, which a vec0 table does not.
_TABLE = """
create table vectors_{id} (
    chunk_id  integer not null references chunks on delete cascade,
    window    integer not null,
    embedding blob not null check (length(embedding) = 4 * {dimension}),
    unique (chunk_id, window)
) strict
"""


class SqliteGenerations(Part):
    """See `memory.store.vectors.Generations`."""

    @reading
    def every(self, db: apsw.Connection) -> Sequence[Generation]:
        return every(db)

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
        return Size(chunks, db.execute("select count(*) from lexicon_terms where generation = ?", (generation,)).get)

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
    return [Generation(id, Space(*space), State(state), sign or b"") for id, *space, state, sign in rows]


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
    """Make the table of a generation's vectors."""
    db.execute(_TABLE.format(id=id, dimension=dimension))


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
        db.execute(f"drop table vectors_{id}")


def add(db: apsw.Connection, generation: int, vectors: Vectors, windows: Sequence[Window]) -> None:
    """Write vectors of chunks that are there and have none in the generation."""
    import numpy as np

    db.executemany(
        f"insert into vectors_{generation} (chunk_id, window, embedding) values (?, ?, ?)",
        [(window.chunk, window.window, vectors[window.row].tobytes()) for window in windows],
    )
    _add(db, generation, vectors[[window.row for window in windows]].sum(axis=0, dtype=np.float64), len(windows))


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
    for generation in every(db):
        forget(db, generation.id, ids)


def _add(db: apsw.Connection, generation: int, change: Sums, count: int) -> None:
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


def _empty(db: apsw.Connection, generation: int) -> None:
    """Take away all that the model of a generation made."""
    db.execute(f"delete from vectors_{generation}")
    db.execute("delete from begun where generation = ?", (generation,))
    forget_terms(db, generation)
    db.execute(
        "update generations set total = zeroblob(8 * dimension), vectors = 0, changes = changes + 1 where id = ?",
        (generation,),
    )
    if generation == active(db):
        renew(db, generation)


def forget_begun(db: apsw.Connection, generation: int, ids: Collection[int]) -> None:
    """Take away what is there of some chunks."""
    db.execute(
        "delete from begun where generation = ? and chunk_id in (select value from json_each(?))",
        (generation, listed(ids)),
    )


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


# Term vectors go with the texts that held the terms ---------------------------

_INDEXED = ", ".join(WEIGHTS)

_REMOVE = """
    delete from lexicon_terms
    where generation in (select generation from lexicons) and term in (select value from json_each(?))
"""

# Of words that no chunk holds the terms that hold them: alone, as the first of two, as the second. '!' follows ' '.
_VANISHED = """
    with gone as materialized (
        select w.value as word from json_each(?) w
        where not exists (select 1 from occurrences o where o.term = w.value)
    )
    select t.term from gone cross join lexicons l
    cross join lexicon_terms t on t.generation = l.generation and t.term = word
    union
    select t.term from gone cross join lexicons l
    cross join lexicon_terms t on t.generation = l.generation and t.term > word || ' ' and t.term < word || '!'
    union
    select t.term from gone cross join lexicons l
    cross join lexicon_terms t on t.generation = l.generation
        and substr(t.term, instr(t.term, ' ') + 1) = word and instr(t.term, ' ') > 0
"""


@contextmanager
def unlearning(db: apsw.Connection, memories: Sequence[int]) -> Generator[None]:
    """Around whatever removes chunks of memories; see `TermVectors`."""
    if db.execute("select max(generation) from lexicons").get is None:
        yield
        return
    words = _unlearn(db, memories)
    yield
    rows: Iterable[Row] = db.execute(_VANISHED, (packed(sorted(words)),))
    db.execute(_REMOVE, (packed([term for (term,) in rows]),))


def _unlearn(db: apsw.Connection, memories: Sequence[int]) -> set[str]:
    """Take away the vectors of two words that stand together in memories; all words that the index holds of these."""
    from memory.store.vectors import neighbours

    found: set[str] = set()
    rows: Iterable[Row] = db.execute(
        f"select {_INDEXED} from passages where memory_id in (select value from json_each(?))", (listed(memories),)
    ).fetchall()
    for row in rows:
        columns = [stems(text or "") for text in row]
        found.update(*columns)
        db.execute(_REMOVE, (packed(list(neighbours(columns))),))
    return found


def forget_terms(db: apsw.Connection, generation: int) -> None:
    """Take the term vectors of a generation away."""
    db.execute("delete from lexicon_terms where generation = ?", (key(generation),))  # also without foreign keys
    db.execute("delete from lexicons where generation = ?", (key(generation),))


def term_faults(db: apsw.Connection) -> list[tuple[int, str]]:
    """Generations whose term vectors are not as `TermVectors` promises, and what is wrong with each."""
    codes: Iterable[Row] = db.execute(
        """select l.generation, 'has codes or a basis of another length'
           from lexicons l cross join generations g on g.id = l.generation
           where length(l.basis) <> 4 * l.axes * g.dimension
              or exists (select 1 from lexicon_terms t where t.generation = l.generation and length(t.code) <> l.axes)"""
    )
    words: Iterable[Row] = db.execute(
        """with held as materialized (select term from vocabulary)
           select distinct generation, 'knows a word that no chunk holds' from (
               select generation, substr(term, 1, instr(term || ' ', ' ') - 1) as word from lexicon_terms
               union all
               select generation, substr(term, instr(term, ' ') + 1) from lexicon_terms
           )
           where word not in (select term from held)"""
    )
    return [*codes, *words]

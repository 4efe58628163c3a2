"""The chunks of entries as rows, in the keyword index, and with their vectors or a place in the queue; and vectors that go."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.arrays import np
from memory.schema.errors import iso
from memory.schema.memory import ChunkId, MemoryId
from memory.schema.space import Space
from memory.store import Entry, State, learned, records, strangers
from memory.store.generations import add_total, begin, every, set_total
from memory.store.postgres import index
from memory.store.postgres.opening import Embeddings
from memory.store.postgres.rows import Db, insert, read_vectors
from memory.store.records import Row, key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from memory.schema.space import Embedded, Plain, Vectors, Window


class Destination(NamedTuple):
    """
    Where the chunks of entries go.

    Attributes:
        ids: Theirs, lowest first.
        living: The generations that take their vectors.
    """

    ids: list[ChunkId]
    living: list[OpenGeneration]


def place_of(db: Db, entries: Sequence[Entry]) -> Destination:
    count = sum(len(entry.chunks) for entry in entries)
    with db.pipelined():
        ids = db.execute("select nextval('chunks_id_seq') from generate_series(1, %s)", (count,), binary=True)
        living = db.execute(_LIVING, binary=True)
        return Destination([ChunkId(id) for (id,) in ids], _targets(living))


def founded(db: Db, place: Destination, entries: Sequence[Entry]) -> Destination:
    """The same with the first generation, if these are the first vectors. Not in a pipeline: it makes a table."""
    embedded = [one for one in entries if one.embedded is not None and not one.draft.keyword_only]
    if place.living or not embedded or embedded[0].embedded is None or every(db):
        return place
    begin(db, embedded[0].embedded.space, iso(embedded[0].moment))
    return place._replace(living=_targets(db.rows(_LIVING)))


def write(db: Db, own: Sequence[tuple[MemoryId, Entry]], place: Destination) -> None:
    """Write the chunks of memories, index them, and write their vectors or their place in the queue."""
    left = iter(place.ids)
    rows: list[dict[str, Any]] = []
    indexed: dict[int, tuple[int, index.Said]] = {}
    made: list[tuple[Embedded, Sequence[int], int]] = []
    queued: set[int] = set()
    for memory, entry in own:
        chunks = [next(left) for _ in entry.chunks]
        rows += [{"id": id} | row for id, row in zip(chunks, records.chunk_rows(memory, entry), strict=True)]
        for number, id in enumerate(chunks):
            indexed[id] = (memory, index.counted(index.said(records.passage(entry, number)), entry.draft.project))
        if entry.embedded and not entry.draft.keyword_only:
            made.append((entry.embedded, chunks, memory))
        queued.update(() if entry.draft.keyword_only else chunks)
    insert(db, "chunks", rows)
    index.write(db, indexed)
    queued -= _add_all(db, place.living, made)
    if queued:
        db.execute("insert into embed_queue (chunk_id) select unnest(%b::bigint[])", (sorted(queued),))


# Vectors -----------------------------------------------------------------------


class OpenGeneration(NamedTuple):
    """
    A generation as whoever writes vectors needs it; it is no longer true once somebody has.

    Attributes:
        total, vectors: The sum of its vectors, and how many there are.
        taught: Whether term vectors were learned from it.
        met: Whether it has strangers.
    """

    id: int
    space: Space
    state: State
    total: Plain
    vectors: int
    taught: bool
    met: bool


_TARGET = """
    select g.id, g.provider, g.model, g.recipe, g.dimension, g.state, g.total, g.vectors,
        exists (select 1 from lexicons l where l.made_of = g.id),
        exists (select 1 from strangers s where s.generation = g.id)
    from generations g where
"""

_LIVING = f"{_TARGET} g.state <> 'retired' order by g.id"
"""The generations that are active or being built."""


def _targets(rows: Iterable[Row]) -> list[OpenGeneration]:
    return [
        OpenGeneration(id, Space(provider, model, recipe, dimension), State(state), array("d", total), *rest)
        for id, provider, model, recipe, dimension, state, total, *rest in rows
    ]


def target(db: Db, generation: int) -> OpenGeneration | None:
    """None if the generation is gone."""
    return next(iter(_targets(db.rows(f"{_TARGET} g.id = %s", (key(generation),)))), None)


def add(db: Db, into: OpenGeneration, vectors: Vectors, windows: Sequence[Window], owners: Mapping[int, int]) -> None:
    """
    Write vectors of chunks that are there and have none in the generation.

    Args:
        owners: The memories of the chunks.
    """
    if not windows:
        return
    added = vectors[[window.row for window in windows]]
    chunks = [window.chunk for window in windows]
    db.execute(
        f"""insert into vectors_{into.id} (chunk_id, memory_id, place, embedding)
            select * from unnest(%b::bigint[], %b::bigint[], %b::bigint[], %b)""",
        (chunks, [owners[chunk] for chunk in chunks], [window.window for window in windows], Embeddings(added)),
    )
    if into.taught:
        learned.teach(db, into.id, {*chunks})
    set_total(db, into.id, added.sum(axis=0, dtype=np.float64) + into.total, into.vectors + len(windows))
    if into.met:
        strangers.met(db, into.id, added)


def _add_all(db: Db, living: Sequence[OpenGeneration], made: Sequence[tuple[Embedded, Sequence[int], int]]) -> set[int]:
    """
    Write the vectors of new chunks, as far as their space lives; those that have one in the active generation now.

    Args:
        made: Of each memory what is embedded, its chunks, and its id.
    """
    answered: set[int] = set()
    for into in living:
        own = [one for one in made if one[0].space == into.space]
        windows: list[Window] = []
        first = 0
        for embedded, ids, _ in own:
            windows += [one._replace(chunk=ids[one.chunk], row=first + one.row) for one in embedded.windows]
            first += len(embedded.vectors)
        if windows:
            vectors = np.concatenate([embedded.vectors for embedded, _, _ in own])
            add(db, into, vectors, windows, {id: memory for _, ids, memory in own for id in ids})
        if into.state is State.ACTIVE:
            answered = {window.chunk for window in windows}
    return answered


def forget(db: Db, generation: int, ids: Collection[int]) -> None:
    """Take away the vectors of chunks, also from the generation's total."""
    rows = db.rows(
        f"delete from vectors_{generation} where chunk_id = any(%s) returning vector_send(embedding)",
        (list(ids),),
    )
    if rows:
        learned.forget_chunks(db, generation, ids)
        removed = read_vectors([sent for (sent,) in rows], (len(rows[0][0]) - 4) // 4)
        add_total(db, generation, -removed.sum(axis=0, dtype="f8"), -len(rows))
        strangers.missed(db, generation, removed)

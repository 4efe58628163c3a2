"""The chunks of entries as rows: with their place in the keyword index, and their vectors or a place in the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.errors import iso
from memory.schema.memory import ChunkId, MemoryId
from memory.store import Entry, written
from memory.store.postgres import filling, generations, index
from memory.store.postgres.database import many, pipelined
from memory.store.postgres.rows import insert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.space import Embedded
    from memory.store.postgres.filling import Target
    from memory.store.postgres.opening import Db


class Place(NamedTuple):
    """
    Where the chunks of entries go.

    Attributes:
        ids: Theirs, lowest first.
        living: The generations that take their vectors.
    """

    ids: list[ChunkId]
    living: list[Target]


def place_of(db: Db, entries: Sequence[Entry]) -> Place:
    count = sum(len(entry.chunks) for entry in entries)
    with pipelined(db):
        ids = db.execute("select nextval('chunks_id_seq') from generate_series(1, %s)", (count,), binary=True)
        living = db.execute(filling.LIVING, binary=True)
        return Place([ChunkId(id) for (id,) in ids], filling.targets(living))


def founded(db: Db, place: Place, entries: Sequence[Entry]) -> Place:
    """The same with the first generation, if these are the first vectors. Not in a pipeline: it makes a table."""
    embedded = [one for one in entries if one.embedded is not None and not one.draft.keyword_only]
    if place.living or not embedded or embedded[0].embedded is None or generations.every(db):
        return place
    generations.begin(db, embedded[0].embedded.space, iso(embedded[0].moment))
    return place._replace(living=filling.targets(many(db, filling.LIVING)))


def write(db: Db, own: Sequence[tuple[MemoryId, Entry]], place: Place) -> None:
    """Write the chunks of memories, index them, and write their vectors or their place in the queue."""
    left = iter(place.ids)
    rows: list[dict[str, Any]] = []
    indexed: dict[int, tuple[int, index.Said]] = {}
    made: list[tuple[Embedded, Sequence[int], int]] = []
    queued: set[int] = set()
    for memory, entry in own:
        chunks = [next(left) for _ in entry.chunks]
        for number, id in enumerate(chunks):
            rows.append({"id": id} | written.chunk(memory, entry, number))
            indexed[id] = (memory, index.counted(index.said(written.passage(entry, number)), entry.draft.project))
        if entry.embedded and not entry.draft.keyword_only:
            made.append((entry.embedded, chunks, memory))
        queued.update(() if entry.draft.keyword_only else chunks)
    insert(db, "chunks", rows)
    index.write(db, indexed)
    queued -= filling.add_all(db, place.living, made)
    if queued:
        db.execute("insert into embed_queue (chunk_id) select unnest(%b::bigint[])", (sorted(queued),))

"""The chunks of entries as rows: with their place in the keyword index, and their vectors or a place in the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.errors import iso
from memory.schema.memory import ChunkId, MemoryId
from memory.store import Entry, written
from memory.store.postgres import filling, generations, index
from memory.store.postgres.database import many, pipelined
from memory.store.postgres.rows import insert
from memory.store.records import BESIDE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.space import Embedded
    from memory.store.postgres.filling import Target
    from memory.store.postgres.opening import Db
    from memory.store.postgres.rows import Answer


class Place(NamedTuple):
    """
    Where the chunks of entries go.

    Attributes:
        ids: Theirs, lowest first. Whoever has a copy asks for what is above the last it has: nobody else writes meanwhile.
        living: The generations that take their vectors.
    """

    ids: list[ChunkId]
    living: list[Target]


def place_of(db: Db, entries: Sequence[Entry]) -> Place:
    with pipelined(db):
        return _place(*_asked(db, entries))


def _asked(db: Db, entries: Sequence[Entry]) -> tuple[Answer, Answer]:
    count = sum(len(entry.chunks) for entry in entries)
    ids = db.execute("select nextval('chunks_id_seq') from generate_series(1, %s)", (count,), binary=True)
    return ids, db.execute(filling.LIVING, binary=True)


def _place(ids: Answer, living: Answer) -> Place:
    return Place([ChunkId(id) for (id,) in ids], filling.targets(living))


class Ahead:
    """
    Where entries will go that are plain, asked for before it is known which of them are new: who has it waits for nothing
    else before all of them can be written. The ids of those that are not new are lost.
    """

    def __init__(self, db: Db, entries: Sequence[Entry]) -> None:
        """Of a connection in a pipeline, which does not wait for the answers."""
        uids = [entry.uid for entry in entries]
        self._memories = db.execute(
            f"select w.uid, nextval('memories_id_seq'), {BESIDE.format('w.uid')} from unnest(%b::text[]) w (uid)",
            (uids,),
            binary=True,
        )
        self._chunks = _asked(db, entries)

    def read(self) -> tuple[dict[str, tuple[int, str | None, str | None]], Place]:
        """By the uid of each entry the id of its memory, and the uids before and after its own; and their place."""
        return {uid: (id, before, after) for uid, id, before, after in self._memories}, _place(*self._chunks)


def founded(db: Db, place: Place, entries: Sequence[Entry]) -> Place:
    """The same with the first generation, if these are the first vectors. Not in a pipeline: it makes a table."""
    embedded = [one for one in entries if one.embedded is not None and not one.draft.keyword_only]
    if place.living or not embedded or embedded[0].embedded is None or generations.every(db):
        return place
    generations.begin(db, embedded[0].embedded.space, iso(embedded[0].moment))
    return place._replace(living=filling.targets(many(db, filling.LIVING)))


def said(entry: Entry) -> tuple[tuple[str, ...], ...]:
    """What the chunks of an entry say: see `index.Said`."""
    return tuple(index.said(written.passage(entry, number)) for number in range(len(entry.chunks)))


def write(db: Db, own: Sequence[tuple[MemoryId, Entry]], place: Place) -> None:
    """Write the chunks of memories, index them, and write their vectors or their place in the queue."""
    left = iter(place.ids)
    rows: list[dict[str, Any]] = []
    indexed: dict[int, tuple[int, index.Said]] = {}
    made: list[tuple[Embedded, Sequence[int], int]] = []
    queued: set[int] = set()
    for memory, entry in own:
        chunks, texts = [next(left) for _ in entry.chunks], entry.said or said(entry)
        for number, id in enumerate(chunks):
            rows.append({"id": id} | written.chunk(memory, entry, number))
            indexed[id] = (memory, index.counted(texts[number]))
        if entry.embedded and not entry.draft.keyword_only:
            made.append((entry.embedded, chunks, memory))
        queued.update(() if entry.draft.keyword_only else chunks)
    insert(db, "chunks", rows)
    index.write(db, indexed)
    queued -= filling.add_all(db, place.living, made)
    if queued:
        db.execute("insert into embed_queue (chunk_id) select unnest(%b::bigint[])", (sorted(queued),))

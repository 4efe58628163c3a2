"""`RamMemories`: memories, their bodies and their chunks, the obvious way."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from memory.schema.draft import SHARED, tag_key
from memory.schema.kinds import Kind
from memory.schema.memory import UID_PREFIX, ChunkId, Details, Memory, MemoryId, Revision, Standing
from memory.store import OPENING, RESOLVED, Opening, Order
from memory.store.records import openings
from memory.text.lookup import stems
from oracle.ram_chunks import Piece, columns, excerpt
from oracle.ram_data import Part, inside
from oracle.ram_generations import RamGenerations, living
from oracle.ram_queue import QueueEntry
from oracle.ram_term_vectors import unlearn
from oracle.ram_vectors import RamVectors

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from memory.schema.memory import Chunk, Excerpt
    from memory.schema.query import Scope
    from memory.store import Entry, Match
    from oracle.ram_chunks import Words


class RamMemories(Part):
    """See `memory.store.memories.Memories`."""

    def find(self, matches: Sequence[Match]) -> Sequence[Memory | None]:
        with self.data.lock:
            return [self._matching(match) for match in matches]

    def _matching(self, match: Match) -> Memory | None:
        found = [
            memory
            for memory in self.data.memories.values()
            if all(getattr(memory, name) == value for name, value in match.fields.items())
            and not (match.active and memory.status is not Standing.ACTIVE)
        ]
        if match.latest:
            return max(found, key=lambda memory: (memory.updated_at, memory.id), default=None)
        return min(found, key=lambda memory: memory.id, default=None)

    def insert(self, entry: Entry) -> Memory:
        with self.data.change() as data:
            id = entry.number or MemoryId(data.next("memory"))
            data.memories[id] = _new(id, entry)
            data.bodies[id] = entry.draft.body
            data.history[id] = tuple(_past(old._replace(memory=old.memory._replace(id=id))) for old in entry.history)
            self._write_chunks(id, entry)
        return self.data.memories[id]

    def insert_all(self, entries: Sequence[Entry]) -> Sequence[Memory]:
        with self.data.change():
            return [self.insert(entry) for entry in entries]

    def _write_chunks(self, id: MemoryId, entry: Entry) -> None:
        data = self.data
        ids = [ChunkId(data.next("chunk")) for _ in entry.chunks]
        for new, chunk, grams in zip(ids, entry.chunks, entry.grams, strict=True):
            words = tuple(stems(text) for text in columns(data.memories[id], entry.draft.body, chunk, grams))
            data.pieces[new] = Piece(id, chunk, words)
            if not entry.draft.keyword_only:
                data.queue[new] = QueueEntry()
        if entry.draft.keyword_only:
            return
        if (given := entry.embedded) is not None:
            generation = living(data, given.space)
            if generation is None and not data.generations:
                generation = RamGenerations(data).begin(given.space, entry.moment)
            if generation is not None:
                own = [window._replace(chunk=ids[window.chunk]) for window in given.windows]
                RamVectors(data).set_vectors(generation.id, given.vectors, own)

    def rewrite(
        self,
        id: MemoryId,
        entry: Entry,
        former: Revision | None = None,
        *,
        revisions: int | None = None,
        undone: int = 0,
    ) -> bool:
        with self.data.change() as data:
            if revisions not in {None, len(data.history.get(id, ()))}:
                return False
            old = data.memory(id)
            if former is not None:
                data.history[id] = (_past(former), *data.history[id])
            data.history[id] = data.history[id][undone:]
            removed = self._forget_chunks(id)
            data.memories[id] = old._replace(**_said(entry))
            data.bodies[id] = entry.draft.body
            self._write_chunks(id, entry)
            unlearn(data, removed)
            return True

    def set_links(self, memories: Sequence[Memory]) -> None:
        with self.data.change() as data:
            for one in (one for one in memories if one.id in data.memories):
                data.memories[one.id] = data.memories[one.id]._replace(
                    status=one.status, superseded_by=one.superseded_by, parent_id=one.parent_id, pinned=one.pinned
                )

    def delete(self, ids: Sequence[MemoryId]) -> int:
        with self.data.change() as data:
            gone = set(ids) & set(data.memories)
            unlearn(data, [words for id in gone for words in self._forget_chunks(id)])
            for id in gone:
                del data.memories[id], data.bodies[id], data.history[id]
            data.relations = {key: at for key, at in data.relations.items() if not gone & set(key[:2])}
            data.attached = {key: at for key, at in data.attached.items() if not gone & set(key)}
            for id, one in data.memories.items():
                parent = None if one.parent_id in gone else one.parent_id
                successor = None if one.superseded_by in gone else one.superseded_by
                data.memories[id] = one._replace(parent_id=parent, superseded_by=successor)
            return len(gone)

    def _forget_chunks(self, id: MemoryId) -> list[Words]:
        """What each said."""
        data = self.data
        gone = {chunk: piece.words for chunk, piece in data.pieces.items() if piece.memory == id}
        data.pieces = {chunk: piece for chunk, piece in data.pieces.items() if chunk not in gone}
        data.queue = {chunk: waiting for chunk, waiting in data.queue.items() if chunk not in gone}
        data.vectors = {key: vector for key, vector in data.vectors.items() if key[1] not in gone}
        for name in ("begun", "pending", "pairs"):
            setattr(data, name, {key: one for key, one in getattr(data, name).items() if key[1] not in gone})
        return list(gone.values())

    def items(
        self, prefix: str, moment: datetime, limit: int | None, *, offset: int = 0, reverse: bool = False
    ) -> Sequence[MemoryId]:
        with self.data.lock:
            below = [one for one in self.data.memories.values() if one.kind is Kind.ITEM and not one.ended(moment)]
        own = [one for one in below if one.namespace.startswith(prefix)]
        ordered = sorted(own, key=lambda one: (one.namespace, one.key), reverse=reverse)
        return [one.id for one in ordered[offset:]][:limit]

    def namespaces(self, prefix: str, moment: datetime) -> Sequence[str]:
        return sorted({self.data.memories[id].namespace for id in self.items(prefix, moment, None)})

    def ended_items(self, moment: datetime, limit: int) -> Sequence[MemoryId]:
        with self.data.lock:
            over = [one for one in self.data.memories.values() if one.kind is Kind.ITEM and one.ended(moment)]
        return [one.id for one in sorted(over, key=lambda one: (one.valid_until, one.id))][:limit]

    def hold(self, id: MemoryId, until: datetime | None) -> None:
        with self.data.change() as data:
            if id in data.memories:
                data.memories[id] = data.memories[id]._replace(valid_until=until)

    def resolve(self, reference: str) -> Sequence[tuple[MemoryId, str]]:
        prefix = reference.lower().replace("-", "")
        with self.data.lock:
            named = [m for m in self.data.memories.values() if _digits(reference) and m.id == int(reference)]
            begun = [m for m in self.data.memories.values() if len(prefix) >= UID_PREFIX and m.uid.startswith(prefix)]
        found = named + sorted((m for m in begun if m not in named), key=lambda m: m.uid)
        return [(memory.id, memory.uid) for memory in found][:RESOLVED]

    def by_id(self, ids: Sequence[MemoryId], *, pointing: bool = False) -> Mapping[MemoryId, Memory]:
        with self.data.lock:
            every = self.data.memories.items()
            to = [link for link in ids if pointing]
            return {id: one for id, one in every if id in ids or one.superseded_by in to or one.parent_id in to}

    def metadata(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Mapping[str, Any]]:
        with self.data.lock:
            return {id: one.metadata for id, one in self.data.memories.items() if id in ids}

    def openings(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Opening]:
        with self.data.lock:
            notes = [m for m in self.data.memories.values() if m.kind is Kind.NOTE and m.status is Standing.ACTIVE]
            short = [m for m in notes if m.id in ids and len(m.what) <= OPENING]
            found = [(m.id, m.project, m.happened_at or m.updated_at, m.body_size, m.title, m.what) for m in short]
            return {one.memory: one for one in openings(found)}

    def titles(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, str]:
        with self.data.lock:
            return {id: self.data.memories[id].title for id in ids if id in self.data.memories}

    def bodies(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, str]:
        with self.data.lock:
            return {id: self.data.bodies[id] for id in ids if id in self.data.bodies}

    def details(self, id: MemoryId) -> Details | None:
        with self.data.lock:
            data = self.data
            found = data.memories.get(id)
            uids = {None: None} | {one.id: one.uid for one in data.memories.values()}
            history = tuple(_named(one, uids) for one in data.history.get(id, ()))
            return None if found is None else Details(found, data.bodies[id], history)

    def ended(self, ids: Collection[MemoryId], moment: datetime) -> Collection[MemoryId]:
        with self.data.lock:
            return {id for id in ids if id in self.data.memories and self.data.memories[id].ended(moment)}

    def former(self, moment: datetime) -> Mapping[MemoryId, Revision]:
        with self.data.lock:
            later = {id: [one for one in all if one.replaced_at > moment] for id, all in self.data.history.items()}
            return {id: own[-1] for id, own in later.items() if own}

    def touch(self, ids: Sequence[MemoryId], moment: datetime) -> None:
        with self.data.change() as data:
            for id in set(ids) & set(data.memories):
                old = data.memories[id]
                data.memories[id] = old._replace(accessed_at=moment, access_count=old.access_count + 1)

    def page(
        self, scope: Scope, limit: int, *, order: Order = Order.CHANGED, after: Memory | None = None
    ) -> Sequence[Memory]:
        with self.data.lock:
            found = [memory for memory in self.data.memories.values() if inside(self.data, memory, scope)]
        found.sort(key=lambda memory: _place(memory, order), reverse=order is not Order.ASCENDING)
        places = [_place(memory, order) for memory in found]
        if after is not None:
            last = _place(after, order)
            behind = [place > last if order is Order.ASCENDING else place < last for place in places]
            found = [memory for memory, one in zip(found, behind, strict=True) if one]
        return found[:limit]

    def count(self, scope: Scope, *, most: int | None = None) -> int:
        with self.data.lock:
            return len([memory for memory in self.data.memories.values() if inside(self.data, memory, scope)][:most])

    def tags(self, scope: Scope) -> Sequence[tuple[str, int]]:
        with self.data.lock:
            found = [memory for memory in self.data.memories.values() if inside(self.data, memory, scope)]
        counts = Counter(tag for memory in found for tag in set(memory.tags))
        ways = sorted(counts, key=lambda tag: (-counts[tag], tag))
        named = {tag_key(tag): tag for tag in reversed(ways)}
        together = Counter({tag: sum(counts[way] for way in ways if tag_key(way) == key) for key, tag in named.items()})
        return sorted(together.items(), key=lambda one: (-one[1], one[0]))

    def values(self, field: str, scope: Scope) -> Sequence[tuple[str, int]]:
        with self.data.lock:
            found = [
                getattr(memory, field) for memory in self.data.memories.values() if inside(self.data, memory, scope)
            ]
        counts = Counter(str(value) for value in found if value is not None)
        return sorted(counts.items(), key=lambda one: (-one[1], one[0]))

    def excerpts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, Excerpt]:
        with self.data.lock:
            return {id: excerpt(self.data, id) for id in ids if id in self.data.pieces}

    def shown(
        self, chunks: Sequence[ChunkId], others: Sequence[MemoryId] = ()
    ) -> tuple[Mapping[ChunkId, Excerpt], Mapping[MemoryId, Memory]]:
        with self.data.lock:
            excerpts = self.excerpts(chunks)
            return excerpts, self.by_id([*others, *[one.memory for one in excerpts.values()]])

    def outlines(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Sequence[tuple[ChunkId, Chunk]]]:
        with self.data.lock:
            return {id: self._outline(id) for id in ids if id in self.data.memories}

    def _outline(self, id: MemoryId) -> list[tuple[ChunkId, Chunk]]:
        found = [(chunk, piece.chunk) for chunk, piece in self.data.pieces.items() if piece.memory == id]
        return sorted(found, key=lambda pair: pair[1].index)


def _place(memory: Memory, order: Order) -> tuple[Any, ...]:
    if order is Order.CHANGED:
        return (memory.updated_at, memory.id)
    return (memory.session_iter or 0, memory.created_at, memory.id)


def _said(entry: Entry) -> dict[str, Any]:
    """The fields of a memory that come of what an entry says."""
    draft = entry.draft
    shared = {name: getattr(draft, name) for name in SHARED} | {"metadata": dict(draft.metadata)}
    facts = {"content_hash": entry.content_hash, "body_size": len(draft.body), "flags": entry.flags}
    return shared | facts | {"updated_at": entry.moment}


def _past(former: Revision) -> Revision:
    """As it is remembered: what other memories there were then is not."""
    known = former.memory._replace(short_id=former.memory.uid[:8], parent_uid=None, successor_uid=None, successor=None)
    return former._replace(memory=known)


def _named(former: Revision, uids: Mapping[MemoryId | None, str | None]) -> Revision:
    """With the uids of its parent and its successor, if these are still there."""
    memory = former.memory
    parent, successor = uids.get(memory.parent_id), uids.get(memory.superseded_by)
    return former._replace(memory=memory._replace(parent_uid=parent, successor_uid=successor))


def _new(id: MemoryId, entry: Entry) -> Memory:
    first: dict[str, Any] = {
        "id": id,
        "uid": entry.uid,
        "status": Standing.ACTIVE,
        "superseded_by": None,
        "created_at": entry.moment,
        "accessed_at": None,
        "access_count": 0,
        "pinned": False,
    }
    if (old := entry.restored) is not None:
        brought = ("status", "created_at", "updated_at", "accessed_at", "access_count", "pinned")
        first |= {name: getattr(old, name) for name in brought}
    return Memory(**_said(entry) | first)


def _digits(reference: str) -> bool:
    return reference.isascii() and reference.isdigit()

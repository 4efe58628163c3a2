"""`RamMemories`: memories, what is the same, and what takes the place of another, the obvious way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema.document import Details
from memory.schema.draft import SHARED, Saved
from memory.schema.errors import Invalid, NotFound
from memory.schema.kinds import RULES, Kind, check_kind
from memory.schema.memory import ChunkId, Memory, MemoryId, Revision, Status
from memory.store import RESOLVED, SAME, UID_PREFIX
from memory.text.stems import stems
from oracle.ram_chunks import Piece, columns, excerpt
from oracle.ram_data import Part, inside
from oracle.ram_generations import RamGenerations, living
from oracle.ram_queue import QueueEntry
from oracle.ram_term_vectors import unlearn
from oracle.ram_vectors import RamVectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memory.schema.memory import Chunk, Excerpt
    from memory.schema.query import Scope
    from memory.store import Entry, Links
    from oracle.ram_chunks import Words


class RamMemories(Part):
    """See `memory.store.memories.Memories`."""

    def write_entries(self, entries: Sequence[Entry]) -> Sequence[Saved]:
        with self.data.change():
            return [self._write_entry(entry) for entry in entries]

    def _write_entry(self, entry: Entry) -> Saved:
        data = self.data
        if (same := self._known(entry)) is not None:
            self._around(same, entry)
            return _saved(data.memories[same], entry, known=True)
        self._check_parent(entry)
        if entry.renews and (same := self._alike(entry) or self._one(entry, entry.renews)) is not None:
            self._around(same, entry)
            old = data.memory(same)
            again = entry._replace(grown=old.content_hash == entry.content_hash)
            return _saved(self._replaced(old, again), entry, renewed=True)
        id = MemoryId(data.next("memory"))
        data.memories[id] = _new(id, entry)
        data.bodies[id] = entry.draft.body
        data.history[id] = tuple(old._replace(memory=old.memory._replace(id=id)) for old in entry.history)
        self._write_chunks(id, entry)
        self._around(id, entry)
        return _saved(data.memories[id], entry)

    def _around(self, id: MemoryId, entry: Entry) -> None:
        if entry.supersedes is not None and entry.supersedes != id:
            self._supersede(entry.supersedes, by=id)
        for entity in entry.entities:
            if entry.draft.kind is Kind.ENTITY:
                raise Invalid("an entity is not about another")
            if self.data.memory(entity).kind is not Kind.ENTITY:
                raise NotFound(f"no entity {entity}")
            self.data.attached.setdefault((entity, id), entry.moment)

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

    def known(self, entries: Sequence[Entry]) -> Sequence[MemoryId | None]:
        with self.data.lock:
            return [self._known(entry) for entry in entries]

    def _known(self, entry: Entry) -> MemoryId | None:
        for memory in self.data.memories.values():
            if memory.uid == entry.uid:
                return memory.id
        rule = RULES[entry.draft.kind]
        if entry.renews:
            found = self._one(entry, entry.renews) if entry.restored else None
            newer = found and entry.restored and self.data.memory(found).updated_at >= entry.restored.updated_at
            return found if newer else None
        if rule.one:
            return self._one(entry, rule.one)
        return None if rule.repeats or not entry.unless_known else self._alike(entry)

    def _alike(self, entry: Entry) -> MemoryId | None:
        for memory in self.data.memories.values():
            same = all(getattr(memory, name) == getattr(entry.draft, name) for name in SAME)
            if same and memory.content_hash == entry.content_hash and memory.status is Status.ACTIVE:
                return memory.id
        return None

    def _one(self, entry: Entry, fields: Sequence[str]) -> MemoryId | None:
        found = [
            memory
            for memory in self.data.memories.values()
            if memory.kind is entry.draft.kind
            and (memory.status is Status.ACTIVE or memory.kind is Kind.ENTITY)
            and all(getattr(memory, name) == getattr(entry.draft, name) for name in fields)
        ]
        return max(found, key=lambda memory: (memory.updated_at, memory.id)).id if found else None

    def _check_parent(self, entry: Entry) -> None:
        if entry.draft.parent_id is not None:
            self.data.memory(entry.draft.parent_id)

    def _supersede(self, id: MemoryId, *, by: MemoryId) -> None:
        if self.data.memory(id).kind is Kind.ENTITY:
            raise Invalid(f"memory {id} is an entity: it cannot be superseded")
        if self.data.memory(id).status is Status.SUPERSEDED:
            if self.data.memory(id).superseded_by == by:
                return
            raise Invalid(f"memory {id} was superseded already")
        self.data.memories[id] = self.data.memory(id)._replace(status=Status.SUPERSEDED, superseded_by=by)

    def replace(self, id: MemoryId, entry: Entry, *, former: Details | None = None) -> Saved | None:
        with self.data.change() as data:
            old = data.memory(id)
            if former is not None and (len(data.history[id]), old.content_hash) != (
                len(former.history),
                former.memory.content_hash,
            ):
                return None
            self._check_parent(entry)
            check_kind(old.kind, entry.draft.kind)
            if (one := RULES[old.kind].one) and self._one(entry, one) not in {None, id}:
                raise Invalid(f"there is another {old.kind} of the same {', '.join(one)}")
            return _saved(self._replaced(old, entry), entry)

    def _replaced(self, old: Memory, entry: Entry) -> Memory:
        data, id = self.data, old.id
        if not entry.grown:
            data.history[id] = (Revision(entry.moment, old, data.bodies[id]), *data.history[id])
        removed = self._forget_chunks(id)
        data.memories[id] = old._replace(**_said(entry))
        data.bodies[id] = entry.draft.body
        self._write_chunks(id, entry)
        unlearn(data, removed)
        return data.memories[id]

    def link(self, links: Sequence[Links]) -> None:
        with self.data.change() as data:
            ids: dict[str | None, MemoryId] = {memory.uid: id for id, memory in data.memories.items()}
            for uid, parent, successor in links:
                if (id := ids.get(uid)) is None:
                    continue
                memory = data.memories[id]
                if memory.parent_id is None:
                    memory = memory._replace(parent_id=ids.get(parent))
                if memory.superseded_by is None and memory.status is Status.SUPERSEDED:
                    memory = memory._replace(superseded_by=ids.get(successor))
                data.memories[id] = memory

    def delete(self, id: MemoryId) -> bool:
        with self.data.change() as data:
            if id not in data.memories:
                return False
            unlearn(data, self._forget_chunks(id))
            gone = data.memories.pop(id)
            del data.bodies[id], data.history[id]
            data.relations = {key: at for key, at in data.relations.items() if id not in key[:2]}
            data.attached = {key: at for key, at in data.attached.items() if id not in key}
            heir = None if gone.superseded_by == id else gone.superseded_by
            for other in list(data.memories.values()):
                if other.parent_id == id:
                    data.memories[other.id] = other = other._replace(parent_id=None)  # noqa: PLW2901
                if other.superseded_by == id:
                    data.memories[other.id] = other._replace(status=gone.status, superseded_by=heir)
            return True

    def _forget_chunks(self, id: MemoryId) -> list[Words]:
        """What each said."""
        data = self.data
        gone = {chunk: piece.words for chunk, piece in data.pieces.items() if piece.memory == id}
        data.pieces = {chunk: piece for chunk, piece in data.pieces.items() if chunk not in gone}
        data.queue = {chunk: waiting for chunk, waiting in data.queue.items() if chunk not in gone}
        data.vectors = {key: vector for key, vector in data.vectors.items() if key[1] not in gone}
        data.begun = {key: one for key, one in data.begun.items() if key[1] not in gone}
        return list(gone.values())

    def resolve(self, reference: str) -> Sequence[tuple[MemoryId, str]]:
        prefix = reference.lower().replace("-", "")
        with self.data.lock:
            named = [m for m in self.data.memories.values() if _digits(reference) and m.id == int(reference)]
            begun = [m for m in self.data.memories.values() if len(prefix) >= UID_PREFIX and m.uid.startswith(prefix)]
        found = named + sorted((m for m in begun if m not in named), key=lambda m: m.uid)
        return [(memory.id, memory.uid) for memory in found][:RESOLVED]

    def by_id(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Memory]:
        with self.data.lock:
            return {id: self.data.memories[id] for id in ids if id in self.data.memories}

    def bodies(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, str]:
        with self.data.lock:
            return {id: self.data.bodies[id] for id in ids if id in self.data.bodies}

    def details(self, id: MemoryId) -> Details | None:
        with self.data.lock:
            data = self.data
            found = data.memories.get(id)
            return None if found is None else Details(found, data.bodies[id], data.history.get(id, ()))

    def touch(self, ids: Sequence[MemoryId], moment: datetime) -> None:
        with self.data.change() as data:
            for id in set(ids) & set(data.memories):
                old = data.memories[id]
                data.memories[id] = old._replace(accessed_at=moment, access_count=old.access_count + 1)

    def recent(self, scope: Scope, limit: int, after: Memory | None = None) -> Sequence[Memory]:
        with self.data.lock:
            found = [memory for memory in self.data.memories.values() if inside(memory, scope)]
        if after is not None:
            found = [memory for memory in found if (memory.updated_at, memory.id) < (after.updated_at, after.id)]
        return sorted(found, key=lambda memory: (memory.updated_at, memory.id), reverse=True)[:limit]

    def count(self, scope: Scope) -> int:
        with self.data.lock:
            return sum(inside(memory, scope) for memory in self.data.memories.values())

    def page(self, after: MemoryId, limit: int) -> Sequence[Memory]:
        with self.data.lock:
            return [self.data.memories[id] for id in sorted(self.data.memories) if id > after][:limit]

    def excerpts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, Excerpt]:
        with self.data.lock:
            return {id: excerpt(self.data, id) for id in ids if id in self.data.pieces}

    def outline(self, id: MemoryId) -> Sequence[tuple[ChunkId, Chunk]]:
        with self.data.lock:
            found = [(chunk, piece.chunk) for chunk, piece in self.data.pieces.items() if piece.memory == id]
        return sorted(found, key=lambda pair: pair[1].index)

    def outlines(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Sequence[tuple[ChunkId, Chunk]]]:
        with self.data.lock:
            return {id: self.outline(id) for id in ids if id in self.data.memories}


def _said(entry: Entry) -> dict[str, Any]:
    """The fields of a memory that come of what an entry says."""
    draft = entry.draft
    shared = {name: getattr(draft, name) for name in SHARED} | {"metadata": dict(draft.metadata)}
    facts = {"content_hash": entry.content_hash, "body_size": len(draft.body), "flags": entry.flags}
    return shared | facts | {"updated_at": entry.moment}


def _saved(memory: Memory, entry: Entry, *, known: bool = False, renewed: bool = False) -> Saved:
    return Saved(memory, known, chunks=len(entry.chunks), renewed=renewed)


def _new(id: MemoryId, entry: Entry) -> Memory:
    first: dict[str, Any] = {
        "id": id,
        "uid": entry.uid,
        "status": Status.ACTIVE,
        "superseded_by": None,
        "created_at": entry.moment,
        "accessed_at": None,
        "access_count": 0,
    }
    if (old := entry.restored) is not None:
        brought = ("status", "created_at", "updated_at", "accessed_at", "access_count")
        first |= {name: getattr(old, name) for name in brought}
    return Memory(**_said(entry) | first)


def _digits(reference: str) -> bool:
    return reference.isascii() and reference.isdigit()

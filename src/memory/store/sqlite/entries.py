"""How entries become rows: a memory with its body, its chunks, their keywords and vectors, whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema.draft import SHARED, Saved
from memory.schema.errors import Invalid, NotFound
from memory.schema.kinds import RULES, Kind, check_kind
from memory.schema.memory import MemoryId, Revision, Status
from memory.schema.times import iso
from memory.store.sqlite import generations, sameness
from memory.store.sqlite.rows import MEMORY, body, fetched, key, memory, packed, record
from memory.store.sqlite.unlearn import unlearning

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from memory.schema.document import Details
    from memory.schema.memory import Memory
    from memory.schema.space import Embedded
    from memory.store import Entry, Links


def write_entry(db: apsw.Connection, entry: Entry) -> Saved:
    """See `Memories.write_entries`."""
    if (same := sameness.known(db, entry)) is not None:
        _around(db, same, entry)
        return Saved(fetched(db, same), known=True, chunks=len(entry.chunks))
    _check_parent(db, entry)
    if (same := sameness.renewed(db, entry)) is not None:
        _around(db, same, entry)
        old = fetched(db, same)
        again = entry._replace(grown=old.content_hash == entry.content_hash)  # the same words need no history
        return _replaced(db, old, again, renewed=True)
    values = _values(entry) | _first(entry)
    new = memory(
        db.execute(
            f"insert into memories ({', '.join(values)}) values ({', '.join('?' * len(values))}) returning {MEMORY}",
            tuple(values.values()),
        ).get
    )
    id = new.id
    db.execute("insert into bodies (memory_id, body) values (?, ?)", (id, entry.draft.body))
    for revision in reversed(entry.history):
        _remember(db, id, revision)
    _write_chunks(db, id, entry)
    _around(db, id, entry)
    return Saved(new, known=False, chunks=len(entry.chunks))


def replace(db: apsw.Connection, id: MemoryId, entry: Entry, former: Details | None) -> Saved | None:
    """See `Memories.replace`."""
    old = fetched(db, id)
    if former is not None:
        revisions = db.execute("select count(*) from history where memory_id = ?", (id,)).get
        if (revisions, old.content_hash) != (len(former.history), former.memory.content_hash):
            return None
    _check_parent(db, entry)
    check_kind(old.kind, entry.draft.kind)
    if (one := RULES[old.kind].one) and (other := sameness.one(db, entry.draft, one)) not in {None, id}:
        names = ", ".join(f"{name} {getattr(entry.draft, name)!r}" for name in one)
        raise Invalid(f"there is another {old.kind} of {names}: memory {other}")
    return _replaced(db, old, entry)


def _replaced(db: apsw.Connection, old: Memory, entry: Entry, *, renewed: bool = False) -> Saved:
    id = old.id
    if not entry.grown:
        _remember(db, id, Revision(entry.moment, old, body(db, id) or ""))
    with unlearning(db, [id]):
        generations.forget_memory(db, id)
        db.execute("delete from chunks where memory_id = ?", (id,))
        values = _values(entry)
        db.execute(
            f"update memories set {', '.join(f'{name} = ?' for name in values)} where id = ?", (*values.values(), id)
        )
        db.execute("update bodies set body = ? where memory_id = ?", (entry.draft.body, id))
        _write_chunks(db, id, entry)
    return Saved(fetched(db, id), known=False, chunks=len(entry.chunks), renewed=renewed)


def link(db: apsw.Connection, links: Links) -> None:
    """See `Memories.link`."""
    db.execute(
        "update memories set parent_id = (select id from memories where uid = ?) where uid = ? and parent_id is null",
        (links.parent, links.uid),
    )
    db.execute(
        """update memories set superseded_by = (select id from memories where uid = ?)
           where uid = ? and superseded_by is null and status = 'superseded'""",
        (links.superseded_by, links.uid),
    )


def delete(db: apsw.Connection, ids: Sequence[MemoryId]) -> int:
    """Do as `Memories.delete` with each; how many there were."""
    with unlearning(db, ids):
        return sum(_deleted(db, id) for id in ids)


def _deleted(db: apsw.Connection, id: MemoryId) -> bool:
    generations.forget_memory(db, key(id))
    db.execute(
        """update memories set (status, superseded_by) = (select status, superseded_by from memories where id = ?)
           where superseded_by = ? and id <> ?""",
        (key(id), key(id), key(id)),
    )
    return db.execute("delete from memories where id = ? returning 1", (key(id),)).get is not None


def _values(entry: Entry) -> dict[str, Any]:
    """The columns that an entry's draft gives, also to a memory that is there."""
    values: dict[str, Any] = {name: getattr(entry.draft, name) for name in SHARED}
    for name in ("tags", "related_files", "metadata"):
        values[name] = packed(values[name])
    facts = {"content_hash": entry.content_hash, "body_size": len(entry.draft.body), "flags": " ".join(entry.flags)}
    return values | facts | {"updated_at": iso(entry.moment)}


def _first(entry: Entry) -> dict[str, Any]:
    """The columns that only a new memory gets."""
    first = {"uid": entry.uid, "created_at": iso(entry.moment)}
    if (old := entry.restored) is None:
        return first
    return first | {
        "created_at": iso(old.created_at),
        "updated_at": iso(old.updated_at),
        "accessed_at": old.accessed_at and iso(old.accessed_at),
        "access_count": old.access_count,
        "status": old.status,
    }


def _check_parent(db: apsw.Connection, entry: Entry) -> None:
    if entry.draft.parent_id is not None:
        fetched(db, entry.draft.parent_id)


def _remember(db: apsw.Connection, id: MemoryId, revision: Revision) -> None:
    db.execute(
        "insert into history (memory_id, replaced_at, record, body) values (?, ?, ?, ?)",
        (id, iso(revision.replaced_at), record(revision.memory._replace(id=id)), revision.body),
    )


def _around(db: apsw.Connection, id: MemoryId, entry: Entry) -> None:
    """What is written of other memories with a memory that is there now."""
    if entry.supersedes is not None and entry.supersedes != id:
        _supersede(db, entry.supersedes, by=id)
    for entity in entry.entities:
        if entry.draft.kind is Kind.ENTITY:
            raise Invalid("an entity is not about another", hint="Relate them.")
        if fetched(db, entity).kind is not Kind.ENTITY:
            raise NotFound(f"no entity {entity}")
        db.execute("insert or ignore into entity_memories values (?, ?, ?)", (entity, id, iso(entry.moment)))


def _supersede(db: apsw.Connection, id: MemoryId, *, by: MemoryId) -> None:
    old = fetched(db, id)
    if old.status is Status.SUPERSEDED and old.superseded_by == by:
        return  # the same request once more
    if old.kind is Kind.ENTITY:
        raise Invalid(f"memory {id} is an entity: it cannot be superseded", hint="Change what it says, or delete it.")
    if old.status is Status.SUPERSEDED:
        hint = f"Supersede {old.superseded_by} instead." if old.superseded_by else ""
        raise Invalid(f"memory {id} was superseded already", hint=hint)
    db.execute("update memories set status = 'superseded', superseded_by = ? where id = ?", (by, id))


def _write_chunks(db: apsw.Connection, id: MemoryId, entry: Entry) -> None:
    """Write the chunks, which indexes them, and their vectors or their place in the queue."""
    rows = [_chunk(id, entry, number) for number in range(len(entry.chunks))]
    names = ", ".join(rows[0])
    insert = f"insert into chunks ({names}) values ({', '.join('?' * len(rows[0]))}) returning id"
    ids: list[int] = [db.execute(insert, tuple(values.values())).get for values in rows]
    if entry.draft.keyword_only:
        return
    embedded = _embed(db, ids, entry.embedded, iso(entry.moment)) if entry.embedded else set()
    waiting = [(chunk_id,) for chunk_id in ids if chunk_id not in embedded]
    db.executemany("insert into embed_queue (chunk_id) values (?)", waiting)


def _chunk(id: MemoryId, entry: Entry, number: int) -> dict[str, Any]:
    """The columns of the row of an entry's chunk."""
    piece = entry.chunks[number]
    first = number == 0
    return {
        "memory_id": id,
        "chunk_index": piece.index,
        "start": piece.start,
        "stop": piece.stop,
        "chunk_type": piece.type,
        "header_path": packed(piece.header_path),
        "level": piece.level,
        "token_count": piece.token_count,
        "heading": " ".join(header.lstrip("# ") for header in piece.header_path),
        "tags": " ".join(entry.draft.tags) if first else "",
        "files": " ".join(entry.draft.related_files) if first else "",
        "grams": entry.grams[number],
    }


def _embed(db: apsw.Connection, ids: Sequence[int], embedded: Embedded, now: str) -> set[int]:
    """Add the vectors of new chunks, if their space lives; those that have one in the active generation now."""
    active = generations.active(db)
    generation = generations.living(db, embedded.space)
    if generation is None and not generations.every(db):
        generation = active = generations.begin(db, embedded.space, now)
    if generation is None:
        return set()  # the store is in another space
    windows = [window._replace(chunk=ids[window.chunk]) for window in embedded.windows]
    generations.add(db, generation, embedded.vectors, windows)
    return {window.chunk for window in windows} if generation == active else set()

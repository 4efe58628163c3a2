"""How entries become rows: a memory with its body, its chunks, their keywords and vectors, whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema.draft import SHARED
from memory.schema.errors import NotFound
from memory.schema.times import iso
from memory.store.sqlite import generations
from memory.store.sqlite.rows import MEMORY, key, listed, memory, packed, record
from memory.store.sqlite.unlearn import unlearning

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from memory.schema.memory import Memory, MemoryId, Revision
    from memory.schema.space import Embedded
    from memory.store import Entry


def insert(db: apsw.Connection, entry: Entry) -> Memory:
    """See `Memories.insert`."""
    values = _values(entry) | _first(entry)
    new = memory(
        db.execute(
            f"insert into memories ({', '.join(values)}) values ({', '.join('?' * len(values))}) returning {MEMORY}",
            tuple(values.values()),
        ).get
    )
    db.execute("insert into bodies (memory_id, body) values (?, ?)", (new.id, entry.draft.body))
    for revision in reversed(entry.history):
        _remember(db, new.id, revision)
    _write_chunks(db, new.id, entry)
    return new


def rewrite(db: apsw.Connection, id: MemoryId, entry: Entry, former: Revision | None, revisions: int | None) -> bool:
    """See `Memories.rewrite`."""
    count = "select count(*) from history where memory_id = ?"
    if revisions is not None and db.execute(count, (key(id),)).get != revisions:
        return False
    with unlearning(db, [id]):
        generations.forget_memory(db, key(id))
        db.execute("delete from chunks where memory_id = ?", (key(id),))
        values = _values(entry)
        names = ", ".join(f"{name} = ?" for name in values)
        if not db.execute(f"update memories set {names} where id = ? returning 1", (*values.values(), key(id))).get:
            raise NotFound(f"no memory {id}")
        if former is not None:
            _remember(db, id, former)
        db.execute("update bodies set body = ? where memory_id = ?", (entry.draft.body, id))
        _write_chunks(db, id, entry)
    return True


def delete(db: apsw.Connection, ids: Sequence[MemoryId]) -> int:
    """See `Memories.delete`."""
    with unlearning(db, ids):
        for id in ids:
            generations.forget_memory(db, key(id))
        gone = "delete from memories where id in (select value from json_each(?)) returning 1"
        return len(db.execute(gone, (listed(ids),)).fetchall())


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


def _remember(db: apsw.Connection, id: MemoryId, revision: Revision) -> None:
    db.execute(
        "insert into history (memory_id, replaced_at, record, body) values (?, ?, ?, ?)",
        (id, iso(revision.replaced_at), record(revision.memory._replace(id=id)), revision.body),
    )


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

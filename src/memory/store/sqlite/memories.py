"""Memories, their bodies and their chunks: what is written whole or not at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from memory.errors import Invalid, NotFound
from memory.kinds import RULES
from memory.record import OVERLAP, SHARED, Excerpt, MemoryId, Status
from memory.store import Counts, Embedded, Kept, Revision, Window
from memory.store.sqlite import vectors
from memory.store.sqlite.rows import COLUMNS, MEMORY, chunk, iso, listed, memories, memory, moment, packed, row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import apsw

    from memory.record import ChunkId, Memory
    from memory.store import Entry

RESOLVED = 10  # candidates named for an ambiguous reference
UID_PREFIX = 8  # characters from which a prefix of a uid is a reference

_SCOPE = ("kind", "agent_id", "session_id", "session_iter", "task_code", "query_id", "project")
"""Where the same content is the same memory (CAP X25)."""

_PENDING_TEXT = f"""
    c.id, c.memory_id, c.chunk_index, c.start, c.stop, c.chunk_type, c.header_path, c.level, c.token_count,
    case c.chunk_type when 'head' then m.what else substr(b.body, c.start + 1, c.stop - c.start) end,
    substr(b.body, max(0, c.start - {OVERLAP}) + 1, min(c.start, {OVERLAP})),
    m.title, m.what, m.why, m.impact, m.tags
    from chunks c
    join memories m on m.id = c.memory_id
    join bodies b on b.memory_id = c.memory_id
"""


def put(db: apsw.Connection, entry: Entry) -> Kept:
    """See `Store.put`."""
    if entry.unless_known and (known := _known(db, entry)) is not None:
        if entry.supersedes is not None and entry.supersedes != known:
            _supersede(db, entry.supersedes, by=known)
        return Kept(fetched(db, known), known=True, queued=0)
    if entry.draft.parent_id is not None:
        fetched(db, entry.draft.parent_id)
    values = _values(entry)
    id = MemoryId(
        db.execute(
            f"insert into memories ({', '.join(values)}) values ({', '.join('?' * len(values))}) returning id",
            tuple(values.values()),
        ).get
    )
    db.execute("insert into bodies (memory_id, body) values (?, ?)", (id, entry.draft.body))
    queued = _put_chunks(db, id, entry)
    if entry.supersedes is not None:
        _supersede(db, entry.supersedes, by=id)
    return Kept(fetched(db, id), known=False, queued=queued)


def replace(db: apsw.Connection, id: MemoryId, entry: Entry) -> Kept:
    """See `Store.replace`."""
    old = fetched(db, id)
    body = db.execute("select body from bodies where memory_id = ?", (id,)).get
    db.execute(
        "insert into history (memory_id, replaced_at, record, body) values (?, ?, ?, ?)",
        (id, iso(entry.moment), json.dumps(row(old), ensure_ascii=False), body),
    )
    vectors.forget_memory(db, id)
    db.execute("delete from chunks where memory_id = ?", (id,))
    kept = ("id", "uid", "created_at", "status", "superseded_by", "access_count", "accessed_at")
    values = {name: value for name, value in _values(entry).items() if name not in kept}
    db.execute(
        f"update memories set {', '.join(f'{name} = ?' for name in values)} where id = ?", (*values.values(), id)
    )
    db.execute("update bodies set body = ? where memory_id = ?", (entry.draft.body, id))
    queued = _put_chunks(db, id, entry)
    return Kept(fetched(db, id), known=False, queued=queued)


def delete(db: apsw.Connection, id: MemoryId) -> bool:
    vectors.forget_memory(db, id)
    return db.execute("delete from memories where id = ? returning 1", (id,)).get is not None


def fetched(db: apsw.Connection, id: MemoryId) -> Memory:
    for found in memories(db, "m.id = ?", [id]):
        return found
    raise NotFound(f"no memory {id}")


def resolve(db: apsw.Connection, reference: str) -> list[tuple[MemoryId, str]]:
    """See `Store.resolve`."""
    found: dict[MemoryId, str] = {}
    if reference.isascii() and reference.isdigit() and len(reference) < UID_PREFIX * 2:
        found.update(db.execute("select id, uid from memories where id = ?", (int(reference),)).fetchall())
    prefix = reference.lower().replace("-", "")
    if len(prefix) >= UID_PREFIX and all(c in "0123456789abcdef" for c in prefix):
        rows = db.execute(
            "select id, uid from memories where uid >= ? and uid < ? order by uid limit ?", (prefix, prefix + "g", RESOLVED)
        )
        found.update(rows.fetchall())
    return list(found.items())[:RESOLVED]


def history(db: apsw.Connection, id: MemoryId) -> list[Revision]:
    rows = db.execute("select replaced_at, record, body from history where memory_id = ? order by id desc", (id,))
    return [Revision(moment(at), memory(json.loads(record)), body) for at, record, body in rows]


def excerpts(db: apsw.Connection, ids: Sequence[ChunkId]) -> dict[ChunkId, Excerpt]:
    rows = db.execute(f"select {_PENDING_TEXT} where c.id in (select value from json_each(?))", (listed(ids),))
    return {found.id: found for found in _excerpts(rows)}


def pending(db: apsw.Connection, generation: int, after: ChunkId, limit: int) -> list[Excerpt]:
    rows = db.execute(
        f"""select {_PENDING_TEXT}
            where c.id > ? and not exists (select 1 from vectors_{generation} v where v.chunk_id = c.id)
            order by c.id limit ?""",
        (after, limit),
    )
    return list(_excerpts(rows))


def counts(db: apsw.Connection) -> Counts:
    memories_, superseded = next(db.execute("select count(*), count(*) filter (where status = 'superseded') from memories"))
    chunks = db.execute("select value from counters where name = 'chunks'").get
    queued, failed = next(db.execute("select count(*), count(*) filter (where attempts > 0) from embed_queue"))
    error = db.execute("select last_error from embed_queue where attempts > 0 order by tried_at desc limit 1").get
    kinds = db.execute("select kind, count(*) from memories group by kind order by 2 desc, 1").fetchall()
    projects = db.execute(
        "select project, count(*) from memories where project is not null group by project order by 2 desc, 1 limit 20"
    ).fetchall()
    size = db.pragma("page_count") * db.pragma("page_size")
    return Counts(memories_, superseded, chunks, queued, failed, error or "", tuple(kinds), tuple(projects), size)


def _known(db: apsw.Connection, entry: Entry) -> MemoryId | None:
    if RULES[entry.draft.kind].repeats:
        return None
    same = " and ".join(f"{name} is ?" for name in _SCOPE)
    scope = [_plain(getattr(entry.draft, name)) for name in _SCOPE]
    found: MemoryId | None = db.execute(
        f"select id from memories where content_hash = ? and status = 'active' and {same} order by id limit 1",
        (entry.content_hash, *scope),
    ).get
    return found


def _values(entry: Entry) -> dict[str, Any]:
    """The columns of an entry's row, all but the id."""
    values: dict[str, Any] = {name: _plain(getattr(entry.draft, name)) for name in SHARED}
    for name in ("tags", "related_files", "metadata"):
        values[name] = packed(values[name])
    now = iso(entry.moment)
    values |= {"uid": entry.uid, "content_hash": entry.content_hash, "created_at": now, "updated_at": now}
    values["body_size"] = len(entry.draft.body)
    if entry.restored is not None:
        former = dict(zip(COLUMNS, row(entry.restored), strict=True))
        names = ("created_at", "updated_at", "accessed_at", "access_count", "status", "superseded_by")
        values |= {name: former[name] for name in names}
    return values


def _plain(value: object) -> object:
    return str(value) if isinstance(value, str) else value  # apsw takes no subclass of str


def _supersede(db: apsw.Connection, id: MemoryId, *, by: MemoryId) -> None:
    old = fetched(db, id)
    if old.status is Status.SUPERSEDED:
        hint = f"Supersede {old.superseded_by} instead." if old.superseded_by else ""
        raise Invalid(f"memory {id} was superseded already", hint=hint)
    db.execute("update memories set status = 'superseded', superseded_by = ? where id = ?", (by, id))


def _put_chunks(db: apsw.Connection, id: MemoryId, entry: Entry) -> int:
    """Write the chunks, which indexes them, and their vectors or their place in the queue."""
    ids: list[int] = []
    for piece, grams in zip(entry.chunks, entry.grams, strict=True):
        values = (id, piece.index, piece.start, piece.stop, str(piece.type), packed(piece.header_path))
        ids.append(
            db.execute(
                """insert into chunks
                       (memory_id, chunk_index, start, stop, chunk_type, header_path, level, token_count, grams)
                   values (?, ?, ?, ?, ?, ?, ?, ?, ?) returning id""",
                (*values, piece.level, piece.token_count, grams),
            ).get
        )
    db.executemany("insert into embed_queue (chunk_id) values (?)", [(chunk_id,) for chunk_id in ids])
    if entry.embedded is not None:
        _fill(db, ids, entry.embedded, iso(entry.moment))
    return int(
        db.execute("select count(*) from embed_queue where chunk_id in (select value from json_each(?))", (listed(ids),)).get
    )


def _fill(db: apsw.Connection, ids: Sequence[int], embedded: Embedded, now: str) -> None:
    generation = vectors.living(db, embedded.space)
    if generation is None:
        if vectors.active(db) is not None:
            return  # the store is in another space: the chunks stay queued
        generation = vectors.begin(db, embedded.space, now)
    windows = [Window(ids[w.chunk], w.window, w.row) for w in embedded.windows]
    vectors.fill(db, generation, embedded.vectors, windows)


def _excerpts(rows: apsw.Cursor) -> Iterator[Excerpt]:
    for id, owner, *piece, text, before, title, what, why, impact, tags in rows:
        texts = (text, before, title, what, why, impact)
        yield Excerpt(id, owner, chunk(piece), *texts, tuple(json.loads(tags)))

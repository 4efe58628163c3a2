"""Memories with their bodies and chunks: how they are read, and how an entry becomes rows, whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import NotFound, StoreDamaged, iso
from memory.schema.memory import UID_PREFIX, Chunk, ChunkId, Excerpt, Memory, MemoryId, Revision
from memory.store import RESOLVED, Entry, Match, Order, records, written
from memory.store.postgres import generations, index, lexicons, rows
from memory.store.postgres.database import Part, many, one, reading, writing
from memory.store.postgres.rows import keys
from memory.store.records import key, most_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memory.schema.document import Details
    from memory.schema.query import Scope
    from memory.store.postgres.database import Database
    from memory.store.postgres.opening import Db
    from memory.store.postgres.scopes import Scopes
    from memory.store.records import Values

_CHUNK = "id, chunk_index, start, stop, chunk_type, header_path, level, token_count"

ROWS = 100  # written by one statement

_ITERATION = ("coalesce(m.session_iter, 0)", "m.created_at", "m.id")
_ORDERS = {
    Order.CHANGED: (("m.updated_at", "m.id"), "<", "desc"),
    Order.ITERATION: (_ITERATION, "<", "desc"),
    Order.ASCENDING: (_ITERATION, ">", "asc"),
}


class PostgresMemories(Part):
    """See `memory.store.memories.Memories`."""

    def __init__(self, database: Database, scopes: Scopes) -> None:
        super().__init__(database)
        self._scopes = scopes

    @reading
    def find(self, db: Db, matches: Sequence[Match]) -> Sequence[Memory | None]:
        ids = [one(db, *_wanted(match)) for match in matches]
        wanted = [id for id in ids if id is not None]
        found = rows.memories(db, "m.id = any(%s)", [wanted], strict=True) if wanted else []
        there = {memory.id: memory for memory in found}
        return [there.get(id) for id in ids]

    @writing()
    def insert(self, db: Db, entry: Entry) -> Memory:
        values = written.values(entry) | written.first(entry)
        with db.pipeline():  # waits only for what is read
            [row] = many(
                db,
                f"""insert into memories ({", ".join(values)}) overriding system value
                    values ({", ".join(["%s"] * len(values))}) returning {records.MADE}""",
                list(values.values()),
            )
            new = records.memory(row)
            db.execute("insert into bodies (memory_id, body) values (%s, %s)", (new.id, entry.draft.body))
            for revision in reversed(entry.history):
                _remember(db, new.id, revision)
            _write_chunks(db, new.id, entry)
        return new

    @writing()
    def rewrite(
        self,
        db: Db,
        id: MemoryId,
        entry: Entry,
        former: Revision | None = None,
        *,
        revisions: int | None = None,
        undone: int = 0,
    ) -> bool:
        count = "select count(*) from history where memory_id = %s"
        if revisions is not None and one(db, count, (key(id),)) != revisions:
            return False
        with lexicons.unlearning(db, [id]):
            _forget(db, [id])
            db.execute("delete from chunks where memory_id = %s", (key(id),))
            values = written.values(entry)
            names = ", ".join(f"{name} = %s" for name in values)
            if not db.execute(f"update memories set {names} where id = %s", (*values.values(), key(id))).rowcount:
                raise NotFound(f"no memory {id}")
            if former is not None:
                _remember(db, id, former)
            latest = "select id from history where memory_id = %s order by id desc limit %s"
            if undone:
                db.execute(f"delete from history where id in ({latest})", (id, undone))
            db.execute("update bodies set body = %s where memory_id = %s", (entry.draft.body, id))
            _write_chunks(db, id, entry)
        return True

    @writing()
    def set_links(self, db: Db, memories: Sequence[Memory]) -> None:
        db.cursor().executemany(
            "update memories set status = %s, superseded_by = %s, parent_id = %s, pinned = %s where id = %s",
            [(str(one.status), one.superseded_by, one.parent_id, one.pinned, key(one.id)) for one in memories],
        )

    @writing()
    def delete(self, db: Db, ids: Sequence[MemoryId]) -> int:
        with lexicons.unlearning(db, ids):
            _forget(db, ids)
            return db.execute("delete from memories where id = any(%s)", (keys(ids),)).rowcount

    @reading
    def resolve(self, db: Db, reference: str) -> Sequence[tuple[MemoryId, str]]:
        found: dict[MemoryId, str] = {}
        if reference.isascii() and reference.isdigit() and len(reference) < UID_PREFIX * 2:  # 2**63 has 19 digits
            found.update(many(db, "select id, uid from memories where id = %s", (int(reference),)))
        prefix = reference.lower().replace("-", "")
        if len(prefix) >= UID_PREFIX and set(prefix) <= set("0123456789abcdef"):
            begun = "select id, uid from memories where uid >= %s and uid < %s order by uid limit %s"
            found.update(many(db, begun, (prefix, prefix + "g", RESOLVED)))
        return list(found.items())[:RESOLVED]

    @reading
    def by_id(self, db: Db, ids: Sequence[MemoryId], *, pointing: bool = False) -> Mapping[MemoryId, Memory]:
        columns = ("id", "superseded_by", "parent_id") if pointing else ("id",)
        condition = " or ".join(f"m.{column} = any(%s)" for column in columns)
        return {one.id: one for one in rows.memories(db, condition, [keys(ids)] * len(columns))}

    @reading
    def bodies(self, db: Db, ids: Sequence[MemoryId]) -> Mapping[MemoryId, str]:
        return dict(many(db, "select memory_id, body from bodies where memory_id = any(%s)", (keys(ids),)))

    @reading
    def details(self, db: Db, id: MemoryId) -> Details | None:
        return details(db, id)

    @writing(durable=False, patience=0.1, lock=None)
    def touch(self, db: Db, ids: Sequence[MemoryId], moment: datetime) -> None:
        db.execute(
            "update memories set accessed_at = %s, access_count = access_count + 1 where id = any(%s)",
            (iso(moment), keys(ids)),
        )

    @reading
    def page(
        self, db: Db, scope: Scope, limit: int, *, order: Order = Order.CHANGED, after: Memory | None = None
    ) -> Sequence[Memory]:
        condition, values = rows.where(scope)
        columns, beyond, direction = _ORDERS[order]
        if after is not None:
            condition += f" and ({', '.join(columns)}) {beyond} ({', '.join(['%s'] * len(columns))})"
            iteration = (after.session_iter or 0, iso(after.created_at))
            values += [*((iso(after.updated_at),) if order is Order.CHANGED else iteration), after.id]
        ordered = f"order by {', '.join(f'{column} {direction}' for column in columns)}"
        return rows.memories(db, f"{condition} {ordered} limit %s", [*values, limit])

    @reading
    def count(self, db: Db, scope: Scope, *, most: int | None = None) -> int:
        return self._scopes.count(db, scope, most)

    @reading
    def tags(self, db: Db, scope: Scope) -> Sequence[tuple[str, int]]:
        condition, values = rows.where(scope)
        found = many(
            db,
            f"""select had.tag, count(distinct m.id)
                from memories m cross join jsonb_array_elements_text(m.tags::jsonb) had (tag)
                where {condition} group by 1""",
            values,
        )
        return most_first((tag, count) for tag, count in found)

    @reading
    def values(self, db: Db, field: str, scope: Scope) -> Sequence[tuple[str, int]]:
        condition, values = rows.where(scope)
        found = many(db, f"select m.{field}, count(*) from memories m where {condition} group by 1", values)
        return most_first((value, count) for value, count in found)

    @reading
    def excerpts(self, db: Db, ids: Sequence[ChunkId]) -> Mapping[ChunkId, Excerpt]:
        return {found.id: found for found in rows.excerpts(db, "c.id = any(%s)", (keys(ids),))}

    @reading
    def outlines(self, db: Db, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Sequence[tuple[ChunkId, Chunk]]]:
        found: dict[MemoryId, list[tuple[ChunkId, Chunk]]] = {}
        chunks = many(
            db,
            f"select memory_id, {_CHUNK} from chunks where memory_id = any(%s) order by memory_id, chunk_index",
            (keys(ids),),
        )
        for owner, id, *row in chunks:
            found.setdefault(owner, []).append((id, records.chunk(row)))
        return found


def _wanted(match: Match) -> tuple[str, Values]:
    """The statement that finds the id of what is asked for, and its values."""
    conditions: list[str] = []
    values: Values = []
    for name, value in match.fields.items():
        if value is None:
            conditions.append(f"{name} is null")
            continue
        # The kind in plain text: an index of one kind is not taken for a bound value.
        conditions.append(f"{name} = '{value}'" if name == "kind" else f"{name} = %s")
        values += [] if name == "kind" else [value]
    if match.active:
        conditions.append("status = 'active'")
    order = "updated_at desc, id desc" if match.latest else "id"
    return f"select id from memories where {' and '.join(conditions)} order by {order} limit 1", values


def details(db: Db, id: MemoryId) -> Details | None:
    from memory.schema.document import Details  # a search does without

    text = one(db, "select body from bodies where memory_id = %s", (key(id),))
    return None if text is None else Details(rows.fetched(db, id), text, tuple(history(db, id)))


def history(db: Db, id: MemoryId) -> list[Revision]:
    revisions = many(
        db, "select replaced_at, record, body from history where memory_id = %s order by id desc", (key(id),)
    )
    try:
        read = [Revision(records.moment(at), records.recorded(old), body) for at, old, body in revisions]
    except (*records.ODD, StoreDamaged) as error:
        raise StoreDamaged(f"the history of memory {id} cannot be read: {error}") from error
    return _named(db, read)


def _named(db: Db, revisions: list[Revision]) -> list[Revision]:
    """Revisions with the uids of their parents and successors, as far as these are still there."""
    links = [(one.memory.parent_id, one.memory.superseded_by) for one in revisions]
    if not (ids := {id for pair in links for id in pair if id is not None}):
        return revisions
    known: dict[int | None, str] = dict(many(db, "select id, uid from memories where id = any(%s)", (keys(ids),)))
    return [
        one._replace(memory=one.memory._replace(parent_uid=known.get(parent), successor_uid=known.get(successor)))
        for one, (parent, successor) in zip(revisions, links, strict=True)
    ]


# An entry as rows --------------------------------------------------------------


def _forget(db: Db, ids: Sequence[MemoryId]) -> None:
    """Take what memories say out of the sums and counts, before their chunks go."""
    chunks = [id for (id,) in many(db, "select id from chunks where memory_id = any(%s)", (keys(ids),))]
    for generation in generations.every(db):
        generations.forget(db, generation.id, chunks)
    index.remove(db, chunks)


def _remember(db: Db, id: MemoryId, revision: Revision) -> None:
    db.execute(
        "insert into history (memory_id, replaced_at, record, body) values (%s, %s, %s, %s)",
        (id, iso(revision.replaced_at), records.record(revision.memory._replace(id=id)), revision.body),
    )


def _write_chunks(db: Db, id: MemoryId, entry: Entry) -> None:
    """Write the chunks, index them, and write their vectors or their place in the queue."""
    chunks = [written.chunk(id, entry, number) for number in range(len(entry.chunks))]
    names, row = ", ".join(chunks[0]), f"({', '.join(['%s'] * len(chunks[0]))})"
    ids: list[int] = []
    for first in range(0, len(chunks), ROWS):
        some = chunks[first : first + ROWS]
        insert = f"insert into chunks ({names}) values {', '.join([row] * len(some))} returning id"
        ids += sorted(id for (id,) in many(db, insert, [value for values in some for value in values.values()]))
    index.add(db, ids)
    if entry.draft.keyword_only:
        return
    embedded = generations.add_new(db, ids, entry.embedded, iso(entry.moment)) if entry.embedded else set()
    waiting = [chunk for chunk in ids if chunk not in embedded]
    db.execute("insert into embed_queue (chunk_id) select unnest(%s::bigint[])", (waiting,))

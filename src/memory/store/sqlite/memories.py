"""Memories with their bodies and chunks: how they are read, and how an entry becomes rows, whole or not at all."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from memory.schema.errors import NotFound, StoreDamaged, iso
from memory.schema.kinds import Kind
from memory.schema.memory import UID_PREFIX, Chunk, ChunkId, Excerpt, Memory, MemoryId, Revision
from memory.schema.query import EVERYTHING
from memory.store import RESOLVED, Entry, Match, Order, records, written
from memory.store.records import chunk, most_first
from memory.store.sqlite import generations, lexicons, rows
from memory.store.sqlite.database import Database, Part, reading, writing
from memory.store.sqlite.excerpts import OWNER, excerpts
from memory.store.sqlite.scopes import BROAD, rarest, where

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    import apsw

    from memory.schema.document import Details
    from memory.schema.query import Scope
    from memory.store.sqlite.scopes import Filtered

_CHUNK = "id, chunk_index, start, stop, chunk_type, header_path, level, token_count"

_ITERATION = ("ifnull(m.session_iter, 0)", "m.created_at", "m.id")
_ORDERS = {
    Order.CHANGED: (("m.updated_at", "m.id"), "<", "desc"),
    Order.ITERATION: (_ITERATION, "<", "desc"),
    Order.ASCENDING: (_ITERATION, ">", "asc"),
}


class SqliteMemories(Part):
    """See `memory.store.memories.Memories`."""

    def __init__(self, database: Database, *, filtered: Filtered = lambda _db, _scope: None) -> None:
        """
        Args:
            filtered: See `memory.store.sqlite.postings.Postings.members`.
        """
        super().__init__(database)
        self._filtered = filtered

    @reading
    def find(self, db: apsw.Connection, matches: Sequence[Match]) -> Sequence[Memory | None]:
        places: dict[str, list[int]] = {}
        for place, match in enumerate(matches):
            kind = match.fields.get("kind")
            sql = _one_with(tuple(match.fields), kind, active=match.active, latest=match.latest)
            places.setdefault(sql, []).append(place)
        ids: dict[int, MemoryId] = {}
        for sql, own in places.items():
            values = json.dumps([list(matches[place].fields.values()) for place in own], ensure_ascii=False)
            ids |= {own[row]: id for row, id in db.execute(sql, (values,)) if id is not None}
        wanted = "m.id in (select value from json_each(?))"
        found = rows.memories(db, wanted, ids=ids.values(), strict=True) if ids else []
        there = {one.id: one for one in found}
        return [there[ids[place]] if place in ids else None for place in range(len(matches))]

    @writing()
    def insert(self, db: apsw.Connection, entry: Entry) -> Memory:
        values = written.values(entry) | written.first(entry)
        new = records.memory(
            db.execute(
                f"insert into memories ({', '.join(values)}) values ({', '.join('?' * len(values))}) returning {records.MADE}",
                tuple(values.values()),
            ).get
        )
        db.execute("insert into bodies (memory_id, body) values (?, ?)", (new.id, entry.draft.body))
        for revision in reversed(entry.history):
            _remember(db, new.id, revision)
        _write_chunks(db, new.id, entry)
        return new

    @writing()
    def insert_all(self, db: apsw.Connection, entries: Sequence[Entry]) -> Sequence[Memory]:
        return [self.insert(entry) for entry in entries]

    @writing()
    def rewrite(
        self,
        db: apsw.Connection,
        id: MemoryId,
        entry: Entry,
        former: Revision | None = None,
        *,
        revisions: int | None = None,
        undone: int = 0,
    ) -> bool:
        count = "select count(*) from history where memory_id = ?"
        if revisions is not None and db.execute(count, (records.key(id),)).get != revisions:
            return False
        with lexicons.unlearning(db, [id]):
            generations.forget_memory(db, records.key(id))
            db.execute("delete from chunks where memory_id = ?", (records.key(id),))
            values = written.values(entry)
            names = ", ".join(f"{name} = ?" for name in values)
            there = f"update memories set {names} where id = ? returning 1"
            if not db.execute(there, (*values.values(), records.key(id))).get:
                raise NotFound(f"no memory {id}")
            if former is not None:
                _remember(db, id, former)
            latest = "select id from history where memory_id = ? order by id desc limit ?"
            if undone:
                db.execute(f"delete from history where id in ({latest})", (id, undone))
            db.execute("update bodies set body = ? where memory_id = ?", (entry.draft.body, id))
            _write_chunks(db, id, entry)
        return True

    @writing()
    def set_links(self, db: apsw.Connection, memories: Sequence[Memory]) -> None:
        db.executemany(
            "update memories set status = ?, superseded_by = ?, parent_id = ?, pinned = ? where id = ?",
            [(one.status, one.superseded_by, one.parent_id, one.pinned, records.key(one.id)) for one in memories],
        )

    @writing()
    def delete(self, db: apsw.Connection, ids: Sequence[MemoryId]) -> int:
        with lexicons.unlearning(db, ids):
            for id in ids:
                generations.forget_memory(db, records.key(id))
            gone = "delete from memories where id in (select value from json_each(?)) returning 1"
            return len(db.execute(gone, (rows.listed(ids),)).fetchall())

    @reading
    def resolve(self, db: apsw.Connection, reference: str) -> Sequence[tuple[MemoryId, str]]:
        found: dict[MemoryId, str] = {}
        pairs: Iterable[records.Row]
        if reference.isascii() and reference.isdigit() and len(reference) < UID_PREFIX * 2:  # 2**63 has 19 digits
            pairs = db.execute("select id, uid from memories where id = ?", (int(reference),))
            found.update(pairs)
        prefix = reference.lower().replace("-", "")
        if len(prefix) >= UID_PREFIX and set(prefix) <= set("0123456789abcdef"):
            after = prefix + "g"
            pairs = db.execute(
                "select id, uid from memories where uid >= ? and uid < ? order by uid limit ?",
                (prefix, after, RESOLVED),
            )
            found.update(pairs)
        return list(found.items())[:RESOLVED]

    @reading
    def by_id(
        self, db: apsw.Connection, ids: Sequence[MemoryId], *, pointing: bool = False
    ) -> Mapping[MemoryId, Memory]:
        found = rows.memories(db, "m.id in (select value from json_each(?))", ids=ids)
        for link in ("superseded_by", "parent_id") if pointing else ():
            found += rows.memories(db, f"m.{link} in (select value from json_each(?))", ids=ids)
        return {memory.id: memory for memory in found}

    @reading
    def bodies(self, db: apsw.Connection, ids: Sequence[MemoryId]) -> Mapping[MemoryId, str]:
        found = rows.read(
            db, "select memory_id, body from bodies where memory_id in (select value from json_each(?))", ids=ids
        )
        return dict(found)

    @reading
    def details(self, db: apsw.Connection, id: MemoryId) -> Details | None:
        return details(db, id)

    @writing(durable=False, patience=0.1)
    def touch(self, db: apsw.Connection, ids: Sequence[MemoryId], moment: datetime) -> None:
        db.execute(
            """update memories set accessed_at = ?, access_count = access_count + 1
               where id in (select value from json_each(?))""",
            (iso(moment), rows.listed(ids)),
        )

    @reading
    def page(
        self,
        db: apsw.Connection,
        scope: Scope,
        limit: int,
        *,
        order: Order = Order.CHANGED,
        after: Memory | None = None,
    ) -> Sequence[Memory]:
        # Left to itself, SQLite reads all memories of a project to sort them; those of a large one are met soon by time.
        by_time = order is Order.CHANGED and scope.projects and rarest(db, scope) is None
        condition, values = where(scope, "updated_at" if by_time else None)
        columns, beyond, direction = _ORDERS[order]
        if after is not None:
            condition += f" and ({', '.join(columns)}) {beyond} ({', '.join('?' * len(columns))})"
            iteration = (after.session_iter or 0, iso(after.created_at))
            values += [*((iso(after.updated_at),) if order is Order.CHANGED else iteration), after.id]
        ordered = f"order by {', '.join(f'{column} {direction}' for column in columns)}"
        wanted, values = f"{condition} {ordered} limit ?", [*values, limit]
        if order is Order.CHANGED:
            return rows.memories(db, wanted, values)
        # No index has this order, and to sort whole rows takes ten times as long as their ids.
        ids: list[MemoryId] = [id for (id,) in db.execute(f"select m.id from memories m where {wanted}", values)]
        known = {one.id: one for one in rows.memories(db, "m.id in (select value from json_each(?))", ids=ids)}
        return [known[id] for id in ids]

    @reading
    def count(self, db: apsw.Connection, scope: Scope, *, most: int | None = None) -> int:
        if most is None and (known := self._counted(db, scope)) is not None:
            return known
        # Most sources are rare, and SQLite would go through all memories to meet one.
        condition, values = where(scope, rarest(db, scope) if scope.sources else None)
        counted = f"memories m where {condition}"
        if most is not None:
            counted, values = f"(select 1 from {counted} limit ?)", [*values, most]
        found: int = db.execute(f"select count(*) from {counted}", values).get
        return found

    def _counted(self, db: apsw.Connection, scope: Scope) -> int | None:
        """How many are in a scope of which nothing is to be looked up but what is superseded; None if there is more."""
        if scope in BROAD or (members := self._filtered(db, scope)) is None:
            return None
        from memory.store.sqlite.marks import rest

        if rest(scope) not in BROAD:
            return None
        if rest(scope) == EVERYTHING or not len(members):
            return len(members)
        superseded = [id for (id,) in db.execute("select id from memories where status = 'superseded' order by id")]
        places = members.searchsorted(superseded)
        return len(members) - int((members.take(places, mode="clip") == superseded).sum())

    @reading
    def tags(self, db: apsw.Connection, scope: Scope) -> Sequence[tuple[str, int]]:
        condition, values = where(scope)
        found: Iterable[tuple[str, int]] = db.execute(
            f"""select had.value, count(distinct m.id)
                from memories m, json_each(iif(json_valid(m.tags), m.tags, '[]')) had where {condition} group by 1""",
            values,
        )
        return most_first(found)

    @reading
    def values(self, db: apsw.Connection, field: str, scope: Scope) -> Sequence[tuple[str, int]]:
        condition, values = where(scope)
        found: Iterable[tuple[str, int]] = db.execute(
            f"select m.{field}, count(*) from memories m where {condition} group by 1", values
        )
        return most_first(found)

    @reading
    def excerpts(self, db: apsw.Connection, ids: Sequence[ChunkId]) -> Mapping[ChunkId, Excerpt]:
        there = excerpts(db, f"chunks c {OWNER} where c.id in (select value from json_each(?))", ids=ids)
        return {found.id: found for found in there}

    @reading
    def outlines(
        self, db: apsw.Connection, ids: Sequence[MemoryId]
    ) -> Mapping[MemoryId, Sequence[tuple[ChunkId, Chunk]]]:
        found: dict[MemoryId, list[tuple[ChunkId, Chunk]]] = {}
        chunks = rows.read(
            db,
            f"""select memory_id, {_CHUNK} from chunks where memory_id in (select value from json_each(?))
                order by memory_id, chunk_index""",
            ids=ids,
        )
        for owner, id, *row in chunks:
            found.setdefault(owner, []).append((id, chunk(row)))
        return found


@lru_cache
def _one_with(names: tuple[str, ...], kind: str | int | None, *, active: bool, latest: bool) -> str:
    """The statement that finds a memory for each row of values of fields of these names."""
    index = ""
    # Left to itself, SQLite takes the index that has most of these columns, and reads every note.
    if "content_hash" in names:
        index = "indexed by memories_by_hash"
    elif kind == Kind.ENTITY and "title" in names:
        index = "indexed by one_entity_a_name"
    elif "query_id" in names:
        index = "indexed by memories_by_run"
    # The kind in plain text: an index of one kind is not taken for a bound value.
    conditions = [
        f"kind = '{kind}'" if name == "kind" else f"{name} is value ->> {place}" for place, name in enumerate(names)
    ]
    if "content_hash" in names:
        conditions.append(f"substr(content_hash, 1, 16) = substr(value ->> {names.index('content_hash')}, 1, 16)")
    if active:
        conditions.append("status = 'active'")
    order = "updated_at desc, id desc" if latest else "id"
    one = f"select id from memories {index} where {' and '.join(conditions)} order by {order} limit 1"
    return f"select key, ({one}) from json_each(?)"


def details(db: apsw.Connection, id: MemoryId) -> Details | None:
    from memory.schema.document import Details  # a search does without

    if (text := rows.body(db, id)) is not None:
        return Details(rows.fetched(db, id), text, tuple(history(db, id)))
    for (uid,) in rows.read(db, "select uid from memories where id = ?", (records.key(id),)):
        raise StoreDamaged(f"memory {id} ({uid}) cannot be read: its body is missing", hint=records.EXPORTED)
    return None


def history(db: apsw.Connection, id: MemoryId) -> list[Revision]:
    revisions = rows.read(
        db, "select replaced_at, record, body from history where memory_id = ? order by id desc", (records.key(id),)
    )
    try:
        return _named(db, [Revision(records.moment(at), records.recorded(old), body) for at, old, body in revisions])
    except (*records.ODD, StoreDamaged) as error:
        raise StoreDamaged(f"the history of {rows.named(db, id)} cannot be read: {error}") from error


def _named(db: apsw.Connection, revisions: list[Revision]) -> list[Revision]:
    """Revisions with the uids of their parents and successors, as far as these are still there."""
    links = [(one.memory.parent_id, one.memory.superseded_by) for one in revisions]
    if not (ids := {id for pair in links for id in pair if id is not None}):
        return revisions
    known: dict[int | None, str] = dict(
        rows.read(db, "select id, uid from memories where id in (select value from json_each(?))", ids=[*ids])
    )
    uids = [(known.get(parent), known.get(successor)) for parent, successor in links]
    return [
        one._replace(memory=one.memory._replace(parent_uid=parent, successor_uid=successor))
        for one, (parent, successor) in zip(revisions, uids, strict=True)
    ]


# An entry as rows --------------------------------------------------------------


def _remember(db: apsw.Connection, id: MemoryId, revision: Revision) -> None:
    db.execute(
        "insert into history (memory_id, replaced_at, record, body) values (?, ?, ?, ?)",
        (id, iso(revision.replaced_at), records.record(revision.memory._replace(id=id)), revision.body),
    )


def _write_chunks(db: apsw.Connection, id: MemoryId, entry: Entry) -> None:
    """Write the chunks, which indexes them, and their vectors or their place in the queue."""
    chunks = [written.chunk(id, entry, number) for number in range(len(entry.chunks))]
    names = ", ".join(chunks[0])
    insert = f"insert into chunks ({names}) values ({', '.join('?' * len(chunks[0]))}) returning id"
    ids: list[int] = [db.execute(insert, tuple(values.values())).get for values in chunks]
    if entry.draft.keyword_only:
        return
    embedded = generations.add_new(db, ids, entry.embedded, iso(entry.moment)) if entry.embedded else set()
    waiting = [(chunk_id,) for chunk_id in ids if chunk_id not in embedded]
    db.executemany("insert into embed_queue (chunk_id) values (?)", waiting)

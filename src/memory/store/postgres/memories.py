"""Memories with their bodies and chunks: how they are read, and how an entry becomes rows, whole or not at all."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from memory.schema.errors import NotFound, StoreDamaged, iso
from memory.schema.memory import UID_PREFIX, Chunk, ChunkId, Excerpt, Memory, MemoryId, Revision
from memory.store import RESOLVED, Entry, Match, Order, records, written
from memory.store.postgres import chunks, generations, index, lexicons, rows
from memory.store.postgres.database import Part, asking, many, one, pipelined, reading, writing
from memory.store.postgres.rows import keys
from memory.store.records import key, most_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memory.schema.document import Details
    from memory.schema.query import Scope
    from memory.store.postgres.opening import Db
    from memory.store.records import Values

_CHUNK = "id, chunk_index, start, stop, chunk_type, header_path, level, token_count"

NUMBERS = ("id", "session_iter", "parent_id", "superseded_by", "access_count", "body_size")
"""Columns of `memories` that are no texts."""

_ITERATION = ("coalesce(m.session_iter, 0)", "m.created_at", "m.id")
_ORDERS = {
    Order.CHANGED: (("m.updated_at", "m.id"), "<", "desc"),
    Order.ITERATION: (_ITERATION, "<", "desc"),
    Order.ASCENDING: (_ITERATION, ">", "asc"),
}


class PostgresMemories(Part):
    """See `memory.store.memories.Memories`."""

    @asking
    def find(self, db: Db, matches: Sequence[Match]) -> Sequence[Memory | None]:
        if not matches:
            return []
        alike: dict[str, list[int]] = {}
        for place, match in enumerate(matches):
            alike.setdefault(_wanted(match), []).append(place)
        asked: list[str] = []
        values: Values = []
        for wanted, places in alike.items():
            names, several = _bound(matches[places[0]]), len(places) > 1
            row = ", ".join(("place", *names))
            asked.append(f"select w.place, ({wanted}) from ({_rows(names, several=several)}) w ({row})")
            columns: list[list[Any]] = [places, *([_value(matches[at], name) for at in places] for name in names)]
            values += columns if several else [column[0] for column in columns]
        found = many(
            db,
            f"""with found (place, number) as materialized ({" union all ".join(asked)})
                select f.place, {records.SEEN} from found f join memories m on m.id = f.number""",
            values,
        )
        there = {place: records.memory(row) for place, *row in found}
        return [there.get(place) for place in range(len(matches))]

    def insert(self, entry: Entry) -> Memory:
        return self.insert_all([entry])[0]

    @writing()
    def insert_all(self, db: Db, entries: Sequence[Entry]) -> Sequence[Memory]:
        values = [written.values(entry) | written.first(entry) for entry in entries]
        with pipelined(db):  # waits only for what is read
            made = rows.insert(db, "memories", values, f"returning {records.MADE}")
            place = chunks.place_of(db, entries)
            new = [records.memory(row) for row in records.together(chain.from_iterable(made))]
        place = chunks.founded(db, place, entries)
        own = [(one.id, entry) for one, entry in zip(new, entries, strict=True)]
        with pipelined(db):
            rows.insert(db, "bodies", [{"memory_id": id, "body": entry.draft.body} for id, entry in own])
            for id, entry in own:
                for revision in reversed(entry.history):
                    _remember(db, id, revision)
            chunks.write(db, own, place)
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
            words = _forget(db, [id])
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
            place = chunks.founded(db, chunks.place_of(db, [entry]), [entry])
            with pipelined(db):
                chunks.write(db, [(id, entry)], place)
                index.sweep(db, words)
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
            index.sweep(db, _forget(db, ids))
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
        condition, values = rows.where(scope)
        counted = f"select count(*) from (select from memories m where {condition} limit %s) counted"
        return int(one(db, counted, [*values, most]))

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
        cut = many(
            db,
            f"select memory_id, {_CHUNK} from chunks where memory_id = any(%s) order by memory_id, chunk_index",
            (keys(ids),),
        )
        for owner, id, *row in cut:
            found.setdefault(owner, []).append((id, records.chunk(row)))
        return found


def _bound(match: Match) -> list[str]:
    """The fields whose values are bound: the kind is not, since no index of one kind is taken for a bound value."""
    return [name for name, value in match.fields.items() if value is not None and name != "kind"]


def _value(match: Match, name: str) -> Any:
    value = match.fields[name]
    return key(int(value or 0)) if name == "id" else value


def _wanted(match: Match) -> str:
    """The statement that finds the id of what is asked for, whose values are those of a row w."""
    bound = _bound(match)
    conditions = [f"m.{name} is null" for name, value in match.fields.items() if value is None]
    conditions += [f"m.kind = '{match.fields['kind']}'"] if match.fields.get("kind") is not None else []
    conditions += [f"m.{name} = w.{name}" for name in bound]
    if match.active:
        conditions.append("m.status = 'active'")
    order = "m.updated_at desc, m.id desc" if match.latest else "m.id"
    # A server that has no numbers of this table yet takes any index: `offset` keeps it to that of the hashes.
    alike = "(select * from memories where content_hash = w.content_hash offset 0)"
    place = alike if "content_hash" in bound else "memories"
    return f"select m.id from {place} m where {' and '.join(conditions)} order by {order} limit 1"


def _rows(names: Sequence[str], *, several: bool) -> str:
    """A statement of rows: a number, and values of columns; of several, each column is bound as a list."""
    types = ["bigint", *("bigint" if name in NUMBERS else "text" for name in names)]
    if several:
        return f"select * from unnest({', '.join(f'%b::{type}[]' for type in types)})"
    return f"select {', '.join(f'%s::{type}' for type in types)}"


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


def _forget(db: Db, ids: Sequence[MemoryId]) -> set[str]:
    """Take what memories say out of the sums and counts, before their chunks go; the words of these, for `index.sweep`."""
    own = [id for (id,) in many(db, "select id from chunks where memory_id = any(%s)", (keys(ids),))]
    for generation in generations.every(db):
        chunks.forget(db, generation.id, own)
    return index.remove(db, own)


def _remember(db: Db, id: MemoryId, revision: Revision) -> None:
    db.execute(
        "insert into history (memory_id, replaced_at, record, body) values (%s, %s, %s, %s)",
        (id, iso(revision.replaced_at), records.record(revision.memory._replace(id=id)), revision.body),
    )

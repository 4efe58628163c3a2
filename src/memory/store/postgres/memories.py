"""Memories with their bodies and chunks: how they are read, and how an entry becomes rows, whole or not at all."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from memory.store import Entry, Match, Order, learned, records
from memory.store.generations import every
from memory.store.memories import Memories, paged, remember
from memory.store.postgres import chunks, index, rows
from memory.store.records import Values, key, most_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.memory import Memory, MemoryId
    from memory.schema.query import Scope
    from memory.store.postgres.database import ServerPool

NUMBERS = ("id", "session_iter", "parent_id", "superseded_by", "access_count", "body_size")
"""Columns of `memories` that are no texts."""


class PostgresMemories(Memories):
    """See `memory.store.memories.Memories`."""

    _db: ServerPool

    def find(self, matches: Sequence[Match]) -> Sequence[Memory | None]:
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
        sql = f"""with found (place, number) as materialized ({" union all ".join(asked)})
                  select f.place, {records.SEEN} from found f join memories m on m.id = f.number"""
        there = {place: records.memory(row) for place, *row in self._db.ask(lambda db: db.rows(sql, values))}
        return [there.get(place) for place in range(len(matches))]

    def insert_all(self, entries: Sequence[Entry]) -> Sequence[Memory]:
        with self._db.write() as db:
            values = [records.new_values(entry) for entry in entries]
            with db.pipelined():  # waits only for what is read
                made = rows.insert(db, "memories", values, f"returning {records.MADE}")
                place = chunks.place_of(db, entries)
                new = [records.memory(row) for row in records.together(chain.from_iterable(made))]
            place = chunks.founded(db, place, entries)
            own = [(one.id, entry) for one, entry in zip(new, entries, strict=True)]
            with db.pipelined():
                rows.insert(db, "bodies", [{"memory_id": id, "body": entry.draft.body} for id, entry in own])
                for id, entry in own:
                    for revision in reversed(entry.history):
                        remember(db, id, revision)
                chunks.write(db, own, place)
            return new

    def delete(self, ids: Sequence[MemoryId]) -> int:
        with self._db.write() as db, learned.unlearning(db, ids):
            index.sweep(db, self._forget(db, ids))
            return db.execute("delete from memories where id = any(%s)", (rows.keys(ids),)).rowcount

    def _forget(self, db: rows.Db, ids: Sequence[MemoryId]) -> set[str]:
        """See `Memories`; the words of these, for `index.sweep`."""
        own = [id for (id,) in db.rows("select id from chunks where memory_id = any(%s)", (rows.keys(ids),))]
        for generation in every(db):
            chunks.forget(db, generation.id, own)
        return index.remove(db, own)

    def _write_chunks(self, db: rows.Db, id: MemoryId, entry: Entry, forgotten: set[str]) -> None:
        place = chunks.founded(db, chunks.place_of(db, [entry]), [entry])
        with db.pipelined():
            chunks.write(db, [(id, entry)], place)
            index.sweep(db, forgotten)

    def page(
        self, scope: Scope, limit: int, *, order: Order = Order.CHANGED, after: Memory | None = None
    ) -> Sequence[Memory]:
        with self._db.read() as db:
            condition, values = rows.where(scope)
            return db.memories(*paged(condition, values, limit, order=order, after=after))

    def count(self, scope: Scope, *, most: int | None = None) -> int:
        with self._db.read() as db:
            condition, values = rows.where(scope)
            counted = f"select count(*) from (select from memories m where {condition} limit %s) counted"
            return int(db.value(counted, [*values, most]))

    def tags(self, scope: Scope) -> Sequence[tuple[str, int]]:
        with self._db.read() as db:
            condition, values = rows.where(scope)
            found = db.rows(
                f"""select had.tag, count(distinct m.id)
                    from memories m cross join jsonb_array_elements_text(m.tags::jsonb) had (tag)
                    where {condition} group by 1""",
                values,
            )
            return most_first((tag, count) for tag, count in found)


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

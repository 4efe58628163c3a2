"""Memories with their bodies and chunks: how they are read, and how an entry becomes rows, whole or not at all."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from memory.schema.errors import iso
from memory.schema.kinds import Kind
from memory.schema.query import ACTIVE, Scope
from memory.store import Entry, Match, Order, State, records
from memory.store.memories import Memories, paged, remember
from memory.store.narrow import opened, stored
from memory.store.records import tags_most_first
from memory.store.sqlite import rows
from memory.store.sqlite.rows import PREFERENCES, SUPERSEDED, Members, rarest, where

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from memory.schema.memory import Memory, MemoryId
    from memory.schema.space import Embedded, Vectors, Window
    from memory.store.generations import OpenGeneration
    from memory.store.sqlite.database import Database


class SqliteMemories(Memories):
    """See `memory.store.memories.Memories`."""

    _db: Database

    def __init__(self, database: Database, *, members: Members = lambda _db, _scope: None) -> None:
        """
        Args:
            members: See `memory.store.sqlite.postings.Postings.members`.
        """
        super().__init__(database)
        self._members = members

    def find(self, matches: Sequence[Match]) -> Sequence[Memory | None]:
        with self._db.read() as db:
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
            found = db.memories(wanted, [rows.listed(ids.values())], strict=True) if ids else []
            there = {one.id: one for one in found}
            return [there[ids[place]] if place in ids else None for place in range(len(matches))]

    def insert_all(self, entries: Sequence[Entry]) -> Sequence[Memory]:
        with self._db.write() as db:
            inserted: list[Memory] = []
            for entry in entries:
                values = records.new_values(entry)
                names, places = ", ".join(values), ", ".join("?" * len(values))
                sql = f"insert into memories ({names}) values ({places}) returning {records.MADE}"
                new = records.memory(db.execute(sql, tuple(values.values())).get)
                db.execute("insert into bodies (memory_id, body) values (?, ?)", (new.id, entry.draft.body))
                for revision in reversed(entry.history):
                    remember(db, new.id, revision)
                self._write_chunks(db, new.id, entry)
                inserted.append(new)
            return inserted

    def delete(self, ids: Sequence[MemoryId]) -> int:
        from memory.store.learned import unlearning

        with self._db.write() as db, unlearning(db, ids):
            self._forget(db, ids)
            gone = "delete from memories where id in (select value from json_each(?)) returning 1"
            return len(db.execute(gone, (rows.listed(ids),)).fetchall())

    def _forget(self, db: rows.SqliteConnection, ids: Sequence[MemoryId]) -> None:
        for id in map(records.key, ids):
            chunks: list[int] = [chunk for (chunk,) in db.execute("select id from chunks where memory_id = ?", (id,))]
            for (generation,) in db.rows("select id from generations order by id"):
                forget_vectors(db, generation, chunks)

    def _write_chunks(self, db: rows.SqliteConnection, id: MemoryId, entry: Entry, forgotten: None = None) -> None:
        del forgotten
        chunks = records.chunk_rows(id, entry)
        names = ", ".join(chunks[0])
        insert = f"insert into chunks ({names}) values ({', '.join('?' * len(chunks[0]))}) returning id"
        ids: list[int] = [db.execute(insert, tuple(values.values())).get for values in chunks]
        if entry.draft.keyword_only:
            return
        embedded = _add_new(db, ids, entry.embedded, entry.moment) if entry.embedded else set()
        waiting = [(chunk_id,) for chunk_id in ids if chunk_id not in embedded]
        db.executemany("insert into embed_queue (chunk_id) values (?)", waiting)

    def page(
        self, scope: Scope, limit: int, *, order: Order = Order.CHANGED, after: Memory | None = None
    ) -> Sequence[Memory]:
        # Left to itself, SQLite reads all memories of a project to sort them; those of a large one are met soon by time.
        with self._db.read() as db:
            by_time = order is Order.CHANGED and (
                scope.categories == PREFERENCES or (scope.projects and rarest(db, scope) is None)
            )
            condition, values = where(scope, "updated_at" if by_time else None)
            wanted, values = paged(condition, values, limit, order=order, after=after)
            if order is Order.CHANGED:
                return db.memories(wanted, values)
            # No index has this order, and to sort whole rows takes ten times as long as their ids.
            ids: list[MemoryId] = [id for (id,) in db.execute(f"select m.id from memories m where {wanted}", values)]
            known = {one.id: one for one in db.memories("m.id in (select value from json_each(?))", [rows.listed(ids)])}
            return [known[id] for id in ids]

    def count(self, scope: Scope, *, most: int | None = None) -> int:
        with self._db.read() as db:
            if most is None and scope == ACTIVE:  # SQLite would look at each, and has counted them by the page
                active = f"(select count(*) from memories) - (select count(*) from memories m where {SUPERSEDED})"
                return int(db.execute(f"select {active}").get)
            # SQLite meets a few soon, but not where it has to look into tags, or for words.
            if (most is None or scope.tags or scope.without) and (members := self._members(db, scope)) is not None:
                return len(members) if most is None else min(len(members), most)
            # Most sources are rare, and SQLite would go through all memories to meet one.
            condition, values = where(scope, rarest(db, scope) if scope.sources else None)
            counted = f"memories m where {condition}"
            if most is not None:
                counted, values = f"(select 1 from {counted} limit ?)", [*values, most]
            return int(db.execute(f"select count(*) from {counted}", values).get)

    def tags(self, scope: Scope) -> Sequence[tuple[str, int]]:
        with self._db.read() as db:
            condition, values = where(scope)
            found: Iterable[tuple[str, int]] = db.execute(
                f"""select had.value, count(distinct m.id)
                    from memories m, json_each(iif(json_valid(m.tags), m.tags, '[]')) had where {condition} group by 1""",
                values,
            )
            return tags_most_first(found)


@lru_cache
def _one_with(names: tuple[str, ...], kind: str | int | None, *, active: bool, latest: bool) -> str:
    """The statement that finds a memory for each row of values of fields of these names."""
    index = ""
    # Left to itself, SQLite takes the index that has most of these columns, and reads every note.
    if "content_hash" in names:
        index = "indexed by memories_by_hash"
    elif kind == Kind.ENTITY and "title" in names:
        index = "indexed by one_entity_a_name"
    elif kind == Kind.ITEM and "key" in names:
        index = "indexed by one_item_a_key"
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


# Vectors: what is imported here a search by keyword does without ------------------


def add_vectors(db: rows.SqliteConnection, into: OpenGeneration, vectors: Vectors, windows: Sequence[Window]) -> None:
    """Write vectors of chunks that are there and have none in the generation."""
    from memory.store.generations import note_added

    added, packed = stored(vectors[[window.row for window in windows]])
    db.executemany(
        f"insert into vectors_{into.id} (chunk_id, window, embedding) values (?, ?, ?)",
        [(chunk, window, own) for (chunk, window, _), own in zip(windows, packed, strict=True)],
    )
    note_added(db, into, added, {window.chunk for window in windows})


def _add_new(db: rows.SqliteConnection, ids: Sequence[int], embedded: Embedded, now: datetime) -> set[int]:
    """Add the vectors of new chunks, if their space lives; those that have one in the active generation now."""
    from memory.store.generations import LIVING, begin, every, open_generations

    living = open_generations(db.execute(LIVING))
    if not living and not every(db):
        begin(db, embedded.space, iso(now))
        living = open_generations(db.execute(LIVING))
    windows = [window._replace(chunk=ids[window.chunk]) for window in embedded.windows]
    answered: set[int] = set()
    for into in living:
        if into.space == embedded.space:  # else the store is in another space
            add_vectors(db, into, embedded.vectors, windows)
            answered = {window.chunk for window in windows if into.state is State.ACTIVE}
    return answered


def forget_vectors(db: rows.SqliteConnection, generation: int, ids: Collection[int]) -> None:
    """Take away the vectors of chunks, also from the generation's total, and their rows that lost their blocks."""
    from memory.store.generations import note_removed
    from memory.store.sqlite import derived

    named, chunks = "where chunk_id in (select value from json_each(?))", (rows.listed(ids),)
    gone: list[bytes] = [one for (one,) in db.execute(f"select embedding from vectors_{generation} {named}", chunks)]
    lost: set[int] = {
        chunk for (chunk,) in db.execute(f"delete from vector_rows_{generation} {named} returning chunk_id", chunks)
    }
    if lost:
        derived.note(db, generation, lost)
        note_removed(db, generation, opened(gone), ids)

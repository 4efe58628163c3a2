"""
Memories with their bodies and chunks: how they are read, and how an entry becomes rows, whole or not at all: those of its
chunks, in the keyword index, and with their vectors or a place in the queue.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema import np
from memory.schema.errors import iso
from memory.schema.memory import ChunkId, MemoryId
from memory.store import Entry, Match, Order, State, learned, records
from memory.store.generations import LIVING, OpenGeneration, begin, every, note_added, note_removed, open_generations
from memory.store.memories import Memories, paged, remember
from memory.store.postgres import index, rows
from memory.store.postgres.opening import Embeddings
from memory.store.postgres.rows import Db, insert, read_vectors
from memory.store.records import Values, key, tags_most_first

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from memory.schema.memory import Memory
    from memory.schema.query import Scope
    from memory.schema.space import Embedded, Vectors, Window
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
            values = [self._with_keys(records.new_values(entry)) for entry in entries]
            with db.pipelined():  # waits only for what is read
                made = rows.insert(db, "memories", values, f"returning {records.MADE}")
                place = destination(db, entries)
                new = [records.memory(row) for row in records.together(chain.from_iterable(made))]
            place = founded(db, place, entries)
            own = [(one.id, entry) for one, entry in zip(new, entries, strict=True)]
            with db.pipelined():
                rows.insert(db, "bodies", [{"memory_id": id, "body": entry.draft.body} for id, entry in own])
                for id, entry in own:
                    for revision in reversed(entry.history):
                        remember(db, id, revision)
                write_chunks(db, own, place)
            return new

    def _with_keys(self, values: dict[str, Any]) -> dict[str, Any]:
        return values | {"tag_keys": rows.tag_keys(values["tags"])}

    def delete(self, ids: Sequence[MemoryId]) -> int:
        with self._db.write() as db, learned.unlearning(db, ids):
            index.sweep(db, self._forget(db, ids))
            return db.execute("delete from memories where id = any(%s)", (rows.keys(ids),)).rowcount

    def _forget(self, db: rows.Db, ids: Sequence[MemoryId]) -> set[str]:
        """See `Memories`; the words of these, for `index.sweep`."""
        own = [id for (id,) in db.rows("select id from chunks where memory_id = any(%s)", (rows.keys(ids),))]
        for (generation,) in db.rows("select id from generations order by id"):
            forget_vectors(db, generation, own)
        return index.remove(db, own)

    def _write_chunks(self, db: rows.Db, id: MemoryId, entry: Entry, forgotten: set[str]) -> None:
        place = founded(db, destination(db, [entry]), [entry])
        with db.pipelined():
            write_chunks(db, [(id, entry)], place)
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
            return tags_most_first((tag, count) for tag, count in found)


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


# Chunks -----------------------------------------------------------------------


class Destination(NamedTuple):
    """
    Where the chunks of entries go.

    Attributes:
        ids: Theirs, lowest first.
        living: The generations that take their vectors.
    """

    ids: list[ChunkId]
    living: list[OpenGeneration]


def destination(db: Db, entries: Sequence[Entry]) -> Destination:
    count = sum(len(entry.chunks) for entry in entries)
    with db.pipelined():
        ids = db.execute("select nextval('chunks_id_seq') from generate_series(1, %s)", (count,), binary=True)
        living = db.execute(LIVING, binary=True)
        return Destination([ChunkId(id) for (id,) in ids], open_generations(living))


def founded(db: Db, place: Destination, entries: Sequence[Entry]) -> Destination:
    """The same with the first generation, if these are the first vectors. Not in a pipeline: it makes a table."""
    embedded = [one for one in entries if one.embedded is not None and not one.draft.keyword_only]
    if place.living or not embedded or embedded[0].embedded is None or every(db):
        return place
    begin(db, embedded[0].embedded.space, iso(embedded[0].moment))
    return place._replace(living=open_generations(db.rows(LIVING)))


def write_chunks(db: Db, own: Sequence[tuple[MemoryId, Entry]], place: Destination) -> None:
    """Write the chunks of memories, index them, and write their vectors or their place in the queue."""
    left = iter(place.ids)
    rows: list[dict[str, Any]] = []
    indexed: dict[int, tuple[int, index.IndexRow]] = {}
    made: list[tuple[Embedded, Sequence[int], int]] = []
    queued: set[int] = set()
    for memory, entry in own:
        chunks = [next(left) for _ in entry.chunks]
        for number, (id, row) in enumerate(zip(chunks, records.chunk_rows(memory, entry), strict=True)):
            rows.append({"id": id} | row)
            indexed[id] = (memory, index.counted(index.said(records.passage(entry, number, row)), entry.draft.project))
        if entry.embedded and not entry.draft.keyword_only:
            made.append((entry.embedded, chunks, memory))
        queued.update(() if entry.draft.keyword_only else chunks)
    insert(db, "chunks", rows)
    index.write(db, indexed)
    queued -= _add_all(db, place.living, made)
    if queued:
        db.execute("insert into embed_queue (chunk_id) select unnest(%b::bigint[])", (sorted(queued),))


# Vectors -----------------------------------------------------------------------


def add_vectors(
    db: Db, into: OpenGeneration, vectors: Vectors, windows: Sequence[Window], owners: Mapping[int, int]
) -> None:
    """
    Write vectors of chunks that are there and have none in the generation.

    Args:
        owners: The memories of the chunks.
    """
    if not windows:
        return
    added = vectors[[window.row for window in windows]]
    chunks = [window.chunk for window in windows]
    db.execute(
        f"""insert into vectors_{into.id} (chunk_id, memory_id, place, embedding)
            select * from unnest(%b::bigint[], %b::bigint[], %b::bigint[], %b)""",
        (chunks, [owners[chunk] for chunk in chunks], [window.window for window in windows], Embeddings(added)),
    )
    note_added(db, into, added, {*chunks})


def _add_all(db: Db, living: Sequence[OpenGeneration], made: Sequence[tuple[Embedded, Sequence[int], int]]) -> set[int]:
    """
    Write the vectors of new chunks, as far as their space lives; those that have one in the active generation now.

    Args:
        made: Of each memory what is embedded, its chunks, and its id.
    """
    answered: set[int] = set()
    for into in living:
        own = [one for one in made if one[0].space == into.space]
        windows: list[Window] = []
        first = 0
        for embedded, ids, _ in own:
            windows += [one._replace(chunk=ids[one.chunk], row=first + one.row) for one in embedded.windows]
            first += len(embedded.vectors)
        if windows:
            vectors = np.concatenate([embedded.vectors for embedded, _, _ in own])
            add_vectors(db, into, vectors, windows, {id: memory for _, ids, memory in own for id in ids})
        if into.state is State.ACTIVE:
            answered = {window.chunk for window in windows}
    return answered


def forget_vectors(db: Db, generation: int, ids: Collection[int]) -> None:
    """Take away the vectors of chunks, also from the generation's total."""
    rows = db.rows(
        f"delete from vectors_{generation} where chunk_id = any(%s) returning vector_send(embedding)",
        (list(ids),),
    )
    if rows:
        note_removed(db, generation, read_vectors([sent for (sent,) in rows], (len(rows[0][0]) - 4) // 4), ids)

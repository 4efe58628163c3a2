"""The rows of a database, for a move. The keyword index is written with the rows of chunks."""

from __future__ import annotations

from array import array
from sys import byteorder
from typing import TYPE_CHECKING, Any

from memory.store.postgres import generations, index
from memory.store.postgres.database import Part, many, one, reading, writing
from memory.store.postgres.opening import Embedding
from memory.store.postgres.rows import keys as listed
from memory.store.postgres.translate import translated
from memory.store.tables import GENERATIONS, MEMORIES, VECTORS, Arrival, Key, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.memory import MemoryId
    from memory.store.postgres.opening import Db
    from memory.store.records import Row

_NAMES = {(VECTORS, "row"): "id", (VECTORS, "window"): "place"}
"""Columns that have another name here."""

_BOOLEAN = ("keyword_only", "pinned", "replaced", "success", "undone")

_NUMBERED = ("memories", "history", "chunks", "generations", "tool_calls", "ledger")
"""Tables whose ids are never given again."""

_OWNED = {
    "memory_id": "memory_id = any(%s)",
    "chunk_id": "chunk_id in (select id from chunks where memory_id = any(%s))",
}


class PostgresTables(Part):
    """See `memory.store.tables.Tables`."""

    @reading
    def rows(
        self,
        db: Db,
        table: Table,
        columns: Sequence[str],
        *,
        after: Key | None = None,
        upto: Key | None = None,
        limit: int | None = None,
    ) -> Sequence[Row]:
        key = ", ".join(_names(table, table.key))
        marks = ", ".join(["%s"] * len(table.key))
        clauses, values = ["true"], list[Any]()
        for sign, bound in ((">", after), ("<=", upto)):
            if bound is not None:
                clauses.append(f"({key}) {sign} ({marks})")
                values += bound
        wanted = f"where {' and '.join(clauses)} order by {key} limit %s"
        with translated(self._db.name):  # of this database, also inside the transaction of another one
            return _read(table, columns, many(db, _select(table, columns, wanted), [*values, limit]))

    @reading
    def owned(self, db: Db, table: Table, memories: Sequence[MemoryId]) -> Sequence[Row]:
        wanted = f"where {_OWNED[table.owner]} order by {', '.join(_names(table, table.key))}"
        with translated(self._db.name):
            return _read(table, table.columns, many(db, _select(table, table.columns, wanted), (listed(memories),)))

    @reading
    def count(self, db: Db, table: Table) -> int:
        return int(one(db, f"select count(*) from {table.name}"))

    @writing(durable=False)
    def insert(self, db: Db, table: Table, rows: Sequence[Row]) -> None:
        if table == GENERATIONS:
            for id, *_, dimension, _created, _state, _vectors, _total, _sign in rows:
                generations.table(db, id, dimension)
        names = _names(table, table.columns)
        into = f"insert into {table.name} ({', '.join(names)}) overriding system value"
        if table.name.startswith(VECTORS):
            sent = [(*rest, Embedding(array("f", embedding))) for *rest, embedding in rows]
            owner = "(select memory_id from chunks where id = w.chunk_id)"
            into = f"insert into {table.name} ({', '.join(names)}, memory_id) overriding system value"
            given = f"(values (%s::bigint, %s::bigint, %s::bigint, %s)) w ({', '.join(names)})"
            db.cursor().executemany(f"{into} select *, {owner} from {given}", sent)
        else:  # one statement: triggers of its own count what one has written
            cells = ", ".join(f"{name}::boolean" if name in _BOOLEAN else name for name in names)
            lists = ", ".join(f"%b::{type}[]" for type in _types(db, table))
            columns = [list(column) for column in zip(*rows, strict=True)]
            db.execute(f"{into} select {cells} from unnest({lists}) w ({', '.join(names)})", columns)
        if names[0] == "id":
            _raise(db, table.name, rows[-1][0])
        if table.name == "chunks":
            index.add(db, [id for id, *_ in rows])

    @writing(durable=False)
    def change(self, db: Db, table: Table, rows: Sequence[Row]) -> None:
        if table == GENERATIONS:  # at no moment may two be active, or two being built
            ids = [id for id, *_ in rows]
            db.execute("update generations set state = 'retired' where id = any(%s)", (ids,))
        sets = ", ".join(f"{name} = {_mark(name)}" for name in table.changing)
        width = len(table.key)
        db.cursor().executemany(
            f"update {table.name} set {sets} where {_is(table)}", [(*row[width:], *row[:width]) for row in rows]
        )

    @writing(durable=False)
    def remove(self, db: Db, table: Table, keys: Sequence[Key]) -> None:
        ids = [id for id, *_ in keys]
        if table.name == "chunks":
            index.sweep(db, index.remove(db, ids))
        elif table == MEMORIES:  # with which their chunks go
            own = many(db, "select id from chunks where memory_id = any(%s)", (ids,))
            index.sweep(db, index.remove(db, [id for (id,) in own]))
        db.cursor().executemany(f"delete from {table.name} where {_is(table)}", keys)
        if table == GENERATIONS:
            generations.sweep(db)

    @reading
    def numbers(self, db: Db) -> Mapping[str, int]:
        given = "select pg_sequence_last_value(pg_get_serial_sequence(%s, 'id'))"
        found = {name: one(db, given, (name,)) for name in _NUMBERED}
        return {name: number for name, number in found.items() if number is not None}

    @writing(durable=False)
    def skip(self, db: Db, numbers: Mapping[str, int]) -> None:
        for name, number in numbers.items():
            _raise(db, name, number)

    @reading
    def arrival(self, db: Db) -> Arrival | None:
        for source, run, ended in many(db, "select source, run, ended from arrival"):
            return Arrival(source, run, ended)
        return None

    @writing(durable=False)
    def set_arrival(self, db: Db, arrival: Arrival | None) -> None:
        db.execute("delete from arrival")
        if arrival is not None:
            db.execute("insert into arrival (id, source, run, ended) values (1, %s, %s, %s)", arrival)


def _names(table: Table, columns: Sequence[str]) -> list[str]:
    sort = table.name.partition("_")[0]
    return [_NAMES.get((sort, name), name) for name in columns]


def _select(table: Table, columns: Sequence[str], wanted: str) -> str:
    cells = (f"{name}::integer" if name in _BOOLEAN else name for name in _names(table, columns))
    sent = ("vector_send(embedding)" if name == "embedding" else name for name in cells)
    return f"select {', '.join(sent)} from {table.name} {wanted}"


def _is(table: Table) -> str:
    """The condition on the key of one row."""
    return " and ".join(f"{name} = %s" for name in _names(table, table.key))


def _mark(column: str) -> str:
    return "%s::integer::boolean" if column in _BOOLEAN else "%s"


def _types(db: Db, table: Table) -> list[str]:
    """Of the columns of a table, as values of a move have them."""
    found = "select attname, format_type(atttypid, null) from pg_attribute where attrelid = %s::regclass and attnum > 0"
    types = dict(many(db, found, (table.name,)))
    return ["integer" if name in _BOOLEAN else types[name] for name in _names(table, table.columns)]


def _raise(db: Db, table: str, number: int) -> None:
    """Let a table give no id that is as high or lower."""
    db.execute(
        """select setval(s, greatest(%s, coalesce(pg_sequence_last_value(s), 0)))
           from (select pg_get_serial_sequence(%s, 'id')::regclass) own (s)""",
        (number, table),
    )


# Vectors: here as pgvector sends them, big-endian behind four bytes; in a move as numbers of 32 bits, little-endian.


def _read(table: Table, columns: Sequence[str], rows: Sequence[Row]) -> Sequence[Row]:
    if not table.name.startswith(VECTORS) or "embedding" not in columns:
        return rows
    return [(*rest, _turned(sent[4:]).tobytes()) for *rest, sent in rows]


def _turned(big: bytes) -> array[float]:
    numbers = array("f", big)
    if byteorder == "little":
        numbers.byteswap()
    return numbers

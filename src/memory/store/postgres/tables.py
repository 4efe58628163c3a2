"""The rows of a database, for a move. The keyword index is written with the rows of chunks."""

from __future__ import annotations

from array import array
from sys import byteorder
from typing import TYPE_CHECKING

from memory.store.postgres import index
from memory.store.postgres.opening import HalfVector
from memory.store.postgres.translate import translated
from memory.store.tables import MEMORIES, VECTORS, Key, Table, Tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from memory.store.postgres.database import ServerPool
    from memory.store.postgres.rows import Db
    from memory.store.records import Row

_NAMES = {(VECTORS, "row"): "id", (VECTORS, "window"): "place"}
"""Columns that have another name here."""

_BOOLEAN = ("keyword_only", "pinned", "replaced", "success", "undone")

_NUMBERED = ("memories", "history", "chunks", "generations", "tool_calls", "ledger")
"""Tables whose ids are never given again."""


class PostgresTables(Tables):
    """See `memory.store.tables.Tables`."""

    _db: ServerPool

    def _cells(self, db: Db, table: Table) -> Mapping[str, str]:
        return dict(zip(table.columns, map(_cell, _names(table, table.columns)), strict=True))

    def _moved(self, db: Db, table: Table, columns: Sequence[str], rows: Sequence[Row]) -> Sequence[Row]:
        if not table.name.startswith(VECTORS) or "embedding" not in columns:
            return rows
        return [(*rest, _turned(sent[4:]).tobytes()) for *rest, sent in rows]

    def _blamed(self) -> AbstractContextManager[None]:
        return translated(self._db.name)

    def _kept(self, db: Db, table: Table, rows: Sequence[Row]) -> Sequence[Row]:
        return rows

    def _set(self, table: Table, column: str) -> str:
        [name] = _names(table, (column,))
        return f"{name} = {'?::integer::boolean' if column in _BOOLEAN else '?'}"

    def _insert(self, db: Db, table: Table, rows: Sequence[Row]) -> None:
        names = _names(table, table.columns)
        into = f"insert into {table.name} ({', '.join(names)}) overriding system value"
        if table.name.startswith(VECTORS):
            sent = [(*rest, HalfVector(array("f", embedding))) for *rest, embedding in rows]
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

    def _remove(self, db: Db, table: Table, keys: Sequence[Key]) -> None:
        ids = [id for id, *_ in keys]
        if table.name == "chunks":
            index.sweep(db, index.remove(db, ids))
        elif table == MEMORIES:  # with which their chunks go
            own = db.rows("select id from chunks where memory_id = any(%s)", (ids,))
            index.sweep(db, index.remove(db, [id for (id,) in own]))
        key = " and ".join(self._set(table, name) for name in table.key)
        db.each(f"delete from {table.name} where {key}", keys)

    def numbers(self) -> Mapping[str, int]:
        with self._db.read() as db:
            given = "select pg_sequence_last_value(pg_get_serial_sequence(%s, 'id'))"
            found = {name: db.value(given, (name,)) for name in _NUMBERED}
            return {name: number for name, number in found.items() if number is not None}

    def skip(self, numbers: Mapping[str, int]) -> None:
        with self._db.write(durable=False) as db:
            for name, number in numbers.items():
                _raise(db, name, number)


def _names(table: Table, columns: Sequence[str]) -> list[str]:
    sort = table.name.partition("_")[0]
    return [_NAMES.get((sort, name), name) for name in columns]


def _cell(name: str) -> str:
    return f"{name}::integer" if name in _BOOLEAN else "vector_send(embedding)" if name == "embedding" else name


def _types(db: Db, table: Table) -> list[str]:
    """Of the columns of a table, as values of a move have them."""
    found = "select attname, format_type(atttypid, null) from pg_attribute where attrelid = %s::regclass and attnum > 0"
    types: dict[str, str] = dict(db.rows(found, (table.name,)))
    return ["integer" if name in _BOOLEAN else types[name] for name in _names(table, table.columns)]


def _raise(db: Db, table: str, number: int) -> None:
    """Let a table give no id that is as high or lower."""
    db.execute(
        """select setval(s, greatest(%s, coalesce(pg_sequence_last_value(s), 0)))
           from (select pg_get_serial_sequence(%s, 'id')::regclass) own (s)""",
        (number, table),
    )


# Vectors: here as pgvector sends them, big-endian behind four bytes; in a move as numbers of 32 bits, little-endian.


def _turned(big: bytes) -> array[float]:
    numbers = array("f", big)
    if byteorder == "little":
        numbers.byteswap()
    return numbers

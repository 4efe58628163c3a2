"""
The rows of a database, for a move: its triggers keep the keyword index as rows of chunks come and go.

Columns are read by name. What a file of an older format lacks has the default that `schema.sql` gives it.
"""

from __future__ import annotations

import json
from contextlib import closing, contextmanager
from functools import cache
from typing import TYPE_CHECKING

import apsw

from memory.schema.errors import StoreDamaged
from memory.store.sqlite import generations, opening, removals
from memory.store.sqlite.database import Part, reading, writing
from memory.store.sqlite.halves import halved, widened
from memory.store.sqlite.rows import listed
from memory.store.sqlite.translate import translated
from memory.store.tables import GENERATIONS, VECTORS, Arrival, Key, Table

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from memory.schema.memory import MemoryId
    from memory.store.records import Row

_NAMES = {("strangers", "fit"): "right"}
"""Columns that have another name here."""

_HALVED = {"lexicon_axes": "basis", "strangers": "embeddings"}
"""The last columns of tables whose numbers are `halved` here."""

FORMER = (
    "It was left as it is. Restore it from a copy, without the -wal and -shm files beside it; or let the version of memory "
    "that wrote it export what can still be read, and import that."
)
"""What to do about a damaged file of an older format, of which this version reads rows only."""

_OWNED = {
    "memory_id": "memory_id in (select value from json_each(?))",
    "chunk_id": "chunk_id in (select id from chunks where memory_id in (select value from json_each(?)))",
}


class SqliteTables(Part):
    """See `memory.store.tables.Tables`."""

    @reading
    def rows(
        self,
        db: apsw.Connection,
        table: Table,
        columns: Sequence[str],
        *,
        after: Key | None = None,
        upto: Key | None = None,
        limit: int | None = None,
    ) -> Sequence[Row]:
        if not (values_of := self._selected(db, table)):
            return []
        key = ", ".join(values_of[name] for name in table.key)
        marks = ", ".join("?" * len(table.key))
        clauses, values = ["1"], list[object]()
        for sign, bound in ((">", after), ("<=", upto)):
            if bound is not None:
                clauses.append(f"({key}) {sign} ({marks})")
                values += bound
        with self._blamed():
            found: list[Row] = db.execute(
                f"""select {", ".join(values_of[name] for name in columns)} from {table.name}
                    where {" and ".join(clauses)} order by {key} limit ?""",
                (*values, -1 if limit is None else limit),
            ).fetchall()
        return [(*row, widened(last)) for *row, last in found] if columns[-1] == _HALVED.get(table.name) else found

    @reading
    def owned(self, db: apsw.Connection, table: Table, memories: Sequence[MemoryId]) -> Sequence[Row]:
        if not (values_of := self._selected(db, table)):
            return []
        with self._blamed():
            return db.execute(
                f"""select {", ".join(values_of.values())} from {table.name} where {_OWNED[table.owner]}
                    order by {", ".join(values_of[name] for name in table.key)}""",
                (listed(memories),),
            ).fetchall()

    @reading
    def count(self, db: apsw.Connection, table: Table) -> int:
        if not self._selected(db, table):
            return 0
        with self._blamed():
            return int(db.execute(f"select count(*) from {table.name}").get)

    @writing(durable=False)
    def insert(self, db: apsw.Connection, table: Table, rows: Sequence[Row]) -> None:
        marks = ", ".join("?" * len(table.columns))
        names = _named(table, table.columns)
        if table == GENERATIONS:
            for id, *_, dimension, _created, _state, _vectors, _total, _sign in rows:
                generations.table(db, id, dimension)
        if table.name == "chunks" or _generation(table):
            _disown(db, table, rows[0][0])
        db.executemany(f"insert into {table.name} ({names}) values ({marks})", _halved(table, rows))

    @writing(durable=False)
    def change(self, db: apsw.Connection, table: Table, rows: Sequence[Row]) -> None:
        if table == GENERATIONS:  # at no moment may two be active, or two being built
            ids = listed([id for id, *_ in rows])
            db.execute("update generations set state = 'retired' where id in (select value from json_each(?))", (ids,))
        sets = ", ".join(f"{_named(table, (name,))} = ?" for name in table.changing)
        keys = " and ".join(f"{_named(table, (name,))} = ?" for name in table.key)
        width, rows = len(table.key), _halved(table, rows)
        db.executemany(f"update {table.name} set {sets} where {keys}", [(*row[width:], *row[:width]) for row in rows])

    @writing(durable=False)
    def remove(self, db: apsw.Connection, table: Table, keys: Sequence[Key]) -> None:
        each = ", ".join(f"value ->> {place}" for place in range(len(table.key)))
        db.execute(
            f"delete from {table.name} where ({_named(table, table.key)}) in (select {each} from json_each(?))",
            (json.dumps(keys, ensure_ascii=False),),
        )
        if table == GENERATIONS:
            for (id,) in keys:
                generations.drop_table(db, id)
        if generation := _generation(table):
            removals.note_all(db, generation)
            _changed(db, generation)

    @reading
    def numbers(self, db: apsw.Connection) -> Mapping[str, int]:
        return dict(db.execute("select name, seq from sqlite_sequence order by name").fetchall())  # type: ignore[arg-type]

    @writing(durable=False)
    def skip(self, db: apsw.Connection, numbers: Mapping[str, int]) -> None:
        own = self.numbers()
        for name, number in numbers.items():
            if name in own:
                db.execute("update sqlite_sequence set seq = max(seq, ?) where name = ?", (number, name))
            else:
                db.execute("insert into sqlite_sequence (name, seq) values (?, ?)", (name, number))

    @reading
    def arrival(self, db: apsw.Connection) -> Arrival | None:
        for source, run, ended in db.execute("select source, run, ended from arrival"):
            return Arrival(str(source), str(run), bool(ended))
        return None

    @writing(durable=False)
    def set_arrival(self, db: apsw.Connection, arrival: Arrival | None) -> None:
        db.execute("delete from arrival")
        if arrival is not None:
            db.execute("insert into arrival (id, source, run, ended) values (1, ?, ?, ?)", arrival)

    @contextmanager
    def _blamed(self) -> Generator[None]:
        """Errors name this file, also inside the transaction of another one."""
        try:
            with translated(self._db.path):
                yield
        except StoreDamaged as error:
            if self._db.older:
                error.hint = FORMER
            raise

    def _selected(self, db: apsw.Connection, table: Table) -> Mapping[str, str]:
        """
        The SQL of each column of a table: its name here; in a file of an older format, the default of one that is missing.
        Empty where such a file has no such table, or term vectors of another kind, which are learned anew.
        """
        names = {name: _named(table, (name,)) for name in table.columns}
        if not self._db.older:
            return names
        there = {str(name) for (name,) in db.execute("select name from pragma_table_info(?)", (table.name,))}
        if _generation(table) and "row" not in there:
            names["row"] = "rowid"
        lacking = [name for name, own in names.items() if own not in there | {"rowid"}]
        defaults = {name: default for name in lacking if (default := _defaults().get((table.name, names[name])))}
        if not there or (len(defaults) < len(lacking) and table.name.startswith("lexicon")):
            return {}
        return names | defaults


@cache
def _defaults() -> Mapping[tuple[str, str], str]:
    """As SQL, by table and column, what `schema.sql` says of columns that may be left out."""
    with closing(apsw.Connection(":memory:")) as db:
        db.execute(opening.schema())
        return {
            (table, column): default or "null"
            for table, column, default in db.execute(
                """select t.name, c.name, c.dflt_value
                   from sqlite_schema t
                   join pragma_table_info(t.name) c
                   where t.type = 'table' and c.pk = 0 and (c.dflt_value is not null or c."notnull" = 0)"""
            )
        }


def _halved(table: Table, rows: Sequence[Row]) -> Sequence[Row]:
    """Rows as they are kept here."""
    if table.name not in _HALVED:
        return rows
    import numpy as np

    return [(*row, halved(np.frombuffer(last, "<f4"))) for *row, last in rows]


def _named(table: Table, columns: Sequence[str]) -> str:
    sort = table.name.partition("_")[0]
    return ", ".join(_NAMES.get((sort, name), name) for name in columns)


def _disown(db: apsw.Connection, table: Table, first: int) -> None:
    """
    Rows from this one on are about to be added. Copies of chunks or of vectors look for what is new behind the last that they
    have: where it comes before, they are made anew.
    """
    generation = _generation(table)
    last: int | None = db.execute(f"select max({table.key[0]}) from {table.name}").get
    if last is not None and first <= last:
        removals.note_all(db, generation or None)
    if generation:
        _changed(db, generation)


def _changed(db: apsw.Connection, generation: int) -> None:
    db.execute("update generations set changes = changes + 1 where id = ?", (generation,))


def _generation(table: Table) -> int:
    """Whose vectors a table holds; 0 if it holds none."""
    sort, _, id = table.name.partition("_")
    return int(id) if sort == VECTORS else 0

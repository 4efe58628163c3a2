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

from memory.schema import np
from memory.schema.errors import StoreDamaged
from memory.store import WEIGHTS
from memory.store.narrow import narrowed, rounded, widened
from memory.store.records import refolded
from memory.store.sqlite import derived, opening
from memory.store.sqlite.term_vectors import MET, SCALE
from memory.store.sqlite.translate import translated
from memory.store.strangers import farthest
from memory.store.tables import GENERATIONS, NEARNESS, VECTORS, Key, Table, Tables

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from memory.schema.space import Vectors
    from memory.store.records import Row
    from memory.store.sqlite.database import Database
    from memory.store.sqlite.rows import SqliteConnection

_NAMES = {("strangers", "fit"): "right"}
"""Columns that have another name here."""

_NARROWED = {"lexicon_axes": "basis", "strangers": "embeddings", VECTORS: "embedding"}
"""The last columns of sorts of tables whose numbers are `narrowed` here."""

ROUNDED = 25
"""The first format whose vectors are `narrowed` to 14 bits a number."""

FORMER = (
    "It was left as it is. Restore it from a copy, without the -wal and -shm files beside it; or let the version of memory "
    "that wrote it export what can still be read, and import that."
)
"""What to do about a damaged file of an older format, of which this version reads rows only."""


class SqliteTables(Tables):
    """See `memory.store.tables.Tables`."""

    _db: Database

    def _insert(self, db: SqliteConnection, table: Table, rows: Sequence[Row]) -> None:
        marks = ", ".join("?" * len(table.columns))
        names = _named(table, table.columns)
        if table.name == "chunks" or _generation(table):
            _disown(db, table, rows[0][0])
        db.executemany(f"insert into {table.name} ({names}) values ({marks})", self._kept(db, table, rows))

    def _set(self, table: Table, column: str) -> str:
        return f"{_named(table, (column,))} = ?"

    def _remove(self, db: SqliteConnection, table: Table, keys: Sequence[Key]) -> None:
        each = ", ".join(f"value ->> {place}" for place in range(len(table.key)))
        db.execute(
            f"delete from {table.name} where ({_named(table, table.key)}) in (select {each} from json_each(?))",
            (json.dumps(keys, ensure_ascii=False),),
        )
        if generation := _generation(table):
            derived.note_all(db, generation)
            _changed(db, generation)

    def numbers(self) -> Mapping[str, int]:
        with self._db.read() as db:
            return dict(db.execute("select name, seq from sqlite_sequence order by name").fetchall())  # type: ignore[arg-type]

    def skip(self, numbers: Mapping[str, int]) -> None:
        with self._db.write(durable=False) as db:
            own = self.numbers()
            for name, number in numbers.items():
                if name in own:
                    db.execute("update sqlite_sequence set seq = max(seq, ?) where name = ?", (number, name))
                else:
                    db.execute("insert into sqlite_sequence (name, seq) values (?, ?)", (name, number))

    @contextmanager
    def _blamed(self) -> Generator[None]:
        try:
            with translated(self._db.path):
                yield
        except StoreDamaged as error:
            if self._db.older:
                error.hint = FORMER
            raise

    def _moved(self, db: SqliteConnection, table: Table, columns: Sequence[str], rows: Sequence[Row]) -> Sequence[Row]:
        """Rows as every store has them: their vectors are of 32 bits a number, and the sum of a generation's is of those."""
        wider = 0 < self._db.older < ROUNDED
        if wider and table == GENERATIONS and "total" in columns:
            place = columns.index("total")
            return [(*row[:place], _total(db, row[0], row[place]), *row[place + 1 :]) for row in rows]
        if wider and table == NEARNESS and "nearest" in columns:
            return [_uncompared(row) for row in rows]
        if self._db.older and table.name == "chunks" and "folded" in columns:
            return _folded(db, columns, rows)
        if table.name == "lexicon_terms" and "met" in columns:
            return [(*term, met / MET, scale / SCALE, code) for *term, met, scale, code in rows]
        if columns[-1] != _NARROWED.get(_sort(table)):
            return rows
        wide = _rounded if wider else widened
        return [(*row, wide(last, _dimension(db, table, row)).tobytes()) for *row, last in rows]

    def _kept(self, db: SqliteConnection, table: Table, rows: Sequence[Row]) -> Sequence[Row]:
        if table.name == "lexicon_terms":
            return [(*term, met * MET, scale * SCALE, code) for *term, met, scale, code in rows]
        if _sort(table) not in _NARROWED:
            return rows
        wide = [np.frombuffer(last, "<f4").reshape(-1, _dimension(db, table, row)) for *row, last in rows]
        return [(*row, b"".join(narrowed(vectors))) for (*row, _), vectors in zip(rows, wide, strict=True)]

    def _cells(self, db: SqliteConnection, table: Table) -> Mapping[str, str]:
        """
        The SQL of each column of a table: its name here; in a file of an older format, the default of one that is missing.
        Empty where such a file has no such table, and of term vectors, which are learned anew: their words were not folded.
        """
        names = {name: _named(table, (name,)) for name in table.columns}
        if not self._db.older:
            return names
        there = {str(name) for (name,) in db.execute("select name from pragma_table_info(?)", (table.name,))}
        if _generation(table) and "row" not in there:
            names["row"] = "rowid"
        lacking = [name for name, own in names.items() if own not in there | {"rowid"}]
        defaults = {name: default for name in lacking if (default := _defaults().get((table.name, names[name])))}
        return {} if not there or table.name.startswith("lexicon") else names | defaults


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


def _folded(db: SqliteConnection, columns: Sequence[str], rows: Sequence[Row]) -> Sequence[Row]:
    """Chunks of a file of an older format, as they are indexed now: folded, with all that stands beside their words."""
    place = columns.index("id")
    texts = {
        id: dict(zip(WEIGHTS, cells, strict=True))
        for id, *cells in db.rows(
            f"select id, {', '.join(WEIGHTS)} from passages where id {db.IN}", ids=[row[place] for row in rows]
        )
    }
    return [tuple((dict(zip(columns, row, strict=True)) | refolded(texts.get(row[place]))).values()) for row in rows]


def _dimension(db: apsw.Connection, table: Table, row: Sequence[object]) -> int:
    """Of the vectors in a row of a table."""
    generation = _generation(table) or row[0]
    found: int = db.execute("select dimension from generations where id = abs(?)", (generation,)).get
    return found


def _rounded(numbers: bytes, dimension: int) -> Vectors:
    """What a file of an older format has: numbers of 32 bits, or, behind an empty byte, IEEE halves."""
    odd = len(numbers) % 2
    given = np.frombuffer(numbers, "<f2" if odd else "<f4", len(numbers) // (4 - 2 * odd), odd)
    return rounded(given.astype(np.float32).reshape(-1, dimension))


def _uncompared(row: Row) -> Row:
    """
    How near strangers come to vectors that are rounded only here: as before the first comparison, which `set_strangers`
    makes.
    """
    generation, nearest, _, _, rising, _ = row
    return generation, b"", 0.0, 0, farthest(len(rising or nearest) // 4).tobytes(), None


def _total(db: apsw.Connection, generation: int, former: bytes) -> bytes:
    """The sum of the vectors of a generation in a file of an older format, as they are read here."""
    total = np.zeros(len(former) // 8)
    for (embedding,) in db.execute(f"select embedding from vectors_{generation}"):
        total += _rounded(embedding, len(total))[0]
    return total.astype("<f8").tobytes()


def _named(table: Table, columns: Sequence[str]) -> str:
    return ", ".join(_NAMES.get((_sort(table), name), name) for name in columns)


def _disown(db: apsw.Connection, table: Table, first: int) -> None:
    """
    Rows from this one on are about to be added. Copies of chunks or of vectors look for what is new behind the last that they
    have: where it comes before, they are made anew.
    """
    generation = _generation(table)
    last: int | None = db.execute(f"select max({table.key[0]}) from {table.name}").get
    if last is not None and first <= last:
        derived.note_all(db, generation or None)
    if generation:
        _changed(db, generation)


def _changed(db: apsw.Connection, generation: int) -> None:
    db.execute("update generations set changes = changes + 1 where id = ?", (generation,))


def _generation(table: Table) -> int:
    """Whose vectors a table holds; 0 if it holds none."""
    return int(table.name.partition("_")[2]) if _sort(table) == VECTORS else 0


def _sort(table: Table) -> str:
    """Its name; of a table of vectors, what all their names begin with."""
    return VECTORS if table.name.startswith(f"{VECTORS}_") else table.name

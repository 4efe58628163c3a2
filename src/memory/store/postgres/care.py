"""How much there is in a database, what is wrong with it, and how it is made anew, so that nothing of what went is left."""

from __future__ import annotations

import re
from array import array
from contextlib import contextmanager
from sys import byteorder
from time import monotonic, sleep
from typing import TYPE_CHECKING

from psycopg.errors import Diagnostic, LockNotAvailable

from memory.schema.errors import StoreDamaged
from memory.store import Counts, Salvaged, care, sessions
from memory.store.memories import details
from memory.store.postgres import index, vectors
from memory.store.postgres.opening import SCHEMA, HalfVector
from memory.store.postgres.rows import tag_keys
from memory.store.postgres.translate import translated
from memory.store.tables import MEMORIES, VECTORS, Key, Table, Tables

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from memory.schema.memory import MemoryId
    from memory.store.postgres.database import ServerPool
    from memory.store.postgres.rows import Db
    from memory.store.records import Row


def counts(db: Db) -> Counts:
    """See `Store.counts`."""
    size = "select sum(pg_total_relation_size(oid))::bigint from pg_class where relkind = 'r' and relnamespace = to_regnamespace(%s)"
    return sessions.counts(
        db,
        chunks=index.totals(db).chunks,
        bytes=db.value(size, (SCHEMA,)),
    )


def check(db: Db) -> Iterator[str]:
    """See `Store.check`. The server looks after its own files: `amcheck` and its checksums tell of those."""
    if missing := vectors.missing(db):
        yield from (
            f"the table vectors_{id} is missing, which holds the vectors of index version {id}" for id in missing
        )
        return  # all else is compared with these
    yield from care.faults(db)
    if index.drifted(db):
        yield "the keyword index differs from the memories it should hold"


def repair(db: Db) -> None:
    """See `Store.repair`."""
    index.anew(db)
    care.mend(db)


def salvaged(db: Db, after: MemoryId, limit: int) -> list[Salvaged]:
    """See `Store.salvaged`."""
    ids = db.rows("select id from memories where id > %s order by id limit %s", (after, limit))
    return [_salvaged(db, id) for (id,) in ids]


def _salvaged(db: Db, id: MemoryId) -> Salvaged:
    try:
        return Salvaged(id, details(db, id))
    except StoreDamaged as error:
        return Salvaged(id, None, fault=error)


# What the server knows of its tables ----------------------------------------------

LEAST = 1_000
"""Chunks from which it matters how the server goes about a search."""

_LOOKED_AT = ("memories", "bodies", "chunks", "keywords", "vocabulary")


def unknown(db: Db) -> bool:
    """
    Whether the server has not looked at tables of searches since they were filled: never, or when they had no rows. It does
    by itself within minutes.
    """
    never = """select 1 from pg_class where relnamespace = to_regnamespace(%s) and relname = any(%s)
               and reltuples < 1 and pg_has_role(relowner, 'usage') limit 1"""
    return index.totals(db).chunks >= LEAST and db.value(never, (SCHEMA, [*_LOOKED_AT])) is not None


def look(db: Db) -> bool:
    """
    Let it look now, so that the first searches after a move are planned as all others are; whether it did.

    Args:
        db: See `ServerPool.alone`.
    """
    if not unknown(db):
        return False
    db.value("select gin_clean_pending_list('keywords_by_word')")  # every search would read through that
    for table in _LOOKED_AT:
        db.execute(f"analyze {table}")
    return True


# No byte is left of what was removed for good ------------------------------------

BEHIND = 2.0
"""Seconds that others wait, at most, behind a table that is to be written anew while somebody reads it for long."""

_TABLES = "select oid::regclass::text from pg_class where relkind = 'r' and relnamespace = to_regnamespace(%s)"


def wipe(database: ServerPool) -> bool:
    """
    See `Store.wipe`: every table is written anew, without the rows that nobody can see any more. Whoever reads waits
    meanwhile. The server's log, its standbys and its backups are not ours to clear.
    """
    with database.alone() as db:
        if (mark := _mark(db)) is None:
            with db.transaction():
                db.owe()
            mark = _mark(db)
        try:
            with _patient(db, BEHIND):
                if not _past(db, database.busy_seconds):
                    return False
            with _patient(db, BEHIND):
                vectors.sweep(db, patient=True)
                tables = [table for (table,) in db.rows(_TABLES, (SCHEMA,))]
                if any(_rewritten(db, table) is None for table in tables):
                    return False
        except LockNotAvailable:
            return False
    with database.write(durable=False) as db:
        # Whoever took something for good meanwhile has made another row.
        db.execute("delete from unwiped where xmin::text = %s", (mark,))
        return not db.value("select count(*) from unwiped")


def _mark(db: Db) -> str | None:
    """Who was the last to take something for good."""
    found: str | None = db.value("select xmin::text from unwiped")
    return found


@contextmanager
def _patient(db: Db, seconds: float) -> Generator[None]:
    """A lock is waited for so long."""
    [(before,)] = db.execute("select current_setting('lock_timeout')")
    db.execute("select set_config('lock_timeout', %s, false)", (str(max(1, round(1000 * seconds))),))
    try:
        yield
    finally:
        db.execute("select set_config('lock_timeout', %s, false)", (before,))


def _past(db: Db, seconds: float) -> bool:
    """
    Whether nobody reads any more what was there before the mark; they are waited for.

    The server is asked what it could leave out of the table of the mark: `pg_stat_activity` shows a role only what its own
    connections read, and neither standbys nor prepared transactions.
    """
    until, wait = monotonic() + seconds, 0.01
    while _rewritten(db, "unwiped"):
        if monotonic() > until:
            return False
        sleep(wait)
        wait = min(2 * wait, 0.5)
    return True


def _rewritten(db: Db, table: str) -> int | None:
    """
    Write a table anew.

    Returns:
        How many rows had to stay although they are removed; None if this role may not write it anew.
    """
    counts: list[int] = []

    def told(notice: Diagnostic) -> None:
        # "3 dead row versions cannot be removed yet", in the server's language
        if found := re.search(r"\d+", notice.message_detail or ""):
            counts.append(int(found[0]))

    db.add_notice_handler(told)
    try:
        db.execute(f"vacuum (full, verbose) {table}")
    finally:
        db.remove_notice_handler(told)
    return counts[0] if counts else None


# Its rows, for a move ------------------------------------------------------------


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
        names = [*_names(table, table.columns)]
        if table.name.startswith(VECTORS):
            sent = [(*rest, HalfVector(array("f", embedding))) for *rest, embedding in rows]
            owner = "(select memory_id from chunks where id = w.chunk_id)"
            into = f"insert into {table.name} ({', '.join(names)}, memory_id) overriding system value"
            given = f"(values (%s::bigint, %s::bigint, %s::bigint, %s)) w ({', '.join(names)})"
            db.cursor().executemany(f"{into} select *, {owner} from {given}", sent)
        else:  # one statement: triggers of its own count what one has written
            types, columns = [*_types(db, table)], [list(column) for column in zip(*rows, strict=True)]
            if table.name == "memories":
                own = [tag_keys(tags) for tags in columns[names.index("tags")]]
                names, types, columns = [*names, "tag_keys"], [*types, "text"], [*columns, own]
            cells = ", ".join(f"{name}::boolean" if name in _BOOLEAN else name for name in names)
            lists = ", ".join(f"%b::{type}[]" for type in types)
            into = f"insert into {table.name} ({', '.join(names)}) overriding system value"
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

"""What of a damaged database can still be read, and what cannot."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import apsw

from memory.schema.errors import StoreDamaged
from memory.schema.kinds import Kind
from memory.schema.memory import DAMAGED, ChunkType, Details, Memory, MemoryId, unread
from memory.store import Salvaged, memories, records
from memory.store.sqlite import rows
from memory.store.sqlite.translate import translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from memory.store.records import Row
    from memory.store.sqlite.rows import SqliteConnection

OWNERS = {"memories": "id", "bodies": "memory_id", "history": "memory_id", "chunks": "memory_id"}
"""Tables of what belongs to a memory, with the column that says to which."""

PAGE = 500

SIGNS = ("\ufffd", "\\x00")
"""Signs of damage in the `repr` of a memory, which is then read more carefully."""

SENSE: Mapping[str, Callable[[str], object]] = {
    "chunk_type": ChunkType,
    "header_path": records.texts,
    **dict.fromkeys(
        "created_at replaced_at deleted_at thrown_at tried_at claimed_until learned_at happened_at valid_until moment until timestamp".split(),
        records.moment,
    ),
}
"""Columns whose text has to make sense; what it says of memories is found out by reading them."""


def faults(db: SqliteConnection) -> Iterator[str]:
    """A sentence for each text that cannot be read or makes no sense, and for each memory that cannot be made of its row."""
    for table in _tables(db):
        columns = _texts(db, table)
        senses = [(place, SENSE[name]) for place, name in enumerate(columns) if name in SENSE]
        try:
            for row in db.execute(f"select {', '.join(columns)} from {table}"):
                for place, sense in senses:
                    row[place] and sense(row[place])
        except records.ODD:
            yield from _broken(db, table, columns)
    for id in _every(db):
        yield from _odd(db, id)


def _tables(db: SqliteConnection) -> list[str]:
    """Those with texts; what SQLite's own modules keep for themselves is left out."""
    found: list[Row] = db.execute(
        "select name from pragma_table_list where schema = 'main' and type = 'table' and name not glob 'sqlite_*'"
    ).fetchall()
    return [name for (name,) in found if _texts(db, name)]


def _texts(db: SqliteConnection, table: str) -> list[str]:
    return [name for (name,) in db.execute("select name from pragma_table_info(?) where type = 'TEXT'", (table,))]


def _broken(db: SqliteConnection, table: str, columns: Sequence[str]) -> Iterator[str]:
    owner = OWNERS.get(table)
    place = owner or "rowid"
    if owner is None and db.execute("select wr from pragma_table_list where name = ?", (table,)).get:
        place = f"cast({columns[0]} as blob)"
    for column in columns:
        for key, value in db.execute(f"select {place}, cast({column} as blob) from {table}"):
            if why := _why(column, value):
                where = db.named(key) if owner else f"{table} {key!r}"
                yield f"{where}: {'body' if table == 'bodies' else f'{table}.{column}'} {why}"


def _why(column: str, value: bytes | None) -> str:
    """What is wrong with a text; empty if nothing is."""
    if not _is_text(value):
        return "has bytes that are no text"
    try:
        if value and column in SENSE:
            SENSE[column](value.decode())
    except records.ODD:
        return f"makes no sense: {value!r:.60}"
    return ""


def _is_text(value: bytes | None) -> bool:
    """A NUL is never written: it is what SQLite reads beyond the end of a file that was cut."""
    try:
        return value is None or "\0" not in value.decode()
    except UnicodeDecodeError:
        return False


def _every(db: SqliteConnection) -> Iterator[MemoryId]:
    """Those that may be odd: pages of memories that can be made of their rows are passed over."""
    after = 0
    while ids := [
        id for (id,) in db.execute("select id from memories where id > ? order by id limit ?", (after, PAGE))
    ]:
        condition, values = "m.id > ? and m.id <= ?", [after, ids[-1]]
        history = "select memory_id from history where memory_id > ? and memory_id <= ? group by 1"
        try:
            db.memories(condition, values, strict=True)
            for (owner,) in rows.read(db, history, values):
                memories.history(db, owner)
        except StoreDamaged:
            yield from ids
        after = ids[-1]


def _odd(db: SqliteConnection, id: MemoryId) -> Iterator[str]:
    strictly = partial(db.memories, "m.id = ?", [records.key(id)], strict=True)
    for read in (strictly, partial(memories.history, db, id)):
        try:
            read()
        except StoreDamaged as error:
            yield str(error)


def _ids(db: SqliteConnection, after: MemoryId, limit: int) -> list[MemoryId]:
    """Those above `after`, lowest first; where the table cannot be gone through, all that there may be."""
    try:
        found = rows.read(db, "select id from memories where id > ? order by id limit ?", (after, limit))
    except apsw.CorruptError:
        return [MemoryId(id) for id in range(after + 1, min(after + limit, _last(db)) + 1)]
    return [MemoryId(id) for (id,) in found]


def _last(db: SqliteConnection) -> int:
    """The highest id there can be, by the first that can be read of what says so."""
    statements = (
        "select seq from sqlite_sequence where name = 'memories'",
        "select max(memory_id) from bodies",
        "select max(memory_id) from chunks",
    )
    for sql in statements[:-1]:
        try:
            if (found := db.execute(sql).get) is not None:
                return int(found)
        except apsw.CorruptError:
            continue
    return int(db.execute(statements[-1]).get or 0)


def salvaged(db: SqliteConnection, path: str, after: MemoryId, limit: int) -> list[Salvaged]:
    """See `Store.salvaged`."""
    found: list[Salvaged] = []
    while not found and (ids := _ids(db, after, limit)):  # some may name nothing
        found = [one for id in ids if (one := _salvaged(db, path, id)) is not None]
        after = ids[-1]
    return found


def _salvaged(db: SqliteConnection, path: str, id: MemoryId) -> Salvaged | None:
    """As any other memory is read; what shows signs of damage is read field by field."""
    fault = None
    try:
        with translated(path):
            whole = memories.details(db, id)
        if whole is None:
            return None
        if not any(sign in f"{whole!r}" for sign in SIGNS):
            return Salvaged(id, whole)
    except StoreDamaged as error:
        fault = error
    try:
        with translated(path):
            return _readable(db, id, fault)
    except StoreDamaged as error:
        return Salvaged(id, None, fault=fault or error)


def _readable(db: SqliteConnection, id: MemoryId, fault: StoreDamaged | None) -> Salvaged | None:
    shown = db.memories("m.id = ?", [records.key(id)])
    if not shown:
        return None
    memory = shown[0]._replace(flags=tuple(flag for flag in shown[0].flags if not flag.startswith(DAMAGED)))
    body, history, lost = None, [], list(unread(shown[0]))
    if "kind" in lost and _is_joined(db, id):
        memory = memory._replace(kind=Kind.ENTITY)
    try:
        texts = rows.read(db, "select body from bodies where memory_id = ?", (id,))
        body = str(texts[0][0]) if texts else None
    except apsw.CorruptError:
        lost.append("body")
    try:
        history = memories.history(db, id)
    except (StoreDamaged, apsw.CorruptError):
        lost.append("history")
    if body is None:
        lost.append("body")
    for table in ("memories", "bodies", "history"):
        try:
            lost += _undecoded(db, table, id)
        except apsw.CorruptError:
            continue  # said above
    seen = [one._replace(memory=_shown(one.memory), body=_without_nul(one.body)) for one in history]
    details = Details(_shown(memory), _without_nul(body or ""), tuple(seen))
    return Salvaged(id, details, tuple(dict.fromkeys(lost)), fault)


def _is_joined(db: SqliteConnection, id: MemoryId) -> bool:
    """Whether a memory has relations, or other memories are about it: then it is an entity."""
    joined = (
        "select 1 from relations where ? in (source, target) union all select 1 from entity_memories where entity = ?"
    )
    try:
        return bool(db.execute(f"select exists ({joined})", (id, id)).get)
    except apsw.CorruptError:
        return False


def _without_nul(text: str) -> str:
    return text.replace("\0", "\ufffd")


def _shown(memory: Memory) -> Memory:
    return Memory._make(_without_nul(value) if type(value) is str else value for value in memory)


def _undecoded(db: SqliteConnection, table: str, id: MemoryId) -> list[str]:
    """The columns of a table in which a memory has bytes that are no text."""
    found: list[str] = []
    for column in _texts(db, table):
        values: Iterable[Row] = db.execute(
            f"select cast({column} as blob) from {table} where {OWNERS[table]} = ?", (id,)
        )
        if not all(_is_text(value) for (value,) in values):
            found.append("history" if table == "history" else column)
    return found

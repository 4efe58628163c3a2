"""Rows as values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import apsw

from memory.schema.errors import NotFound
from memory.store.records import MEMORY, SEEN, UID_OF, key, memory, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory.schema.memory import Memory, MemoryId
    from memory.store.records import Row


def chunks(db: apsw.Connection) -> int:
    """How many there are; counted if the counter is damaged."""
    found: int | None = db.execute("select value from counters where name = 'chunks'").get
    return int(db.execute("select count(*) from chunks").get) if found is None else found


def read(db: apsw.Connection, sql: str, values: Sequence[Any] = (), *, ids: Iterable[int] | None = None) -> list[Row]:
    """
    What a statement that only reads gives; bytes that are no text are U+FFFD (a damaged file).

    Args:
        ids: In place of values: its one value, for `json_each`.
    """
    if ids is not None:
        values = (listed(ids),)
    try:
        return db.execute(sql, values).fetchall()
    except UnicodeDecodeError:
        names = [f"c{number}" for number in range(len(db.execute(sql, values).get_description()))]
    cells = ", ".join(
        f"typeof({name}) = 'text', iif(typeof({name}) = 'text', cast({name} as blob), {name})" for name in names
    )
    rows: Iterable[Row] = db.execute(f"with r ({', '.join(names)}) as ({sql}) select {cells} from r", values)
    return [
        tuple(cell.decode(errors="replace") if text else cell for text, cell in zip(row[::2], row[1::2], strict=True))
        for row in rows
    ]


def memories(
    db: apsw.Connection,
    condition: str,
    values: Sequence[Any] = (),
    *,
    ids: Iterable[int] | None = None,
    strict: bool = False,
) -> list[Memory]:
    """
    Args:
        ids: See `read`.
        strict: Else a default stands for what cannot be read, and the memory's flags say so: `memory.schema.memory.unread`.

    Raises:
        StoreDamaged: One cannot be read.
    """
    made = memory if strict else shown
    wanted = f"from memories m where {condition}"
    try:
        found = read(db, f"select {SEEN} {wanted}", values, ids=ids)
    except apsw.CorruptError:  # perhaps only of the index by uid, which a memory is read without
        linked = ", ".join(UID_OF.format("m", column) for column in ("parent_id", "superseded_by"))
        found = read(db, f"select {MEMORY}, {linked} {wanted}", values, ids=ids)
    return [made(row) for row in found]


def named(db: apsw.Connection, id: MemoryId) -> str:
    """A memory that is damaged, by its row number, and by its uid as far as that can be read."""
    try:
        uids = read(db, "select uid from memories where id = ?", (key(id),))
    except apsw.CorruptError:
        uids = []
    return " ".join([f"memory {id}", *(f"({uid})" for (uid,) in uids)])


def fetched(db: apsw.Connection, id: MemoryId) -> Memory:
    for found in memories(db, "m.id = ?", [key(id)], strict=True):
        return found
    raise NotFound(f"no memory {id}")


def body(db: apsw.Connection, id: MemoryId) -> str | None:
    for (found,) in read(db, "select body from bodies where memory_id = ?", (key(id),)):
        return str(found)
    return None


def listed(ids: Iterable[int]) -> str:
    """Ids as the JSON array that `json_each` reads: one bound value however many there are."""
    return json.dumps([key(id) for id in ids])  # FTS5 takes `rowid in (1e21)` for no condition at all

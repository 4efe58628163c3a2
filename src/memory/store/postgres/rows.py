"""Scopes as SQL, and rows as memories, chunks and vectors."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from memory.schema.errors import NotFound, iso
from memory.schema.memory import OVERLAP, Excerpt
from memory.schema.query import ACTIVE, EVERYTHING, FILTERS, NONE, Scope
from memory.store import records
from memory.store.postgres.database import many
from memory.store.records import SEEN, key, packed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    import psycopg

    from memory.schema.memory import Memory, MemoryId
    from memory.schema.space import Vectors
    from memory.store.postgres.database import Database
    from memory.store.postgres.opening import Db
    from memory.store.records import Values

    Answer: TypeAlias = psycopg.Cursor[tuple[Any, ...]]

BROAD = (ACTIVE, EVERYTHING)
"""Scopes that nearly every memory is in, so that it pays to rank first and filter what was ranked."""


def few_members(database: Database, scope: Scope, most: int) -> list[int] | None:
    """The memories in scope, read once in each snapshot; None if there are more than `most`."""

    def read() -> list[int] | None:
        condition, values = where(scope)
        limited = f"select m.id from memories m where {condition} limit %s"
        found = database.ask(lambda db: many(db, limited, [*values, most + 1]))
        return None if len(found) > most else keys(id for (id,) in found)

    return database.once(("members", scope, most), read)


PLANNED = 10
"""
Values that PostgreSQL takes an array to have when it plans for any. A shorter one seems cheaper to it, so that it plans each
statement anew, which takes longer than to execute it.
"""


def keys(ids: Iterable[int]) -> list[int]:
    """Ids as a bound list for `= any(…)`: not fewer than `PLANNED`, if need be the last several times."""
    found = [key(id) for id in ids]
    return found + found[-1:] * (PLANNED - len(found))


def storable(name: object) -> bool:
    """Whether anything can have this name: PostgreSQL takes no NUL, and nothing that is not Unicode."""
    return not isinstance(name, str) or ("\0" not in name and name == name.encode(errors="ignore").decode())


LARGEST = 1 << 22
"""Characters of rows that are sent at once, if it is not one row alone."""


def insert(db: Db, table: str, rows: Iterable[Mapping[str, Any]], ending: str = "") -> list[Answer]:
    """
    Add rows in order: many by one statement, since to bind each by itself takes longer than to add it.

    Args:
        rows: Columns and their values as JSON has them.
        ending: Of the statements: what to do about a row that is there, or what they return.
    """
    answers = []
    for names, alike in groupby(rows, tuple):
        columns = ", ".join(names)
        added = f"""insert into {table} ({columns}) overriding system value
                    select {columns} from json_populate_recordset(null::{table}, %s::json) {ending}"""
        answers += [db.execute(added, (piece,), binary=True) for piece in sent(alike)]
    return answers


def sent(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Rows as lists in JSON, as many as are sent at once."""
    piece: list[str] = []
    size = 0
    for row in map(packed, rows):
        if piece and size + len(row) > LARGEST:
            yield f"[{','.join(piece)}]"
            piece, size = [], 0
        piece.append(row)
        size += len(row)
    yield f"[{','.join(piece)}]"


def where(scope: Scope) -> tuple[str, Values]:
    """The one place a scope becomes SQL: a condition over memories as m, and its values."""
    clauses: list[str] = []
    values: Values = []
    for column, name in FILTERS.items():
        if allowed := getattr(scope, name):
            clause = f"m.{column} = any(%s)"
            clauses.append(f"({clause} or m.{column} is null)" if NONE in allowed else clause)
            values.append(sorted(name for name in allowed if storable(name)))
    if scope.among is not None:
        clauses.append("m.id = any(%s)")
        values.append(keys(sorted(scope.among)))
    if scope.pinned:
        clauses.append("m.pinned")
    if not all(map(storable, scope.tags)):
        clauses.append("false")
    elif scope.tags:
        clauses.append("m.tags::jsonb @> %s::jsonb")
        values.append(packed(sorted(scope.tags)))
    if scope.since is not None:
        clauses.append("m.updated_at >= %s")
        values.append(iso(scope.since))
    if scope.until is not None:
        clauses.append("m.updated_at < %s")
        values.append(iso(scope.until))
    return " and ".join(clauses) or "true", values


def memories(db: Db, condition: str, values: Values, *, strict: bool = False) -> list[Memory]:
    """
    Args:
        strict: Else a default stands for what cannot be read, and the memory's flags say so.

    Raises:
        StoreDamaged: One cannot be read.
    """
    made = records.memory if strict else records.shown
    return [made(row) for row in many(db, f"select {SEEN} from memories m where {condition}", values)]


def fetched(db: Db, id: MemoryId) -> Memory:
    for found in memories(db, "m.id = %s", [key(id)], strict=True):
        return found
    raise NotFound(f"no memory {id}")


# Chunks ------------------------------------------------------------------------

_EXCERPT = f"""
    c.id, c.memory_id, c.chunk_index, c.start, c.stop, c.chunk_type, c.header_path, c.level, c.token_count,
    case c.chunk_type when 'head' then m.what
        else substr(b.body, c.start::integer + 1, (c.stop - c.start)::integer) end,
    substr(b.body, greatest(0, c.start - {OVERLAP})::integer + 1, least(c.start, {OVERLAP})::integer),
    m.title, m.what, m.why, m.impact, m.tags
"""


def excerpts(db: Db, condition: str, values: Any) -> list[Excerpt]:
    """
    Chunks with their texts.

    Args:
        condition: On chunks as c, the memories m they are of, and the bodies b of these.
    """
    rows = many(
        db,
        f"""select {_EXCERPT} from chunks c
            join memories m on m.id = c.memory_id join bodies b on b.memory_id = c.memory_id where {condition}""",
        values,
    )
    return [
        Excerpt(id, owner, records.chunk(piece), text, before, title, what, why, impact, records.tagged(tags))
        for id, owner, *piece, text, before, title, what, why, impact, tags in rows
    ]


def read_vectors(rows: Sequence[bytes], dimension: int) -> Vectors:
    """Vectors as `vector_send` gives them, shape (n, dimension)."""
    import numpy as np

    joined = b"".join([sent[4:] for sent in rows])
    read: Vectors = np.frombuffer(joined, ">f4").reshape(len(rows), dimension).astype(np.float32)
    return read

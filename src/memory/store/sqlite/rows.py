"""Rows as values and scopes as SQL."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import apsw

from memory.schema.errors import NotFound, StoreDamaged, iso
from memory.schema.kinds import RULES, Kind
from memory.schema.memory import DAMAGED, Memory, MemoryId, Status, short_id
from memory.schema.query import ACTIVE, EVERYTHING, FILTERS, NONE, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from memory.schema.draft import Draft

Values: TypeAlias = "list[Any]"
Row: TypeAlias = "tuple[Any, ...]"

COLUMNS = Memory._fields[: Memory._fields.index("short_id")]
"""Of `memories`: each has the name of a field."""

MEMORY = ", ".join(COLUMNS)

_UID_OF = "(select l.uid from memories l where l.id = {0}.{1})"
_BESIDE = "(select max(o.uid) from memories o where o.uid < {0}), (select min(o.uid) from memories o where o.uid > {0})"


def _seen(name: str) -> str:
    """The columns of a memory, the uids of its parent and its successor, and those before and after its own uid and that."""
    parent, successor = (_UID_OF.format(name, column) for column in ("parent_id", "superseded_by"))
    return ", ".join([MEMORY, parent, successor, _BESIDE.format(f"{name}.uid"), _BESIDE.format(successor)])


SEEN, MADE = _seen("m"), _seen("memories")
"""What is read of memories as m, and of one that an insert returns."""


def chunks(db: apsw.Connection) -> int:
    """How many there are; counted if the counter is damaged."""
    found: int | None = db.execute("select value from counters where name = 'chunks'").get
    return int(db.execute("select count(*) from chunks").get) if found is None else found


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


_SMALLER = {"agent_id": ("sessions", "runs", "projects"), "kind": ("sessions", "runs", "projects", "agents")}
"""Filters that leave fewer memories than that of a column; SQLite, which has no counts of them, would take any."""


def where(scope: Scope) -> tuple[str, Values]:
    """The one place a scope becomes SQL: a condition over memories as m, and its values."""
    clauses: list[str] = []
    values: Values = []
    for column, name in FILTERS.items():
        if allowed := getattr(scope, name):
            # With a plus, the column is not looked up in an index (https://sqlite.org/optoverview.html#disqualifying_where_clause_terms_using_unary_)
            plus = "+" if any(getattr(scope, other) for other in _SMALLER.get(column, ())) else ""
            clause = f"{plus}m.{column} in (select value from json_each(?))"
            clauses.append(f"({clause} or m.project is null)" if column == "project" and NONE in allowed else clause)
            values.append(json.dumps(sorted(allowed)))
    if scope.among is not None:
        clauses.append("m.id in (select value from json_each(?))")
        values.append(listed(sorted(scope.among)))
    if scope.pinned:
        clauses.append("m.pinned = 1")
    if scope.tags:
        clauses.append(
            """not exists (select 1 from json_each(?) wanted
                           where wanted.value not in (select had.value from json_each(iif(json_valid(m.tags), m.tags, '[]')) had))"""
        )
        values.append(json.dumps(sorted(scope.tags)))
    if scope.since is not None:
        clauses.append("m.updated_at >= ?")
        values.append(iso(scope.since))
    if scope.until is not None:
        clauses.append("m.updated_at < ?")
        values.append(iso(scope.until))
    return " and ".join(clauses) or "1", values


def within(db: apsw.Connection, scope: Scope, most: int | None = None) -> list[int] | None:
    """The ids of the memories in scope; None if there are more than `most`."""
    condition, values = where(scope)
    rows: Iterable[Row] = db.execute(
        f"select m.id from memories m where {condition} limit ?", [*values, -1 if most is None else most + 1]
    )
    ids = [id for (id,) in rows]
    return None if most is not None and len(ids) > most else ids


BROAD = (ACTIVE, EVERYTHING)
"""Scopes that nearly every memory is in, so that it pays to rank first and filter what was ranked."""


EXPORTED = "`memory export` writes what can be read of it, and says what is lost."

_KINDS = {str(kind): kind for kind in Kind}
_STATUSES = {str(status): status for status in Status}
ODD = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError)
"""What is raised where a row has other values than were ever written: its file is damaged, or we are wrong."""


def texts(value: str) -> tuple[str, ...]:
    """
    A list of texts, from JSON.

    Raises:
        TypeError, ValueError: It is anything else.
    """
    if value == "[]":  # most memories have none
        return ()
    found = json.loads(value)
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise TypeError(f"{value!r:.60} is no list of texts")
    return tuple(found)


_READ: Mapping[str, Callable[[Any], object]] = {
    "kind": _KINDS.__getitem__,
    "status": _STATUSES.__getitem__,
    "tags": texts,
    "related_files": texts,
    "metadata": lambda value: {} if value == "{}" else {**json.loads(value)},  # TypeError if it is no object
    "created_at": datetime.fromisoformat,
    "updated_at": datetime.fromisoformat,
    "accessed_at": lambda value: value and datetime.fromisoformat(value),
    "flags": lambda value: tuple(value.split()),
    "keyword_only": bool,
    "pinned": bool,
}
"""How a column is read whose value is not taken as it is."""

_UID, _WIDTH = COLUMNS.index("uid"), len(COLUMNS)
_READERS = [(COLUMNS.index(name), read) for name, read in _READ.items()]


def memory(row: Iterable[Any]) -> Memory:
    """
    From its columns, by their places: hundreds are read for one answer, and most of them have no lists.

    Raises:
        StoreDamaged: They have values that were never written.
    """
    values = list(row)
    try:
        return _memory(values.copy())
    except ODD as error:
        odd = next((name for name, value in zip(COLUMNS, values, strict=False) if not readable(name, value)), "row")
        raise StoreDamaged(
            f"memory {values[0]} ({values[1]}) cannot be read: its {odd} is damaged",
            hint=EXPORTED,
        ) from error


def readable(column: str, value: object) -> bool:
    """Whether a value of `memories` is one that was ever written."""
    try:
        _READ.get(column, bool)(value)
    except ODD:
        return False
    return True


def _memory(values: list[Any]) -> Memory:
    """The same; what was never written raises one of `ODD`. Takes the list and changes it."""
    for place, read in _READERS:
        values[place] = read(values[place])
    parent, successor, *beside = values[_WIDTH:] or (None, None)
    shown = successor and short_id(successor, *beside[2:])
    values[_WIDTH:] = [short_id(values[_UID], *beside[:2]), parent, successor, shown]
    return Memory._make(values)


def tagged(text: str) -> tuple[str, ...]:
    """The tags of a memory; none where they cannot be read, which is said of the memory."""
    return texts(text) if readable("tags", text) else ()


def columns(texts: Draft | Memory) -> dict[str, str]:
    """The columns that hold JSON."""
    tags, files = packed(texts.tags), packed(texts.related_files)
    return {"tags": tags, "related_files": files, "metadata": json.dumps(dict(texts.metadata))}


def record(memory: Memory) -> str:
    """A memory as JSON, its fields by name: a record must be read when `memories` has more columns than now."""
    values: dict[str, Any] = {name: getattr(memory, name) for name in COLUMNS}
    values |= columns(memory)
    for name in ("created_at", "updated_at", "accessed_at"):
        values[name] = values[name] and iso(values[name])
    return json.dumps(values | {"flags": " ".join(memory.flags)})


def recorded(record: str) -> Memory:
    """The opposite of `record`; what was recorded before there was a column has its default."""
    values = {"flags": "", "keyword_only": 0, "pinned": 0} | json.loads(record)
    return memory(values[name] for name in COLUMNS)


packed: Callable[[Sequence[object]], str] = json.JSONEncoder(ensure_ascii=False).encode
"""
A list as JSON, which is one bound value however long it is. Not for metadata: it may hold lone surrogates, which must be
escaped for SQLite.
"""


def key(id: int) -> int:
    """An id as SQLite takes it; 0, which names nothing, for one that is beyond its integers."""
    return id if 0 < id < 1 << 63 else 0


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
    made = memory if strict else _shown
    wanted = f"from memories m where {condition}"
    try:
        found = read(db, f"select {SEEN} {wanted}", values, ids=ids)
    except apsw.CorruptError:  # perhaps only of the index by uid, which a memory is read without
        linked = ", ".join(_UID_OF.format("m", column) for column in ("parent_id", "superseded_by"))
        found = read(db, f"select {MEMORY}, {linked} {wanted}", values, ids=ids)
    return [made(row) for row in found]


def _shown(row: Row) -> Memory:
    try:
        return _memory(list(row))
    except ODD:
        return _defaulted(row)


def fetched(db: apsw.Connection, id: MemoryId) -> Memory:
    for found in memories(db, "m.id = ?", [key(id)], strict=True):
        return found
    raise NotFound(f"no memory {id}")


def body(db: apsw.Connection, id: MemoryId) -> str | None:
    for (found,) in read(db, "select body from bodies where memory_id = ?", (key(id),)):
        return str(found)
    return None


# What can be read of a memory some of whose columns are damaged -------------

_LIKELY = (Kind.DISCOVERY, Kind.SESSION_CONTEXT, Kind.REPORT, Kind.NOTE, Kind.KNOWLEDGE_BASE)
"""What a memory is taken for whose kind cannot be read: the first whose rule it keeps, so that it can be imported."""

_PLAIN = {
    "status": str(Status.ACTIVE),
    "tags": "[]",
    "related_files": "[]",
    "metadata": "{}",
    "accessed_at": None,
    "flags": "",
}
"""What stands for a column that cannot be read, as it would be written."""


def _defaulted(values: Sequence[Any]) -> Memory:
    """
    From the columns of a memory, by their places. What is wrong is named in its flags; see `memory.schema.memory.unread`.

    Raises:
        StoreDamaged: More is wrong than a column that has a default.
    """
    odd = [name for name, value in zip(COLUMNS, values, strict=False) if not readable(name, value)]
    row = dict(zip(COLUMNS, values, strict=False))
    made, changed = (None if name in odd else row[name] for name in ("created_at", "updated_at"))
    moment = made or changed or iso(datetime.fromtimestamp(0, UTC))
    row |= {name: value for name, value in _PLAIN.items() if name in odd}
    row |= {"created_at": made or moment, "updated_at": changed or moment}
    if "kind" in odd:
        row["kind"] = _likely(row)
    found = memory([*(row[name] for name in COLUMNS), *values[_WIDTH:]])
    return found._replace(flags=(*found.flags, *(f"{DAMAGED}{name}" for name in odd)))


def _likely(row: Mapping[str, Any]) -> str:
    held = dict(row) | {"body": row["body_size"]}
    for kind in _LIKELY:
        rule = RULES[kind]
        complete = all(held[name] not in {None, "", 0} for name in rule.required)
        if complete and (rule.categories is None or row["category"] in {None, *rule.categories}):
            return str(kind)
    return str(Kind.NOTE)


def listed(ids: Iterable[int]) -> str:
    """Ids as the JSON array that `json_each` reads: one bound value however many there are."""
    return json.dumps([key(id) for id in ids])  # FTS5 takes `rowid in (1e21)` for no condition at all

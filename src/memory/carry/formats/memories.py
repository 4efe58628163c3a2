"""
Short texts with tags and times, as mem0 and mcp-memory-service keep them: a note each, from JSON or a database.

mem0 (https://docs.mem0.ai, 2.2) has what `Memory.get_all` gives, or the `history.db` beside its vectors;
mcp-memory-service (https://github.com/doobidoo/mcp-memory-service, 12.2) an export, or its database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.carry.formats import Format
from memory.carry.formats.items import (
    ImportTarget,
    Item,
    LeftOut,
    Read,
    left_out,
    moment_of,
    one_line,
    own_uid,
    tags_of,
    uid_of,
)
from memory.carry.formats.reading import elements, parsed
from memory.schema.draft import Draft
from memory.schema.errors import LINE_LIMIT, NAME_LIMIT, Invalid
from memory.schema.kinds import CATEGORIES
from memory.store.sqlite import foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from memory.carry.formats.reading import Source

    Row = Mapping[str, Any]
    Parser = Callable[[Row, ImportTarget], Item]


def of_json(source: Source, target: ImportTarget, parse: Parser, *keys: str) -> Iterator[Read]:
    with source.opened() as file:
        for number, found in enumerate(elements(file, source.name, *keys)):
            yield found if isinstance(found, LeftOut) else _made(f"{source.name}[{number}]", found, target, parse)


def rows(found: Iterable[Row], name: str, target: ImportTarget, parse: Parser) -> Iterator[Read]:
    """The memories of a database."""
    for number, row in enumerate(found, start=1):
        yield _made(f"{name}, row {number}", row, target, parse)


def database(source: Source, table: str, columns: tuple[str, ...], order: str) -> Iterator[Row]:
    """
    The rows of a database.

    Raises:
        Invalid: It is in an archive, or cannot be read.
    """
    if source.path is None:
        raise Invalid(f"{source.name}: a database in an archive is not read", hint="Unpack it.")
    return foreign.rows(source.path, table, columns, order)


def _made(place: str, row: Row, target: ImportTarget, parse: Parser) -> Read:
    try:
        return parse(row, target)
    except Invalid as error:
        return left_out(place, error)


def facts_of(metadata: object) -> dict[str, Any]:
    return metadata if isinstance(metadata, dict) else {}


def draft_of(
    text: str, program: str, target: ImportTarget, *, tags: tuple[str, ...], facts: Row, category: str | None = None
) -> Draft:
    """A short text without secrets as a note; what is longer than a line may be goes to its details."""
    text = text.strip()
    long = len(text) > LINE_LIMIT
    return Draft(
        title=one_line(text),
        what=f"{text[: LINE_LIMIT - 1]}…" if long else text,
        body=text if long else "",
        category=category,
        tags=tags,
        metadata=dict(facts),
        project=target.of(None),
        source=program,
    )


# mem0 --------------------------------------------------------------------------------


MEM0 = "mem0"

HISTORY = "history"
EVENT_COLUMNS = ("memory_id", "new_memory", "event", "created_at", "updated_at", "is_deleted", "actor_id", "role")
MEM0_LISTS = ("results", "memories")


def _mem0_export(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The memories of an export: an array of them, or an object that has one."""
    return of_json(source, target, _of_mem0, *MEM0_LISTS)


def _mem0_history(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The memories of its database."""
    found = _last_events(database(source, HISTORY, EVENT_COLUMNS, "created_at, updated_at"))
    return rows(found, source.name, target, _of_mem0)


def _of_mem0(row: Row, target: ImportTarget) -> Item:
    """
    A memory of mem0.

    Raises:
        Invalid: It says nothing.
    """
    text = target.text(row.get("memory") or row.get("new_memory") or row.get("data"))
    metadata = facts_of(row.get("metadata"))
    names = ("user_id", "agent_id", "run_id", "actor_id", "role", "expiration_date")
    whose = {key: row[key] for key in names if row.get(key)}
    key = row.get("id") or row.get("memory_id")
    tags = tags_of(target.clean, row.get("categories") or (), metadata.get("tags") or ())
    return Item(
        draft_of(text, MEM0, target, tags=tags, facts=metadata | whose),
        own_uid(key) or (uid_of(MEM0, key) if key else None),
        moment_of(row.get("created_at")),
        moment_of(row.get("updated_at")),
    )


def _last_events(found: Iterable[Row]) -> Iterator[Row]:
    """Of a history of mem0, in its order, what holds of each memory in the end: not those that were deleted."""
    last: dict[object, Row] = {}
    for row in found:
        former = last.get(row["memory_id"], {})
        last[row["memory_id"]] = {**row, "created_at": former.get("created_at") or row["created_at"]}
    for row in last.values():
        if row["event"] != "DELETE" and not row["is_deleted"]:
            yield row


# mcp-memory-service --------------------------------------------------------------------


SERVICE = "mcp-memory-service"

SERVICE_COLUMNS = (
    *("content", "content_hash", "tags", "memory_type", "metadata"),
    *("created_at", "updated_at", "created_at_iso", "updated_at_iso"),
)


def _service_export(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The memories of an export."""
    return of_json(source, target, _of_service, "memories")


def _service_rows(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The memories of its database, without those that were deleted."""
    tables = {} if source.path is None else foreign.tables(source.path)
    where = "memories where deleted_at is null" if "deleted_at" in tables.get("memories", ()) else "memories"
    return rows(database(source, where, SERVICE_COLUMNS, "created_at"), source.name, target, _of_service)


def _of_service(row: Row, target: ImportTarget) -> Item:
    """
    A memory of mcp-memory-service.

    Raises:
        Invalid: It says nothing.
    """
    metadata = row.get("metadata")
    if isinstance(metadata, str):
        metadata = parsed(metadata) if metadata.strip() else {}
    type = one_line(target.text(row.get("memory_type")), NAME_LIMIT)
    more = {"memory_type": type} if type else {}
    draft = draft_of(
        target.text(row.get("content")),
        SERVICE,
        target,
        tags=tags_of(target.clean, row.get("tags") or ()),
        facts=facts_of(metadata) | more,
        category=type if type in CATEGORIES else None,
    )
    created = moment_of(row.get("created_at_iso")) or moment_of(row.get("created_at"))
    updated = moment_of(row.get("updated_at_iso")) or moment_of(row.get("updated_at"))
    return Item(draft, uid_of(SERVICE, row.get("content_hash") or draft.what), created, updated)


FORMATS = (
    Format(
        "mem0 export",
        "mem0 exports",
        "notes",
        _mem0_export,
        lambda look: (
            {"memory", "id"} <= look.wrapped and (look.keys == look.wrapped or bool(look.keys & {*MEM0_LISTS}))
        ),
    ),
    Format(
        "mem0 database",
        "mem0 databases",
        "notes",
        _mem0_history,
        lambda look: {"memory_id", "new_memory", "event"} <= look.tables.get(HISTORY, frozenset()),
    ),
    Format(
        "mcp-memory-service export",
        "mcp-memory-service exports",
        "notes",
        _service_export,
        lambda look: "export_metadata" in look.keys,
    ),
    Format(
        "mcp-memory-service database",
        "mcp-memory-service databases",
        "notes",
        _service_rows,
        lambda look: {"content", "content_hash", "tags"} <= look.tables.get("memories", frozenset()),
    ),
)

"""
mem0 and mcp-memory-service: short texts with tags and times, a note each.

mem0: what `Memory.get_all` gives, as JSON, or the `history.db` it keeps beside its vectors.
https://docs.mem0.ai, 2.2. mcp-memory-service: its export in JSON, or its database.
https://github.com/doobidoo/mcp-memory-service, 12.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.carry.formats.items import ImportTarget, Item, Read, Unread, moment_of, one_line, own_uid, tags_of, uid_of
from memory.carry.formats.reading import Source, elements, parsed, skipped
from memory.schema.draft import Draft
from memory.schema.errors import LINE_LIMIT, NAME_LIMIT, Invalid
from memory.schema.kinds import CATEGORIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Row = Mapping[str, Any]
    Parser = Callable[[Row, ImportTarget], Item]

MEM0, SERVICE = "mem0", "mcp-memory-service"

MEM0_TABLE = "history"
MEM0_COLUMNS = ("memory_id", "new_memory", "event", "created_at", "updated_at", "is_deleted", "actor_id", "role")

SERVICE_COLUMNS = (
    *("content", "content_hash", "tags", "memory_type", "metadata"),
    *("created_at", "updated_at", "created_at_iso", "updated_at_iso"),
)


def mem0(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The memories of an export of mem0: an array of them, or an object that has one."""
    return _of_json(source, target, of_mem0, "results", "memories")


def service(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The memories of an export of mcp-memory-service."""
    return _of_json(source, target, of_service, "memories")


def _of_json(source: Source, target: ImportTarget, parse: Parser, *keys: str) -> Iterator[Read]:
    with source.opened() as file:
        for number, found in enumerate(elements(file, source.name, *keys)):
            yield found if isinstance(found, Unread) else _made(f"{source.name}[{number}]", found, target, parse)


def rows(found: Iterable[Row], name: str, target: ImportTarget, parse: Parser) -> Iterator[Read]:
    """The memories of a database."""
    for number, row in enumerate(found, start=1):
        yield _made(f"{name}, row {number}", row, target, parse)


def _made(place: str, row: Row, target: ImportTarget, parse: Parser) -> Read:
    try:
        return parse(row, target)
    except Invalid as error:
        return skipped(place, error)


def of_mem0(row: Row, target: ImportTarget) -> Item:
    """
    A memory of mem0.

    Raises:
        Invalid: It says nothing.
    """
    text = target.text(row.get("memory") or row.get("new_memory") or row.get("data"))
    metadata = _facts(row.get("metadata"))
    whose = {key: row[key] for key in ("user_id", "agent_id", "run_id", "actor_id", "role") if row.get(key)}
    key = row.get("id") or row.get("memory_id")
    tags = tags_of(target.clean, row.get("categories") or (), metadata.get("tags") or ())
    return Item(
        _draft(text, MEM0, target, tags=tags, facts=metadata | whose),
        own_uid(key) or (uid_of(MEM0, key) if key else None),
        moment_of(row.get("created_at")),
        moment_of(row.get("updated_at")),
    )


def last_events(found: Iterable[Row]) -> Iterator[Row]:
    """Of a history of mem0, in its order, what holds of each memory in the end: not those that were deleted."""
    last: dict[object, Row] = {}
    for row in found:
        former = last.get(row["memory_id"], {})
        last[row["memory_id"]] = {**row, "created_at": former.get("created_at") or row["created_at"]}
    for row in last.values():
        if row["event"] != "DELETE" and not row["is_deleted"]:
            yield row


def of_service(row: Row, target: ImportTarget) -> Item:
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
    draft = _draft(
        target.text(row.get("content")),
        SERVICE,
        target,
        tags=tags_of(target.clean, row.get("tags") or ()),
        facts=_facts(metadata) | more,
        category=type if type in CATEGORIES else None,
    )
    created = moment_of(row.get("created_at_iso")) or moment_of(row.get("created_at"))
    updated = moment_of(row.get("updated_at_iso")) or moment_of(row.get("updated_at"))
    return Item(draft, uid_of(SERVICE, row.get("content_hash") or draft.what), created, updated)


def _facts(metadata: object) -> dict[str, Any]:
    return metadata if isinstance(metadata, dict) else {}


def _draft(
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

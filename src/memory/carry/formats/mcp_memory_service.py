"""mcp-memory-service: its export in JSON, or its database. https://github.com/doobidoo/mcp-memory-service, 12.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.carry.formats.format import Format
from memory.carry.formats.items import ImportTarget, Item, Read, moment_of, one_line, tags_of, uid_of
from memory.carry.formats.memories import database, draft_of, facts_of, of_json, rows
from memory.carry.formats.reading import parsed
from memory.schema.errors import NAME_LIMIT
from memory.schema.kinds import CATEGORIES
from memory.store.sqlite import foreign

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.carry.formats.memories import Row
    from memory.carry.formats.reading import Source

SERVICE = "mcp-memory-service"

COLUMNS = (
    *("content", "content_hash", "tags", "memory_type", "metadata"),
    *("created_at", "updated_at", "created_at_iso", "updated_at_iso"),
)


def export(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The memories of an export."""
    return of_json(source, target, _item, "memories")


def stored(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The memories of its database, without those that were deleted."""
    tables = {} if source.path is None else foreign.tables(source.path)
    where = "memories where deleted_at is null" if "deleted_at" in tables.get("memories", ()) else "memories"
    return rows(database(source, where, COLUMNS, "created_at"), source.name, target, _item)


def _item(row: Row, target: ImportTarget) -> Item:
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
        "mcp-memory-service export",
        "mcp-memory-service exports",
        "notes",
        export,
        lambda look: "export_metadata" in look.keys,
    ),
    Format(
        "mcp-memory-service database",
        "mcp-memory-service databases",
        "notes",
        stored,
        lambda look: {"content", "content_hash", "tags"} <= look.tables.get("memories", frozenset()),
    ),
)

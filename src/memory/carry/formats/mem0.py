"""mem0: what `Memory.get_all` gives, as JSON, or the `history.db` it keeps beside its vectors. https://docs.mem0.ai, 2.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.carry.formats.format import Format
from memory.carry.formats.items import ImportTarget, Item, Read, moment_of, own_uid, tags_of, uid_of
from memory.carry.formats.memories import database, draft_of, facts_of, of_json, rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memory.carry.formats.memories import Row
    from memory.carry.formats.reading import Source

MEM0 = "mem0"

TABLE = "history"
COLUMNS = ("memory_id", "new_memory", "event", "created_at", "updated_at", "is_deleted", "actor_id", "role")
LISTS = ("results", "memories")


def export(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The memories of an export: an array of them, or an object that has one."""
    return of_json(source, target, _item, *LISTS)


def history(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The memories of its database."""
    found = _last_events(database(source, TABLE, COLUMNS, "created_at, updated_at"))
    return rows(found, source.name, target, _item)


def _item(row: Row, target: ImportTarget) -> Item:
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


FORMATS = (
    Format(
        "mem0 export",
        "mem0 exports",
        "notes",
        export,
        lambda look: {"memory", "id"} <= look.wrapped and (look.keys == look.wrapped or bool(look.keys & {*LISTS})),
    ),
    Format(
        "mem0 database",
        "mem0 databases",
        "notes",
        history,
        lambda look: {"memory_id", "new_memory", "event"} <= look.tables.get(TABLE, frozenset()),
    ),
)

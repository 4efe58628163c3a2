"""What can be read of a memory some of whose columns are damaged: a default stands for each of those, and it is named."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memory.schema.kinds import RULES, Kind
from memory.schema.memory import DAMAGED, Status
from memory.schema.times import iso
from memory.store.sqlite import rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.memory import Memory

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


def memory(values: Sequence[Any]) -> Memory:
    """
    From the columns of a memory, by their places. What is wrong is named in its flags; see `memory.schema.memory.unread`.

    Raises:
        StoreDamaged: More is wrong than a column that has a default.
    """
    odd = [name for name, value in zip(rows.COLUMNS, values, strict=True) if not rows.readable(name, value)]
    row = dict(zip(rows.COLUMNS, values, strict=True))
    made, changed = (None if name in odd else row[name] for name in ("created_at", "updated_at"))
    moment = made or changed or iso(datetime.fromtimestamp(0, UTC))
    row |= {name: value for name, value in _PLAIN.items() if name in odd}
    row |= {"created_at": made or moment, "updated_at": changed or moment}
    if "kind" in odd:
        row["kind"] = _likely(row)
    found = rows.memory(row[name] for name in rows.COLUMNS)
    return found._replace(flags=(*found.flags, *(f"{DAMAGED}{name}" for name in odd)))


def _likely(row: Mapping[str, Any]) -> str:
    held = dict(row) | {"body": row["body_size"]}
    for kind in _LIKELY:
        rule = RULES[kind]
        complete = all(held[name] not in {None, "", 0} for name in rule.required)
        if complete and (rule.categories is None or row["category"] in {None, *rule.categories}):
            return str(kind)
    return str(Kind.NOTE)

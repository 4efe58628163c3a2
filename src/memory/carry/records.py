"""
What an export writes, as JSON values: memories, relations, links, tool calls, strangers, the trash.

`jsonl` reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema.errors import iso

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.carry.export import EdgeLine, Record, StrangersLine
    from memory.schema.memory import Memory
    from memory.store import ToolCall

SCHEMA = "memory.memory/1"
RELATION, ATTACHED, CALL = "memory.relation/1", "memory.attached/1", "memory.tool_call/1"
STRANGERS = "memory.strangers/1"
TRASH = "memory.trash/1"

_PORTABLE = (
    "kind title what why impact category tags project source agent_id status created_at description related_files metadata "
    "session_id session_iter task_code query_id updated_at accessed_at access_count keyword_only pinned"
).split()
"""What of a memory means the same in every database."""


def exported(found: Record) -> dict[str, Any]:
    """All of a memory, without numbers of this database."""
    history = [
        {"replaced_at": iso(revision.replaced_at), **_portable(revision.memory), "body": revision.body}
        for revision in found.history
    ]
    links = {"parent": found.parent, "superseded_by": found.superseded_by}
    return {"schema": SCHEMA, **_portable(found.memory), **links, "body": found.body, "history": history}


def _portable(memory: Memory) -> dict[str, Any]:
    values = {name: getattr(memory, name) for name in _PORTABLE}
    moments = {name: values[name] and iso(values[name]) for name in ("created_at", "updated_at", "accessed_at")}
    plain = {"kind": str(memory.kind), "status": str(memory.status), "metadata": dict(memory.metadata)}
    lists = {"tags": list(memory.tags), "related_files": list(memory.related_files)}
    people = {name: who for name in ("author", "owner") if (who := getattr(memory, name)) is not None}
    return {"id": memory.uid, "uid": memory.uid, **values, **moments, **plain, **lists, **people}


def edge(one: EdgeLine) -> dict[str, Any]:
    """What joins two memories."""
    schema = RELATION if "type" in one._fields else ATTACHED
    return {"schema": schema, **one._asdict(), "created_at": iso(one.created_at)}


def thrown(
    found: Record,
    edges: Sequence[EdgeLine],
    *,
    superseded: Sequence[str],
    children: Sequence[str],
    deleted_at: datetime,
    until: datetime,
) -> dict[str, Any]:
    """
    A memory that was deleted, with what it was to others.

    Args:
        superseded, children: Uids of what it superseded, and of what descends from it.
        until: From then on it cannot be had back.
    """
    moments = {"deleted_at": iso(deleted_at), "until": iso(until)}
    others = {"edges": [edge(one) for one in edges], "superseded": list(superseded), "children": list(children)}
    return {"schema": TRASH, **moments, "memory": exported(found), **others}


def tool_call(call: ToolCall) -> dict[str, Any]:
    """A tool that was used."""
    return {"schema": CALL, **call._asdict(), "moment": iso(call.moment)}


def strangers(line: StrangersLine) -> dict[str, Any]:
    """The strangers that a store judges by."""
    from base64 import b64encode

    coded = {name: b64encode(getattr(line, name)).decode() for name in ("fingerprint", "embeddings")}
    return {"schema": STRANGERS, **line.space._asdict(), "right": line.right, "stamp": line.stamp, **coded}

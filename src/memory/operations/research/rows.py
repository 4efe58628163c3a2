"""Rows of the documented shapes (CAP C5, C10, C41)."""

from __future__ import annotations

import json
from math import inf
from typing import TYPE_CHECKING, Any

from memory.schema.kinds import RESEARCH_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from memory.schema.answer import Hit
    from memory.schema.document import Document
    from memory.schema.memory import Memory
    from memory.store import Run, ToolCall

DIGITS = 6  # of a distance


def unix(moment: datetime) -> int:
    """Whole seconds since 1970 (CAP X4)."""
    return int(moment.timestamp())


def row(memory: Memory, body: str) -> dict[str, Any]:
    """
    A memory as it is documented (CAP C5), and more.

    `created_at` is the time of its last change (CAP C21); the metadata name the run, as the column does (CAP X35).
    """
    return {
        "id": memory.id,
        "uid": memory.uid,
        "query_id": memory.query_id,
        "memory_type": str(memory.kind),
        "type": str(memory.kind),
        "content": body,
        "created_by": memory.agent_id,
        "created_at": unix(memory.updated_at),
        "metadata": {"query_id": memory.query_id, **memory.metadata},
        "flags": list(memory.flags),
    }


def found(hit: Hit, body: str) -> dict[str, Any]:
    """
    A memory that was searched for (CAP C22). Rows are in the order of `relevance`, 0..1.

    `distance` is 1 - cosine, 0..2 (CAP C23). It is a number always: infinity where no vector was compared, so that
    `distance < 0.3` says no and what is not known comes last. `similarity` is the cosine, and None there. `topup` says whence a
    row fills up the answer, "distilled" or "recent"; None if it was found.
    """
    similarity = None if hit.similarity is None else round(hit.similarity, DIGITS)
    distance = inf if hit.similarity is None else round(1 - hit.similarity, DIGITS)
    numbers = {"relevance": round(hit.relevance, DIGITS), "similarity": similarity, "distance": distance}
    return row(hit.memory, body) | numbers | {"topup": hit.topup or None}


def call(id: int, made: ToolCall) -> dict[str, Any]:
    """A tool that was used (CAP C10)."""
    return {
        "id": id,
        "query_id": made.run,
        "agent_name": made.agent,
        "tool_type": made.type,
        "tool_name": made.tool,
        "parameters": made.parameters,
        "result": made.result,
        "success": int(made.success),
        "timestamp": unix(made.moment),
    }


def statistics(run: Run | None, query_id: str) -> dict[str, Any]:
    """
    How much there is of a run.

    Args:
        run: None if nothing is.
    """
    return {
        "query_id": query_id,
        "total_memories": run.memories if run else 0,
        "memory_counts": dict.fromkeys(map(str, RESEARCH_KINDS), 0) | dict(run.kinds if run else ()),
        "agent_counts": dict(run.agents if run else ()),
        "total_tool_calls": run.calls if run else 0,
        "failed_tool_calls": run.failed_calls if run else 0,
        "earliest_created": unix(run.earliest) if run else None,
        "latest_created": unix(run.latest) if run else None,
    }


EXPORTED = ("id", "query_id", "memory_type", "content", "created_by", "created_at", "metadata")
"""Fields of a memory in an export, in their order."""


def export(
    query_id: str, documents: Iterable[Document], calls: Iterable[tuple[int, ToolCall]], moment: datetime
) -> dict[str, Any]:
    """The documented file (CAP C41): metadata as text, times in seconds."""
    return {
        "export_timestamp": unix(moment),
        "query_id": query_id,
        "memories": list(_exported(documents)),
        "tool_calls": [call(id, made) for id, made in calls],
    }


def _exported(documents: Iterable[Document]) -> Iterator[dict[str, Any]]:
    for document in documents:
        values = row(document.memory, document.body)
        values["metadata"] = json.dumps(values["metadata"], ensure_ascii=False)
        values["created_by"] = values["created_by"] or ""
        yield {name: values[name] for name in EXPORTED}

"""Rows of research runs: as a program and a file have them (CAP C5, C10, C41), and as tools and commands show them."""

from __future__ import annotations

import json
from math import inf
from typing import TYPE_CHECKING, Any

from memory.operations.render import data
from memory.operations.shapes import record, several
from memory.schema.kinds import RESEARCH_KINDS
from memory.schema.times import iso

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from memory.schema.answer import Hit
    from memory.schema.document import Document
    from memory.schema.memory import Memory
    from memory.schema.saved import Saved
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


PAGE = 20_000
"""Characters of a content that a tool shows; `memory_details` goes on from there."""


SAID = several(
    record("id memory_id:number query_id type agent:text? content size:number metadata:object created_at flags:texts")
)


def said(memory: Memory, body: str) -> dict[str, Any]:
    """
    A memory as tools show it (CAP C5); `id` is its uid, `memory_id` its number (CAP X2).

    Of the content there is no more than a page; `size` says how many characters it has.
    """
    return {
        "id": memory.uid,
        "memory_id": memory.id,
        "query_id": memory.query_id,
        "type": str(memory.kind),
        "agent": memory.agent_id,
        "content": body[:PAGE],
        "size": len(body),
        "metadata": {"query_id": memory.query_id, **memory.metadata},
        "created_at": iso(memory.updated_at),
        "flags": list(memory.flags),
    }


def kept(result: Saved) -> dict[str, Any]:
    memory = result.memory
    return {
        "known": result.known,
        "renewed": result.renewed,
        "memory": {"id": memory.uid, "memory_id": memory.id, "title": memory.title},
        "query_id": memory.query_id,
        "type": str(memory.kind),
        "agent": memory.agent_id,
        "created_at": iso(memory.updated_at),
        "notices": data.notices(result.notices),
    }


def listed(run: str, found: Iterable[Document], *, more: bool) -> dict[str, Any]:
    return {"query_id": run, "memories": [said(one.memory, one.body) for one in found], "more": more, "notices": []}


def numbers(found: Run) -> dict[str, Any]:
    """The numbers of a run."""
    return {
        "query_id": found.id,
        "total_memories": found.memories,
        "memory_counts": dict(found.kinds),
        "agent_counts": dict(found.agents),
        "total_tool_calls": found.calls,
        "failed_tool_calls": found.failed_calls,
        "earliest_created": iso(found.earliest),
        "latest_created": iso(found.latest),
    }


def context(id: str, text: str, tokens: int, memories: Sequence[Memory], omitted: int) -> dict[str, Any]:
    """What a worker should know of a run."""
    pointers = [data.pointer(memory) for memory in memories]
    return {"query_id": id, "context": text, "tokens": tokens, "memories": pointers, "omitted": omitted}


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

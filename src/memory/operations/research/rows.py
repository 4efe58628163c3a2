"""Rows of research runs: as a program and a file have them (CAP C5, C10, C41), and as tools and commands show them."""

from __future__ import annotations

import json
from math import inf
from typing import TYPE_CHECKING, Any

from memory.operations.arguments import record, several
from memory.operations.render import data
from memory.operations.render.data import row
from memory.schema.kinds import RESEARCH_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from memory.schema.answer import Hit
    from memory.schema.document import Document
    from memory.schema.draft import Saved
    from memory.schema.memory import Memory
    from memory.store import Run, ToolCall

PAGE = 20_000
"""Characters of a content that a tool shows; `memory_details` goes on from there."""

SAID = several(
    record("id memory_id:number query_id type agent:text? content size:number metadata:object created_at flags:texts")
)
CALL = (
    "query_id=run:text? agent_name=agent tool_type=type tool_name=tool parameters result success:number "
    "timestamp=moment:number"
)
NUMBERS = (
    "query_id=id total_memories=memories:number memory_counts=kinds:object agent_counts=agents:object "
    "total_tool_calls=calls:number failed_tool_calls=failed_calls:number"
)


def unix(moment: datetime) -> int:
    """Whole seconds since 1970 (CAP X4)."""
    return int(moment.timestamp())


def documented(memory: Memory, body: str) -> dict[str, Any]:
    """
    A memory as it is documented (CAP C5), and more.

    `created_at` is the time of its last change (CAP C21); the metadata name the run, as the column does (CAP X35).
    """
    return {
        **row(memory, "id:number uid query_id:text? memory_type=kind type=kind"),
        "content": body,
        **row(memory, "created_by=agent_id:text? created_at=updated_at:number metadata:object flags:texts"),
        "metadata": {"query_id": memory.query_id, **memory.metadata},
    }


def found(hit: Hit, body: str) -> dict[str, Any]:
    """
    A memory that was searched for (CAP C22). Rows are in the order of `relevance`, 0..1.

    `distance` is 1 - cosine, 0..2 (CAP C23). It is a number always: infinity where no vector was compared, so that
    `distance < 0.3` says no and what is not known comes last. `similarity` is the cosine, and None there. `topup` says whence a
    row fills up the answer, "distilled" or "recent"; None if it was found.
    """
    distance = inf if hit.similarity is None else round(1 - hit.similarity, 6)
    numbers = row(hit, "relevance:real6 similarity:real6 distance=similarity:real6 topup:filled")
    return documented(hit.memory, body) | numbers | {"distance": distance}


def call(id: int, made: ToolCall) -> dict[str, Any]:
    """A tool that was used (CAP C10)."""
    return {"id": id} | row(made, CALL)


def statistics(run: Run | None, query_id: str) -> dict[str, Any]:
    """
    How much there is of a run.

    Args:
        run: None if nothing is.
    """
    counts = dict.fromkeys(map(str, RESEARCH_KINDS), 0)
    if run is None:
        nothing = dict.fromkeys((name for name, _, _ in data.parsed(NUMBERS)), 0)
        times = {"earliest_created": None, "latest_created": None}
        return nothing | {"query_id": query_id, "memory_counts": counts, "agent_counts": {}} | times
    times = row(run, "earliest_created=earliest:number latest_created=latest:number")
    return row(run, NUMBERS) | {"query_id": query_id, "memory_counts": counts | dict(run.kinds)} | times


def said(memory: Memory, body: str) -> dict[str, Any]:
    """
    A memory as tools show it (CAP C5); `id` is its uid, `memory_id` its number (CAP X2).

    Of the content there is no more than a page; `size` says how many characters it has.
    """
    return {
        **row(memory, "id=uid memory_id=id:number query_id:text? type=kind agent=agent_id:text?"),
        "content": body[:PAGE],
        "size": len(body),
        "metadata": {"query_id": memory.query_id, **memory.metadata},
        **row(memory, "created_at=updated_at flags:texts"),
    }


def kept(result: Saved) -> dict[str, Any]:
    return {
        **row(result, "known:flag renewed:flag"),
        "memory": row(result.memory, "id=uid memory_id=id:number title"),
        **row(result.memory, "query_id:text? type=kind agent=agent_id:text? created_at=updated_at"),
        "notices": data.notices(result.notices),
    }


def listed(run: str, found: Iterable[Document], *, more: bool) -> dict[str, Any]:
    return {"query_id": run, "memories": [said(one.memory, one.body) for one in found], "more": more, "notices": []}


def numbers(found: Run) -> dict[str, Any]:
    """The numbers of a run."""
    return row(found, f"{NUMBERS} earliest_created=earliest latest_created=latest")


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
    memories = []
    for document in documents:
        values = documented(document.memory, document.body)
        values["metadata"] = json.dumps(values["metadata"], ensure_ascii=False)
        values["created_by"] = values["created_by"] or ""
        memories.append({name: values[name] for name in EXPORTED})
    made = [call(id, one) for id, one in calls]
    return {"export_timestamp": unix(moment), "query_id": query_id, "memories": memories, "tool_calls": made}

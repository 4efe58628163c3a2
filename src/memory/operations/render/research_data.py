"""Results about research runs as JSON values: in the words of the research tools, with full times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.operations.render.data import document, notices, pointer, whole
from memory.schema.times import iso

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory.schema.answer import Notice
    from memory.schema.document import Document
    from memory.schema.memory import Memory
    from memory.schema.saved import Saved
    from memory.store import Cleared, Run

PAGE = 20_000
"""Characters of a content that a tool shows; `memory_details` goes on from there."""


def row(memory: Memory, body: str, most: int = PAGE) -> dict[str, Any]:
    """
    A memory by the documented names (CAP C5); `id` is its uid, `memory_id` its number (CAP X2).

    Args:
        most: Characters of the content; `size` says how many there are.
    """
    return {
        "id": memory.uid,
        "memory_id": memory.id,
        "query_id": memory.query_id,
        "type": str(memory.kind),
        "agent": memory.agent_id,
        "content": body[:most],
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
        "notices": notices(result.notices),
    }


def listed(run: str, found: Iterable[Document], *, more: bool) -> dict[str, Any]:
    return {"query_id": run, "memories": [row(one.memory, one.body) for one in found], "more": more, "notices": []}


def run_row(found: Run) -> dict[str, Any]:
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


def started(id: str, plan: Memory | None, said: tuple[Notice, ...]) -> dict[str, Any]:
    return document("run-start", {"query_id": id, "plan": plan and pointer(plan), "notices": notices(said)})


def runs(found: Sequence[Run], total: int) -> dict[str, Any]:
    return document("run-list", {"runs": [run_row(one) for one in found], "total_runs": total})


def shown(found: Run, memories: Sequence[Memory]) -> dict[str, Any]:
    return document("run-show", run_row(found) | {"memories": [whole(memory) for memory in memories]})


def context(id: str, text: str, tokens: int, memories: Sequence[Memory], omitted: int) -> dict[str, Any]:
    """What a worker should know of a run."""
    pointers = [pointer(memory) for memory in memories]
    return {"query_id": id, "context": text, "tokens": tokens, "memories": pointers, "omitted": omitted}


def cleared(id: str | None, gone: Cleared) -> dict[str, Any]:
    """
    Args:
        id: None is all runs.
    """
    return document("run-clear", {"query_id": id, "memories_deleted": gone.memories, "tool_calls_deleted": gone.calls})

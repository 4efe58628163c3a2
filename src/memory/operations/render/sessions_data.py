"""Results about sessions and documents as JSON values; names as the session tools have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.operations.render.data import document as schema, notices, pointer, whole
from memory.schema.times import iso

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memory.schema.answer import Notice
    from memory.schema.document import Document, Expanded, Resumed
    from memory.schema.kinds import Kind
    from memory.schema.memory import Memory, MemoryId
    from memory.schema.saved import Saved
    from memory.store import Aged, Session
    from memory.write.markdown import Written


def sessions(found: Sequence[Session], total: int) -> dict[str, Any]:
    """CAP D32."""
    rows = [
        {
            "session_id": one.id,
            "agent_id": one.agent_id,
            "memory_count": one.memories,
            "latest_activity": iso(one.active),
            "memory_types": dict(one.kinds),
        }
        for one in found
    ]
    return schema("session-list", {"sessions": rows, "total_sessions": total})


def _numbers(found: Session) -> dict[str, Any]:
    """CAP D31."""
    return {
        "session_id": found.id,
        "memory_counts": dict(found.kinds),
        "agent_counts": dict(found.agents),
        "total_memories": found.memories,
        "total_chunks": found.chunks,
        "max_session_iter": found.iteration,
        "earliest_created": iso(found.earliest),
        "latest_created": iso(found.latest),
    }


def stats(found: Session) -> dict[str, Any]:
    return schema("session-stats", _numbers(found))


def shown(found: Session, memories: Sequence[Memory]) -> dict[str, Any]:
    """A session and some of its memories, the latest iteration first."""
    return schema("session-show", _numbers(found) | {"memories": [whole(memory) for memory in memories]})


def context(id: str, found: Resumed, bodies: Mapping[MemoryId, str], said: tuple[Notice, ...]) -> dict[str, Any]:
    """CAP D27."""

    def full(memory: Memory) -> dict[str, Any]:
        return whole(memory) | {"content": bodies.get(memory.id, "")}

    values = {
        "session_id": id,
        "session_context": full(found.context) if found.context else None,
        "input_prompts": [full(memory) for memory in found.prompts],
        "recent_reports": [full(memory) for memory in found.reports],
        "recent_report_observations": [full(memory) for memory in found.observations],
        "recent_working_memory": [full(memory) for memory in found.working],
        "notices": notices(said),
    }
    return schema("session-context", values)


def stored(result: Saved) -> dict[str, Any]:
    values = {"known": result.known, "memory": whole(result.memory), "chunks": result.chunks}
    return schema("store", values | {"notices": notices(result.notices)})


def expanded(found: Expanded, around: int) -> dict[str, Any]:
    """CAP D28."""
    pieces = [
        {
            "chunk_id": piece.id,
            "chunk_index": piece.chunk.index,
            "content": piece.text,
            "chunk_type": str(piece.chunk.type),
            "header_path": list(piece.chunk.header_path),
            "level": piece.chunk.level,
        }
        for piece in found.pieces
    ]
    values = {
        "memory": pointer(found.memory),
        "memory_id": found.memory.id,
        "target_chunk_index": found.target.index,
        "context_window": around,
        "chunks_returned": len(pieces),
        "expanded_content": found.text,
        "chunks": pieces,
    }
    return schema("expand", values)


def document(found: Document) -> dict[str, Any]:
    """CAP D29."""
    values = {
        "memory_id": found.memory.id,
        "title": found.memory.title,
        "memory_type": str(found.memory.kind),
        "chunk_count": found.chunks,
        "verified": found.whole,
        "content": found.body,
    }
    return schema("reconstruct", values)


def written(found: Document, file: Written) -> dict[str, Any]:
    """CAP D33."""
    values = {
        "memory_id": found.memory.id,
        "file_path": str(file.path),
        "bytes_written": file.size,
        "verified": found.whole,
    }
    return schema("reconstruct", values)


def cleaned(gone: Mapping[Kind, Aged], before: datetime, *, dry_run: bool) -> dict[str, Any]:
    """CAP D35."""
    values = {
        "memories_deleted": sum(aged.memories for aged in gone.values()),
        "chunks_deleted": sum(aged.chunks for aged in gone.values()),
        "dry_run": dry_run,
        "before": iso(before),
        "kinds": {str(name): aged.memories for name, aged in gone.items()},
    }
    return schema("cleanup", values)


def change(done: str, file: str, memory: Memory, said: tuple[Notice, ...]) -> dict[str, Any]:
    """What became of a file that is watched."""
    return schema("watch", {"change": done, "file": file, "memory": pointer(memory), "notices": notices(said)})

"""Rows of the documented shapes (CAP A20, A30, A34)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.operations.render import data
from memory.operations.render.data import row
from memory.schema.kinds import Kind
from memory.schema.times import iso

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from memory.schema.answer import Hit, Notice
    from memory.schema.document import Document, Expanded, Resumed
    from memory.schema.draft import Saved
    from memory.schema.memory import Memory, MemoryId
    from memory.store import Aged

SCOPED = 2.0
"""The similarity of what was not searched for but is in scope (CAP A33, X16)."""

HASH = 16  # hexadecimal digits of a hash that are shown (CAP D9)
DIGITS = 4  # of a similarity (CAP X39)
ROOT = "/"  # the path of what stands below no heading (CAP A23)

WHERE = "id:number memory_id=id:number uid memory_type=kind agent_id:text? session_id:text? session_iter:number? task_code:text?"
REST = (
    "title description category:text? tags:texts metadata:object content_hash created_at updated_at accessed_at:text? "
    "access_count:number flags:texts"
)
PIECE = (
    "chunk_id=id:number chunk_index=chunk.index:number content=text chunk_type=chunk.type header_path=chunk.header_path:texts "
    "level=chunk.level:number"
)
DOCUMENT = (
    "memory_id=memory.id:number title=memory.title memory_type=memory.kind chunk_count=chunks:number verified=whole:flag "
    "content=body"
)
LISTED = "session_id=id agent_id:text? memory_count=memories:number latest_activity=active memory_types=kinds:object"
SESSION = f"{LISTED} agents:object chunk_count=chunks:number max_session_iter=iteration:number?"
"""CAP D32; the command shows less of it."""

NUMBERS = (
    "session_id=id memory_counts=kinds:object agent_counts=agents:object total_memories=memories:number "
    "total_chunks=chunks:number max_session_iter=iteration:number? earliest_created=earliest latest_created=latest"
)
"""How much is kept of a session (CAP D31)."""


def whole(document: Document) -> dict[str, Any]:
    """A memory with its content (CAP A34); it goes by both names of its id (CAP X15)."""
    memory = document.memory
    named = {"title": memory.title} if memory.kind is Kind.KNOWLEDGE_BASE else {}
    return {
        **row(memory, WHERE),
        "content": document.body,
        **row(memory, REST),
        "title": memory.title or None,
        "description": memory.description or None,
        "metadata": dict(memory.metadata) | named,
        "content_hash": memory.content_hash[:HASH],
    }


def scoped(document: Document) -> dict[str, Any]:
    return whole(document) | {"similarity": SCOPED, "source_type": "scoped", "granularity": "coarse"}


def ranked(document: Document, hit: Hit) -> dict[str, Any]:
    """A memory that was searched for, by its best chunk; or one that fills up the answer."""
    sort = "topup" if hit.topup else "ranked"
    return whole(document) | _scores(hit) | {"source_type": sort, "granularity": "coarse"}


def _scores(hit: Hit) -> dict[str, Any]:
    """
    What the rows are in the order of (`relevance`, 0..1), how near the row is by meaning (`similarity`, the cosine, -1..1,
    None where no vector was compared), and whence it fills up the answer (`topup`, None if it was found).
    """
    return {
        "relevance": round(hit.relevance, DIGITS),
        "similarity": _digits(hit.similarity),
        "topup": hit.topup or None,
        "score": round(hit.score, DIGITS),
        "cosine": _digits(hit.cosine),
    }


def _digits(cosine: float | None) -> float | None:
    return None if cosine is None else round(cosine, DIGITS)


def chunk(hit: Hit) -> dict[str, Any]:
    """A chunk (CAP A20)."""
    return (
        row(hit.memory, WHERE)
        | {
            "chunk_id": hit.chunk_id,
            "chunk_index": hit.chunk.index,
            "chunk_content": hit.text,
            "chunk_type": str(hit.chunk.type),
            "header_path": path(hit.chunk.header_path),
            "headers": list(hit.chunk.header_path),
            "level": hit.chunk.level,
            "title": hit.memory.title or None,
            "flags": list(hit.memory.flags),
        }
        | _scores(hit)
        | {"source": "chunk", "granularity": "fine"}
    )


def section(hit: Hit) -> dict[str, Any]:
    """A section (CAP A30)."""
    headers = hit.chunk.section
    return (
        row(hit.memory, WHERE)
        | {
            "section_header": " > ".join(header.lstrip("#").strip() for header in headers) or ROOT,
            "section_content": hit.text,
            "header_path": path(headers),
            "headers": list(headers),
            "chunks_in_section": hit.chunks,
            "matched_chunks": hit.matched,
            "match_ratio": round(hit.match_ratio, DIGITS),
            "auto_merged": hit.auto_merged,
            "title": hit.memory.title or None,
            "flags": list(hit.memory.flags),
        }
        | _scores(hit)
        | {"source": "expanded_section", "granularity": "medium"}
    )


def path(headers: Sequence[str]) -> str:
    """Headings with their marks, outermost first (CAP A21); `headers` beside it is safe where a title has a `>`."""
    return " > ".join(headers) or ROOT


def stored(saved: Saved) -> dict[str, Any]:
    """What became of a memory (CAP D9)."""
    facts = row(saved.memory, "memory_id=id:number memory_type=kind agent_id:text? session_id:text? content_hash")
    facts["content_hash"] = saved.memory.content_hash[:HASH]
    return facts | {"chunks_created": saved.chunks if saved.chunks > 1 else 0} | row(saved.memory, "created_at")


def expanded(found: Expanded, around: int, headers: Callable[[Sequence[str]], object]) -> dict[str, Any]:
    """
    A chunk with its neighbours (CAP D28).

    Args:
        headers: How the headings above a chunk are said.
    """
    pieces = [row(piece, PIECE) | {"header_path": headers(piece.chunk.header_path)} for piece in found.pieces]
    return {
        "memory_id": found.memory.id,
        "target_chunk_index": found.target.index,
        "context_window": around,
        "chunks_returned": len(pieces),
        "expanded_content": found.text,
        "chunks": pieces,
    }


def resumed(id: str, found: Resumed, bodies: Mapping[MemoryId, str], said: tuple[Notice, ...]) -> dict[str, Any]:
    """CAP D27."""

    def full(memory: Memory) -> dict[str, Any]:
        return data.whole(memory) | {"content": bodies.get(memory.id, "")}

    return {
        "session_id": id,
        "session_context": full(found.context) if found.context else None,
        "input_prompts": [full(memory) for memory in found.prompts],
        "recent_reports": [full(memory) for memory in found.reports],
        "recent_report_observations": [full(memory) for memory in found.observations],
        "recent_working_memory": [full(memory) for memory in found.working],
        "notices": data.notices(said),
    }


def cleaned(gone: Mapping[Kind, Aged], before: datetime, *, dry_run: bool) -> dict[str, Any]:
    """CAP D35."""
    return {
        "memories_deleted": sum(aged.memories for aged in gone.values()),
        "chunks_deleted": sum(aged.chunks for aged in gone.values()),
        "dry_run": dry_run,
        "before": iso(before),
        "kinds": {str(name): aged.memories for name, aged in gone.items()},
    }

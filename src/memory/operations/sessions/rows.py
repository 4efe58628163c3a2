"""Rows of the documented shapes (CAP A20, A30, A34)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema.kinds import Kind
from memory.schema.times import iso

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.answer import Hit
    from memory.schema.document import Document
    from memory.schema.memory import Memory
    from memory.store import Session

SCOPED = 2.0
"""The similarity of what was not searched for but is in scope (CAP A33, X16)."""

HASH = 16  # hexadecimal digits of a hash that are shown (CAP D9)
DIGITS = 4  # of a similarity (CAP X39)
ROOT = "/"  # the path of what stands below no heading (CAP A23)


def whole(document: Document) -> dict[str, Any]:
    """A memory with its content (CAP A34); it goes by both names of its id (CAP X15)."""
    memory = document.memory
    return _where(memory) | {
        "content": document.body,
        "title": memory.title or None,
        "description": memory.description or None,
        "category": memory.category,
        "tags": list(memory.tags),
        "metadata": dict(memory.metadata) | ({"title": memory.title} if memory.kind is Kind.KNOWLEDGE_BASE else {}),
        "content_hash": memory.content_hash[:HASH],
        "created_at": iso(memory.created_at),
        "updated_at": iso(memory.updated_at),
        "accessed_at": memory.accessed_at and iso(memory.accessed_at),
        "access_count": memory.access_count,
        "flags": list(memory.flags),
    }


def _where(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "memory_id": memory.id,
        "uid": memory.uid,
        "memory_type": str(memory.kind),
        "agent_id": memory.agent_id,
        "session_id": memory.session_id,
        "session_iter": memory.session_iter,
        "task_code": memory.task_code,
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
        _where(hit.memory)
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
        _where(hit.memory)
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


def session(found: Session) -> dict[str, Any]:
    return {
        "session_id": found.id,
        "agent_id": found.agent_id,
        "memory_count": found.memories,
        "latest_activity": iso(found.active),
        "memory_types": dict(found.kinds),
        "agents": dict(found.agents),
        "chunk_count": found.chunks,
        "max_session_iter": found.iteration,
    }

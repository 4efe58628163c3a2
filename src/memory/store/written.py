"""An entry as the columns of rows, for every store that keeps it in such."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema.draft import SHARED
from memory.schema.errors import iso
from memory.schema.memory import ChunkType, MemoryId
from memory.store.records import columns, packed

if TYPE_CHECKING:
    from memory.store.values import Entry


def values(entry: Entry) -> dict[str, Any]:
    """The columns that an entry's draft gives, also to a memory that is there."""
    values: dict[str, Any] = {name: getattr(entry.draft, name) for name in SHARED}
    values |= columns(entry.draft)
    facts = {"content_hash": entry.content_hash, "body_size": len(entry.draft.body), "flags": " ".join(entry.flags)}
    return values | facts | {"updated_at": iso(entry.moment)}


def first(entry: Entry) -> dict[str, Any]:
    """The columns that only a new memory gets."""
    first: dict[str, Any] = {"uid": entry.uid, "created_at": iso(entry.moment)}
    if entry.number is not None:
        first["id"] = entry.number
    if (old := entry.restored) is None:
        return first
    return first | {
        "created_at": iso(old.created_at),
        "updated_at": iso(old.updated_at),
        "accessed_at": old.accessed_at and iso(old.accessed_at),
        "access_count": old.access_count,
        "status": old.status,
        "pinned": old.pinned,
    }


def chunk(id: MemoryId, entry: Entry, number: int) -> dict[str, Any]:
    """The columns of the row of an entry's chunk."""
    piece = entry.chunks[number]
    first = number == 0
    return {
        "memory_id": id,
        "chunk_index": piece.index,
        "start": piece.start,
        "stop": piece.stop,
        "chunk_type": piece.type,
        "header_path": packed(piece.header_path),
        "level": piece.level,
        "token_count": piece.token_count,
        "heading": " ".join(header.lstrip("# ") for header in piece.header_path),
        "tags": " ".join(entry.draft.tags) if first else "",
        "files": " ".join(entry.draft.related_files) if first else "",
        "grams": entry.grams[number],
    }


def passage(entry: Entry, number: int) -> list[str]:
    """What is indexed of an entry's chunk, in the order of `WEIGHTS`; see `memory.store.WEIGHTS`."""
    piece, draft = entry.chunks[number], entry.draft
    columns = chunk(MemoryId(0), entry, number)
    text = draft.what if piece.type is ChunkType.HEAD else draft.body[piece.start : piece.stop]
    about = (draft.category, draft.project, draft.source) if piece.index == 0 else (None,) * 3
    consequences = (draft.why, draft.impact) if piece.index == 0 else ("", "")
    texts = (draft.title, columns["heading"], text, *consequences, columns["tags"], *about)
    return [one or "" for one in (*texts, columns["files"], columns["grams"])]

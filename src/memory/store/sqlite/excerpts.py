"""Rows as chunks, with their texts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from memory.schema.memory import OVERLAP, Chunk, ChunkType, Excerpt
from memory.store.sqlite.rows import read, tagged, texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw


def chunk(row: Sequence[Any]) -> Chunk:
    """From chunk_index, start, stop, chunk_type, header_path, level, token_count."""
    index, start, stop, type, header_path, level, token_count = row
    return Chunk(index, start, stop, ChunkType(type), _headers(header_path), level, token_count)


EXCERPT = f"""
    c.id, c.memory_id, c.chunk_index, c.start, c.stop, c.chunk_type, c.header_path, c.level, c.token_count,
    case c.chunk_type when 'head' then m.what else substr(ifnull(b.body, ''), c.start + 1, c.stop - c.start) end,
    substr(ifnull(b.body, ''), max(0, c.start - {OVERLAP}) + 1, min(c.start, {OVERLAP})),
    m.title, m.what, m.why, m.impact, m.tags
"""

OWNER = """
    cross join memories m on m.id = c.memory_id
    left join bodies b on b.memory_id = c.memory_id
"""
"""A body that is missing, in a damaged file, counts as empty: what else is known of the memory is found and embedded."""


def excerpts(
    db: apsw.Connection, chunks: str, values: Sequence[Any] = (), *, ids: Iterable[int] | None = None
) -> list[Excerpt]:
    """Chunks with their texts. `chunks` says which: from chunks as c, with their `OWNER`. See `read` for ids."""
    return [
        Excerpt(id, owner, chunk(piece), text, before, title, what, why, impact, tagged(tags))
        for id, owner, *piece, text, before, title, what, why, impact, tags in read(
            db, f"select {EXCERPT} from {chunks}", values, ids=ids
        )
    ]


@lru_cache(maxsize=4096)
def _headers(path: str) -> tuple[str, ...]:
    """Many chunks stand below the same headings, and sections are found by reading all chunks of many memories."""
    return texts(path)

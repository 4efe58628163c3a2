"""Rows as chunks, with their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema.memory import OVERLAP, Excerpt
from memory.store.records import chunk, tagged
from memory.store.sqlite.rows import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw


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

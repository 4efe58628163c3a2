"""Ranked chunks into sections: which chunks belong together, and in which order sections are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from memory.rank.hits import SECTIONS_OF, Passage
from memory.rank.match import coverage
from memory.schema.memory import Chunk, ChunkId, ChunkType, MemoryId

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.schema.answer import Ranking, Scored
    from memory.schema.query import Term

    Outline: TypeAlias = Sequence[tuple[ChunkId, Chunk]]
    """All chunks of a memory, in order."""

NEIGHBOURS = 3
"""Chunks shown on either side where a body has no headings (CAP X13)."""

MATCHING_SHARE = 0.5
"""A chunk matches if its similarity is at least this share of the highest, 0..1."""


def sections(ranking: Ranking, outline: Callable[[MemoryId], Outline], limit: int) -> list[Passage]:
    """
    The sections of the first `SECTIONS_OF` · limit chunks, and of further chunks until there are `limit` sections.

    Each section comes once, in the order of its best chunk. No chunk is in two.

    Args:
        outline: Gives the chunks of a memory; empty if it was deleted.
    """
    taken: set[ChunkId] = set()
    found: list[Passage] = []
    for place, scored in enumerate(ranking):
        if place >= SECTIONS_OF * limit and len(found) >= limit:
            break
        if scored.chunk in taken:
            continue
        if passage := spanning(scored, section(outline(scored.memory), scored.chunk, taken)):
            taken.update(passage.chunks)
            found.append(passage)
    return found


def spanning(best: Scored, run: Outline, topup: str = "") -> Passage | None:
    """A passage of adjacent chunks, not scored yet; None if there are none, because they were deleted meanwhile."""
    return Passage(best, 0.0, (), tuple(id for id, _ in run), run[0][1].start, run[-1][1].stop, topup) if run else None


def section(outline: Outline, wanted: ChunkId, taken: set[ChunkId] | frozenset[ChunkId] = frozenset()) -> Outline:
    """
    The chunks around one that share its first two headings (or its one second-level heading where there is no first).

    Where the body has no headings: up to `NEIGHBOURS` chunks on either side.
    Two sections of the same name stay two sections: only adjacent chunks belong together.

    Args:
        taken: Chunks already shown; the section stops before them.
    """
    place = next((i for i, (id, _) in enumerate(outline) if id == wanted), None)
    if place is None:
        return ()
    key = _key(outline[place][1])
    reach = len(outline) if key[1] else NEIGHBOURS

    def joins(i: int) -> bool:
        if not 0 <= i < len(outline) or abs(i - place) > reach:
            return False
        return _key(outline[i][1]) == key and outline[i][0] not in taken

    first = last = place
    while joins(first - 1) and not _begins(outline[first][1]):
        first -= 1
    while joins(last + 1) and not _begins(outline[last + 1][1]):
        last += 1
    return outline[first : last + 1]


def _begins(chunk: Chunk) -> bool:
    """
    Whether a section begins with this chunk, even if the chunk before it has the same heading.

    A chunk that begins with several headings has a longer path, but then the chunk before it has another heading:
    `chunk` sees to that.
    """
    return chunk.type is ChunkType.SECTION and chunk.header_path == chunk.section


def _key(chunk: Chunk) -> tuple[bool, tuple[str, ...]]:
    return chunk.start == chunk.stop, chunk.section


def shown(
    found: Sequence[Passage], scores: Mapping[ChunkId, Scored], terms: Sequence[Term], ranking: Ranking, limit: int
) -> list[Passage]:
    """
    Sections, ordered by the mean score of their matching chunks (CAP A28, A29).

    A chunk matches if it is the section's best; if it is one of the first `SECTIONS_OF` · limit and holds a word of
    the query (CAP A22, A26); or if its similarity is at least `MATCHING_SHARE` of the highest.
    A rank is no evidence by itself: the vector retriever ranks everything,
    and a list of limited length leaves out parts of a long section.

    Args:
        scores: What is known of the sections' chunks; a chunk that is missing here does not match.
        ranking: All results, best first.
        limit: Sections requested; all of `found` are ranked.
    """
    first = {*ranking.chunks[: SECTIONS_OF * limit]}
    bound = MATCHING_SHARE * max((_similarity(terms, scored) for scored in ranking), default=0.0)
    passages = []
    for one in found:
        matching = tuple(
            scored
            for scored in filter(None, map(scores.get, one.chunks))
            if scored.chunk == one.best.chunk
            or _similarity(terms, scored) >= bound > 0
            or (scored.matched and scored.chunk in first)
        )
        score = sum(scored.score for scored in matching) / len(matching)
        passages.append(one._replace(score=score, matching=matching))
    return sorted(passages, key=lambda passage: -passage.score)


def _similarity(terms: Sequence[Term], scored: Scored) -> float:
    """
    How similar a chunk is to the query, 0..1: its cosine, or 0 if that is negative (CAP A13, X17).

    Without a known cosine, the share of the query's weight that it holds.
    """
    if scored.cosine is None:
        return coverage(terms, scored.matched)
    return min(1.0, max(0.0, scored.cosine))

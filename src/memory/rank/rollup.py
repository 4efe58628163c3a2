"""Ranked chunks into passages of the size that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.query import Granularity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.query import Ranking, Scored
    from memory.record import Chunk, ChunkId, MemoryId

    Outline: TypeAlias = Sequence[tuple[ChunkId, Chunk]]
    """All chunks of a memory, in order."""

NEIGHBOURS = 3
"""Chunks shown on either side where a body has no headings (CAP X13)."""

MERGED = 0.6
"""Share of a section's chunks from which it counts as found as a whole (CAP A26)."""


class Passage(NamedTuple):
    """
    What one hit shows.

    Attributes:
        best: The best of its chunks.
        start, stop: Code points into the body.
        match_ratio: Share of its chunks that were ranked, 0..1.
    """

    best: Scored
    start: int
    stop: int
    match_ratio: float


def rollup(
    ranking: Ranking, outline: Callable[[MemoryId], Outline], granularity: Granularity, limit: int
) -> list[Passage]:
    """
    Widen each ranked chunk to the granularity; of equal passages the first stays.

    Args:
        outline: Gives the chunks of a memory; none if it is gone.

    Returns:
        At most `limit`, best first. A passage ranks where its best chunk does.
    """
    match granularity:
        case Granularity.FINE:
            return [Passage(scored, 0, 0, 1.0) for scored in ranking[:limit]]
        case Granularity.COARSE:
            firsts: dict[MemoryId, Scored] = {}
            for scored in ranking:
                firsts.setdefault(scored.memory, scored)
            return [Passage(scored, 0, 0, 1.0) for scored in list(firsts.values())[:limit]]
        case Granularity.MEDIUM:
            return _sections(ranking, outline, limit)


def _sections(ranking: Ranking, outline: Callable[[MemoryId], Outline], limit: int) -> list[Passage]:
    ranked = {scored.chunk for scored in ranking}
    taken: set[ChunkId] = set()
    found: list[Passage] = []
    for scored in ranking:
        if scored.chunk in taken:
            continue
        run = section(outline(scored.memory), scored.chunk)
        if not run:
            continue  # deleted since it was ranked
        ids = [id for id, _ in run]
        taken.update(ids)
        ratio = sum(id in ranked for id in ids) / len(ids)
        found.append(Passage(scored, run[0][1].start, run[-1][1].stop, ratio))
        if len(found) == limit:
            break
    return found


def section(outline: Outline, wanted: ChunkId) -> Outline:
    """
    The chunks around one that stand below the same first two headings, or its neighbours where there are none.

    Two sections of the same name are two sections: only neighbours belong together.
    """
    place = next((i for i, (id, _) in enumerate(outline) if id == wanted), None)
    if place is None:
        return ()
    key = _key(outline[place][1])
    first = last = place
    while first > 0 and _key(outline[first - 1][1]) == key:
        first -= 1
    while last + 1 < len(outline) and _key(outline[last + 1][1]) == key:
        last += 1
    if not key[1]:
        first, last = max(first, place - NEIGHBOURS), min(last, place + NEIGHBOURS)
    return outline[first : last + 1]


def _key(chunk: Chunk) -> tuple[bool, tuple[str, ...]]:
    return chunk.start == chunk.stop, chunk.section

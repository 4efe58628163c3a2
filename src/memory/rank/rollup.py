"""Ranked chunks into passages of the requested size; see `memory.rank.sections` for MEDIUM."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.schema.query import Granularity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.answer import Ranking, Scored
    from memory.schema.memory import Chunk, ChunkId, MemoryId

    Outline: TypeAlias = Sequence[tuple[ChunkId, Chunk]]
    """All chunks of a memory, in order."""


SECTIONS_OF = 5
"""Chunks to rank for each section requested (CAP A22)."""


class Passage(NamedTuple):
    """
    What one hit shows.

    Attributes:
        best: Its best chunk.
        score: What it is ranked by: the score of its best chunk, or the mean of the matching ones.
        matching: Its matching chunks, with their scores; empty if it only fills up an answer.
        chunks: All its chunks, in order.
        start, stop: Code points into the body; equal if only the chunk is shown.
        topup: See `memory.schema.answer.Hit`.
    """

    best: Scored
    score: float
    matching: tuple[Scored, ...]
    chunks: tuple[ChunkId, ...]
    start: int = 0
    stop: int = 0
    topup: str = ""


def alone(scored: Scored, topup: str = "") -> Passage:
    """A passage of one chunk."""
    return Passage(scored, scored.score, () if topup else (scored,), (scored.chunk,), topup=topup)


def rollup(ranking: Ranking, granularity: Granularity, limit: int) -> list[Passage]:
    """At most `limit` chunks (FINE), or the best chunk of each memory (COARSE), best first."""
    if granularity is Granularity.FINE:
        best = list(ranking[:limit])
    else:
        firsts: dict[MemoryId, Scored] = {}
        for scored in ranking:
            firsts.setdefault(scored.memory, scored)
        best = list(firsts.values())[:limit]
    return [alone(scored) for scored in best]

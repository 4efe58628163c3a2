"""Ranked chunks into passages of the size that was asked for; see `memory.rank.sections` for MEDIUM."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.query import Granularity
from memory.rank.words import likeness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.query import Ranking, Scored, Term
    from memory.record import Chunk, ChunkId, MemoryId

    Outline: TypeAlias = Sequence[tuple[ChunkId, Chunk]]
    """All chunks of a memory, in order."""


SECTIONS_OF = 5
"""Chunks that are ranked for one section that is wanted (CAP A22)."""


class Passage(NamedTuple):
    """
    What one hit shows.

    Attributes:
        best: The best of its chunks.
        start, stop: Code points into the body; equal where only the chunk is shown.
        score: What it is ranked by: its best chunk's, or the mean of those that match.
        similarity: The same of their likeness, 0..1.
        matched: How many of its chunks match.
        chunks: How many it has.
    """

    best: Scored
    start: int
    stop: int
    score: float
    similarity: float
    matched: int = 1
    chunks: int = 1


def rollup(ranking: Ranking, terms: Sequence[Term], granularity: Granularity, limit: int) -> list[Passage]:
    """At most `limit` chunks (FINE), or the best chunk of each memory (COARSE), best first."""
    if granularity is Granularity.FINE:
        best = list(ranking[:limit])
    else:
        firsts: dict[MemoryId, Scored] = {}
        for scored in ranking:
            firsts.setdefault(scored.memory, scored)
        best = list(firsts.values())[:limit]
    return [Passage(scored, 0, 0, scored.score, likeness(terms, scored)) for scored in best]

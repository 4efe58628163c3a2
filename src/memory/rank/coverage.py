"""How much of what a query says a chunk says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.answer import Ranking, Scored
    from memory.schema.memory import MemoryId
    from memory.schema.query import Term

NEIGHBOURS = 0.65
"""What the share of a query's weight that stands together in a chunk counts in the keyword part."""


def coverage(terms: Sequence[Term], matched: int) -> float:
    """Share of the terms' weight that a set of them has, 0..1."""
    total = sum(term.weight for term in terms)
    held = sum(term.weight for i, term in enumerate(terms) if matched >> i & 1)
    return held / total if total else 0.0


def match_strength(coverage: float, keyword: float, proximity: float) -> float:
    """
    How well a chunk says what a query says, 0..1.

    Args:
        coverage: Share of the query's weight that it holds, 0..1.
        keyword: BM25 over the best BM25, 0..1.
        proximity: Share of the query's weight that stands together in it, 0..1.
    """
    return (2 * coverage + keyword + NEIGHBOURS * proximity) / (3 + NEIGHBOURS)


def similarity(terms: Sequence[Term], scored: Scored) -> float:
    """
    How similar a chunk is to the query, 0..1: its cosine, what is below 0 taken as 0 (CAP A13, X17); of one whose vector
    was not looked at, the share of the terms' weight that it holds.
    """
    if scored.cosine is None:
        return coverage(terms, scored.matched)
    return min(1.0, max(0.0, scored.cosine))


def held_by_memory(ranking: Ranking) -> Mapping[MemoryId, int]:
    """For each memory, best first: the terms that its chunks hold together, as in `Scored.matched`."""
    held: dict[MemoryId, int] = {}
    for scored in ranking:
        held[scored.memory] = held.get(scored.memory, 0) | scored.matched
    return held

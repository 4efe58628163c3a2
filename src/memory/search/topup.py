"""Fills an answer up to its limit with what is in scope but was not found, marked as such."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from memory.rank.hits import SECTIONS_OF, Passage, alone
from memory.schema.answer import Scored
from memory.schema.query import Granularity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memory.schema.answer import Ranking
    from memory.schema.memory import ChunkId, MemoryId
    from memory.search.retrievers import Retrievers

PAGE = 100  # memories read at once


def topup(retrievers: Retrievers, shown: Sequence[Passage], *, similar: bool, distilled: bool) -> list[Passage]:
    """
    Passages for the places left over, without calling a model; their score is 0.

    First the most similar, by the query's vector or else by term vectors; then the most recently changed.

    Args:
        shown: The passages found, fewer than the limit. None of their chunks is repeated; with COARSE, none of their
            memories; with MEDIUM, none of their sections.
        similar: Whether to use the query's vector. It has one.
        distilled: Whether to use term vectors. Not once vectors were compared: everything that has one was found then.
    """
    query = retrievers.query
    ranked = retrievers.vector.similar if similar else retrievers.vector.distilled if distilled else None
    candidates = _candidates(retrievers, ranked, "similar" if similar else "distilled")
    if query.granularity is Granularity.MEDIUM:
        passages = _sections(candidates, retrievers, shown)
    elif query.granularity is Granularity.COARSE:
        passages = _others(candidates, {one.best.memory for one in shown}, lambda one: one.memory)
    else:
        passages = _others(candidates, {one.best.chunk for one in shown}, lambda one: one.chunk)
    return [*islice(passages, query.limit - len(shown))]


def _candidates(
    retrievers: Retrievers, ranked: Callable[[int], Ranking | None] | None, name: str
) -> Iterator[tuple[Scored, str]]:
    """Chunks in scope, best first, and why they are."""
    query, store = retrievers.query, retrievers.store
    seen, depth = 0, SECTIONS_OF * query.limit
    while ranked and (ranking := ranked(depth)):
        for scored in ranking[seen:]:
            yield Scored(scored.chunk, scored.memory, 0.0), name
        if len(ranking) < depth:
            break
        seen, depth = depth, 4 * depth
    after = None
    while page := store.memories.page(query.scope, PAGE, after=after):
        outlines = store.memories.outlines([memory.id for memory in page])
        for memory in page:
            yield from ((Scored(chunk, memory.id, 0.0), "recent") for chunk, _ in outlines.get(memory.id, ()))
        after = page[-1]


def _others(
    candidates: Iterator[tuple[Scored, str]], taken: set[int], key: Callable[[Scored], ChunkId | MemoryId]
) -> Iterator[Passage]:
    for scored, why in candidates:
        if key(scored) not in taken:
            taken.add(key(scored))
            yield alone(scored, why)


def _sections(
    candidates: Iterator[tuple[Scored, str]], retrievers: Retrievers, shown: Sequence[Passage]
) -> Iterator[Passage]:
    """The sections around candidates; none of what was deleted meanwhile."""
    from memory.rank.sections import entries, section, spanning
    from memory.search.outlines import Outlines

    outlines = Outlines(retrievers)
    taken: set[tuple[ChunkId, int]] = set()
    for passage in shown:
        taken |= entries(passage, outlines.of(passage.best.memory))
    for scored, why in candidates:
        outline = outlines.of(scored.memory)
        for place, (id, chunk) in enumerate(outline):
            if id == scored.chunk and (id, chunk.start) not in taken:
                run = section(outline, place, taken)
                taken.update((one, part.start) for one, part in run)
                yield spanning(scored, outline, run, why)

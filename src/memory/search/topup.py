"""Filling an answer up to its limit with what is in scope but was not found, marked as such."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.rank.hits import SECTIONS_OF, Passage, alone
from memory.schema.answer import Scored
from memory.schema.query import Granularity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.schema.memory import ChunkId
    from memory.search.retrievers import Retrievers
    from memory.store import Store

PAGE = 100  # memories read at once


def topup(retrievers: Retrievers, shown: Sequence[Passage], *, distilled: bool) -> list[Passage]:
    """
    Passages for the places left over, without calling a model; their score is 0.

    First the most similar by term vectors, then the most recently changed.

    Args:
        shown: The passages found. None of their chunks is repeated; with COARSE, none of their memories.
        distilled: Whether to use term vectors. Not once vectors were compared: everything that has one was found then.
    """
    query, store = retrievers.query, retrievers.store
    room = query.limit - len(shown)
    chunks = {chunk for passage in shown for chunk in passage.chunks}
    memories = {passage.best.memory for passage in shown}
    found: list[Passage] = []
    for candidate in _candidates(retrievers, distilled=distilled) if room > 0 else ():
        best = candidate.best
        if best.memory in memories if query.granularity is Granularity.COARSE else best.chunk in chunks:
            continue
        passage = _section(candidate, store, chunks) if query.granularity is Granularity.MEDIUM else candidate
        if passage is None:
            continue
        found.append(passage)
        if len(found) == room:
            break
        chunks.update(passage.chunks)
        memories.add(best.memory)
    return found


def _candidates(retrievers: Retrievers, *, distilled: bool) -> Iterator[Passage]:
    query, store = retrievers.query, retrievers.store
    if distilled:
        for scored in retrievers.vector.distilled(SECTIONS_OF * query.limit) or ():
            yield alone(Scored(scored.chunk, scored.memory, 0.0), "distilled")
    after = None
    while page := store.memories.page(query.scope, PAGE, after=after):
        outlines = store.memories.outlines([memory.id for memory in page])
        for memory in page:
            yield from (alone(Scored(chunk, memory.id, 0.0), "recent") for chunk, _ in outlines.get(memory.id, ()))
        after = page[-1]


def _section(candidate: Passage, store: Store, taken: set[ChunkId]) -> Passage | None:
    """The section around a candidate; None if it was deleted meanwhile."""
    from memory.rank.sections import section, spanning

    best = candidate.best
    outline = store.memories.outlines([best.memory]).get(best.memory, ())
    return spanning(best, section(outline, best.chunk, taken), candidate.topup)

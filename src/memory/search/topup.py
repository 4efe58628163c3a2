"""Filling an answer up to its limit with what is in scope but was not found, marked as such."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.rank.hits import SECTIONS_OF, Passage, alone
from memory.schema.answer import Scored
from memory.schema.query import Granularity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.schema.memory import ChunkId, MemoryId
    from memory.search.retrievers import Retrievers
    from memory.store import Store

PAGE = 100  # memories read at once


class _Candidate(NamedTuple):
    source: str
    memory: MemoryId
    chunk: ChunkId


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
        if candidate.memory in memories if query.granularity is Granularity.COARSE else candidate.chunk in chunks:
            continue
        if (passage := _passage(candidate, query.granularity, store, chunks)) is None:
            continue
        found.append(passage)
        if len(found) == room:
            break
        chunks.update(passage.chunks)
        memories.add(candidate.memory)
    return found


def _candidates(retrievers: Retrievers, *, distilled: bool) -> Iterator[_Candidate]:
    query, store = retrievers.query, retrievers.store
    if distilled:
        for scored in retrievers.vector.distilled(SECTIONS_OF * query.limit) or ():
            yield _Candidate("distilled", scored.memory, scored.chunk)
    after = None
    while page := store.memories.page(query.scope, PAGE, after=after):
        outlines = store.memories.outlines([memory.id for memory in page])
        for memory in page:
            yield from (_Candidate("recent", memory.id, chunk) for chunk, _ in outlines.get(memory.id, ()))
        after = page[-1]


def _passage(candidate: _Candidate, size: Granularity, store: Store, taken: set[ChunkId]) -> Passage | None:
    """A candidate in the requested size; None if it was deleted meanwhile."""
    best = Scored(candidate.chunk, candidate.memory, 0.0)
    if size is not Granularity.MEDIUM:
        return alone(best, candidate.source)
    from memory.rank.sections import section

    run = section(store.memories.outlines([candidate.memory]).get(candidate.memory, ()), candidate.chunk, taken)
    if not run:
        return None
    ids = tuple(id for id, _ in run)
    return Passage(best, 0.0, (), ids, run[0][1].start, run[-1][1].stop, candidate.source)

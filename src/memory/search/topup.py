"""Fills an answer up to its limit with what is in scope but was not found, marked as such."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from memory.schema.answer import Ranking, Scored, Tier
from memory.schema.errors import NotFound
from memory.schema.query import Granularity
from memory.search.keywords import SECTIONS_OF
from memory.search.shape import Passage, alone, hits_of
from memory.search.vectors import ask_for_numbers, incomparable, near_guess, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memory.schema.memory import ChunkId, MemoryId
    from memory.search.search import Evidence
    from memory.search.shape import Selection

PAGE = 100  # memories read at once


def filled(evidence: Evidence, shown: Selection) -> tuple[Evidence, Selection]:
    """
    What is shown, filled up to the limit, and the evidence with the vector that was made to do so.

    First the most similar, by the query's vector, or else by term vectors if none was compared: everything that has a vector
    was found then. Then the most recently changed.
    """
    query = evidence.query
    comparable = not evidence.bare and (evidence.vector or query.compared or query.asked)
    if comparable:
        evidence = ask_for_numbers(evidence)
    with evidence.store.snapshot():
        ranked, name = None, ""
        if comparable and evidence.vector:
            ranked, name = partial(evidence.store.vectors.by_vector, *evidence.compared, query.scope), "similar"
        elif shown.look.tier is Tier.KEYWORD and (near := near_guess(evidence)):
            ranked, name = partial(nearest, evidence, "distilled", near), "distilled"
        try:
            more = topup(evidence, shown.passages, _candidates(evidence, ranked, name))
        except NotFound as error:  # the generation of the query's vector was retired meanwhile
            evidence = incomparable(evidence, error)
            more = topup(evidence, shown.passages, _candidates(evidence, None, ""))
        evidence.trace.step("topup", len(more))
        hits = (*shown.hits, *hits_of(evidence, shown.look, more))
        return evidence, shown._replace(passages=[*shown.passages, *more], hits=hits)


def topup(evidence: Evidence, shown: Sequence[Passage], candidates: Iterator[tuple[Scored, str]]) -> list[Passage]:
    """
    Passages for the places left over, without calling a model; their score is 0.

    Args:
        shown: The passages found, fewer than the limit. None of their chunks is repeated; with COARSE, none of their
            memories; with MEDIUM, none of their sections.
    """
    query = evidence.query
    if query.granularity is Granularity.MEDIUM:
        passages = _sections(candidates, evidence, shown)
    elif query.granularity is Granularity.COARSE:
        passages = _others(candidates, {one.best.memory for one in shown}, lambda one: one.memory)
    else:
        passages = _others(candidates, {one.best.chunk for one in shown}, lambda one: one.chunk)
    return [*islice(passages, query.limit - len(shown))]


def _candidates(evidence: Evidence, ranked: Callable[[int], Ranking] | None, name: str) -> Iterator[tuple[Scored, str]]:
    """Chunks in scope, best first, and why they are."""
    query, store = evidence.query, evidence.store
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
    candidates: Iterator[tuple[Scored, str]], evidence: Evidence, shown: Sequence[Passage]
) -> Iterator[Passage]:
    """The sections around candidates; none of what was deleted meanwhile."""
    from memory.search.sections import Outlines, entries, section, spanning

    outlines = Outlines(evidence)
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

"""Ranked chunks into sections: which chunks belong together, and in which order sections are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from memory.schema.answer import Ranking, Scored
from memory.schema.memory import Chunk, ChunkId, ChunkType, MemoryId
from memory.search.fuse import corrected
from memory.search.hits import SECTIONS_OF, Passage
from memory.search.match import coverage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from memory.schema.query import Term

    Outline: TypeAlias = Sequence[tuple[ChunkId, Chunk]]
    """All chunks of a memory, in order; of a chunk that has several headings its parts (`memory.text.subsections`)."""

    Parts: TypeAlias = Callable[[Scored, Outline], Sequence[tuple[int, Scored]]]
    """The sections of a ranked chunk that were found, nearest first: a place in the outline, and what was found there."""

NEIGHBOURS = 3
"""Chunks shown on either side where a body has no headings."""

MATCHING_SHARE = 0.5
"""A chunk matches if its similarity is at least this share of the highest, 0..1."""


def sections(
    ranking: Ranking, outline: Callable[[MemoryId], Outline], limit: int, parts: Parts | None = None
) -> list[Passage]:
    """
    The sections of the first `SECTIONS_OF` · limit chunks, and of further chunks until there are `limit` sections.

    Each section comes once, in the order of its best chunk; of a chunk that holds several, in the order of `parts`.

    Args:
        outline: Gives the chunks of a memory; empty if it was deleted.
        parts: None stands for chunks of one section each.
    """
    taken: set[tuple[ChunkId, int]] = set()
    found: list[Passage] = []
    for place, scored in enumerate(ranking):
        if place >= SECTIONS_OF * limit and len(found) >= limit:
            break
        own = outline(scored.memory)
        for at, best in (parts or _one)(scored, own):
            if (scored.chunk, own[at][1].start) not in taken:
                run = section(own, at, taken)
                taken.update((id, chunk.start) for id, chunk in run)
                found.append(spanning(best, own, run))
    return found


def _one(scored: Scored, outline: Outline) -> list[tuple[int, Scored]]:
    return [(place, scored) for place, (id, _) in enumerate(outline) if id == scored.chunk][:1]


def spanning(best: Scored, outline: Outline, run: Outline, topup: str = "") -> Passage:
    """A section of an outline as a passage, not scored yet."""
    own = [chunk for id, chunk in outline if id == best.chunk]
    part = next(chunk for id, chunk in run if id == best.chunk) if own[1:] else None
    ids = tuple(dict.fromkeys(id for id, _ in run))
    return Passage(best, 0.0, (), ids, run[0][1].start, run[-1][1].stop, topup, part, len(runs(own)))


def entries(passage: Passage, outline: Outline) -> set[tuple[ChunkId, int]]:
    """The parts of an outline that a passage shows: their chunks, and where they begin in the body."""
    ids, stop = {*passage.chunks}, max(passage.stop, passage.start + 1)
    return {(id, chunk.start) for id, chunk in outline if id in ids and passage.start <= chunk.start < stop}


def section(outline: Outline, place: int, taken: Collection[tuple[ChunkId, int]] = ()) -> Outline:
    """
    What stands around a place and shares its first two headings (or its one second-level heading where there is no first).

    Where the body has no headings: up to `NEIGHBOURS` chunks on either side.
    Two sections of the same name stay two sections: only adjacent chunks belong together.

    Args:
        taken: What is shown already, as `entries` has it; the section stops before that.
    """
    reach = len(outline) if outline[place][1].section else NEIGHBOURS

    def joins(one: int, other: int) -> bool:
        """Whether the other, which is further away from the place, belongs to the section of the one."""
        if not 0 <= other < len(outline) or abs(other - place) > reach:
            return False
        first, second = sorted((one, other))
        id, chunk = outline[other]
        return _together(outline[first][1], outline[second][1]) and (id, chunk.start) not in taken

    first = last = place
    while joins(first, first - 1):
        first -= 1
    while joins(last, last + 1):
        last += 1
    return outline[first : last + 1]


def runs(parts: Sequence[Chunk]) -> list[list[Chunk]]:
    """The sections of adjacent parts."""
    found: list[list[Chunk]] = []
    for part in parts:
        if found and _together(found[-1][-1], part):
            found[-1].append(part)
        else:
            found.append([part])
    return found


def _together(chunk: Chunk, following: Chunk) -> bool:
    return _key(chunk) == _key(following) and not _begins(following)


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
    Sections, ordered by the mean score of their matching chunks.

    A chunk matches if it is the section's best; if it is one of the first `SECTIONS_OF` · limit and holds a word of
    the query; or if its similarity is at least `MATCHING_SHARE` of the highest.
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
            for scored in (one.best if id == one.best.chunk else scores.get(id) for id in one.chunks)
            if scored is not None
            and (
                scored is one.best
                or _similarity(terms, scored) >= bound > 0
                or (scored.matched and scored.chunk in first)
            )
        )
        score = sum(scored.score for scored in matching) / len(matching)
        passages.append(one._replace(score=score, matching=matching))
    return sorted(passages, key=lambda passage: -passage.score)


def in_time(passages: Sequence[Passage], later: Mapping[MemoryId, MemoryId]) -> list[Passage]:
    """`memory.search.fuse.corrected` for sections, which have an order and scores of their own."""
    own: dict[ChunkId, list[Passage]] = {}  # of one chunk in their order, which stays
    for passage in passages:
        own.setdefault(passage.best.chunk, []).append(passage)
    ranking = corrected(Ranking.of(passage.best._replace(score=passage.score) for passage in passages), later)
    return [own[scored.chunk].pop(0)._replace(score=scored.score) for scored in ranking]


def _similarity(terms: Sequence[Term], scored: Scored) -> float:
    """
    How similar a chunk is to the query, 0..1: its cosine, or 0 if that is negative.

    Without a known cosine, the share of the query's weight that it holds.
    """
    if scored.cosine is None:
        return coverage(terms, scored.matched)
    return min(1.0, max(0.0, scored.cosine))

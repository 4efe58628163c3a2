"""
Ranked chunks into sections: which chunks belong together, in which order sections are shown, and which of the sections that
are in one chunk a search found.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.schema.answer import Ranking, Scored, coverage, coverages
from memory.schema.memory import Chunk, ChunkId, ChunkType, Excerpt, Memory, MemoryId
from memory.schema.query import Mode, Term
from memory.search.fuse import successors_first
from memory.search.keywords import SECTIONS_OF
from memory.search.shape import Passage
from memory.text.lookup import beginnings, held
from memory.text.markdown import several, subsections
from memory.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from memory.search.search import Evidence

    Outline: TypeAlias = Sequence[tuple[ChunkId, Chunk]]
    """All chunks of a memory, in order; of a chunk that has several headings its parts (`memory.text.markdown.subsections`)."""

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


def in_time(passages: Sequence[Passage], later: Mapping[MemoryId, Sequence[MemoryId]]) -> list[Passage]:
    """`memory.search.fuse.successors_first` for sections, which have an order and scores of their own."""
    own: dict[ChunkId, list[Passage]] = {}  # of one chunk in their order, which stays
    for passage in passages:
        own.setdefault(passage.best.chunk, []).append(passage)
    ranking = successors_first(Ranking.of(passage.best._replace(score=passage.score) for passage in passages), later)
    return [own[scored.chunk].pop(0)._replace(score=scored.score) for scored in ranking]


def _similarity(terms: Sequence[Term], scored: Scored) -> float:
    """
    How similar a chunk is to the query, 0..1: its cosine, or 0 if that is negative.

    Without a known cosine, the share of the query's weight that it holds.
    """
    if scored.cosine is None:
        return coverage(terms, scored.matched)
    return min(1.0, max(0.0, scored.cosine))


# Chunks that hold several sections ------------------------------------------------


class _Place(NamedTuple):
    """
    Some text among others, in one of which a search found something.

    Attributes:
        place: Among the others, from 0.
        matched: The terms that it holds, as in `Scored`.
        share: Of the query's weight, 0..1.
    """

    place: int
    matched: int
    share: float


class Outlines:
    """The outlines of memories in one snapshot, read once. A chunk that has several headings is cut before each."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence, self._store = evidence, evidence.store
        self._outlines: dict[MemoryId, Outline] = {}
        self._bodies: dict[MemoryId, str] = {}

    def read(self, memories: Collection[MemoryId]) -> None:
        """Read the outlines of memories at once."""
        unread = [memory for memory in memories if memory not in self._outlines]
        found = self._store.memories.outlines(unread) if unread else {}
        mixed = [memory for memory, outline in found.items() if any(_mixed(outline, n) for n in range(len(outline)))]
        self._bodies |= self._store.memories.bodies(mixed) if mixed else {}
        for memory in unread:
            outline = found.get(memory, ())
            body = self._bodies.get(memory)
            self._outlines[memory] = outline if body is None else [*_cut(outline, body)]

    def of(self, memory: MemoryId) -> Outline:
        """Empty if it was deleted."""
        self.read([memory])
        return self._outlines[memory]

    def found(self, scored: Scored, outline: Outline) -> list[tuple[int, Scored]]:
        """
        The sections of a ranked chunk that the search found, nearest first: the `memory.search.sections.Parts` of a search.

        One that only others of the chunk are nearer than is found too if it holds a word of the query; its score is as much
        lower as it holds less. In mode VECTOR each is as near as its chunk.
        """
        places = [place for place, (id, _) in enumerate(outline) if id == scored.chunk]
        if len(places) < 2:
            return [(place, scored) for place in places]
        parts = [outline[place][1] for place in places]
        groups, every = runs(parts), self._evidence.query.mode is Mode.VECTOR
        nearest = self._nearest(scored.memory, [(group[0], group[-1].stop) for group in groups])
        best, found = nearest[0].share or 1.0, []
        for n, (group, bits, share) in enumerate(nearest):
            matched = scored.matched & bits
            if n and not (matched or every):
                continue
            own = scored._replace(matched=matched if n else matched or scored.matched)
            own = own._replace(score=scored.score * share / best) if n and not every else own
            found.append((places[parts.index(groups[group][0])], own))
        return found

    def part(self, memory: Memory, excerpt: Excerpt) -> tuple[Chunk | None, int]:
        """The part of a chunk that was found, if it has several headings; and how many sections the chunk holds."""
        chunk = excerpt.chunk
        whole = chunk.start == 0 < chunk.stop == memory.body_size
        if not ((whole or (chunk.type is ChunkType.TEXT and chunk.level)) and several(excerpt.text)):
            return None, 1
        parts = [part for id, part in self.of(memory.id) if id == excerpt.id]
        if len(parts) < 2:
            return None, 1
        (nearest, *_) = self._nearest(memory.id, [(part, part.stop) for part in parts])
        return parts[nearest.place], len(runs(parts))

    def _nearest(self, memory: MemoryId, parts: Sequence[tuple[Chunk, int]]) -> list[_Place]:
        """
        Parts of a body, nearest to the query first: by the words of it that they hold, else by the words of longer words,
        else by their own words' term vectors, else in order.

        Args:
            parts: Where each begins, with its heading, and where it ends.
        """
        from memory.search.vectors import nearness

        body = self._bodies[memory]
        texts = ["\n".join([*first.header_path, body[first.start : stop]]) for first, stop in parts]
        shares: list[float] = []
        bits: list[int] = []
        for words in (self._terms, beginnings(self._terms)):
            bits = [held(words, text) for text in texts]
            shares = coverages(words, bits)
            if any(shares):
                break
        near = [0.0] * len(texts) if any(shares) else nearness(self._evidence, texts)
        order = sorted(range(len(texts)), key=lambda place: (-shares[place], -near[place], place))
        return [_Place(place, bits[place], shares[place]) for place in order]

    @cached_property
    def _terms(self) -> Sequence[Term]:
        """The words of the query, also where the search looked for none."""
        return self._evidence.terms or self._store.keywords.weigh(terms(self._evidence.query.text))


def _mixed(outline: Outline, place: int) -> bool:
    """Whether a chunk may hold several sections: a body in one chunk, or neighbours that were joined by `memory.text.chunk`."""
    chunk, above = outline[place][1], outline[place - 1][1].header_path if place else ()
    whole = chunk.start == 0 and chunk.stop == outline[-1][1].stop
    joined = chunk.type is ChunkType.TEXT and chunk.header_path != above
    return chunk.start < chunk.stop and (whole or joined)


def _cut(outline: Outline, body: str) -> Iterator[tuple[ChunkId, Chunk]]:
    for place, (id, chunk) in enumerate(outline):
        for part in subsections(chunk, body) if _mixed(outline, place) else (chunk,):
            yield id, part

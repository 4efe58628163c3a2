"""What stands in chunks that hold several sections, and which of these sections a search found."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.memory import Chunk, ChunkId, ChunkType, Excerpt, Memory, MemoryId
from memory.schema.query import Mode, Term
from memory.search.match import coverages
from memory.search.sections import runs
from memory.text.lookup import begins, held
from memory.text.subsections import several, subsections
from memory.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from memory.schema.answer import Scored
    from memory.search.search import Evidence
    from memory.search.sections import Outline


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
        for words in (self._terms, [term._replace(prefix=term.prefix or begins(term)) for term in self._terms]):
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

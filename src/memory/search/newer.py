"""
The newest of memories that say the same thing: in an answer it takes the older one's place, at a save and in a review the
older one is named.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Ranking, Scored
from memory.schema.kinds import Kind
from memory.schema.query import Term, around
from memory.search.fuse import successors_first
from memory.search.similar import CHUNKS, telling
from memory.search.versions import PART, SHARED, news, same, shared, wordings, words
from memory.store import OPENING, Opening, records
from memory.text.lookup import stems

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from memory.schema.memory import ChunkId, Memory, MemoryId
    from memory.schema.query import Scope
    from memory.schema.space import Plain, Vectors
    from memory.search.search import Evidence, Look
    from memory.search.versions import Weight
    from memory.store import Store


CANDIDATES = 14
"""Memories of an answer that are compared with those that it shows."""

BEGINNING = 80
"""Characters by which it is seen that most memories do not say the same."""

MOST = 200
"""Memories of an answer among which those that say the same are looked for."""

SENTENCE = 10
"""
Words that tell, of which a memory has at most so many if it says one thing. Whether longer texts are versions of one fact no
measure of their words or vectors shows: in a dialogue each turn looks like news of the one before.
"""

SILENT_TOO = 4
"""Words of a text for each that tells, at most: what has more is cut into words in vain."""

LIKELY = 0.3
"""`memory.search.versions.news` from which on two memories are taken for versions of one fact."""

NEAR, FAR = 0.4, 0.3
"""
How alike the vectors of two memories are, see `Likeness`, from which on they are of one subject although they share fewer words
than that, and below which their words only seem so. From `FAR` on, too, if of all that is searched each is nearest to the other:
then they need no word in common.
"""

RARE, COMPARED = 50, 5
"""In a review, notes that hold a word at most, and those with which each is compared."""

OFTEN = 4
"""Memories that a word of the question is taken to be in at most: most of an answer have one, and few elsewhere may."""

BESIDE = 5
"""Memories that all of a store count as, where a few of an answer say how alike two usually are."""

USUAL = 12
"""Memories that a word is taken to be among, at least: in an answer of two no word is rare."""


class Newest(NamedTuple):
    """
    What is newer in an answer.

    Attributes:
        than: For each memory that is newer than another one, that other one.
        same: For each memory that is shown for others too, how many say nearly the same.
        places: For each memory that took the place of an older one, what it took: the older one's best chunk.
    """

    than: Mapping[MemoryId, MemoryId] = MappingProxyType({})
    same: Mapping[MemoryId, int] = MappingProxyType({})
    places: Mapping[MemoryId, Scored] = MappingProxyType({})


def newest_first(evidence: Evidence, look: Look) -> Look:
    """
    The look with every memory behind the newer one that says the same thing, and near-duplicates as one, if the query asks
    for that.

    Nothing else moves. Only notes are compared, of one project or of none.
    """
    query, found = evidence.query, len(look.ranking)
    look = look._replace(ranking=look.ranking.followed_by(_beside(evidence, look)))
    ranking = look.ranking
    ids = [*dict.fromkeys(ranking.memories)]
    # The place of the best chunk of each: of what is met from the end, the last one counts.
    best = dict(zip(ranking.memories[::-1], range(len(ranking.memories) - 1, -1, -1), strict=True))
    groups = _grouped(evidence.store, {id: ranking.matched[best[id]] for id in ids[:MOST]}, query.limit)
    some = [max(group, key=_age) for group in groups]  # each for its group
    compared = some[:CANDIDATES]
    chunks = {one.memory: ranking.chunks[best[one.memory]] for one in compared}
    likeness = Likeness(evidence.store, lambda: evidence.outset().generation, chunks, query.scope)
    asked = {stem[:PART] for stem in stems(" ".join([term.text for term in evidence.terms]))}
    # Who asks for a name or a number is not led to a note without it, but to what the same sentence says now.
    named = sum(1 << n for n, term in enumerate(evidence.terms) if term.exact or any(map(str.isdigit, term.text)))
    pairs = [
        (older, newer)
        for older, newer in versions(compared, query.limit, likeness, asked)
        if not ranking.matched[best[older.memory]] & named & ~ranking.matched[best[newer.memory]]
        or news(older.text, newer.text) >= 1
    ]
    doubles = [(other, one) for one, group in zip(some, groups, strict=True) for other in group if other is not one]
    if not any(newer.memory == ids[-1] for _, newer in pairs):  # what was not found is shown only as the newer of two
        pairs = [pair for pair in pairs if pair[0].memory != ids[-1] or len(ranking) == found]
        ranking = ranking[:found]
        look, ids = look._replace(ranking=ranking), [*dict.fromkeys(ranking.memories)]
    if not pairs and not doubles:
        return look

    # The newer ones move before the older ones; what they are measured by is the first behind them that did not move.
    later: dict[MemoryId, tuple[MemoryId, ...]] = {}
    for older, newer in sorted([*doubles, *pairs], key=lambda pair: _age(pair[1]), reverse=True):
        later[older.memory] = (*later.get(older.memory, ()), newer.memory)
    later |= {id: (*look.later[id], *later.get(id, ())) for id in look.later}
    places: dict[MemoryId, Scored] = {}
    before, standing = {id: place for place, id in enumerate(ids)}, None
    ranking = successors_first(ranking, later)
    for place, id in reversed([*enumerate(dict.fromkeys(ranking.memories))]):
        if place >= before[id]:
            standing = look.ranking[best[id]]
        elif standing is not None:
            places[id] = standing

    # Of those that say the same one is shown for all, unless the query asks for each.
    told = sorted([*(doubles if query.duplicates else ()), *pairs], key=lambda pair: _age(pair[0]))
    than = {newer.memory: older.memory for older, newer in told}
    if query.duplicates:
        return look._replace(ranking=ranking, later=later, newest=Newest(than, places=places))
    hidden = {older.memory for older, _ in doubles}
    ranking = ranking.at([place for place, id in enumerate(ranking.memories) if id not in hidden])
    return look._replace(
        ranking=ranking, later=later, newest=Newest(than, Counter(one.memory for _, one in doubles), places)
    )


def _beside(evidence: Evidence, look: Look) -> Ranking:
    """What is nearest to the first of an answer with room for more, if that holds no word of the question."""
    ranking, query = look.ranking, evidence.query
    known = {*ranking.memories}
    if look.more or len(known) >= query.limit or not known or "numpy" not in sys.modules:
        return Ranking()
    first, generation = ranking.memories[0], evidence.outset().generation
    one = evidence.store.memories.openings([first]).get(first)
    if one is None or not generation or not _brief(one):
        return Ranking()
    vector = evidence.store.vectors.first_window(generation, ranking.chunks[0])
    near = Ranking() if vector is None else evidence.store.vectors.by_vector(generation, vector, query.scope, 2)
    return Ranking.of([Scored(other.chunk, other.memory, 0.0) for other in near if other.memory not in known][:1])


def _age(one: Opening) -> tuple[object, MemoryId]:
    return one.changed, one.memory


def together(one: Opening, other: Opening) -> bool:
    return one.project == other.project or one.project is None or other.project is None


def _grouped(store: Store, matched: Mapping[MemoryId, int], limit: int) -> list[list[Opening]]:
    """
    Memories, those that say the same together, until there are as many as are shown and compared.

    Args:
        matched: The terms of the query that each holds: of two that say the same one has all that the other has.
    """
    groups: list[list[Opening]] = []
    short: list[tuple[list[Opening], int, frozenset[str]]] = []
    ids, read, wanted = [*matched], 0, max(CANDIDATES, min(limit, MOST))
    while read < len(ids) and len(groups) < wanted:
        page = store.memories.openings(ids[read : read + wanted])
        for one in filter(None, map(page.get, ids[read : read + wanted])):
            bits = matched[one.memory]
            beginning = frozenset(() if one.details else one.text[:BEGINNING].lower().split())
            for group, theirs, other in short if beginning else ():
                # Most hold something else of the question, or begin with too few words in common: a closer look takes ten
                # times as long.
                if bits | theirs not in (bits, theirs) or 2 * len(beginning & other) < max(len(beginning), len(other)):
                    continue
                if together(group[0], one) and same(group[0].text, one.text):
                    group.append(one)
                    break
            else:
                groups.append([one])
                if beginning:
                    short.append((groups[-1], bits, beginning))
        read += wanted
    return groups


def versions(
    some: Sequence[Opening], first: int, likeness: Likeness, asked: Collection[str] = ()
) -> list[tuple[Opening, Opening]]:
    """
    Pairs of memories that say of the same thing something else, the older one first.

    Args:
        some: Best first.
        first: One of each pair is among so many.
        asked: Words of the question, of which most have some; others are as rare in the store as they are here.
    """
    brief = [(place, one) for place, one in enumerate(some) if one.text.count(" ") < SENTENCE * SILENT_TOO]
    texts = wordings([one.text for _, one in brief])
    short = [(*item, text) for item, text in zip(brief, texts, strict=True) if len(text.telling) <= SENTENCE]
    if len(short) < 2:
        return []
    held = Counter(stem for *_, text in short for stem in text.telling)
    most = max(len(short), USUAL)
    weights = {stem: math.log1p(most / (min(count, OFTEN) if stem in asked else count)) for stem, count in held.items()}
    weight = weights.__getitem__
    found = []
    for n, (place, one, text) in enumerate(short):
        for _, other, its in short[n + 1 :] if place < first else ():
            if shared(text, its, weight) >= SHARED and together(one, other):
                older, newer = sorted((one, other), key=_age)
                if renews(older, newer, weight, partial(likeness, one, other)):
                    found.append((older, newer))
    place, one, _ = short[0]
    if not place:  # no other is shown for the question, so that its vectors are compared with few
        others = [other for _, other, _ in short[1:] if together(one, other)]
        found += [pair for pair in likeness.nearest(one, others) if pair not in found]
    return found


def renews(older: Opening, newer: Opening, weight: Weight, alike: Callable[[], float | None]) -> bool:
    """
    Whether a memory says of the same thing something else than an older one. Of memories that were saved together none is
    newer: what somebody brings in one go was true at one time.

    Args:
        weight: What a stem says of what a text is about.
        alike: How alike their vectors are, see `Likeness`; None if one has none.
    """
    if older.changed == newer.changed or not (_brief(older) and _brief(newer)):
        return False
    share = news(older.text, newer.text, weight)
    if share < SHARED or same(older.text, newer.text):
        return False
    cosine = alike()
    return share >= LIKELY if cosine is None else cosine >= (FAR if share >= LIKELY else NEAR)


class Cosines(NamedTuple):
    """The vector of a memory, if it has one, its cosines with some chunks, and the usual one."""

    vector: Vectors | Plain | None = None
    cosines: Mapping[ChunkId, float] = MappingProxyType({})
    usual: float = 0.0


class Likeness:
    """
    How far the cosine of a memory with another one lies above its usual one with some, as a share of the way to 1; None if
    one has no vector.
    """

    def __init__(
        self, store: Store, answering: Callable[[], int], chunks: Mapping[MemoryId, ChunkId], scope: Scope
    ) -> None:
        """
        Args:
            answering: The generation whose vectors are compared, 0 if there is none; asked only if two memories are.
            chunks: By which a memory is compared.
            scope: In which two may be nearest to each other.
        """
        self._store, self._answering, self._chunks, self._scope = store, cache(answering), chunks, scope
        self._compared: dict[MemoryId, Cosines] = {}

    def __call__(self, one: Opening, other: Opening) -> float | None:
        _, cosines, usual = self._near(one.memory)
        cosine = cosines.get(self._chunks[other.memory])
        return None if cosine is None else (cosine - usual) / (1 - usual)

    def nearest(self, one: Opening, others: Sequence[Opening]) -> Iterator[tuple[Opening, Opening]]:
        """
        The memory with that of some others that is like it, the older one first, if of all in scope each is nearest to the
        other, and their words do not say that they are of two things.
        """
        if "numpy" not in sys.modules:  # to import it takes longer than the whole search of a command
            return
        near = [(share, other) for other in others if (share := self(one, other)) is not None and share >= FAR]
        if not near:
            return
        other = max(near, key=lambda pair: pair[0])[1]
        older, newer = sorted((one, other), key=_age)
        apart = news(older.text, newer.text) < 0 or same(older.text, newer.text)
        if older.changed == newer.changed or apart or (self(other, one) or 0.0) < FAR:
            return
        if self._next(one) == other.memory and self._next(other) == one.memory:
            yield older, newer

    def _next(self, one: Opening) -> MemoryId | None:
        if (vector := self._near(one.memory).vector) is None:
            return None
        ranking = self._store.vectors.by_vector(self._answering(), vector, self._scope, 2)
        return next((memory for memory in ranking.memories if memory != one.memory), None)

    def _near(self, memory: MemoryId) -> Cosines:
        if memory not in self._compared:
            self._compared[memory] = self._compare(memory)
        return self._compared[memory]

    def _compare(self, memory: MemoryId) -> Cosines:
        generation, own = self._answering(), self._chunks[memory]
        if not generation or (vector := self._store.vectors.first_window(generation, own)) is None:
            return Cosines()
        from memory.schema.space import shrunk

        centre = shrunk(*self._store.generations.centre(generation))
        found = self._store.vectors.cosines(
            generation, vector, [*self._chunks.values()], other=centre.unit if centre.square else None
        )
        if own not in found:  # its vector makes no sense
            return Cosines()
        among = found[own][1] * centre.square**0.5  # with all of the store, which counts as some more of these
        others = sum(cosine for chunk, (cosine, *_) in found.items() if chunk != own)
        cosines = {chunk: cosine for chunk, (cosine, *_) in found.items()}
        return Cosines(vector, cosines, (others + BESIDE * among) / (len(found) - 1 + BESIDE))


# At a save and in a review ------------------------------------------------------------


def outdated(store: Store, memory: Memory) -> Memory | None:
    """
    The active note, of the same project or of none, of which a note that was saved says something else, if any: the most
    likely one.
    """
    if memory.kind is not Kind.NOTE or len(memory.what) > OPENING:
        return None
    own = opening(memory)
    scope = around(memory.project)._replace(kinds=frozenset({Kind.NOTE}))
    found = store.keywords.by_keyword(telling(store, own.text), scope, CHUNKS)
    generation, outlines = store.generations.answering()[0], dict(store.memories.outlines([memory.id]))
    chunk = outlines[memory.id][0][0] if outlines.get(memory.id) else None
    vector = store.vectors.first_window(generation, chunk) if generation and chunk is not None else None
    near = () if vector is None else store.vectors.by_vector(generation, vector, scope, 2).memories
    others = store.memories.openings([id for id in dict.fromkeys([*found.memories, *near]) if id != memory.id])
    said = words(own.text)
    spelled = dict(zip(said.spelled, said.stems, strict=True))
    weights = {spelled[term.text][:PART]: term.weight for term in store.keywords.weigh([*map(Term, spelled)])}
    usual = sum(weights.values()) / (len(weights) or 1)  # of what only the others say
    outlines |= store.memories.outlines([*others])
    chunks = {id: outline[0][0] for id, outline in outlines.items() if outline}
    likeness = Likeness(store, lambda: generation, chunks, scope)
    older = [
        (news(one.text, own.text, lambda stem: weights.get(stem, usual)), id)
        for id, one in others.items()
        if renews(one, own, lambda stem: weights.get(stem, usual), partial(likeness, own, one))
    ]
    if not older and _brief(own):
        pairs = likeness.nearest(own, [one for one in others.values() if _brief(one)])
        older = [(0.0, one.memory) for one, newer in pairs if newer is own]
    return next(iter(store.memories.by_id([max(older)[1]]).values()), None) if older else None


def _brief(one: Opening) -> bool:
    return len(words(one.text).telling) <= SENTENCE


def renewed(memories: Sequence[Memory]) -> list[tuple[MemoryId, MemoryId, float]]:
    """
    Pairs of active notes of which the second says something else of the same thing, by words alone, with the share of their
    words that they have in common.

    Each is compared with the few older ones that have most of its rarer words.
    """
    notes = sorted((opening(one) for one in memories if one.kind is Kind.NOTE and len(one.what) <= OPENING), key=_age)
    texts = [words(one.text) for one in notes]
    held = Counter(stem for text in texts for stem in text.telling)
    weight = {stem: math.log1p(max(len(notes), USUAL) / count) for stem, count in held.items()}.__getitem__
    known: dict[str, list[int]] = {}
    found = []
    for place, (newer, text) in enumerate(zip(notes, texts, strict=True)):
        common: dict[int, float] = {}
        for stem in text.telling:
            if held[stem] <= RARE:
                for other in known.setdefault(stem, []):
                    common[other] = common.get(other, 0.0) + weight(stem)
                known[stem].append(place)
        for other in sorted(common, key=common.__getitem__, reverse=True)[:COMPARED]:
            older = notes[other]
            if together(older, newer) and renews(older, newer, weight, lambda: None):
                found.append((older.memory, newer.memory, shared(texts[other], text, weight)))
    return found


def opening(memory: Memory) -> Opening:
    when = memory.happened_at or memory.updated_at
    own = memory.id, memory.project, when, memory.body_size, memory.title, memory.what
    return records.openings([own])[0]

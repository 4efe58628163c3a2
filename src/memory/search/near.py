"""Searching entities by their meaning and by their distance from others in the graph."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING, NamedTuple

from memory.rank.confidence import confidence
from memory.rank.graph_distance import relevance
from memory.rank.relevance import coverage, held_by_memory
from memory.schema.answer import Notice, Outcome, Searched, Tier
from memory.schema.errors import EmbedError, Invalid, NotFound, SpaceMismatch
from memory.schema.kinds import Kind
from memory.schema.limits import check_distance
from memory.schema.query import EVERYTHING, Query, Scope
from memory.search import walks
from memory.search.retrievers import Retrievers, Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from memory.embed.registry import Embedders
    from memory.rank.fuse import Fusing
    from memory.schema.answer import Ranking, Step
    from memory.schema.holder import Backfilled
    from memory.schema.memory import Memory, MemoryId
    from memory.store import Store

WORDS = 200
"""Chunks whose keyword scores count, at least: a common word may stand in all."""

MANY = 2000
"""From so many entities within the distance on, all are compared at once: that costs less than to look for the others."""

SEARCH_TYPE = "search_nearby_entity"
"""The type of these searches, as they are remembered."""

ATTEMPTS = 5
"""How often a search begins anew when the vectors are replaced under it."""

ENTITIES = Scope(kinds=frozenset({Kind.ENTITY}))


@dataclass(frozen=True, slots=True)
class Wanted:
    """
    What is looked for, and around what; see `memory.rank.graph_distance.relevance` for the weights.

    Attributes:
        around: The entities of the context; without any, the graph says nothing.
        distance: Relations away that count at most, 0..10.
        vector_weight, keyword_weight: 0..1.
        judged: Say how far the answer can be trusted.

    Raises:
        Invalid: One of them is not in its range, or the query is none.
    """

    query: Query
    around: tuple[MemoryId, ...] = ()
    distance: int = 3
    vector_weight: float = 0.5
    keyword_weight: float = 0.0
    judged: bool = False

    def __post_init__(self) -> None:
        check_distance(self.distance)
        for name in ("vector_weight", "keyword_weight"):
            weight = getattr(self, name)
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
                raise Invalid(f"{name} is 0..1, not {weight!r}")


class EntityHit(NamedTuple):
    """
    One entity that was found.

    Attributes:
        score: See `memory.rank.graph_distance.relevance`, 0..1. Where no vector was compared, the share of the query's
            weight that it holds stands in for its similarity.
        cosine: With the query, -1..1; None where none was compared.
        distance: Relations between it and the closest entity of the context; None if there are more than count.
        keyword: Its BM25 as a share of the best, 0..1; 0 if keywords do not count.
        coverage: Share of the query's weight that it holds, 0..1; 0 if nobody looked.
    """

    memory: Memory
    score: float
    cosine: float | None
    distance: int | None
    keyword: float
    coverage: float = 0.0


class EntityAnswer(NamedTuple):
    """
    Entities, best first, with how they were found.

    Attributes:
        tier: HYBRID; KEYWORD if the meaning could not be looked at.
        outcome, worth: How far they can be trusted, and why, a clause; None if that was not asked for.
    """

    hits: tuple[EntityHit, ...]
    tier: Tier
    limit: int
    steps: tuple[Step, ...]
    notices: tuple[Notice, ...]
    outcome: Outcome | None = None
    worth: str = ""

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)

    def searched(self, moment: datetime) -> Searched:
        """How it is remembered; its limit is that of its query."""
        return Searched(moment, SEARCH_TYPE, self.tier, self.seconds, self.limit, len(self.hits), ())


def search_entities(
    wanted: Wanted,
    store: Store,
    embedders: Callable[[], Embedders],
    fusing: Fusing,
    *,
    backfill: Callable[[int], Backfilled | None],
) -> EntityAnswer:
    """
    The entities that come first by `relevance`, exactly: as if every entity had been scored, by keyword the first `WORDS`.

    Without an embedder, or when it fails, the share of the query's weight stands in for the similarity, and a
    notice says so (CAP E28).

    Raises:
        StoreError: The store cannot be read.
    """
    return _Search(wanted, store, embedders, fusing, backfill=backfill).answer()


class _Search:
    def __init__(
        self,
        wanted: Wanted,
        store: Store,
        embedders: Callable[[], Embedders],
        fusing: Fusing,
        *,
        backfill: Callable[[int], Backfilled | None],
    ) -> None:
        self._wanted, self._store, self._depth = wanted, store, max(fusing.candidates, wanted.query.limit)
        self._trace = Trace()
        self._retrievers = Retrievers(wanted.query, store, embedders, fusing, backfill=backfill, trace=self._trace)

    def answer(self) -> EntityAnswer:
        self._retrievers.plan()
        distances = walks.distances(self._store, self._wanted.around, self._wanted.distance)
        self._trace.step("graph", len(distances))
        wanted = self._wanted
        words: Ranking = ()
        if wanted.keyword_weight or wanted.judged or not self._retrievers.two:
            words = self._words()
        cosines = self._by_meaning(distances, words)
        tier = Tier.KEYWORD if cosines is None else Tier.HYBRID
        words = words if cosines is not None else words or self._words()
        held = {memory: coverage(self._retrievers.terms, bits) for memory, bits in held_by_memory(words).items()}
        hits = tuple(
            hit._replace(cosine=(cosines or {}).get(hit.memory.id), coverage=held.get(hit.memory.id, 0.0))
            for hit in self._hits(distances, held if cosines is None else cosines, words)
        )
        self._trace.step("read", len(hits))
        outcome, why = self._confidence(hits, tier) if wanted.judged else (None, "")
        steps, notices = tuple(self._trace.steps), tuple(dict.fromkeys(self._trace.notices))
        return EntityAnswer(hits, tier, wanted.query.limit, steps, notices, outcome, why)

    def _confidence(self, hits: Sequence[EntityHit], tier: Tier) -> tuple[Outcome, str]:
        if not hits and self._retrievers.bare():
            return Outcome.NOTHING_SAVED, "there are no entities"
        outcome, why = confidence(hits, tier, self._trace.model, len(self._retrievers.terms), self._retrievers.vectors)
        if outcome is Outcome.NOTHING_RELEVANT and self._trace.partial:
            return Outcome.DEGRADED, "many chunks have no vector yet"
        return outcome, why

    def _words(self) -> Ranking:
        """The entities that come first by keyword; nothing is said of the others' words."""
        found = self._store.keywords.by_keyword(self._retrievers.terms, ENTITIES, max(WORDS, self._depth))
        self._trace.step("keyword", len(found))
        return found

    def _by_meaning(self, distances: Mapping[MemoryId, int], words: Ranking) -> Mapping[MemoryId, float] | None:
        """The similarity of all that could come first; None if the meaning cannot be looked at, which is said."""
        if not self._retrievers.two:
            self._trace.notices.append(Notice("by keyword, not by meaning: no embedder is configured"))
            return None
        if self._retrievers.bare():
            return {}
        known = distances.keys() | {scored.memory for scored in words}
        try:
            for _ in range(ATTEMPTS - 1):
                try:
                    return self._similarities(known)
                except NotFound:  # the generation
                    self._retrievers.renew(vector=True)
            return self._similarities(known)
        except (EmbedError, SpaceMismatch) as error:
            self._trace.notices.append(Notice(f"by keyword, not by meaning: {error}", error.hint))
            return None

    def _similarities(self, known: Collection[MemoryId]) -> Mapping[MemoryId, float]:
        """Of these entities, and of as many others as are asked for: the most similar, for they have nothing else."""
        if len(known) >= MANY and self._wanted.vector_weight:
            return self._retrievers.memory_similarities(ENTITIES)
        similarities = (
            dict(self._retrievers.memory_similarities(EVERYTHING._replace(among=frozenset(known)))) if known else {}
        )
        if not self._wanted.vector_weight:
            return similarities
        found = self._retrievers.by_vector(self._depth)
        others = [scored for scored in found if scored.memory not in known]
        if len(found) == self._depth and len({scored.memory for scored in others}) < self._wanted.query.limit:
            return self._retrievers.memory_similarities(ENTITIES)  # most of what there is, is known
        return similarities | {
            scored.memory: scored.score for scored in reversed(others)
        }  # the best chunk of each is first

    def _hits(
        self, distances: Mapping[MemoryId, int], similarities: Mapping[MemoryId, float], words: Ranking
    ) -> tuple[EntityHit, ...]:
        """The best, read; what was deleted meanwhile is left out, and so is what nothing speaks for."""
        wanted = self._wanted
        keywords: dict[MemoryId, float] = {}
        if wanted.keyword_weight and words:
            keywords = {scored.memory: scored.score / words[0].score for scored in reversed(words)}
        found: list[tuple[float, MemoryId, tuple[int | None, float]]] = []
        for id in {*_foremost(distances, similarities, wanted.query.limit), *keywords}:
            similarity = min(1.0, max(0.0, similarities.get(id, 0.0)))
            facts = (distances.get(id), keywords.get(id, 0.0))
            score = relevance(
                similarity, *facts, vector_weight=wanted.vector_weight, keyword_weight=wanted.keyword_weight
            )
            if score > 0:
                found.append((-score, id, facts))
        first = sorted(found)[: wanted.query.limit]
        memories = self._store.memories.by_id([id for _, id, _ in first])
        return tuple(EntityHit(memories[id], -score, None, *facts) for score, id, facts in first if id in memories)


def _foremost(
    distances: Mapping[MemoryId, int], similarities: Mapping[MemoryId, float], limit: int
) -> Iterator[MemoryId]:
    """At each distance the most similar: no other of that distance can come before them."""
    rings: dict[int | None, list[MemoryId]] = {None: [id for id in similarities if id not in distances]}
    for id, distance in distances.items():
        rings.setdefault(distance, []).append(id)
    for ring in rings.values():
        yield from (id for _, id in nsmallest(limit, [(min(0.0, -similarities.get(id, 0.0)), id) for id in ring]))

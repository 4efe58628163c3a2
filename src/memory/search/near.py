"""Entity search by meaning and by distance in the graph."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING, NamedTuple

from memory.rank.fuse import relevance
from memory.rank.hits import confidence
from memory.rank.match import coverage, held_by_memory
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
"""Chunks whose keyword scores count, at least; without a bound, a common word could match them all."""

MANY = 2000
"""With this many entities within the distance, comparing all of them costs less than searching for the others."""

SEARCH_TYPE = "search_nearby_entity"
"""The type under which these searches are recorded."""

ATTEMPTS = 5
"""How often a search starts over when the vectors are replaced during it."""

ENTITIES = Scope(kinds=frozenset({Kind.ENTITY}))


@dataclass(frozen=True, slots=True)
class Wanted:
    """
    What is looked for, and around what; see `memory.rank.fuse.relevance` for the weights.

    Attributes:
        around: The entities of the context; if empty, the graph does not count.
        distance: Relations away that still count, 0..10.
        vector_weight, keyword_weight: 0..1.
        judged: Judge how far the answer can be trusted.

    Raises:
        Invalid: One of them is out of range, or the query is not a valid one.
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
    One entity of an answer.

    Attributes:
        score: See `memory.rank.fuse.relevance`, 0..1. Without vectors,
            the share of the query's weight that the entity holds replaces the similarity.
        cosine: With the query, -1..1; None if no vector was compared.
        distance: Relations to the closest entity of the context; None if that is beyond the distance that counts.
        keyword: BM25 as a share of the best, 0..1; 0 if keywords do not count.
        coverage: Share of the query's weight that it holds, 0..1; 0 if not computed.
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
        tier: HYBRID; KEYWORD if no meanings could be compared.
        outcome, worth: How far the hits can be trusted, and why, as a clause; None and empty if not asked for.
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
        """The record of this search; its limit is the query's."""
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
    The entities with the highest `relevance`, exactly: the same as scoring every entity.

    Only keyword scores are bounded, to the best `WORDS` chunks at least.
    Without an embedder, or when it fails, the share of the query's weight replaces the similarity,
    and a notice says so (CAP E28).

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
        """The best entities by keyword; the others get no keyword score."""
        found = self._store.keywords.by_keyword(self._retrievers.terms, ENTITIES, max(WORDS, self._depth))
        self._trace.step("keyword", len(found))
        return found

    def _by_meaning(self, distances: Mapping[MemoryId, int], words: Ranking) -> Mapping[MemoryId, float] | None:
        """The cosines of all entities that could come first; None, with a notice, if meanings cannot be compared."""
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
                except NotFound:  # the generation was retired
                    self._retrievers.renew(vector=True)
            return self._similarities(known)
        except (EmbedError, SpaceMismatch) as error:
            self._trace.notices.append(Notice(f"by keyword, not by meaning: {error}", error.hint))
            return None

    def _similarities(self, known: Collection[MemoryId]) -> Mapping[MemoryId, float]:
        """
        The cosines of `known`, and of the most similar other entities.

        An entity that is neither near in the graph nor found by keyword has nothing but its similarity,
        so only the most similar of these can come first.
        """
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
            return self._retrievers.memory_similarities(ENTITIES)  # `known` crowded the others out
        # Reversed, so that the best chunk of each memory, which comes first, is set last.
        return similarities | {scored.memory: scored.score for scored in reversed(others)}

    def _hits(
        self, distances: Mapping[MemoryId, int], similarities: Mapping[MemoryId, float], words: Ranking
    ) -> tuple[EntityHit, ...]:
        """The best hits, with their memories. Leaves out what was deleted meanwhile and what scores 0."""
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
    """The most similar entities at each distance: no other entity at that distance can beat them."""
    rings: dict[int | None, list[MemoryId]] = {None: [id for id in similarities if id not in distances]}
    for id, distance in distances.items():
        rings.setdefault(distance, []).append(id)
    for ring in rings.values():
        yield from (id for _, id in nsmallest(limit, [(min(0.0, -similarities.get(id, 0.0)), id) for id in ring]))

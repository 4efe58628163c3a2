"""
Entities near others: how far away they are in the graph, a shortest path to one, and a search by meaning and distance.

Walks go by breadth: the store is asked once for each step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nsmallest
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Notice, Outcome, Ranking, Searched, Step, Tier, coverage_by_memory
from memory.schema.errors import Invalid, NotFound, StoreDamaged, check_distance
from memory.schema.kinds import Kind
from memory.schema.query import EVERYTHING, Query, Scope
from memory.search.confidence import NeedsVectors, nearness, outcome
from memory.search.fuse import Fusing, relevance
from memory.search.keywords import look_up, with_term_vectors
from memory.search.search import Evidence, Trace, anew, model_answers, without_excluded, without_model
from memory.search.vectors import Near, ask, ask_passages, nearest
from memory.store import UNSEEN, Relation, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
    from datetime import datetime

    from memory.schema.holder import Backfilled
    from memory.schema.memory import Memory, MemoryId
    from memory.schema.space import Vectors
    from memory.store.graph import Graph
    from memory.vectors.registry import Embedders

WORDS = 200
"""Chunks whose keyword scores count, at least; without a bound, a common word could match them all."""

MANY = 2000
"""With this many entities within the distance, comparing all of them costs less than searching for the others."""

SEARCH_TYPE = "search_nearby_entity"
"""The type under which these searches are recorded."""

ENTITIES = Scope(kinds=frozenset({Kind.ENTITY}))


@dataclass(frozen=True, slots=True)
class NearQuery:
    """
    A search for entities by meaning and by nearness in the graph; see `memory.search.fuse.relevance` for the weights.

    Attributes:
        around: Ids of the context entities; if empty, nearness does not count.
        distance: Maximum number of relations that count as near, 0..10.
        vector_weight, keyword_weight: 0..1.
        judged: Whether to judge how far the answer can be trusted (`outcome`).

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
        score: See `memory.search.fuse.relevance`, 0..1. Without vectors,
            the share of the query's weight that the entity holds replaces the similarity.
        cosine: With the query, -1..1; None if no vector was compared.
        distance: Relations to the closest entity of the context; None if that is beyond the distance that counts.
        keyword: BM25 as a share of the best, 0..1; 0 if keywords do not count.
        coverage: Share of the query's weight that it holds, 0..1; 0 if not computed.
        fit: What confidence goes by: `memory.search.confidence.nearness`; the score where observations were not compared.
    """

    memory: Memory
    score: float
    cosine: float | None
    distance: int | None
    keyword: float
    coverage: float = 0.0
    fit: float = 0.0


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
    wanted: NearQuery,
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
    and a notice says so.

    Raises:
        StoreError: The store cannot be read.
    """
    trace = Trace()
    wanted = replace(wanted, query=without_excluded(wanted.query, trace))
    evidence = with_term_vectors(Evidence(wanted.query, store, embedders, fusing, backfill, trace))
    search = _Search(wanted, evidence)
    observations: dict[str, Vectors] = {}
    while True:
        try:
            with store.snapshot():
                evidence = evidence if evidence.planned else look_up(evidence)
                answer = search.answer(evidence, observations)
            if isinstance(answer, EntityAnswer):
                return answer
            # A model may take seconds: it is asked between two snapshots, for the query, then for observations.
            evidence = ask(evidence)
            if answer.texts:
                evidence, made = ask_passages(evidence, answer.texts)
                observations |= made
        except NotFound as error:
            evidence, observations = anew(evidence, error), {}


class _Search:
    """What was looked for before the model is asked is kept for the attempt that follows."""

    def __init__(self, wanted: NearQuery, evidence: Evidence) -> None:
        self._wanted, self._store, self._trace = wanted, evidence.store, evidence.trace
        self._depth = max(evidence.fusing.candidates, wanted.query.limit)
        self._ranking: Ranking | None = None
        self._scope = ENTITIES._replace(without=wanted.query.scope.without)

    @cached_property
    def _distances(self) -> Mapping[MemoryId, int]:
        found = distances(self._store, self._wanted.around, self._wanted.distance)
        if found and self._scope.without:
            wanted = self._store.memories.page(self._scope._replace(among=frozenset(found)), len(found))
            found = {memory.id: found[memory.id] for memory in wanted}
        self._trace.step("graph", len(found))
        return found

    def _words(self, evidence: Evidence) -> Ranking:
        """The best entities by keyword; the others get no keyword score."""
        if self._ranking is None:
            self._ranking = self._store.keywords.by_keyword(evidence.terms, self._scope, max(WORDS, self._depth))
            self._trace.step("keyword", len(self._ranking))
        return self._ranking

    def answer(self, evidence: Evidence, observations: Mapping[str, Vectors]) -> EntityAnswer | NeedsVectors:
        """
        The answer, or what needs a vector first.

        Args:
            observations: Vectors of those that have one.
        """
        wanted, reached, by_meaning = self._wanted, self._distances, model_answers(evidence)
        words = self._words(evidence) if wanted.keyword_weight or wanted.judged or not by_meaning else Ranking()
        known = reached.keys() | {*words.memories}
        cosines: Mapping[MemoryId, float] | None = None
        if not by_meaning:
            without_model(evidence, "by keyword, not by meaning")
        elif evidence.bare:
            cosines = {}
        elif evidence.vector is None and (known or wanted.vector_weight):
            return NeedsVectors()
        else:
            cosines = self._similarities(evidence, known)
        tier = Tier.HYBRID if by_meaning else Tier.KEYWORD
        held = coverage_by_memory(evidence.terms, words)
        hits = tuple(
            hit._replace(cosine=(cosines or {}).get(hit.memory.id), coverage=held.get(hit.memory.id, 0.0))
            for hit in self._hits(reached, held if cosines is None else cosines, words)
        )
        self._trace.step("read", len(hits))
        judged: tuple[Outcome | None, str] = None, ""
        if wanted.judged:
            # How near observations are decides what the answer is worth, and not which entities it has.
            found = nearness(evidence, cosines, observations) if cosines else None
            if isinstance(found, NeedsVectors):
                return found
            means, by = found or ({}, None)
            hits = tuple(hit._replace(fit=means.get(hit.memory.id, hit.score)) for hit in hits)
            signals = [hit._replace(cosine=means.get(hit.memory.id, hit.cosine)) for hit in hits]
            nothing = Outcome.NOTHING_SAVED, "there are no entities"
            judged = nothing if not signals and evidence.bare else outcome(evidence, signals, tier, by)
        steps, notices = tuple(self._trace.steps), tuple(dict.fromkeys(self._trace.notices))
        return EntityAnswer(hits, tier, wanted.query.limit, steps, notices, *judged)

    def _similarities(self, evidence: Evidence, known: Collection[MemoryId]) -> Mapping[MemoryId, float]:
        """
        The cosines of `known`, and of the most similar other entities.

        An entity that is neither near in the graph nor found by keyword has nothing but its similarity,
        so only the most similar of these can come first.
        """
        if len(known) >= MANY and self._wanted.vector_weight:
            return self._cosines(evidence, self._scope)
        among = EVERYTHING._replace(among=frozenset(known))
        similarities = dict(self._cosines(evidence, among)) if known else {}
        if not self._wanted.vector_weight:
            return similarities
        found = nearest(evidence, "vector", Near(*evidence.compared), self._depth)
        others = [scored for scored in found if scored.memory not in known]
        if len(found) == self._depth and len({scored.memory for scored in others}) < self._wanted.query.limit:
            return self._cosines(evidence, self._scope)  # `known` crowded the others out
        # Reversed, so that the best chunk of each memory, which comes first, is set last.
        return similarities | {scored.memory: scored.score for scored in reversed(others)}

    def _cosines(self, evidence: Evidence, scope: Scope) -> Mapping[MemoryId, float]:
        """The cosines of memories with the query; memories without vectors are left out."""
        found = self._store.vectors.memory_similarities(*evidence.compared, scope)
        self._trace.step("likeness", len(found))
        return found

    def _hits(
        self, distances: Mapping[MemoryId, int], similarities: Mapping[MemoryId, float], words: Ranking
    ) -> tuple[EntityHit, ...]:
        """
        The best hits, with their memories. Leaves out what was deleted meanwhile, and what scores 0 unless that is judged:
        an observation may fit where the whole does not.
        """
        wanted = self._wanted
        keywords: dict[MemoryId, float] = {}
        if wanted.keyword_weight and words:
            best = words.scores[0]
            keywords = {scored.memory: scored.score / best for scored in reversed(words)}
        found: list[tuple[float, MemoryId, tuple[int | None, float]]] = []
        for id in {*_foremost(distances, similarities, wanted.query.limit), *keywords}:
            similarity = min(1.0, max(0.0, similarities.get(id, 0.0)))
            facts = (distances.get(id), keywords.get(id, 0.0))
            score = relevance(
                similarity, *facts, vector_weight=wanted.vector_weight, keyword_weight=wanted.keyword_weight
            )
            if score > 0 or wanted.judged:
                found.append((score, id, facts))
        first = sorted(found, key=lambda one: (-one[0], -one[1]))[: wanted.query.limit]
        memories = self._store.memories.by_id([id for _, id, _ in first])
        return tuple(EntityHit(memories[id], score, None, *facts) for score, id, facts in first if id in memories)


def _foremost(
    distances: Mapping[MemoryId, int], similarities: Mapping[MemoryId, float], limit: int
) -> Iterator[MemoryId]:
    """The most similar entities at each distance: no other entity at that distance can beat them."""
    rings: dict[int | None, list[MemoryId]] = {None: [id for id in similarities if id not in distances]}
    for id, distance in distances.items():
        rings.setdefault(distance, []).append(id)
    for ring in rings.values():
        yield from (id for _, id in nsmallest(limit, [(min(0.0, -similarities.get(id, 0.0)), id) for id in ring]))


# Walks by breadth -----------------------------------------------------------------


def distances(store: Store, ids: Iterable[MemoryId], most: int) -> Mapping[MemoryId, int]:
    """
    How many relations away each entity is from the nearest of the given ones, if that is at most `most`.

    The given ones are 0 away, if they are entities. All steps read one snapshot.
    """
    with store.snapshot():
        frontier: AbstractSet[MemoryId] = _entities(store, ids)
        found = dict.fromkeys(frontier, 0)
        for step in range(1, most + 1):
            frontier = store.graph.neighbours(frontier, besides=found)
            if not frontier:
                break
            found |= dict.fromkeys(frontier, step)
    return found


def path(store: Store, source: MemoryId, target: MemoryId, most: int) -> Sequence[Relation] | None:
    """
    The relations of a shortest path from source to target. They may point either way; equal graphs give equal paths.

    Returns:
        None if no path has at most `most` relations, or if one end is not an entity; empty from an entity to itself.

    Raises:
        StoreDamaged: The relations and their index do not agree.
    """
    with store.snapshot():
        if source == target:
            return [] if _entities(store, (source,)) else None
        if (levels := _levels(store.graph, source, target, most)) is None:
            return None
        if (found := _first(store.graph, source, levels)) is not None:
            return found
    fault = next((one for one in store.check() if one != UNSEEN), "its relations and their index do not agree")
    raise StoreDamaged(f"the path cannot be computed: {fault}", hint="`memory doctor --fix` rebuilds what it can.")


def _entities(store: Store, ids: Iterable[MemoryId]) -> set[MemoryId]:
    """Those ids that belong to entities."""
    return {one.id for one in store.memories.by_id([*ids]).values() if one.kind is Kind.ENTITY}


def _levels(graph: Graph, source: MemoryId, target: MemoryId, most: int) -> list[AbstractSet[MemoryId]] | None:
    """
    The entities on shortest paths, by their distance from the source; None if no path is short enough.

    Up to the middle, only entities that lead to the target; behind it, all entities at that distance from the target.
    The search goes from both ends, each step from the end with the smaller frontier: from one end alone it would visit
    nearly the whole graph.
    """
    ahead: list[AbstractSet[MemoryId]] = [{source}]
    back: list[AbstractSet[MemoryId]] = [{target}]
    while not ahead[-1] & back[-1]:
        if len(ahead) + len(back) - 2 >= most:
            return None
        side = min(ahead, back, key=lambda levels: len(levels[-1]))
        side.append(graph.neighbours(side[-1]) - set().union(*side))
        if not side[-1]:
            return None
    levels = [ahead.pop() & back.pop()]
    for level in reversed(ahead):
        levels.insert(0, level & graph.neighbours(levels[0]))
    return levels + back[::-1]


def _first(graph: Graph, source: MemoryId, levels: Sequence[AbstractSet[MemoryId]]) -> list[Relation] | None:
    """
    The path that goes to the lowest id of each level, by the first relation that joins each two.

    Returns:
        None if the path breaks off, which means that an index has lost a relation.
    """
    stations = [source]
    for level in levels[1:]:
        # Each entity has a neighbour in the next level, so a level of one entity needs no look-up.
        nearer = level if len(level) == 1 else level & graph.neighbours(stations[-1:])
        if not nearer:
            return None
        stations.append(min(nearer))
    joined = {frozenset(one[:2]): one for one in reversed(graph.edges(Relation, stations, inside=True))}
    pairs = [frozenset(pair) for pair in pairwise(stations)]
    return [joined[pair] for pair in pairs] if joined.keys() >= {*pairs} else None

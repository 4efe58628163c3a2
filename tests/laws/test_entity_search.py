"""What is similar in meaning and close in the graph is what one finds who scores every entity by hand."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pytest
from entries import START
from hypothesis import example, given, strategies as st
from stores import new

from memory import Config, Engine, Kind, Query
from memory.schema.errors import LINE_LIMIT
from memory.search import near as entity_search
from memory.search.fuse import distance_score, relevance
from memory.search.near import ENTITIES, NearQuery
from memory.store.narrow import rounded
from memory.text.markdown import listed, observations
from memory.text.terms import terms
from memory.tools.graph import EntityGraph
from memory.vectors.providers.inside import HashedEmbedder
from oracle.ram import RamStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memory.schema.space import Vectors
    from memory.search.near import EntityHit
    from memory.store import Store
    from memory.vectors import Role

TOLERANCE = 1e-4  # vectors may be compared in halves
DIMENSION = 6
WORDS = ("alpha", "beta", "gamma")

shares = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1)
limits = st.sampled_from([1, 2, 50]) | st.integers(1, 50)


class Drawn(HashedEmbedder):
    """Texts point where the number in them says, each in a direction drawn for it."""

    def __init__(self) -> None:
        super().__init__(DIMENSION)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        return np.stack([direction(int((re.findall(r"at (\d+)", text) or ["0"])[-1])) for text in texts])


def direction(seed: int) -> Vectors:
    drawn = np.random.default_rng(seed).standard_normal(DIMENSION)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


@st.composite
def graphs(draw) -> tuple[list[list[str]], set[tuple[int, int]]]:
    """Observations of each entity, long enough that each is a chunk of its own; and which are related."""
    count = draw(st.integers(1, 25))
    places = st.integers(0, 40)
    said = st.lists(st.tuples(places, st.sampled_from(["", *WORDS])), min_size=1, max_size=3)
    entities = [[f"{word} at {place}" for place, word in draw(said)] for _ in range(count)]
    ends = st.integers(0, count - 1)
    return entities, draw(st.sets(st.tuples(ends, ends), max_size=2 * count))


def kept(store: Store, entities: Sequence[Sequence[str]], edges: set[tuple[int, int]]) -> Engine:
    chunking = replace(Config().chunking, size=16, overlap=0)
    search = replace(Config().search, candidates=10)  # fewer than there are
    config = replace(Config(), home="/nowhere", chunking=chunking, search=search)
    engine = Engine(store, config, embedder=Drawn(), now=lambda: START)
    graph = EntityGraph(engine)
    graph.create_entities(
        [{"name": f"E{n}", "obs": [padded(text) for text in said]} for n, said in enumerate(entities)]
    )
    graph.create_relations([{"from": f"E{one}", "to": f"E{other}", "relationType": "r"} for one, other in edges])
    return engine


def padded(text: str) -> str:
    return f"{'filler ' * 5}{text}"


def steps(count: int, edges: set[tuple[int, int]], around: Sequence[int], most: int) -> dict[int, int]:
    """How far each is, by relaxing every edge again and again."""
    away = dict.fromkeys(around, 0)
    for _ in range(count):
        for one, other in (*edges, *((other, one) for one, other in edges)):
            if one in away and away[one] < most:
                away[other] = min(away.get(other, most), away[one] + 1)
    return away


def by_hand(engine: Engine, wanted: NearQuery, away: Mapping[int, int]) -> dict[str, tuple[float, ...]]:
    """Score, similarity, closeness in the graph and keywords of every entity that anything speaks for."""
    query = wanted.query.text
    vector = Drawn().embed([query], "query")[0]
    store = engine.store
    words = store.keywords.by_keyword(store.keywords.weigh(terms(query)), ENTITIES, 1 << 30)
    best = max((one.score for one in words), default=1.0)
    found = {}
    for entity in engine.graph.every():
        body = engine.details(entity.id, count=False).body
        chunks = [body[chunk.start : chunk.stop] for _, chunk in engine.documents.outline(entity.id)]
        passages = [f"{entity.title}\n{text}".strip() for text in chunks]
        rows = rounded(Drawn().embed(passages, "passage"))
        similarity = max(0.0, *(rows @ vector / np.linalg.norm(rows, axis=1)).tolist())
        closeness = distance_score(away.get(int(entity.title[1:])))
        keyword = max([one.score / best for one in words if one.memory == entity.id], default=0.0)
        w, k = wanted.vector_weight, wanted.keyword_weight
        score = (1 - k) * (w * similarity + (1 - w) * closeness) + k * keyword
        if score > TOLERANCE:
            found[entity.title] = (score, similarity, closeness, keyword)
    return found


def are_the_best(hits: Sequence[EntityHit], scores: Mapping[str, tuple[float, ...]], wanted: NearQuery) -> None:
    """But for places of those that differ by less than the tolerance."""
    shown = [hit for hit in hits if hit.score > TOLERANCE]
    best = sorted((score for score, *_ in scores.values()), reverse=True)[: wanted.query.limit]
    assert [hit.score for hit in shown] == pytest.approx(best, abs=TOLERANCE)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in shown:
        score, similarity, closeness, keyword = scores[hit.memory.title]
        assert hit.score == pytest.approx(score, abs=TOLERANCE)
        assert distance_score(hit.distance) == closeness
        if wanted.keyword_weight:
            assert hit.keyword == pytest.approx(keyword, abs=TOLERANCE)
        if wanted.vector_weight and wanted.keyword_weight < 1:
            assert max(0.0, hit.cosine) == pytest.approx(similarity, abs=TOLERANCE)


@contextmanager
def opened(sort: str) -> Iterator[Store]:
    """An empty store."""
    with TemporaryDirectory() as folder:
        store: Store = RamStore() if sort == "ram" else new(Path(folder))
        yield store
        store.close()


SORTS = pytest.mark.parametrize("sort", ["ram", "sqlite"])


@SORTS
@pytest.mark.parametrize("many", [3, entity_search.MANY])
@given(
    graphs(),
    st.tuples(st.integers(0, 40), st.sampled_from(["", "alpha", "alpha beta"])),
    st.lists(st.integers(0, 24), max_size=3),
    st.tuples(st.integers(0, 5), shares, shares, limits),
)
def test_a_hybrid_search_is_every_entity_scored_and_the_best_taken(  # noqa: PLR0917  # what hypothesis draws
    sort, many, graph, query, around, weights
) -> None:
    entities, edges = graph
    around = sorted({number % len(entities) for number in around})
    distance, *shares, limit = weights
    with opened(sort) as store, kept(store, entities, edges) as engine:
        ids = tuple(engine.graph.entity(f"E{number}").id for number in around)
        wanted = NearQuery(Query(f"{query[1]} at {query[0]}", limit, scope=ENTITIES), ids, distance, *shares)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(entity_search, "MANY", many)
            found = engine.graph.nearby(wanted)

        assert not found.notices
        scores = by_hand(engine, wanted, steps(len(entities), edges, around, distance))
        are_the_best(found.hits, scores, wanted)


@SORTS
def test_each_observation_of_these_is_a_chunk(sort) -> None:
    with opened(sort) as store, kept(store, [["alpha at 1", "beta at 2", "gamma at 3"]], set()) as engine:
        assert len(engine.documents.outline(engine.graph.entity("E0").id)) == 3


@given(shares, shares, st.none() | st.integers(0, 10), st.floats(0, 1), st.floats(0, 1))
def test_relevance_is_0_to_1_and_grows_with_all_that_speaks_for_it(w, k, distance, similarity, keyword) -> None:
    def score(similarity: float = similarity, distance: int | None = distance, keyword: float = keyword) -> float:
        return relevance(similarity, distance, keyword, vector_weight=w, keyword_weight=k)

    assert 0 <= score() <= 1 + 1e-12
    assert score(similarity=1.0) >= score() - 1e-12
    assert score(keyword=1.0) >= score() - 1e-12
    assert score(distance=0) >= score() - 1e-12
    assert all(distance_score(closeness) == 2 * distance_score(far) for closeness, far in pairwise(range(11)))


# Observations --------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@given(st.lists(TEXTS.map(str.strip)))
@example(["- a", "-", "a\n- b\n  c\n\n d", "a\r\nb", "a\u2028b\x0bc", "x\n  \ny"])
def test_any_observations_come_back_as_they_were(texts) -> None:
    assert observations(listed(texts)) == tuple(texts)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_a_body_by_hand_says_the_same_once_it_is_listed(body) -> None:
    found = observations(body)

    assert observations(listed(found)) == found
    assert sum(text.count(letter) for text in found for letter in "xyz") == sum(body.count(letter) for letter in "xyz")


@given(st.lists(st.lists(TEXTS, max_size=4), max_size=4))
def test_whatever_is_added_is_known_and_whatever_is_removed_is_not(calls) -> None:
    config = replace(Config(), home="/nowhere", embedding=replace(Config().embedding, provider="none"))
    graph = EntityGraph(Engine(RamStore(), config, now=lambda: START))
    graph.create_entities([{"name": "Ada"}])
    known: dict[str, None] = {}

    for texts in calls:
        (added,) = graph.add_observations([{"entityName": "Ada", "contents": texts}])["results"]
        new = graph.engine.graph.worded(texts)
        assert added["added"] == [text for text in new if text not in known]
        known |= dict.fromkeys(new)
        assert graph.open_nodes(["Ada"])["entities"][0]["observations"] == list(known)
    graph.delete_observations([{"entityName": "Ada", "observations": list(known)}])

    assert graph.open_nodes(["Ada"])["entities"][0]["observations"] == []
    assert all(len(text) <= LINE_LIMIT for text in known)
    assert graph.engine.get("1").kind is Kind.ENTITY

"""The score of graph distance, and what a search of entities says when it cannot do all it could."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from doubles import Away, Down, Watched
from graph_made import entity_graph, names
from sessions_made import Compass, embedded

from memory import Draft, Query
from memory.schema.errors import Invalid
from memory.search.fuse import distance_score, relevance
from memory.search.near import ENTITIES, NearQuery
from memory.tools.graph.vectors import hybrid_relevance

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory.tools.graph import EntityGraph


@pytest.mark.parametrize(
    ("similarity", "distance", "weight", "score"),
    [(0.8, 0, 0.5, 0.9), (0.8, 1, 0.5, 0.65), (0.8, 3, 0.25, 0.29375), (0.8, None, 0.5, 0.4), (0.8, 2, 1.0, 0.8)],
)
def test_similarity_and_graph_distance_are_weighed(similarity, distance, weight, score) -> None:
    assert relevance(similarity, distance, vector_weight=weight) == pytest.approx(score)
    assert hybrid_relevance(similarity, distance, weight) == pytest.approx(score)


def test_keywords_take_their_share_of_the_whole() -> None:
    assert relevance(0.8, 1, 1.0, vector_weight=0.5, keyword_weight=0.2) == pytest.approx(0.8 * 0.65 + 0.2)
    assert relevance(0.8, 1, 0.3, keyword_weight=1.0) == pytest.approx(0.3)


def test_the_score_of_a_distance_halves_with_each_relation() -> None:
    assert [distance_score(n) for n in (0, 1, 2, 10, None)] == [1.0, 0.5, 0.25, 2**-10, 0.0]


NO_WEIGHTS = (-0.1, 1.1, "0.5", True, None, float("nan"))  # a weight is 0 to 1
NO_DISTANCES = (-1, 11, 1.5, True, "1")  # a distance is 0 to 10


@pytest.mark.parametrize(
    ("name", "value"),
    [*product(["vector_weight", "keyword_weight"], NO_WEIGHTS), *product(["distance"], NO_DISTANCES)],
)
def test_what_is_out_of_its_range_is_refused_by_name(name, value) -> None:
    with pytest.raises(Invalid, match=name):
        NearQuery(Query("x", scope=ENTITIES), **{name: value})


def test_an_empty_graph_has_no_answer_and_nothing_amiss(tmp_path: Path) -> None:
    graph = entity_graph(tmp_path, Down())

    found = graph.search_hybrid("anything")

    graph.engine.close()
    assert (found["entities"], found["notices"]) == ([], [])


def test_notes_are_no_entities_whatever_they_say(tmp_path: Path) -> None:
    graph = entity_graph(tmp_path, Watched())
    graph.create_entities([{"name": "Walnut"}])
    graph.engine.save(Draft(title="walnut walnut walnut", what="walnut"))

    found = (graph.search_hybrid("walnut", keyword_weight=0.5), graph.search_nodes("walnut"))

    graph.engine.close()
    assert [names(one) for one in found] == [["Walnut"], ["Walnut"]]


def test_what_points_away_is_not_alike_but_may_be_near(tmp_path: Path) -> None:
    graph = entity_graph(tmp_path, Compass())
    graph.create_entities([{"name": "Opposite", "obs": ["180°"]}, {"name": "Alike", "obs": ["0°"]}])

    alone = graph.search_hybrid("0°")
    near = graph.search_hybrid("0°", ["Opposite"])

    graph.engine.close()
    assert names(alone) == ["Alike"]
    assert [(row["name"], row["score"], row["similarity"]) for row in near["entities"]] == [
        ("Alike", 0.5, 1.0),  # of the same score the younger
        ("Opposite", 0.5, -1.0),
    ]


# Single observations ------------------------------------------------------------

WARD = {"name": "Ward", "obs": ["-90°", "0°"]}
"""As a whole it points to 0°; strangers point to 90°."""


@pytest.fixture
def ward(tmp_path: Path) -> Iterator[EntityGraph]:
    graph = entity_graph(tmp_path, Compass())
    graph.create_entities([WARD])
    graph.engine.embed()
    yield graph
    graph.engine.close()


def test_an_observation_that_fits_is_enough(ward: EntityGraph) -> None:
    found = ward.search_entities_semantic("-100°")

    assert (names(found), found["outcome"]) == (["Ward"], "answered")
    assert found["entities"][0]["similarity"] == pytest.approx(-0.1736, abs=1e-4)  # of the whole
    assert "the nearest entity and observation have a mean cosine of 0.41" in found["worth"]


def test_a_query_like_none_of_the_observations_is_told(ward: EntityGraph) -> None:
    found = ward.search_entities_semantic("100°")

    assert (names(found), found["outcome"]) == ([], "nothing_relevant")


def test_an_entity_without_observations_is_judged_by_its_name(tmp_path: Path) -> None:
    graph = entity_graph(tmp_path, Compass())
    graph.create_entities([{"name": "0°"}])
    graph.engine.embed()

    found = [names(graph.search_entities_semantic(query)) for query in ("10°", "100°")]

    graph.engine.close()
    assert found == [["0°"], []]


def test_observations_are_embedded_once_and_of_a_search_that_is_judged(tmp_path: Path) -> None:
    embedder = Watched()
    graph = entity_graph(tmp_path, embedder)
    graph.create_entities([{"name": "Ward", "obs": ["a bed", "a lamp"]}])
    graph.engine.embed()
    embedder.passages.clear()

    graph.search_entities_semantic("a chair", threshold=0)
    assert embedder.passages == []
    for query in ("a chair", "a table"):
        graph.search_entities_semantic(query)

    graph.engine.close()
    assert embedder.passages == ["a bed", "a lamp"]


def test_no_server_is_asked_for_observations(tmp_path: Path) -> None:
    embedder = Away()
    graph = entity_graph(tmp_path, embedder)
    graph.create_entities([{"name": "Ward", "obs": ["a bed", "a lamp"]}])
    embedded(graph.engine)  # the thread beside may be at some
    embedder.passages.clear()

    found = graph.search_entities_semantic("a bed")

    graph.engine.close()
    assert (names(found), embedder.passages) == (["Ward"], [])

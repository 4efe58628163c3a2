"""The documented names over the engine, used as their listings use them."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import pytest
from doubles import Watched
from graph_made import entity_graph, names
from sessions_made import Compass, session_memory

from memory.engine.maintenance import entered_searches
from memory.schema.errors import DimensionMismatch, Invalid, NotFound, Refused
from memory.tools.graph.vectors import ContextSearch, SQLiteVectorStore, VectorContextSearch, VectorStore
from memory.tools.sessions import SearchStats, log_timing, search_stats
from memory.vectors.adapter import EmbeddingProvider, SentenceTransformerProvider, set_embedding_provider
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory.schema.space import Vectors
    from memory.tools.graph import EntityGraph


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[EntityGraph]:
    """A - B - C - D in a row, E alone; they point where they say."""
    graph = entity_graph(tmp_path, Compass())
    angles = {"A": 80, "B": 70, "C": 20, "D": 0, "E": 10}
    graph.create_entities([{"name": name, "obs": [f"{angle}°"]} for name, angle in angles.items()])
    graph.create_relations([{"from": a, "to": b, "relationType": "next"} for a, b in ("AB", "BC", "DC")])
    yield graph
    graph.engine.close()


def at(degrees: float) -> Vectors:
    return Compass().embed([f"{degrees}°"], "query")[0]


# The vector store -----------------------------------------------------------------


def test_e10_the_most_similar_come_first_with_their_cosines(graph) -> None:
    store = SQLiteVectorStore(graph.engine)

    found = store.search(at(0), k=3)

    assert [name for name, _ in found] == ["D", "E", "C"]
    assert [score for _, score in found] == pytest.approx(np.cos(np.radians([0, 10, 20])), abs=1e-5)
    assert [name for name, _ in store.search(7 * at(180), threshold=-1)] == ["A", "B", "C", "E", "D"]  # any length
    assert store.search(at(0), threshold=0.99) == [("D", pytest.approx(1))]


def test_e10_a_vector_that_is_added_takes_the_place_of_the_former(graph) -> None:
    store = SQLiteVectorStore(graph.engine)

    store.add("A", at(1))

    assert [name for name, _ in store.search(at(0), k=2)] == ["D", "A"]
    assert names(graph.search_entities_semantic("0°", 2)) == ["D", "A"]  # the engine's searches go by it
    assert all(finding.well for finding in graph.engine.doctor())


def test_e10_what_is_deleted_is_not_found_until_it_is_embedded_again(graph) -> None:
    store = SQLiteVectorStore(graph.engine)
    graph.engine.vectors.rest()  # the thread that follows saves may embed it at once

    store.delete("D")

    assert [name for name, _ in store.search(at(0), k=9)] == ["E", "C", "B", "A"]
    assert graph.open_nodes(["D"])["entities"][0]["embedding_status"] == "pending"
    assert names(graph.search_entities_semantic("0°", 1)) == ["D"]


def test_e10_an_entity_without_any_vector_before_can_have_one(tmp_path) -> None:
    embedder = Watched()
    graph = entity_graph(tmp_path, embedder)
    store = SQLiteVectorStore(graph.engine)
    assert store.search(HashedEmbedder(64).embed(["x"], "query")[0]) == []
    store.delete(str(graph.create_entities([{"name": "A"}])["created"][0]["id"]))

    store.add("A", HashedEmbedder(64).embed(["walnut"], "passage")[0])

    ((name, score),) = store.search(HashedEmbedder(64).embed(["walnut"], "query")[0])
    graph.engine.close()
    assert (name, score) == ("A", pytest.approx(1, abs=1e-5))


def test_a_vector_of_another_width_is_said_to_be_the_callers(graph) -> None:
    store = SQLiteVectorStore(graph.engine)

    for call in (store.search, lambda vector: store.add("A", vector)):
        with pytest.raises(DimensionMismatch, match=r"\(2 dimensions.*the given vector has the width 3$") as refused:
            call([1, 0, 0])
        assert "configured model" not in refused.value.hint


@pytest.mark.parametrize(
    ("entity", "embedding", "error"),
    [
        ("nobody", [1, 0], NotFound),
        ("A", [1, 0, 0], DimensionMismatch),
        ("A", [[1, 0]], Invalid),
        ("A", [0, 0], Invalid),
        ("A", [float("nan"), 1], Invalid),
        ("A", "no vector", Invalid),
        ("A", [], Invalid),
        ("Hidden", [1, 0], Invalid),
    ],
)
def test_e10_what_is_no_vector_of_an_entity_is_refused_and_nothing_changes(graph, entity, embedding, error) -> None:
    graph.create_entities([{"name": "Hidden", "embed": False}])
    store = SQLiteVectorStore(graph.engine)
    before = store.search(at(0), k=9, threshold=-1)

    with pytest.raises(error):
        store.add(entity, embedding)

    assert dict(store.search(at(0), k=9, threshold=-1)) == pytest.approx(dict(before), abs=1e-5)


def test_e10_a_store_is_what_has_all_three() -> None:
    with pytest.raises(TypeError, match="abstract"):
        type("Half", (VectorStore,), {"add": lambda *_: None})()


# The search along the graph --------------------------------------------------------


class InMemory(VectorStore):
    """A store of another make, with the signature of the listing."""

    def __init__(self) -> None:
        self.kept: dict[str, Vectors] = {}

    def add(self, entity_id, embedding):
        self.kept[entity_id] = embedding

    def search(self, query_embedding, k=10, threshold=0.0):
        found = sorted(((float(one @ query_embedding), name) for name, one in self.kept.items()), reverse=True)
        return [(name, score) for score, name in found if score >= threshold][:k]

    def delete(self, entity_id):
        del self.kept[entity_id]


EDGES = {"A": ["B"], "B": ["A", "C"], "C": ["B", "D"], "D": ["C"], "E": []}


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("distance", [0, 1, 3])
@pytest.mark.parametrize("context", [[], ["A"], ["A", "D"]])
def test_e16_a_vector_context_search_is_the_hybrid_search_of_the_engine(graph, weight, distance, context) -> None:
    provider = EmbeddingProvider(Compass())
    search = VectorContextSearch(EDGES.__getitem__, SQLiteVectorStore(graph.engine), provider)

    found = search.search("0°", context, distance, weight)

    expected = graph.search_hybrid("0°", context, distance, weight)["entities"]
    assert dict(found) == pytest.approx({row["name"]: row["score"] for row in expected}, abs=1e-4)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_e16_any_store_will_do_and_the_query_is_embedded_once() -> None:
    embedder = Watched()
    provider, store = EmbeddingProvider(embedder), InMemory()
    for name in EDGES:
        store.add(name, provider.generate(f"walnut {name}" if name == "C" else f"other {name}"))
    embedder.passages.clear()
    search = VectorContextSearch(EDGES.__getitem__, store, provider)

    found = dict(search.search("walnut", ["A"], vector_weight=0.5))

    assert embedder.passages == ["walnut"]
    assert found["C"] > found.get("E", 0)
    assert search._vector_match("C", "walnut") > 0.5  # as the listing calls it
    assert embedder.passages == ["walnut"]


def test_e16_without_vectors_what_is_near_counts() -> None:
    near = ContextSearch(EDGES.__getitem__).search("anything", ["A"], max_distance=2)

    assert near == [("A", 0.5), ("B", 0.25), ("C", 0.125)]
    with pytest.raises(Invalid):
        ContextSearch(EDGES.__getitem__).search("anything", ["A"], vector_weight=2)


# Providers -------------------------------------------------------------------------


def test_e8_a_class_of_ones_own_may_be_a_provider(tmp_path) -> None:
    class Mine(EmbeddingProvider):
        dimensions, model_name = 32, "mine-1"

        def __init__(self) -> None:
            self.asked: list[str] = []

        def generate(self, text):
            return self.batch_generate([text])[0]

        def batch_generate(self, texts):
            self.asked += texts
            return list(HashedEmbedder(32).embed(texts, "passage"))

    mine = Mine()
    try:
        set_embedding_provider(mine)
        from memory import Draft, Engine

        with Engine.open(home=tmp_path) as engine:
            engine.save(Draft(title="walnut"))
    finally:
        set_embedding_provider(None)
    assert mine.asked


def test_e9_a_sentence_transformer_is_named_by_its_model_and_loaded_when_it_generates() -> None:
    provider = SentenceTransformerProvider()

    assert isinstance(provider, EmbeddingProvider)
    assert (provider.model_name, SentenceTransformerProvider("other").model_name) == ("all-MiniLM-L6-v2", "other")
    if find_spec("sentence_transformers") is None:
        with pytest.raises(Refused) as refused:
            provider.generate("a text")
        assert "tiermem[" in refused.value.hint


# Times -----------------------------------------------------------------------------


def test_a51_a_function_that_is_timed_says_how_long_each_call_took(caplog) -> None:
    @log_timing("vector_search_fine")
    def divided(a: int, *, by: int) -> float:
        """Documented."""
        return a / by

    with caplog.at_level(logging.DEBUG, "memory.timing"):
        assert divided(3, by=2) == 1.5
        with pytest.raises(ZeroDivisionError):
            divided(3, by=0)

    assert [line.rsplit(" ", 2)[0] for line in caplog.messages] == [
        "vector_search_fine took",
        "vector_search_fine failed after",
    ]
    assert (divided.__name__, divided.__doc__) == ("divided", "Documented.")


def test_a52_a53_a_search_of_ones_own_is_counted_without_what_it_was_about(tmp_path) -> None:
    memory = session_memory(tmp_path)
    stats = SearchStats(memory.engine)

    stats.record_query(
        query_type="search_fine_report",
        elapsed=0.5,
        result_count=3,
        metadata={"memory_type": "report", "limit": 10, "filters": {"agent_id": "quokka"}},
    )
    stats.record_query("search_fine_report", 2.5, 1)

    found = memory.get_search_statistics()
    (one, _) = entered_searches(memory.engine.store.path, None)
    memory.engine.close()
    assert (found["total_queries"], found["p95_time"], found["slow_query_rate"]) == (2, 2.5, 0.5)
    assert found["by_type"]["search_fine_report"]["mean_results"] == 2
    assert (one.limit, one.filters) == (10, ("agent_id",))
    assert "quokka" not in str(one)


def test_a52_search_stats_are_those_of_the_users_memory(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MEMORY_HOME", str(tmp_path))

    search_stats.record_query("search_fine_report", 0.1, 1)

    memory = session_memory(tmp_path)
    assert memory.get_search_statistics()["total_queries"] == 1
    memory.engine.close()


@pytest.mark.parametrize(
    "wrong",
    [
        ("", 0.1, 1),
        ("two words", 0.1, 1),
        ("search", -1, 1),
        ("search", float("inf"), 1),
        ("search", "fast", 1),
        ("search", 0.1, -1),
        ("search", 0.1, 1.5),
        ("search", 0.1, 1, {"limit": "ten"}),
        ("search", 0.1, 1, {"filters": 5}),
        ("search", 0.1, 1, {"filters": "agent_id"}),
        ("search", 0.1, 1, [1]),
        ("search", 0.1, 1, 0),
    ],
)
def test_a52_what_is_no_search_is_refused_and_nothing_counted(tmp_path, wrong) -> None:
    memory = session_memory(tmp_path)

    with pytest.raises(Invalid):
        SearchStats(memory.engine).record_query(*wrong)

    assert memory.get_search_statistics()["total_queries"] == 0
    memory.engine.close()

"""
What document E (the plan of a vector search for an entity graph) promises. The number in a test's name counts the
promises of the document in its order.

Left out are choices of other libraries and their sizes, the provider classes (they are the engine's, tested in
`unit/engine/test_adapter.py` and `unit/config/test_config.py`), the vector store and the search by context
(`unit/engine/test_named.py`, `generations_suite.py`), what is for the future, speed (`bench/graph.py`), encryption, the
usage log, and the plan's weeks.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from inspect import Parameter, signature
from itertools import pairwise
from math import cos, radians
from typing import TYPE_CHECKING

import apsw
import pytest
from doubles import Down, Renamed, Watched
from entries import kept
from graph_made import entity_graph, names
from graph_suite import entity
from sessions_made import Compass

from memory.schema.answer import Tier
from memory.schema.errors import Ambiguous, Invalid, NotFound, SpaceMismatch, Unfit
from memory.tools.graph import EntityGraph
from memory.tools.graph.vectors import hybrid_relevance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Opened = Callable[..., EntityGraph]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens entity graphs on one database."""
    graphs: list[EntityGraph] = []

    def open_graph(embedder=None, **options) -> EntityGraph:
        graphs.append(entity_graph(tmp_path, embedder, **options))
        return graphs[-1]

    yield open_graph
    for graph in graphs:
        graph.engine.close()


@pytest.fixture
def graph(opened: Opened) -> EntityGraph:
    """Its texts point where they say; see `Compass`."""
    return opened(Compass())


@pytest.fixture(scope="module")
def real(tmp_path_factory) -> Iterator[EntityGraph]:
    """With the model that is the default."""
    graph = entity_graph(tmp_path_factory.mktemp("real"), provider="local")
    yield graph
    graph.engine.close()


def state(graph: EntityGraph, name: str) -> str:
    (row,) = graph.open_nodes([name])["entities"]
    return row["embedding_status"]


def rows(graph: EntityGraph, statement: str) -> list[tuple]:
    """What stands in the file, asked without any of our code."""
    database = apsw.Connection(graph.engine.config.database, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(database.execute(statement))
    finally:
        database.close()


# Decisions ---------------------------------------------------------------------------


def test_e1_an_entity_is_found_by_its_meaning_and_by_what_it_is_near(graph) -> None:
    graph.create_entities([{"name": "Near", "obs": ["10°"]}, {"name": "Far", "obs": ["80°"]}])

    assert names(graph.search_entities_semantic("what is at 0°?", threshold=0)) == ["Near", "Far"]
    assert names(graph.search_hybrid("what is at 0°?", ["Far"], vector_weight=0.2)) == ["Far", "Near"]


def test_e3_x44_what_was_not_embedded_when_it_was_kept_is_at_the_first_search(opened) -> None:
    down = opened(Down())
    down.create_entities([{"name": "Late", "obs": ["10°"]}])
    down.engine.close()  # else its thread may be trying still
    watched = Watched()
    graph = opened(watched)
    assert state(graph, "Late") == "pending"

    graph.search_entities_semantic("late")
    graph.search_entities_semantic("late 10")

    assert state(graph, "Late") == "generated"
    assert watched.passages == ["Late\n- 10°"]


def test_e4_x4_times_are_seconds(graph) -> None:
    graph.create_entities([{"name": "Ada"}])
    graph.add_observations([{"entityName": "Ada", "contents": ["was a mathematician"]}])

    (row,) = graph.open_nodes(["Ada"])["entities"]

    made, changed = (datetime.fromtimestamp(row[name], UTC) for name in ("created_at", "updated_at"))
    memory = graph.engine.get(row["id"])
    assert isinstance(row["created_at"], float)
    assert (made, changed) == (memory.created_at, memory.updated_at)
    assert made < changed


def test_e7_x43_vectors_go_with_their_entity(graph) -> None:
    graph.create_entities([{"name": "Ada", "obs": ["10°"]}, {"name": "Bob", "obs": ["20°"]}])
    assert rows(graph, "select count(*) from vectors_1") == [(2,)]

    graph.delete_entities(["Ada"])

    assert rows(graph, "select count(*) from vectors_1") == [(1,)]


# Searches ----------------------------------------------------------------------------


def defaults(function: Callable) -> dict[str, object]:
    return {
        one.name: one.default for one in signature(function).parameters.values() if one.default is not Parameter.empty
    }


def test_e12_e13_e14_parameters_are_the_documented_ones_in_their_order() -> None:
    semantic, hybrid = (signature(getattr(EntityGraph, f"search_{name}")) for name in ("entities_semantic", "hybrid"))
    generate = signature(EntityGraph.generate_embeddings)

    assert list(semantic.parameters)[1:] == ["query", "limit", "threshold", "include_observations"]
    assert list(hybrid.parameters)[1:6] == ["query", "context_nodes", "max_distance", "vector_weight", "limit"]
    assert list(generate.parameters)[1:3] == ["entity_ids", "force_refresh"]
    assert defaults(EntityGraph.search_entities_semantic)["include_observations"] is True
    assert defaults(EntityGraph.generate_embeddings) | {"progress": None} == {
        "entity_ids": (),
        "force_refresh": False,
        "progress": None,
    }


def test_e12_e24_x19_defaults_are_the_settings(opened) -> None:
    usual = opened(Compass())
    usual.create_entities([{"name": f"E{n}", "obs": [f"{n * 5}°"]} for n in range(18)])

    found = usual.search_entities_semantic("0°")
    told = opened(Compass(), limit=3, threshold=0.99).search_entities_semantic("0°")

    assert (len(found["entities"]), found["threshold"], told["threshold"]) == (10, None, 0.99)
    assert names(found) == [f"E{n}" for n in range(10)]
    assert names(told) == ["E0", "E1"]  # cosines of 1.000 and 0.996; the third has 0.985


def test_e12_results_are_ranked_with_scores_and_observations_if_wanted(graph) -> None:
    graph.create_entities([{"name": "B", "obs": ["60°"]}, {"name": "A", "obs": ["0°"]}, {"name": "C", "obs": ["89°"]}])

    with_them = graph.search_entities_semantic("0°", threshold=0.0)
    without = graph.search_entities_semantic("0°", threshold=0.0, include_observations=False)

    assert [(row["name"], row["similarity"]) for row in with_them["entities"]] == [
        ("A", 1.0),
        ("B", 0.5),
        ("C", 0.0175),
    ]
    assert [row["observations"] for row in with_them["entities"]] == [["0°"], ["60°"], ["89°"]]
    assert all("observations" not in row for row in without["entities"])
    assert names(graph.search_entities_semantic("0°", 1)) == ["A"]


@pytest.mark.parametrize("threshold", [0, 0.2, 0.5, 0.7, 0.9, 0.999, 1])
def test_e12_x64_a_number_is_an_absolute_cosine(graph, threshold: float) -> None:
    angles = range(25, 100, 5)  # none is nearer than 0.906
    graph.create_entities([{"name": f"E{angle}", "obs": [f"{angle}°"]} for angle in angles])

    found = graph.search_entities_semantic("0°", 100, threshold)

    near = [angle for angle in angles if cos(radians(angle)) >= max(threshold, 1e-9)]
    assert names(found) == [f"E{angle}" for angle in near]
    assert [row["similarity"] for row in found["entities"]] == pytest.approx(
        [cos(radians(angle)) for angle in near], abs=1e-4
    )
    assert bool(found["notices"]) == (not near)  # which says how near the nearest is


# More than the three entities of the example, which are in test_as_printed_vectors.py.
LANGUAGES = {
    "Python": "high-level language",
    "JavaScript": "web scripting language",
    "Rust": "systems language without a garbage collector",
    "Haskell": "lazy functional language",
    "SQL": "query language of relational databases",
}
STRANGERS = ("quantum chromodynamics baking recipe", "weather in Paris", "who is the president")


@pytest.fixture(scope="module")
def languages(tmp_path_factory) -> Iterator[EntityGraph]:
    graph = entity_graph(tmp_path_factory.mktemp("languages"), provider="local")
    graph.create_entities([{"name": name, "obs": [said]} for name, said in LANGUAGES.items()])
    yield graph
    graph.engine.close()


@pytest.mark.parametrize("query", STRANGERS)
def test_e12_e24_x64_without_a_threshold_confidence_may_say_that_nothing_fits(languages, query: str) -> None:
    found = languages.search_entities_semantic(query)

    assert (names(found), found["outcome"], found["threshold"]) == ([], "nothing_relevant", None)
    assert "nothing saved fits this" in found["notices"][0]["text"]
    assert names(languages.search_entities_semantic(query, threshold=0)) != []  # whoever wants the nearest has it


@pytest.mark.parametrize(("query", "first"), [("snakes", "Python"), ("JS frontends", "JavaScript"), ("tables", "SQL")])
def test_e12_a_question_in_few_words_of_its_own_is_not_denied(languages, query: str, first: str) -> None:
    assert names(languages.search_entities_semantic(query))[0] == first


def test_e28_without_a_model_no_threshold_is_applied_and_the_answer_says_so(opened) -> None:
    graph = opened()
    graph.create_entities([{"name": "Walnut", "obs": ["a nut"]}])

    found = graph.search_entities_semantic("walnut tree", threshold=0.9)

    assert [(row["name"], row["similarity"]) for row in found["entities"]] == [("Walnut", None)]
    assert "the threshold has no effect: there are no vectors" in [one["text"] for one in found["notices"]]


@pytest.mark.parametrize("threshold", [-0.1, 1.1, "0.5", True, float("nan")])
def test_e12_a_threshold_is_0_to_1(graph, threshold) -> None:
    with pytest.raises(Invalid, match="threshold"):
        graph.search_entities_semantic("0°", threshold=threshold)


def chain(graph: EntityGraph, *ends: str) -> None:
    """Relate each to the next."""
    graph.create_relations([{"from": one, "to": other, "relationType": "next"} for one, other in pairwise(ends)])


def test_e13_e17_x22_scores_are_the_documented_formula(graph) -> None:
    graph.create_entities([{"name": name, "obs": ["60°"]} for name in ("A", "B", "C", "D", "Alone")])
    chain(graph, "A", "B", "C", "D")

    for weight in (0.0, 0.25, 0.5, 1.0):
        found = graph.search_hybrid("0°", ["A"], vector_weight=weight, max_distance=2)["entities"]

        scores = {row["name"]: row["score"] for row in found}
        far = dict.fromkeys(("D", "Alone"), 0.5 * weight) if weight else {}
        near = {name: hybrid_relevance(0.5, n, weight) for n, name in enumerate("ABC")}
        assert scores == pytest.approx(near | far, abs=1e-4)
        assert {row["name"]: row["distance"] for row in found if row["name"] in near} == {"A": 0, "B": 1, "C": 2}
        assert all(row["distance"] is None for row in found if row["name"] in far)


def test_e13_without_a_context_the_meaning_alone_counts(graph) -> None:
    graph.create_entities([{"name": "A", "obs": ["60°"]}, {"name": "B", "obs": ["0°"]}])
    chain(graph, "A", "B")

    found = graph.search_hybrid("0°")

    assert [(row["name"], row["score"]) for row in found["entities"]] == [("B", 0.5), ("A", 0.25)]


def test_x47_keywords_take_their_share(graph) -> None:
    graph.create_entities([{"name": "Word", "obs": ["walnut 90°"]}, {"name": "Meaning", "obs": ["1°"]}])

    without = graph.search_hybrid("walnut 0.5°")
    with_them = graph.search_hybrid("walnut 0.5°", keyword_weight=0.8)

    assert names(without) == ["Meaning", "Word"]
    assert names(with_them) == ["Word", "Meaning"]
    assert [row["keyword"] for row in with_them["entities"]] == [1.0, 0.0]


@pytest.mark.parametrize(
    "wrong",
    [{"vector_weight": 1.5}, {"keyword_weight": -1}, {"max_distance": 11}, {"max_distance": True}, {"limit": 0}],
)
def test_e13_numbers_out_of_range_are_refused(graph, wrong) -> None:
    with pytest.raises(Invalid):
        graph.search_hybrid("0°", **wrong)


def test_e13_a_context_that_is_not_there_is_refused_with_the_nearest(graph) -> None:
    graph.create_entities([{"name": "Python"}])

    with pytest.raises(NotFound) as refused:
        graph.search_hybrid("0°", ["Pyhton"])

    assert "Python" in refused.value.hint


# Vectors -----------------------------------------------------------------------------


class Choosy(Watched):
    """Does not take what holds a word."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word

    def embed(self, texts, role):
        if any(self.word in text for text in texts):
            raise Unfit(f"{self.word} is not taken")
        return super().embed(texts, role)


def test_e14_what_has_no_vectors_is_embedded_and_no_more(opened) -> None:
    opened(Down()).create_entities([{"name": "A"}, {"name": "B"}, {"name": "C", "embed": False}])
    watched = Watched()
    graph = opened(watched)
    chosen = graph.generate_embeddings(["B"])
    assert (chosen["generated"], watched.passages) == (1, ["B"])

    found = graph.generate_embeddings()

    assert {name: found[name] for name in ("generated", "unchanged", "excluded", "failed")} == {
        "generated": 1,
        "unchanged": 1,
        "excluded": 1,
        "failed": [],
    }
    assert watched.passages == ["B", "A"]
    assert graph.generate_embeddings()["generated"] == 0


def test_e14_a_forced_refresh_embeds_again_and_an_excluded_one_never(opened) -> None:
    watched = Watched()
    graph = opened(watched)
    graph.create_entities([{"name": "A"}, {"name": "B"}, {"name": "Secret", "embed": False}])
    watched.passages.clear()

    found = graph.generate_embeddings(["A", "Secret"], True)  # as it is documented

    assert (found["generated"], found["excluded"]) == (1, 1)
    assert watched.passages == ["A"]
    assert graph.generate_embeddings(force_refresh=True)["generated"] == 2
    assert not any("Secret" in text for text in watched.passages)
    assert rows(graph, "select count(*) from vectors_1") == [(2,)]


def test_e14_what_a_model_does_not_take_is_named(opened) -> None:
    graph = opened(Choosy("walnut"))
    graph.create_entities([{"name": "A"}, {"name": "B", "obs": ["walnut"]}])

    found = graph.generate_embeddings()

    assert [(row["name"], row["error"]) for row in found["failed"]] == [("B", "walnut is not taken")]
    assert state(graph, "B") == "failed"
    assert found["notices"]


def test_e14_vectors_of_another_model_are_not_mixed(opened) -> None:
    opened(Watched()).create_entities([{"name": "A"}])
    graph = opened(Renamed("other"))

    assert state(graph, "A") == "outdated"
    with pytest.raises(SpaceMismatch) as refused:
        graph.generate_embeddings()
    assert "memory reindex" in refused.value.hint


def test_e14_unknown_entities_are_refused(graph) -> None:
    with pytest.raises(NotFound):
        graph.generate_embeddings(["nobody"])


def test_e15_what_is_created_is_embedded_at_once(opened) -> None:
    watched = Watched()
    graph = opened(watched)

    created = graph.create_entities([{"name": "A", "obs": ["one", "two"]}])["created"]

    assert [row["embedding_status"] for row in created] == ["generated"]
    assert watched.passages == ["A\n- one\n- two"]


def test_e18_texts_are_embedded_in_batches_and_a_query_once(opened) -> None:
    calls = []
    watched = Watched(before=lambda: calls.append(1))
    graph = opened(watched)
    graph.create_entities([{"name": f"E{n}"} for n in range(64)])
    assert len(calls) <= 2 + 64 / 8  # of 8 beside the program, and what the model is asked to know it by

    graph.search_hybrid("what", ["E1"], limit=50)
    graph.search_hybrid("what", ["E2"], limit=50)

    assert watched.queries == ["what"]


def test_e22_states_of_an_entity(opened) -> None:
    graph = opened(Down())
    graph.create_entities([{"name": "A"}, {"name": "B"}, {"name": "C", "embed": False}])
    graph.add_observations([{"entityName": "B", "contents": ["more"]}])
    assert [state(graph, name) for name in "ABC"] == ["pending", "outdated", "excluded"]

    graph = opened(Choosy("B"))
    graph.generate_embeddings()
    assert [state(graph, name) for name in "ABC"] == ["generated", "failed", "excluded"]
    assert graph.get_stats()["embedding_status"] == {
        "generated": 1,
        "pending": 0,
        "outdated": 0,
        "failed": 1,
        "excluded": 1,
    }


def test_e26_entities_that_were_kept_without_a_model_are_embedded_later(opened) -> None:
    opened().create_entities([{"name": f"E{n}", "obs": [f"{n}°"]} for n in range(20)])
    graph = opened(Compass())

    told = []
    found = graph.generate_embeddings(progress=lambda done, total: told.append((done, total)))

    assert found["generated"] == 20
    assert told[-1] == (20, 20)
    assert names(graph.search_entities_semantic("0°", 2)) == ["E0", "E1"]


@pytest.mark.parametrize("embedder", [None, Down()])
def test_e28_without_a_model_words_are_looked_for_and_the_answer_says_so(opened, embedder) -> None:
    graph = opened(embedder)
    graph.create_entities([{"name": "Walnut", "obs": ["a tree"]}, {"name": "Oak", "obs": ["another tree"]}])
    chain(graph, "Walnut", "Oak")

    alike = graph.search_entities_semantic("walnut")
    near = graph.search_hybrid("walnut", ["Oak"])

    assert (names(alike), alike["tier"]) == (["Walnut"], Tier.KEYWORD)
    assert (names(near), near["tier"]) == (["Walnut", "Oak"], Tier.KEYWORD)
    assert all("by keyword, not by meaning" in found["notices"][0]["text"] for found in (alike, near))


def test_e30_what_changes_is_embedded_anew_and_what_does_not_is_not(opened) -> None:
    watched = Watched()
    graph = opened(watched)
    graph.create_entities([{"name": "A", "obs": ["one"]}])

    graph.add_observations([{"entityName": "A", "contents": ["two"]}])
    graph.add_observations([{"entityName": "A", "contents": ["two"]}])
    graph.delete_observations([{"entityName": "A", "observations": ["one"]}])
    graph.rename_entity("A", "B")

    assert watched.passages == ["A\n- one", "A\n- one\n- two", "A\n- two", "B\n- two"]


def test_e30_an_entity_can_be_kept_from_every_model(opened) -> None:
    watched = Watched()
    graph = opened(watched)
    graph.create_entities([{"name": "Open", "obs": ["known to all"]}, {"name": "Closed", "obs": ["a"], "embed": False}])

    graph.add_observations([{"entityName": "Closed", "contents": ["secret walnut"]}])
    graph.create_entities([{"name": "Open", "obs": ["secret oak"], "embed": False}])
    graph.search_hybrid("secret", ["Closed"])
    graph.generate_embeddings(force_refresh=True)
    graph.engine.embed(memories=[entity.id for entity in graph.engine.graph.every()])

    assert not any("secret" in text for text in watched.passages)
    assert names(graph.search_nodes("walnut")) == ["Closed"]
    assert state(graph, "Open") == "excluded"
    assert rows(graph, "select count(*) from vectors_1") == [(0,)]
    graph.create_entities([{"name": "Open", "embed": True}])
    assert state(graph, "Open") == "generated"


# The scenarios, with the real model ---------------------------------------------------


def test_e20_a_programming_language_is_found_and_a_database_is_not(real) -> None:
    real.create_entities(
        [
            {"name": "Python", "obs": ["high-level language"]},
            {"name": "JavaScript", "obs": ["web scripting language"]},
            {"name": "Database", "obs": ["data storage system"]},
        ]
    )

    results = real.search_entities_semantic("programming language")

    assert names(results) == ["Python", "JavaScript"]
    assert "Database" not in names(results)
    assert (results["tier"], results["notices"]) == ("hybrid", [])


def test_e21_what_is_near_comes_before_what_is_a_little_more_alike(tmp_path) -> None:
    graph = entity_graph(tmp_path, provider="local")
    said = {"A": "the web shop", "B": "the order service", "C": "stores orders of customers"}
    said["D"] = "stores orders of customers and their invoices"
    graph.create_entities([{"name": name, "obs": [text]} for name, text in said.items()])
    chain(graph, "A", "B", "C")
    query = "where are invoices of customers stored"

    alone = graph.search_hybrid(query, [], vector_weight=0.5)
    results = graph.search_hybrid(query=query, context_nodes=["A"], vector_weight=0.5)

    graph.engine.close()
    assert names(alone)[:2] == ["D", "C"]  # by meaning alone
    assert names(results) == ["A", "B", "C", "D"]
    distances = {row["name"]: row["distance"] for row in results["entities"]}
    assert distances == {"A": 0, "B": 1, "C": 2, "D": None}


def test_e21_at_equal_likeness_the_near_one_is_first(graph) -> None:
    graph.create_entities([{"name": name, "obs": ["30°"]} for name in "DABC"])
    chain(graph, "A", "B", "C")

    results = graph.search_hybrid("0°", ["A"], vector_weight=0.5)

    assert names(results) == ["A", "B", "C", "D"]
    assert len({row["similarity"] for row in results["entities"]}) == 1


# Names and ids -------------------------------------------------------------------------


def test_x2_x45_an_entity_goes_by_name_id_digits_uid_and_its_beginning(graph) -> None:
    graph.create_entities([{"name": "Ada"}, {"name": "Bob"}])
    (row,) = graph.open_nodes(["Ada"])["entities"]

    for reference in ("Ada", " Ada ", row["id"], str(row["id"]), row["uid"], row["uid"][:8]):
        assert names(graph.open_nodes([reference])) == ["Ada"], reference
    graph.create_relations([{"from": row["id"], "to": row["uid"], "relationType": "is"}])
    assert graph.find_path(str(row["id"]), row["uid"][:8])["length"] == 0


def test_x45_a_name_comes_before_an_id(graph) -> None:
    graph.create_entities([{"name": "2"}, {"name": "1"}])

    assert names(graph.open_nodes(["1"])) == ["1"]
    assert names(graph.open_nodes([1])) == ["2"]


def test_x45_what_is_no_entity_is_refused(graph) -> None:
    graph.create_entities([{"name": f"E{n}"} for n in range(2)])
    uid = graph.open_nodes(["E0"])["entities"][0]["uid"]

    assert graph.open_nodes([uid[:7]])["unknown"] == [uid[:7]]
    with pytest.raises(Invalid):
        graph.open_nodes([True])
    with pytest.raises(NotFound):
        graph.rename_entity(uid[:7], "x")


def test_answers_are_json(graph) -> None:
    graph.create_entities([{"name": "A", "obs": ["10°"]}, {"name": "B"}])
    chain(graph, "A", "B")

    for answer in (
        graph.read_graph(),
        graph.open_nodes(["A", "nobody"]),
        graph.search_nodes("A"),
        graph.search_hybrid("A", ["B"]),
        graph.get_stats(),
        graph.find_path("A", "B"),
        graph.generate_embeddings(),
        graph.search_near("A", "B"),
    ):
        assert json.loads(json.dumps(answer, allow_nan=False)) == answer
        assert "notices" in answer


def test_an_ambiguous_reference_is_refused(graph) -> None:
    kept(graph.engine.store, *(entity(f"E{n}", uid="abcdef12" + 24 * str(n)) for n in range(2)))

    for call in (graph.open_nodes, graph.delete_entities, graph.generate_embeddings):
        with pytest.raises(Ambiguous):
            call(["abcdef12"])
    assert graph.get_stats()["total_entities"] == 2

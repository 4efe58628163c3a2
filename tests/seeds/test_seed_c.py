"""
What document C (the shared memory of research agents) promises. The number in a test's name counts the promises of the
document in its order. That the tools are there over MCP and eight processes share a run is in `long/test_research.py`.

Where it contradicts itself or the others: one table, one id, body, times and author as for every memory, no cut at a
distance, any width of vectors, a run is a column, and clearing takes its findings alone.

Left out are claims of speed and size, which the benches answer, and vectors as JSON text: here they are bytes, and
`get_embedding` gives numbers.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

import apsw
import pytest
from doubles import Away, Down, Watched
from sessions_made import PATIENT, Clock, Compass

from memory import Config, Draft, Engine
from memory.config import load
from memory.schema.errors import Invalid
from memory.schema.kinds import RESEARCH_KINDS, Kind
from memory.schema.query import Scope
from memory.store.sqlite import SqliteStore
from memory.tools.research import ResearchMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from memory.vectors import Embedder

    Opened = Callable[..., Engine]

RUN, OTHER = "query_1767225600_4711", "query_1767225600_815"

DISCOVERY = "Python 3.12 released October 2023 [Source: Python.org](https://python.org/downloads/)"
INSIGHT = "Observation: All benchmarks show 10-100x range for Rust vs Python"
DEADEND = "Searched 'rust benchmarks' on old-benchmark-site.com - site offline, no results"
FEEDBACK = "Good progress.\n\nWorker 2: Need more quantitative data."
PLAN = "Strategy: Focus on independent benchmarks from TPC, SPEC, and academic sources."
CONTEXT = "Python 3.11+ introduced significant performance improvements."
RESULT = '{"tool": "web_search", "results": [{"url": "https://python.org/"}]}'
SAID = {
    "discovery": DISCOVERY,
    "insight": INSIGHT,
    "deadend": DEADEND,
    "feedback": FEEDBACK,
    "plan": PLAN,
    "context": CONTEXT,
    "query_result": RESULT,
}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens engines on one database, with settings of `research` by name."""
    engines: list[Engine] = []

    def open_engine(embedder: Embedder | None = None, *, provider: str = "none", clock=None, **settings) -> Engine:
        embedding = replace(Config().embedding, provider=provider, fill_seconds=PATIENT)
        config = replace(Config(), home=str(tmp_path), embedding=embedding)
        config = replace(config, research=replace(config.research, **settings))
        engines.append(Engine(SqliteStore(config.database), config, embedder=embedder, now=clock or Clock()))
        return engines[-1]

    yield open_engine
    for engine in engines:
        engine.close()


@pytest.fixture
def engine(opened: Opened) -> Engine:
    return opened()


@pytest.fixture
def memory(engine: Engine) -> ResearchMemory:
    return ResearchMemory(RUN, engine)


def contents(rows: list[dict[str, Any]]) -> list[str]:
    return [row["content"] for row in rows]


def counted(engine: Engine, statement: str) -> int:
    """What stands in the file, asked without any of our code."""
    database = apsw.Connection(engine.config.database, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return database.execute(statement).get
    finally:
        database.close()


# What it is --------------------------------------------------------------


def test_c1_c2_what_one_agent_keeps_another_finds_in_a_process_of_its_own(opened: Opened) -> None:
    ResearchMemory(RUN, opened()).store_memory("discovery", DISCOVERY, "web_researcher")

    assert contents(ResearchMemory(RUN, opened()).get_discoveries()) == [DISCOVERY]


def test_c2_x34_a_new_run_begins_empty_and_the_former_keeps_what_it_has(engine: Engine) -> None:
    first, second = ResearchMemory(engine=engine), ResearchMemory(engine=engine)
    first.store_memory("discovery", DISCOVERY, "a")

    assert first.query_id != second.query_id
    assert second.get_discoveries() == second.search_memories("python") == []
    assert len(first.get_discoveries()) == 1


def test_c4_the_documented_calls_are_there() -> None:
    for name in (
        "store_memory update_or_store_memory search_memories get_memories_by_type clear get_embedding export_to_json "
        "get_discoveries get_insights get_deadends get_feedback get_plan get_context build_worker_context"
    ).split():
        assert callable(getattr(ResearchMemory, name))


def test_c5_x2_x4_x5_a_row_has_the_documented_fields(memory: ResearchMemory) -> None:
    id = memory.store_memory("deadend", DEADEND, "technical_analyst", {"reason": "Site unavailable"})

    (row,) = memory.get_deadends()
    assert (row["id"], row["query_id"], row["memory_type"]) == (id, RUN, "deadend")
    assert (row["content"], row["created_by"]) == (DEADEND, "technical_analyst")
    assert isinstance(id, int)
    assert isinstance(row["created_at"], int)
    assert row["created_at"] == pytest.approx(Clock().now.timestamp(), abs=60)
    assert row["metadata"] == {"query_id": RUN, "reason": "Site unavailable"}
    assert memory.engine.get(id).uid == row["uid"]


def test_c5_x1_research_memories_are_memories_like_all_others(memory: ResearchMemory) -> None:
    id = memory.store_memory("discovery", DISCOVERY, "web_researcher")

    found = memory.engine.details(id)
    assert (found.memory.kind, found.memory.query_id, found.memory.agent_id) == (Kind.DISCOVERY, RUN, "web_researcher")
    assert found.body == DISCOVERY
    assert counted(memory.engine, "select count(*) from memories where kind = 'discovery'") == 1


def test_c6_reading_a_type_of_a_run_uses_an_index(memory: ResearchMemory) -> None:
    plan = apsw.Connection(memory.engine.config.database).execute(
        "explain query plan select id from memories where query_id = ? and kind = ?", (RUN, "discovery")
    )
    assert "memories_by_run" in " ".join(str(row) for row in plan)


def test_c7_a_run_is_named_after_the_time(engine: Engine) -> None:
    names = [engine.runs.new() for _ in range(20)]

    assert len(set(names)) == 20
    for name in names:
        word, second, number = name.split("_")
        assert (word, second.isdigit(), number.isdigit()) == ("query", True, True)
        assert int(second) == pytest.approx(Clock().now.timestamp(), abs=3600)


@pytest.mark.parametrize("metadata", [{"reason": "Site unavailable"}, {"iteration": 3}, {"worker_count": "6"}, None])
def test_c8_metadata_come_back_as_they_were_given(memory: ResearchMemory, metadata) -> None:
    memory.store_memory("plan", PLAN, "lead_coordinator", metadata)

    assert memory.get_plan()[0]["metadata"] == {"query_id": RUN, **(metadata or {})}


def test_c8_x35_metadata_may_name_the_run_but_no_other(memory: ResearchMemory) -> None:
    memory.store_memory("plan", PLAN, "lead", {"query_id": RUN})
    with pytest.raises(Invalid, match=r"metadata\.query_id"):
        memory.store_memory("plan", "Another", "lead", {"query_id": OTHER})

    assert memory.get_plan()[0]["metadata"] == {"query_id": RUN}
    assert len(memory.get_plan()) == 1


def test_c10_a_tool_call_has_the_documented_fields(memory: ResearchMemory) -> None:
    parameters = {"query": "Python 3.12 benchmarks", "max_results": 5}
    id = memory.record_tool_call("web_researcher", "builtin", "web_search", parameters, [{"url": "x"}], True)
    memory.record_tool_call("web_researcher", "http", "fetch", "{}", "timed out", 0)
    memory.record_tool_call("analyst", "mcp", "wikipedia", "{}", "…", True)

    calls = memory.get_tool_calls()
    assert calls[0] == {
        "id": id,
        "query_id": RUN,
        "agent_name": "web_researcher",
        "tool_type": "builtin",
        "tool_name": "web_search",
        "parameters": json.dumps(parameters),
        "result": '[{"url": "x"}]',
        "success": 1,
        "timestamp": calls[0]["timestamp"],
    }
    assert isinstance(calls[0]["timestamp"], int)
    assert [call["success"] for call in calls] == [1, 0, 1]
    assert [call["tool_name"] for call in memory.get_tool_calls(agent_name="analyst")] == ["wikipedia"]
    assert ResearchMemory(OTHER, memory.engine).get_tool_calls() == []


def test_c10_a_huge_result_is_cut_and_says_so(memory: ResearchMemory) -> None:
    memory.record_tool_call("a", "builtin", "web_search", "{}", "x" * 1_000_000, True)

    result = memory.get_tool_calls()[0]["result"]
    assert len(result) == 500_000
    assert result.endswith("[cut here, of 1,000,000 characters]")


@pytest.mark.parametrize("wrong", [{"tool_type": "ssh"}, {"agent_name": " "}, {"tool_name": ""}, {"success": 2}])
def test_c10_what_is_no_tool_call_is_refused(memory: ResearchMemory, wrong) -> None:
    right = {"agent_name": "a", "tool_type": "mcp", "tool_name": "t", "parameters": "", "result": "", "success": True}
    with pytest.raises(Invalid):
        memory.record_tool_call(**right | wrong)

    assert memory.get_tool_calls() == []


def test_c11_x19_nothing_is_cut_off_by_its_distance_and_each_row_says_it(opened: Opened) -> None:
    memory = ResearchMemory(RUN, opened(Compass()))
    for degrees in (0, 40, 100, 180):
        memory.store_memory("discovery", f"the wind blows {degrees}°", "a")

    found = memory.search_memories("wind 0°", mode="vector")
    assert len(found) == 4
    assert [row["content"] for row in found if row["distance"] < 0.3] == ["the wind blows 0°", "the wind blows 40°"]


CONFIGURED = {
    "in this process": Watched,
    "a server": Away,
    "a server that is down": Down,
    "none": lambda: None,
}


@pytest.mark.parametrize("mode", [None, "keyword"])
@pytest.mark.parametrize("embedder", CONFIGURED)
def test_c11_c22_x61_a_cut_at_a_distance_raises_nothing_in_any_configuration(opened, embedder, mode) -> None:
    engine = opened(CONFIGURED[embedder]())
    memory = ResearchMemory(RUN, engine)
    for n in range(4):
        memory.store_memory("discovery", f"the wind blows {n}", "a")
    engine.save(Draft(kind=Kind.DISCOVERY, body="hidden wind", agent_id="a", query_id=RUN, keyword_only=True))

    found = memory.search_memories("wind 2", mode=mode)

    assert [row for row in found if row["distance"] < 0.3] == [
        row for row in found if 1 - (row["similarity"] or -1) < 0.3
    ]
    assert len(sorted(found, key=lambda row: row["distance"])) == 5
    for row in found:
        unknown = row["similarity"] is None
        assert row["distance"] == (inf if unknown else pytest.approx(1 - row["similarity"], abs=1e-6))
        assert unknown == (embedder not in {"in this process", "a server"} or row["content"] == "hidden wind")


# The seven types ---------------------------------------------------------


@pytest.mark.parametrize("name", RESEARCH_KINDS)
def test_c12_to_c18_each_type_keeps_what_it_is_given(memory: ResearchMemory, name: str) -> None:
    memory.store_memory(name, SAID[name], "somebody")

    (row,) = memory.get_memories_by_type(name)
    assert (row["content"], row["type"]) == (SAID[name], name)
    others = set(map(str, RESEARCH_KINDS)) - {name}
    assert all(memory.get_memories_by_type(other) == [] for other in others)


def test_c15_a_supervisor_has_one_row_however_often_it_writes(memory: ResearchMemory) -> None:
    ids = {memory.store_memory("feedback", f"iteration {n}", "supervisor", {"iteration": n}) for n in range(20)}

    assert len(ids) == 1
    (row,) = memory.get_feedback()
    assert row["content"] == "iteration 19"
    assert row["metadata"]["iteration"] == 19
    assert counted(memory.engine, "select count(*) from memories") == 1


def test_c18_a_query_result_is_found_by_search_and_may_come_twice(memory: ResearchMemory) -> None:
    first, second = (memory.store_memory("query_result", RESULT, "web_researcher") for _ in range(2))

    assert first != second
    assert {row["id"] for row in memory.search_memories("web_search", memory_type="query_result")} == {first, second}


# Keeping -----------------------------------------------------------------


def test_c19_c45_what_is_kept_has_its_vector_at_once(opened: Opened) -> None:
    engine = opened(Watched())
    memory = ResearchMemory(RUN, engine)
    for name, content in SAID.items():
        memory.store_memory(name, content, "a")

    status = engine.status()
    assert (status.counts.memories, status.counts.chunks, status.counts.queued) == (7, 7, 0)
    assert [filled for _, filled in status.generations] == [7]


def test_c19_without_a_model_it_is_kept_and_found_by_its_words(opened: Opened) -> None:
    memory = ResearchMemory(RUN, opened(Down()))
    id = memory.store_memory("discovery", DISCOVERY, "a")

    (row,) = memory.search_memories("python released")
    assert (row["id"], row["similarity"]) == (id, None)
    assert 0 < row["relevance"] <= 1


@pytest.mark.parametrize(
    ("memory_type", "content", "created_by"),
    [
        ("note", "x", "a"),
        ("report", "x", "a"),
        ("entity", "x", "a"),
        ("discovry", "x", "a"),
        ("discovery", "  ", "a"),
        ("discovery", "x", " "),
        ("discovery", "x" * 500_001, "a"),
        ("discovery", "x\0y", "a"),
    ],
)
def test_c19_what_is_no_finding_is_refused_and_nothing_kept(memory, memory_type, content, created_by) -> None:
    for keep in (memory.store_memory, memory.update_or_store_memory):
        with pytest.raises(Invalid):
            keep(memory_type, content, created_by)

    assert memory.statistics()["total_memories"] == 0


def test_c20_the_documented_model_is_a_setting(tmp_path: Path) -> None:
    env = {"MEMORY_HOME": str(tmp_path), "MEMORY_EMBEDDING_PROVIDER": "ollama", "EMBEDDING_MODEL": "nomic-embed-text"}

    settings = load(env=env).embedding
    assert (settings.provider, settings.model) == ("ollama", "nomic-embed-text")


def test_c21_an_update_takes_the_place_of_the_same_type_of_the_same_author_in_the_same_run(engine: Engine) -> None:
    memory, other = ResearchMemory(RUN, engine), ResearchMemory(OTHER, engine)
    id = memory.update_or_store_memory("insight", "first", "analyst", {"n": 1})
    apart = [
        memory.update_or_store_memory("insight", "by another", "researcher"),
        memory.update_or_store_memory("plan", "of another type", "analyst"),
        other.update_or_store_memory("insight", "of another run", "analyst"),
    ]
    (before,) = (row for row in memory.get_insights() if row["id"] == id)

    assert memory.update_or_store_memory("insight", "second", "analyst", {"n": 2}) == id
    (after,) = (row for row in memory.get_insights() if row["id"] == id)
    assert (after["content"], after["metadata"]) == ("second", {"query_id": RUN, "n": 2})
    assert after["created_at"] > before["created_at"]
    assert id not in apart
    assert len({*apart, id}) == 4
    assert engine.details(id).history[0].body == "first"


def test_c21_an_update_is_found_by_what_it_says_now(opened: Opened) -> None:
    memory = ResearchMemory(RUN, opened(Compass()))
    memory.update_or_store_memory("feedback", "go 0°", "supervisor")
    memory.update_or_store_memory("feedback", "go 90°", "supervisor")

    (row,) = memory.search_memories("go 90°", mode="vector")
    assert (row["content"], row["distance"]) == ("go 90°", pytest.approx(0, abs=1e-5))


def test_c21_two_supervisors_who_write_at_once_have_one_row_each(engine: Engine) -> None:
    def write(name: str) -> None:
        for n in range(15):
            ResearchMemory(RUN, engine).store_memory("feedback", f"{name} {n}", name)

    threads = [threading.Thread(target=write, args=[name]) for name in ("one", "two", "one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    rows = ResearchMemory(RUN, engine).get_feedback()
    assert Counter(row["created_by"] for row in rows) == {"one": 1, "two": 1}
    assert {row["content"] for row in rows} == {"one 14", "two 14"}


# Finding -----------------------------------------------------------------


@pytest.fixture
def wind(opened: Opened) -> ResearchMemory:
    """Texts at known angles, in two runs and of two types; another kind among them."""
    engine = opened(Compass())
    memory = ResearchMemory(RUN, engine)
    for degrees in (10, 60, 120):
        memory.store_memory("discovery", f"wind {degrees}°", "a")
    memory.store_memory("deadend", "no wind 20°", "b")
    ResearchMemory(OTHER, engine).store_memory("discovery", "wind elsewhere 0°", "a")
    engine.save(Draft(title="wind of a note 0°", query_id=RUN))
    return memory


def test_c22_c23_a_search_ranks_by_distance_and_gives_all_fields(wind: ResearchMemory) -> None:
    found = wind.search_memories("wind 0°", mode="vector")

    assert contents(found) == ["wind 10°", "no wind 20°", "wind 60°", "wind 120°"]
    assert [row["distance"] for row in found] == pytest.approx([0.0152, 0.0603, 0.5, 1.5], abs=1e-3)
    assert all(a["distance"] <= b["distance"] for a, b in pairwise(found))
    assert set(found[0]) >= {
        *("id", "query_id", "type", "memory_type", "content", "created_by", "created_at", "metadata", "distance")
    }


def test_c23_opposite_is_two_and_the_same_is_zero(opened: Opened) -> None:
    memory = ResearchMemory(RUN, opened(Compass()))
    for degrees in (0, 90, 180):
        memory.store_memory("discovery", f"to {degrees}°", "a")

    distances = {row["content"]: row["distance"] for row in memory.search_memories("to 0°", mode="vector")}
    assert distances == pytest.approx({"to 0°": 0, "to 90°": 1, "to 180°": 2}, abs=1e-5)


def test_c22_run_and_type_count_before_the_limit(wind: ResearchMemory) -> None:
    assert contents(wind.search_memories("wind 0°", 1, mode="vector")) == ["wind 10°"]
    assert contents(wind.search_memories("wind 0°", 1, memory_type="deadend", mode="vector")) == ["no wind 20°"]
    assert contents(wind.search_memories("wind", 10, memory_type="plan")) == []


def test_c22_other_runs_are_searched_only_when_asked(wind: ResearchMemory) -> None:
    assert contents(wind.search_memories("wind 0°", 1, OTHER, mode="vector")) == ["wind elsewhere 0°"]
    every = wind.search_memories("wind 0°", query_id=None, mode="vector")
    assert {row["query_id"] for row in every} == {RUN, OTHER}
    assert len(every) == 5  # the seven types alone: no note


def test_c22_a_search_gives_what_was_said_in_full(memory: ResearchMemory) -> None:
    long = f"Found {'a long list of benchmarks ' * 100}at the end zebra"
    memory.store_memory("discovery", long, "a")

    assert contents(memory.search_memories("zebra")) == [long]


def test_c24_x36_a_type_is_listed_with_the_last_said_first(memory: ResearchMemory) -> None:
    for n in range(5):
        memory.store_memory("insight", f"insight {n}", f"agent {n}")

    assert contents(memory.get_memories_by_type("insight")) == [f"insight {n}" for n in (4, 3, 2, 1, 0)]
    assert contents(memory.get_memories_by_type("insights", limit=2)) == ["insight 4", "insight 3"]


def test_c24_c25_getters_stay_in_their_run_unless_asked(engine: Engine) -> None:
    memory, other = ResearchMemory(RUN, engine), ResearchMemory(OTHER, engine)
    for name, content in SAID.items():
        memory.store_memory(name, content, "a")
        other.store_memory(name, f"elsewhere: {content}", "a")

    getters = {
        "discovery": memory.get_discoveries,
        "insight": memory.get_insights,
        "deadend": memory.get_deadends,
        "feedback": memory.get_feedback,
        "plan": memory.get_plan,
        "context": memory.get_context,
    }
    for name, get in getters.items():
        assert contents(get()) == [SAID[name]]
        assert contents(get(OTHER)) == [f"elsewhere: {SAID[name]}"]
        assert {row["query_id"] for row in get(None)} == {RUN, OTHER}


def test_c26_x34_clear_takes_what_a_run_found_and_nothing_else(engine: Engine) -> None:
    memory, other = ResearchMemory(RUN, engine), ResearchMemory(OTHER, engine)
    for name, content in SAID.items():
        memory.store_memory(name, content, "a")
    other.store_memory("plan", PLAN, "a")
    note = engine.save(Draft(title="of the run, and a note", query_id=RUN)).memory
    memory.record_tool_call("a", "mcp", "t", "", "", True)

    assert memory.clear() == (7, 0)
    assert memory.statistics()["total_memories"] == 0
    assert len(memory.get_tool_calls()) == 1
    assert len(other.get_plan()) == 1
    assert engine.get(note.id).title == "of the run, and a note"
    assert memory.clear(calls=True) == (0, 1)


def test_c26_c45_with_what_is_cleared_go_its_vectors(opened: Opened) -> None:
    engine = opened(Watched())
    memory = ResearchMemory(RUN, engine)
    memory.store_memory("plan", PLAN, "a")

    memory.clear()
    assert engine.status().counts.chunks == 0
    assert [filled for _, filled in engine.status().generations] == [0]
    assert memory.search_memories(PLAN) == []


def test_c26_x34_more_than_one_run_needs_the_word_for_it(engine: Engine) -> None:
    memory, other = ResearchMemory(RUN, engine), ResearchMemory(OTHER, engine)
    memory.store_memory("plan", PLAN, "a")
    other.store_memory("plan", PLAN, "a")
    note = engine.save(Draft(title="stays")).memory

    for wrong in ({"query_id": None}, {"query_id": OTHER, "all": True}):
        with pytest.raises(Invalid):
            memory.clear(**wrong)
    assert memory.clear(all=True).memories == 2
    assert engine.get(note.id)


# Context -----------------------------------------------------------------

EMPTY = "========== RESEARCH CONTEXT ==========\n\n========== END CONTEXT ==========\n\n"
DIRECTIONS = f"""\
========== RESEARCH CONTEXT ==========

📋 PLAN (your assigned scope):
{PLAN}

👁️ SUPERVISOR FEEDBACK:
{FEEDBACK}

========== END CONTEXT ==========

"""


def test_c35_a_context_has_the_documented_frame(memory: ResearchMemory) -> None:
    assert memory.build_worker_context() == EMPTY

    memory.store_memory("plan", "An older plan", "lead")
    memory.store_memory("plan", PLAN, "lead")
    memory.store_memory("feedback", FEEDBACK, "supervisor")

    assert memory.build_worker_context() == DIRECTIONS


def test_c35_a_context_lists_ten_discoveries_and_five_dead_ends_the_latest_first(memory: ResearchMemory) -> None:
    for n in range(12):
        memory.store_memory("discovery", f"fact {n}", "a")
        memory.store_memory("deadend", f"way {n}", "a")

    lines = memory.build_worker_context().splitlines()
    first = lines.index("🔍 RELEVANT DISCOVERIES (from other agents):")
    assert lines[first + 1 : first + 12] == [*(f"- fact {n}" for n in range(11, 1, -1)), ""]
    second = lines.index("⚠️ APPROACHES TO AVOID (deadends):")
    assert lines[second + 1 : second + 6] == [f"- way {n}" for n in range(11, 6, -1)]
    assert "PLAN" not in memory.build_worker_context()
    assert memory.build_worker_context(discoveries=1, deadends=0).count("\n- ") == 1


def test_c35_an_agent_need_not_read_its_own_discoveries(memory: ResearchMemory) -> None:
    for n in range(30):
        memory.store_memory("discovery", f"mine {n}", "me")
    memory.store_memory("discovery", "theirs", "another")
    for n in range(300):
        memory.store_memory("discovery", f"mine again {n}", "me")

    text = memory.build_worker_context(agent="me")
    assert "- theirs" in text
    assert "mine" not in text


# Files -------------------------------------------------------------------


def test_c40_the_run_is_exported_at_its_end_if_the_setting_says_so(opened: Opened, tmp_path, monkeypatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    with ResearchMemory(RUN, opened()) as memory:
        memory.store_memory("plan", PLAN, "lead")
    assert not list(work.iterdir())

    for _ in range(2):
        with ResearchMemory(RUN, opened(export_memories=True)):
            pass
    files = list(work.iterdir())
    assert len(files) == 2
    for file in files:
        assert file.name.startswith("memories_export_")
        assert json.loads(file.read_bytes())["memories"][0]["content"] == PLAN


def test_c41_an_export_has_exactly_the_documented_fields(memory: ResearchMemory, tmp_path: Path) -> None:
    ids = [memory.store_memory(name, content, "agent", {"n": 1}) for name, content in SAID.items()]
    call = memory.record_tool_call("agent", "builtin", "web_search", {"query": "x"}, "[]", True)
    ResearchMemory(OTHER, memory.engine).store_memory("plan", PLAN, "lead")

    memory.export_to_json(tmp_path / "run.json")
    found = json.loads((tmp_path / "run.json").read_bytes())
    assert list(found) == ["export_timestamp", "query_id", "memories", "tool_calls"]
    assert isinstance(found["export_timestamp"], int)
    assert found["query_id"] == RUN
    assert [one["id"] for one in found["memories"]] == ids
    for one, (name, content) in zip(found["memories"], SAID.items(), strict=True):
        assert list(one) == ["id", "query_id", "memory_type", "content", "created_by", "created_at", "metadata"]
        assert (one["query_id"], one["memory_type"], one["content"]) == (RUN, name, content)
        assert isinstance(one["created_at"], int)
        assert json.loads(one["metadata"]) == {"query_id": RUN, "n": 1}
    (used,) = found["tool_calls"]
    timestamp = used.pop("timestamp")
    assert isinstance(timestamp, int)
    assert used == {
        "id": call,
        "query_id": RUN,
        "agent_name": "agent",
        "tool_type": "builtin",
        "tool_name": "web_search",
        "parameters": '{"query": "x"}',
        "result": "[]",
        "success": 1,
    }


# Practice ----------------------------------------------------------------


def test_c42_a_discovery_is_not_kept_twice(memory: ResearchMemory) -> None:
    first = memory.store_memory("discovery", DISCOVERY, "web_researcher")

    assert memory.store_memory("discovery", DISCOVERY, "web_researcher") == first
    assert len(memory.get_discoveries()) == 1


def test_c43_a_search_does_not_need_the_exact_text(opened: Opened) -> None:
    memory = ResearchMemory(RUN, opened(provider="hashed"))
    memory.store_memory("discovery", "PyPerformance suite measures execution speed", "a")

    assert len(memory.search_memories("pyperformance")) == 1
    assert len(memory.search_memories("measured executions")) == 1


def test_c45_an_embedding_is_a_list_of_numbers_as_many_as_the_model_gives(opened: Opened) -> None:
    found = ResearchMemory(RUN, opened(Watched(48))).get_embedding("test")

    assert len(found) == 48
    assert all(type(value) is float for value in found)
    assert sum(value**2 for value in found) == pytest.approx(1, abs=1e-4)


def test_c45_statistics_say_how_much_a_run_has(memory: ResearchMemory) -> None:
    assert memory.statistics()["total_memories"] == 0
    memory.store_memory("discovery", "one", "a")
    memory.store_memory("discovery", "two", "b")
    memory.record_tool_call("a", "mcp", "t", "", "", False)

    found = memory.statistics()
    assert (found["query_id"], found["total_memories"]) == (RUN, 2)
    assert found["memory_counts"] == dict.fromkeys(map(str, RESEARCH_KINDS), 0) | {"discovery": 2}
    assert found["agent_counts"] == {"a": 1, "b": 1}
    assert (found["total_tool_calls"], found["failed_tool_calls"]) == (1, 1)
    assert found["earliest_created"] < found["latest_created"]


def test_x34_what_a_run_found_does_not_come_up_unasked(opened) -> None:
    engine = opened()
    engine.save(Draft(title="Benchmarks of Rust", what="a note"))
    run = ResearchMemory(RUN, engine)
    for kind, text in SAID.items():
        run.store_memory(kind, text, "worker-1")

    for about in ("", "benchmarks of Rust and Python"):
        found = engine.context(about, limit=100, tokens=50_000)
        assert {memory.kind for memory in found.memories} == {Kind.NOTE}, about
    asked = engine.context("", scope=Scope(runs=frozenset({RUN})), limit=100, tokens=50_000)
    assert {memory.kind for memory in asked.memories} == set(RESEARCH_KINDS)


def test_c16_x36_a_plan_that_comes_back_is_the_newest_again(opened) -> None:
    run = ResearchMemory(RUN, opened())
    for plan in ("A", "B", "A"):
        run.store_memory("plan", plan, "lead")

    assert [row["content"] for row in run.get_plan()] == ["A", "B", "A"]
    assert "\nA\n" in run.build_worker_context()

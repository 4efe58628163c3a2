"""
What document D (the specification of a session memory's 28 tools) promises. The number in a test's name counts the
promises of the document in its order. That the tools are there over MCP, and the four examples of use, is in
`e2e/test_sessions.py`.

Left out are claims of speed, which the benches answer (that a slow search is logged and that a server loads its model
beforehand is tested here), and the history of the document.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from dataclasses import replace
from inspect import Parameter, signature
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from documented import MEMORY, TOOLS, promised, refused
from doubles import Down, Watched
from locks import locked
from sessions_made import Clock, Compass, embedded, made, owners, rows, session_memory, vectors

from memory.config import Config, load
from memory.config.settings import StoreSettings
from memory.schema.kinds import RULES, Kind
from memory.schema.query import Mode, Query
from memory.tools.sessions import SessionMemory, declare as errors
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Opened = Callable[..., SessionMemory]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens session memories on one database, with settings of `search` by name."""
    memories: list[SessionMemory] = []

    def open_memory(embedder=None, **options) -> SessionMemory:
        memories.append(session_memory(tmp_path, embedder, **options))
        return memories[-1]

    yield open_memory
    for memory in memories:
        memory.engine.close()


@pytest.fixture
def memory(opened: Opened) -> SessionMemory:
    return opened()


LONG = made("Report", {name: [f"alpha {name} {n} " * 60 for n in range(4)] for name in ("One", "Two", "Three")}).body
"""About 3,000 tokens."""

CHUNKED = ("report", "working_memory", "knowledge_base")
WHOLE = ("session_context", "input_prompt", "system_memory", "report_observation")
KINDS = (*CHUNKED, *WHOLE)


def stored(memory: SessionMemory, kind: str, content: str, **place: Any) -> dict[str, Any]:
    """What storing it answers; it must be kept."""
    given: dict[str, Any] = {"session_id": "s", "session_iter": "v1", "content": content}
    if kind == "knowledge_base":
        given = {"agent_id": "a", "title": "Title", "content": content}
    elif kind not in ("session_context", "input_prompt"):
        given["agent_id"] = "a"
    answer = getattr(memory, f"store_{kind}")(**given | place)
    assert answer["success"], answer
    return answer


def contents(answer: dict[str, Any]) -> list[str]:
    assert answer["success"], answer
    return [row["content"] for row in answer["results"]]


# All of it --------------------------------------------------------------------------


def test_there_are_28_tools_with_their_documented_parameters() -> None:
    assert len(TOOLS) == 28
    for name, said in TOOLS.items():
        parameters = {
            one.name: one.default
            for one in list(signature(getattr(SessionMemory, name)).parameters.values())[1:]  # the first is the memory
        }
        assert tuple(one for one, default in parameters.items() if default is Parameter.empty) == said.required, name
        assert said.optional.items() <= parameters.items(), name


def test_d2_sessions_are_apart(memory: SessionMemory) -> None:
    for session in ("s1", "s2"):
        for number in (1, 2):
            stored(memory, "report", f"alpha of {session} {number}", session_id=session, session_iter=number)

    assert contents(memory.search_reports_full_documents(session_id="s1")) == ["alpha of s1 2", "alpha of s1 1"]
    assert contents(memory.search_reports_full_documents(session_id="s2", session_iter="v1")) == ["alpha of s2 1"]


def test_d3_agents_are_apart(memory: SessionMemory) -> None:
    for agent in ("one", "two"):
        stored(memory, "working_memory", "alpha", agent_id=agent)

    (row,) = memory.search_working_memory_specific_chunks("alpha", agent_id="two")["results"]

    assert row["agent_id"] == "two"


def test_x2_every_row_has_the_uid(memory: SessionMemory) -> None:
    id = stored(memory, "report", LONG)["memory_id"]
    uid = memory.engine.get(id).uid

    searches = (
        memory.search_reports_specific_chunks("alpha"),
        memory.search_reports_section_context("alpha"),
        memory.search_reports_full_documents("alpha", rank=True),
        memory.search_reports_full_documents(),
        {"results": [memory.get_memory_by_id(uid)["memory"]]},
        {"results": memory.load_session_context_for_task("s", 1)["recent_reports"]},
    )

    for answer in searches:
        assert answer["results"]
        assert {(row["id"], row["memory_id"], row["uid"]) for row in answer["results"]} == {(id, id, uid)}


@pytest.mark.parametrize("words", [1, 100, 440, 460, 900, 2_000])
def test_d4_what_has_more_than_450_tokens_is_cut(memory: SessionMemory, words: int) -> None:
    answer = stored(memory, "report", "word " * words)

    sizes = [chunk.token_count for _, chunk in memory.engine.documents.outline(answer["memory_id"])]
    assert max(sizes) <= 450
    assert (len(sizes) > 1) == (sum(sizes) > 450) == (answer["chunks_created"] > 0)
    assert answer["chunks_created"] in (0, len(sizes))


@pytest.mark.parametrize("kind", KINDS)
def test_d5_every_chunk_is_embedded(opened: Opened, kind: str) -> None:
    """What is not cut is one chunk, so that it can be found by its meaning too."""
    memory = opened(HashedEmbedder(64))

    answer = stored(memory, kind, LONG)

    embedded(memory.engine)
    assert set(vectors(memory)) == set(owners(memory))
    assert set(owners(memory).values()) == {answer["memory_id"]}


def test_d7_headings_are_kept_with_the_chunks(memory: SessionMemory) -> None:
    id = stored(memory, "report", LONG)["memory_id"]

    found = {row["header_path"]: row["level"] for row in memory.expand_chunk_context(1, 100)["chunks"]}

    assert set(owners(memory).values()) == {id}
    assert found["# Report"] == 1
    assert found["# Report > ## Two"] == 2
    assert found["# Report > ## Two > ### Two 3"] == 3


@pytest.mark.parametrize("kind", KINDS)
def test_d8_some_kinds_are_cut(memory: SessionMemory, kind: str) -> None:
    answer = stored(memory, kind, LONG)

    chunks = len(memory.engine.documents.outline(answer["memory_id"]))
    assert (chunks > 1, answer["chunks_created"]) == ((True, chunks) if kind in CHUNKED else (False, 0))
    assert RULES[Kind(kind)].chunked == (kind in CHUNKED)


# Storing ------------------------------------------------------------------------------


def test_d9_a_session_context_is_kept_for_the_orchestrator(memory: SessionMemory) -> None:
    answer = memory.store_session_context("analyse-1", "v3", "Where we stand: halfway.", "pnl")

    promised("store_session_context", answer)
    assert answer == {
        "success": True,
        "memory_id": 1,
        "memory_type": "session_context",
        "agent_id": "main-orchestrator",
        "session_id": "analyse-1",
        "content_hash": hashlib.sha256(b"Where we stand: halfway.").hexdigest()[:16],
        "chunks_created": 0,
        "created_at": "2026-01-01T12:00:01.000000Z",
        "message": "saved as memory 1.",
        "error": None,
    }
    kept = memory.get_memory_by_id(1)["memory"]
    assert (kept["session_iter"], kept["task_code"]) == (3, "pnl")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "knowledge_base"])
@pytest.mark.parametrize("session", ["", "   ", "\n"])
def test_d10_a_session_has_a_name(memory: SessionMemory, kind: str, session: str) -> None:
    place = {} if kind in ("session_context", "input_prompt") else {"agent_id": "a"}

    answer = getattr(memory, f"store_{kind}")(session_id=session, session_iter="v1", content="x", **place)

    assert "session_id" in refused(f"store_{kind}", answer)
    assert owners(memory) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_d10_a_content_has_at_most_500_000_characters(memory: SessionMemory, kind: str) -> None:
    place = {"agent_id": "a", "title": "T"} if kind == "knowledge_base" else {"session_id": "s", "session_iter": 1}
    if kind not in ("session_context", "input_prompt", "knowledge_base"):
        place["agent_id"] = "a"
    store = getattr(memory, f"store_{kind}")

    assert "500,001" in refused(f"store_{kind}", store(content="é" * 500_001, **place))
    assert store(content="x y z\n" * 83_333, **place)["success"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "input_prompt"])
def test_d10_the_same_is_not_kept_twice(memory: SessionMemory, kind: str) -> None:
    first = stored(memory, kind, "alpha")
    given = {"agent_id": "a", "title": "Title"} if kind == "knowledge_base" else {"session_id": "s", "session_iter": 1}
    if kind not in ("session_context", "knowledge_base"):
        given["agent_id"] = "a"

    again = getattr(memory, f"store_{kind}")(content="alpha", **given)

    promised(f"store_{kind}", again)
    assert (again["success"], again["error"], again["memory_id"]) == (False, "ValidationError", first["memory_id"])
    assert f"memory {first['memory_id']}" in again["message"]
    assert len(owners(memory)) == 1


@pytest.mark.parametrize(
    "place", [{"session_id": "t"}, {"session_iter": "v2"}, {"task_code": "u"}, {"agent_id": "b"}], ids=str
)
def test_d10_the_same_in_another_place_is_another_memory(memory: SessionMemory, place: dict[str, str]) -> None:
    """A hash that is unique everywhere would refuse it."""
    stored(memory, "report", "alpha")

    assert stored(memory, "report", "alpha", **place)["memory_id"] == 2


def test_d11_a_prompt_is_kept_verbatim_and_as_often_as_it_is_said(memory: SessionMemory) -> None:
    prompt = "  continue\r\n\r\n# not a heading \u2028 🦊\t"

    first, second = stored(memory, "input_prompt", prompt), stored(memory, "input_prompt", prompt)

    assert first["memory_id"] != second["memory_id"]
    assert contents(memory.search_input_prompts("s")) == [prompt, prompt]
    assert first["agent_id"] == "main-orchestrator"


def test_d11_somebody_else_than_the_orchestrator_can_be_named(memory: SessionMemory) -> None:
    assert stored(memory, "input_prompt", "x", agent_id="planner")["agent_id"] == "planner"
    assert stored(memory, "session_context", "x", agent_id="planner")["agent_id"] == "planner"


@pytest.mark.parametrize("kind", ["session_context", "input_prompt"])
def test_d9_d11_an_iteration_is_needed(memory: SessionMemory, kind: str) -> None:
    answer = getattr(memory, f"store_{kind}")("s", None, "x")

    assert "session_iter" in refused(f"store_{kind}", answer)


@pytest.mark.parametrize("kind", ["system_memory", "report", "report_observation", "working_memory"])
def test_d12_to_d15_an_agent_keeps_with_or_without_iteration_and_task(memory: SessionMemory, kind: str) -> None:
    store = getattr(memory, f"store_{kind}")

    bare = store("explorer", "s", "alpha")
    placed = store("explorer", "s", "alpha", "v2", "perf")

    promised(f"store_{kind}", bare)
    assert (bare["memory_type"], bare["agent_id"], bare["session_id"]) == (kind, "explorer", "s")
    found = [memory.get_memory_by_id(one["memory_id"])["memory"] for one in (bare, placed)]
    assert [(row["session_iter"], row["task_code"]) for row in found] == [(None, None), (2, "perf")]
    assert "agent_id" in refused(f"store_{kind}", store("", "s", "beta"))


@pytest.mark.parametrize(("given", "number"), [(1, 1), ("1", 1), ("v1", 1), ("V2", 2), ("v010", 10), (" 7 ", 7)])
def test_d12_an_iteration_is_a_number_however_it_is_written(memory: SessionMemory, given: Any, number: int) -> None:
    id = stored(memory, "report", "alpha", session_iter=given)["memory_id"]

    assert memory.get_memory_by_id(id)["memory"]["session_iter"] == number


@pytest.mark.parametrize("given", [0, -1, "v0", "vv1", "first", "v1.5", "1.0", True, "", 2**31, "١"])
def test_d12_nothing_else_is_an_iteration(memory: SessionMemory, given: Any) -> None:
    assert "session_iter" in refused("store_report", memory.store_report("a", "s", "x", given))
    assert "session_iter" in refused(
        "search_reports_specific_chunks", memory.search_reports_specific_chunks("x", session_iter=given)
    )


def test_d13_a_report_of_6750_tokens_has_some_15_chunks_below_their_headings(memory: SessionMemory) -> None:
    body = "# Analysis\n\n" + "".join(f"## Part {n}\n\n{'word ' * 220}\n\n{'text ' * 225}\n\n" for n in range(15))

    answer = stored(memory, "report", body)

    found = [row["header_path"] for row in memory.expand_chunk_context(1, 100)["chunks"]]
    assert 15 <= answer["chunks_created"] <= 33
    assert {f"# Analysis > ## Part {n}" for n in range(15)} <= set(found)


def test_d13_what_overlaps_is_embedded_and_not_kept(opened: Opened) -> None:
    watched = Watched()
    memory = opened(watched)
    body = "".join(f"Sentence {n} of it. " for n in range(600))

    id = stored(memory, "report", body)["memory_id"]

    embedded(memory.engine)
    chunks = [one for _, one in memory.engine.documents.outline(id)]
    pairs = list(pairwise(chunks))
    assert all(before.stop == after.start for before, after in pairs)
    for before, after in pairs:
        (passage,) = [text for text in watched.passages if text.endswith(body[after.start : after.stop].strip())]
        assert len(passage) > after.stop - after.start + 20
        assert body[before.start : before.stop].strip()[-15:] in passage


def test_d14_an_observation_is_embedded_as_a_whole(opened: Opened) -> None:
    watched = Watched()
    memory = opened(watched)

    stored(memory, "report_observation", LONG)

    assert [LONG.strip()[-200:] in text and LONG[:200] in text for text in watched.passages] == [True]


def test_d16_knowledge_belongs_to_no_session(memory: SessionMemory) -> None:
    bare = memory.store_knowledge_base("explorer", "Go", "Errors are values.")
    named = memory.store_knowledge_base("explorer", "Rust", "Errors are results.", "languages")

    promised("store_knowledge_base", bare)
    first, second = (memory.get_memory_by_id(one["memory_id"])["memory"] for one in (bare, named))
    assert (bare["session_id"], first["session_id"], first["session_iter"]) == (None, None, None)
    assert (first["title"], first["metadata"], first["category"]) == ("Go", {"title": "Go"}, "general")
    assert second["category"] == "languages"


@pytest.mark.parametrize("missing", ["agent_id", "title", "content"])
def test_d16_knowledge_needs_an_author_a_title_and_a_content(memory: SessionMemory, missing: str) -> None:
    given = {"agent_id": "a", "title": "T", "content": "x"} | {missing: " "}

    assert missing.removesuffix("_id") in refused("store_knowledge_base", memory.store_knowledge_base(**given))


# Searching --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["session_context", "input_prompts"])
def test_d18_d19_a_session_is_read_latest_first(memory: SessionMemory, kind: str) -> None:
    for number in ("v2", "v10", "v9", "v9"):
        stored(memory, kind.removesuffix("s"), f"of {number} {len(owners(memory))}", session_iter=number)
    stored(memory, kind.removesuffix("s"), "of another", session_id="t")
    search = getattr(memory, f"search_{kind}")

    answer = search("s")

    promised(f"search_{kind}", answer)
    latest = ["of v10 1", "of v9 3", "of v9 2", "of v2 0"]
    assert contents(answer) == latest
    assert contents(search("s", latest_first=False)) == latest[::-1]
    assert contents(search("s", "v9")) == latest[1:3]
    assert contents(search("s", limit=1)) == latest[:1]
    assert (answer["query"], answer["limit"], answer["latest_first"], answer["total_results"]) == (None, 5, True, 4)
    assert answer["filters"] == {"memory_type": kind.removesuffix("s"), "session_id": "s"}
    assert {(row["similarity"], row["source_type"]) for row in answer["results"]} == {(2.0, "scoped")}


def test_d18_five_are_shown_unless_more_are_asked_for(memory: SessionMemory) -> None:
    for number in range(7):
        stored(memory, "session_context", f"state {number}")

    assert len(memory.search_session_context("s")["results"]) == 5
    assert len(memory.search_session_context("s", limit=100)["results"]) == 7


def test_d20_system_memory_is_searched_if_there_is_a_query(opened: Opened) -> None:
    memory = opened(Compass(), mode="vector")
    for angle in (80, 10, 45):
        stored(memory, "system_memory", f"command {angle}°")

    with_query = memory.search_system_memory(query="0°")
    without = memory.search_system_memory()

    promised("search_system_memory", with_query)
    assert contents(with_query) == ["command 10°", "command 45°", "command 80°"]
    assert [row["source_type"] for row in with_query["results"]] == ["ranked"] * 3
    assert contents(without) == ["command 45°", "command 10°", "command 80°"]
    assert [row["similarity"] for row in without["results"]] == [2.0] * 3


def test_d20_what_is_searched_for_is_filtered(opened: Opened) -> None:
    memory = opened(Watched())
    for agent in "ab":
        for number in (1, 2):
            stored(memory, "system_memory", f"alpha {agent} {number}", agent_id=agent, session_iter=number)

    answer = memory.search_system_memory("alpha", agent_id="b", session_id="s", session_iter="v2")

    assert contents(answer) == ["alpha b 2"]
    assert answer["filters"] == {
        "memory_type": "system_memory",
        "agent_id": "b",
        "session_id": "s",
        "session_iter": 2,
    }


FAMILIES = {"reports": "report", "working_memory": "working_memory", "knowledge_base": "knowledge_base"}
SIZES = ("specific_chunks", "section_context", "full_documents")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("family", FAMILIES)
def test_d21_to_d26_each_family_finds_its_own_kind(memory: SessionMemory, family: str, size: str) -> None:
    for kind in KINDS:
        stored(memory, kind, LONG)
    tool = f"search_{family}_{size}"

    answer = getattr(memory, tool)("alpha", limit=50)

    promised(tool, answer)
    assert {row["memory_type"] for row in answer["results"]} == {FAMILIES[family]}
    assert answer["total_results"] == len(answer["results"]) > 0
    if size == "specific_chunks":
        assert {row["chunk_type"] for row in answer["results"]} <= {"section", "text", "code_block"}
        assert all(0 <= row["relevance"] <= 1 for row in answer["results"])
        assert {row["level"] for row in answer["results"]} <= set(range(7))
    if size == "full_documents":
        assert contents(answer) == [LONG]


@pytest.mark.parametrize("family", FAMILIES)
def test_d21_to_d26_ten_chunks_five_sections_three_documents(memory: SessionMemory, family: str) -> None:
    body = made("R", {f"S{n}": [f"alpha {n}"] for n in range(20)}).body + f"## End\n\n{'alpha ' * 500}"
    for number in range(5):
        stored(memory, FAMILIES[family], f"{body}{number}")

    found = [len(getattr(memory, f"search_{family}_{size}")("alpha")["results"]) for size in SIZES]

    assert found == [10, 5, 3]


def test_d21_code_is_told_from_text(memory: SessionMemory) -> None:
    code = "```python\n" + "zebra = giraffe\n" * 60 + "```\n"
    stored(memory, "report", f"# T\n\n{'word ' * 430}\n\n{code}")

    found = memory.search_reports_specific_chunks("zebra giraffe")["results"]

    assert found[0]["chunk_type"] == "code_block"


@pytest.mark.parametrize("size", SIZES)
def test_d26_knowledge_is_found_by_its_category_whatever_the_session(memory: SessionMemory, size: str) -> None:
    for category in ("languages", None):
        stored(memory, "knowledge_base", f"alpha {category}", category=category)
    search = getattr(memory, f"search_knowledge_base_{size}")

    assert search("alpha")["total_results"] == 2
    (row,) = search("alpha", category="languages")["results"]
    assert "alpha languages" in row.values()
    assert search("alpha", agent_id="a", category="general")["total_results"] == 1
    assert not {"session_id", "session_iter"} & set(signature(search).parameters)


# Using ------------------------------------------------------------------------------


def test_d27_a_session_is_loaded_to_go_on_with_it(memory: SessionMemory) -> None:
    for number in (1, 2, 10):
        stored(memory, "session_context", f"state {number}", session_iter=number)
        stored(memory, "session_context", f"later state {number}", session_iter=number)
    for number in range(12):
        stored(memory, "input_prompt", f"prompt {number}", session_iter=1 + number % 3)
        stored(memory, "report", f"report {number}", session_iter=1 + number % 3)
        stored(memory, "working_memory", f"work {number}")
    stored(memory, "report", "of another", session_id="t")

    answer = memory.load_session_context_for_task("s", "v2")

    promised("load_session_context_for_task", answer)
    assert answer["session_context"]["content"] == "later state 2"
    assert len(answer["input_prompts"]) == 12
    assert [row["content"] for row in answer["recent_reports"]] == [f"report {n}" for n in (11, 8, 5, 2, 10)]
    assert [row["content"] for row in answer["recent_working_memory"]] == [f"work {n}" for n in (11, 10, 9, 8, 7)]
    assert answer["message"] is None


def test_d27_the_latest_state_before_it_is_loaded_if_the_iteration_has_none(memory: SessionMemory) -> None:
    for number in (1, 3):
        stored(memory, "session_context", f"state {number}", session_iter=number)

    answer = memory.load_session_context_for_task("s", 2)

    assert answer["session_context"]["content"] == "state 1"
    assert "of iteration 1" in answer["message"]


def test_d27_a_session_of_which_nothing_is_kept_is_empty(memory: SessionMemory) -> None:
    answer = memory.load_session_context_for_task("nowhere", "v1")

    promised("load_session_context_for_task", answer)
    assert (answer["success"], answer["session_context"], answer["input_prompts"]) == (True, None, [])
    assert "there is no session 'nowhere'" in answer["message"]


@pytest.mark.parametrize(
    ("index", "around", "shown"),
    [(10, 2, range(8, 13)), (0, 2, range(3)), (19, 2, range(17, 20)), (10, 0, range(10, 11)), (1, 100, range(20))],
)
def test_d28_a_chunk_is_shown_with_its_neighbours(memory: SessionMemory, index: int, around: int, shown: range) -> None:
    texts = [f"Paragraph {n}. {'word ' * 280}\n\n" for n in range(20)]
    id = stored(memory, "report", "".join(texts))["memory_id"]
    chunk = memory.engine.documents.outline(id)[index][0]

    for reference in (chunk, str(chunk)):
        answer = memory.expand_chunk_context(reference, around)
        promised("expand_chunk_context", answer)
        assert (answer["memory_id"], answer["target_chunk_index"], answer["context_window"]) == (id, index, around)
        assert [row["chunk_index"] for row in answer["chunks"]] == list(shown)
        assert answer["chunks_returned"] == len(shown)
        assert [row["content"] for row in answer["chunks"]] == [texts[n] for n in shown]
        assert answer["expanded_content"] == "".join(texts[n] for n in shown)


def test_d28_two_on_either_side_unless_others_are_asked_for(memory: SessionMemory) -> None:
    stored(memory, "report", "".join(f"{'word ' * 300}\n\n" for _ in range(9)))

    answer = memory.expand_chunk_context(5)

    assert (answer["context_window"], answer["chunks_returned"]) == (2, 5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "text", [LONG, "A stop. " * 401, "a\r\n\r\n# H\r\nb\n", "\ufeff# T\n\n数据 🦊\x07 e\u0301 \t\n\n"]
)
def test_d29_a_document_is_what_was_given(memory: SessionMemory, kind: str, text: str) -> None:
    """The documented system lost 400 of 401 full stops and showed what overlaps twice."""
    answer = stored(memory, kind, text)

    found = memory.reconstruct_document(str(answer["memory_id"]))

    promised("reconstruct_document", found)
    assert found["content"] == text
    assert (found["memory_type"], found["verified"]) == (kind, True)
    assert found["chunk_count"] == len(memory.engine.documents.outline(answer["memory_id"]))


def test_d29_a_document_whose_chunks_do_not_tile_it_says_so(memory: SessionMemory) -> None:
    id = stored(memory, "report", LONG)["memory_id"]
    with locked(memory.engine.config.database) as other:
        other.execute("update chunks set stop = stop - 1 where chunk_index = 2; commit")

    found = memory.reconstruct_document(id)

    assert (found["content"], found["verified"]) == (LONG, False)
    assert "do not make it up" in found["message"]


def test_d30_a_memory_is_given_with_its_sixteen_fields(memory: SessionMemory) -> None:
    answer = stored(memory, "report", "# T\n\nalpha", task_code="perf")

    for reference in (answer["memory_id"], str(answer["memory_id"])):
        found = memory.get_memory_by_id(reference)
        promised("get_memory_by_id", found)
        assert (found["memory"]["content"], found["memory"]["content_hash"]) == ("# T\n\nalpha", answer["content_hash"])
    assert len(MEMORY) == 16
    assert "similarity" not in found["memory"]


def test_x2_a_memory_goes_by_its_number_its_uid_or_the_beginning_of_it(memory: SessionMemory) -> None:
    id = stored(memory, "report", "alpha")["memory_id"]
    ((uid,),) = rows(memory, "select uid from memories")

    for reference in (id, f"{id}", f" {id} ", uid, uid[:8], uid.upper()):
        assert memory.get_memory_by_id(reference)["memory"]["id"] == id
    for reference in (0, -1, 2, "", "%", uid[:7], "no such", None):
        assert "no memory" in refused("get_memory_by_id", memory.get_memory_by_id(reference))


def test_d31_a_session_is_counted(memory: SessionMemory) -> None:
    first = stored(memory, "session_context", "state")
    stored(memory, "report", LONG, agent_id="explorer")
    last = stored(memory, "report", "alpha", agent_id="explorer", session_iter=7)
    stored(memory, "report", "of another", session_id="t")

    answer = memory.get_session_stats("s")

    promised("get_session_stats", answer)
    chunks = [chunk for chunk, id in owners(memory).items() if id <= last["memory_id"]]
    assert answer["memory_counts"] == dict.fromkeys(KINDS, 0) | {"session_context": 1, "report": 2}
    assert answer["agent_counts"] == {"main-orchestrator": 1, "explorer": 2}
    assert (answer["session_id"], answer["total_memories"], answer["total_chunks"]) == ("s", 3, len(chunks))
    assert (answer["earliest_created"], answer["latest_created"]) == (first["created_at"], last["created_at"])


def test_d31_of_an_unknown_session_there_is_nothing(memory: SessionMemory) -> None:
    answer = memory.get_session_stats("nowhere")

    promised("get_session_stats", answer)
    assert (answer["success"], answer["total_memories"], answer["agent_counts"]) == (True, 0, {})
    assert answer["memory_counts"] == dict.fromkeys(KINDS, 0)
    assert "there is no session" in answer["message"]


def test_d32_sessions_are_listed_by_their_latest_activity(memory: SessionMemory) -> None:
    for session in ("old", "other", "new"):
        stored(memory, "session_context", "state", session_id=session)
    stored(memory, "knowledge_base", "of no session")
    stored(memory, "report", "alpha", session_id="old", agent_id="explorer")
    latest = stored(memory, "report", "beta", session_id="old", agent_id="explorer")

    answer = memory.list_sessions()

    promised("list_sessions", answer)
    assert [row["session_id"] for row in answer["sessions"]] == ["old", "new", "other"]
    assert answer["total_sessions"] == 3
    old = answer["sessions"][0]
    assert (old["agent_id"], old["memory_count"], old["latest_activity"]) == ("explorer", 3, latest["created_at"])
    assert old["memory_types"] == {"report": 2, "session_context": 1}
    assert [row["session_id"] for row in memory.list_sessions(1)["sessions"]] == ["old"]
    of_agent = memory.list_sessions(agent_id="explorer")
    assert [(row["session_id"], row["memory_count"]) for row in of_agent["sessions"]] == [("old", 2)]
    assert of_agent["total_sessions"] == 1


def test_d32_twenty_are_listed_unless_more_are_asked_for(memory: SessionMemory) -> None:
    for number in range(25):
        stored(memory, "session_context", "state", session_id=f"s{number}")

    answer = memory.list_sessions()
    assert (len(answer["sessions"]), answer["total_sessions"]) == (20, 25)
    assert len(memory.list_sessions(limit=100)["sessions"]) == 25


def test_d33_a_document_is_written_below_its_front_matter(memory: SessionMemory, tmp_path: Path) -> None:
    id = stored(memory, "report", f"# The: [title] & 'more' # 🦊\r\n\r\n{LONG}")["memory_id"]

    answer = memory.write_document_to_file(str(id), "reports/one.md")

    promised("write_document_to_file", answer)
    path = tmp_path / "documents" / "reports" / "one.md"
    text = path.read_bytes()
    assert (answer["file_path"], answer["memory_id"], answer["bytes_written"]) == (str(path.resolve()), id, len(text))
    _, front, body = text.decode().split("---\n", 2)
    said = yaml.safe_load(front)
    assert body == memory.reconstruct_document(id)["content"]
    assert said["memory_id"] == id
    assert said["title"] == "The: [title] & 'more' # 🦊"
    assert said["memory_type"] == "report"
    assert said["chunk_count"] == len(memory.engine.documents.outline(id))


def test_d33_nothing_is_overwritten_and_nothing_leaves_the_folder(memory: SessionMemory, tmp_path: Path) -> None:
    id = stored(memory, "report", "alpha")["memory_id"]
    memory.write_document_to_file(id, "one.md", front_matter=False)
    stored(memory, "report", "beta")

    assert "already exists" in refused("write_document_to_file", memory.write_document_to_file(2, "one.md"))
    for path in ("../out.md", "/etc/passwd", "~/out.md", "a/../../out.md", str(tmp_path / "out.md")):
        assert "outside" in refused("write_document_to_file", memory.write_document_to_file(2, path, overwrite=True))
    assert not list(tmp_path.glob("out*"))

    assert memory.write_document_to_file(2, "one.md", overwrite=True, front_matter=False)["success"]
    assert (tmp_path / "documents" / "one.md").read_text() == "beta"


def test_d34_deleting_takes_all_of_it_away(opened: Opened) -> None:
    memory = opened(HashedEmbedder(64))
    id = stored(memory, "report", LONG)["memory_id"]
    stays = stored(memory, "report", "alpha stays")["memory_id"]
    embedded(memory.engine)

    answer = memory.delete_memory(str(id))

    promised("delete_memory", answer)
    assert (answer["success"], answer["memory_id"]) == (True, id)
    assert set(owners(memory).values()) == {stays}
    assert set(vectors(memory)) == set(owners(memory))
    assert rows(memory, "select rowid from passages_fts where passages_fts match 'alpha'") == [(*owners(memory),)]
    assert {row["memory_id"] for row in memory.search_reports_specific_chunks("alpha")["results"]} == {stays}
    assert "no memory" in refused("delete_memory", memory.delete_memory(id))


@pytest.mark.parametrize("reference", ["", "%", "*", " ", "_", "0", "1 or 1=1"])
def test_d34_nothing_is_deleted_by_a_pattern(memory: SessionMemory, reference: str) -> None:
    stored(memory, "report", "alpha")

    assert "no memory" in refused("delete_memory", memory.delete_memory(reference))
    assert len(owners(memory)) == 1


@pytest.fixture
def aged(opened: Opened) -> SessionMemory:
    """Something of every kind, a note among them, made 100 days ago, and a report of today."""
    from memory import Draft

    clock = Clock()
    memory = opened(HashedEmbedder(64), clock=clock)
    for kind in KINDS:
        stored(memory, kind, LONG)
    memory.engine.save(Draft(title="a note"))
    clock.pass_days(100)
    stored(memory, "report", "alpha of today")
    embedded(memory.engine)
    return memory


def test_d35_cleaning_up_only_counts_unless_it_is_told_to_delete(aged: SessionMemory) -> None:
    before = owners(aged)

    answer = aged.cleanup_old_memories()

    promised("cleanup_old_memories", answer)
    gone = [id for id in before.values() if id not in {3, 8, 9}]  # the knowledge base, the note, and what is new
    assert (answer["memories_deleted"], answer["chunks_deleted"], answer["dry_run"]) == (6, len(gone), True)
    assert owners(aged) == before
    for dry_run in (None, 0, "", "false", True):
        assert aged.cleanup_old_memories(dry_run=dry_run)["dry_run"] is True
    assert owners(aged) == before


def test_d35_what_sessions_left_behind_is_deleted(aged: SessionMemory) -> None:
    counted = aged.cleanup_old_memories(90)

    answer = aged.cleanup_old_memories(90, dry_run=False)

    assert {**answer, "message": "", "dry_run": True} == {**counted, "message": ""}
    assert set(owners(aged).values()) == {3, 8, 9}
    assert set(vectors(aged)) == set(owners(aged))
    assert aged.cleanup_old_memories(90, dry_run=False)["memories_deleted"] == 0


def test_d35_what_is_younger_stays(aged: SessionMemory) -> None:
    assert aged.cleanup_old_memories(101, dry_run=False)["memories_deleted"] == 0
    assert aged.cleanup_old_memories(0, dry_run=False)["memories_deleted"] == 7


@pytest.mark.parametrize(("kind", "gone"), [("knowledge_base", {3}), ("note", {8}), ("reports", {1}), ("report", {1})])
def test_d35_a_kind_can_be_named(aged: SessionMemory, kind: str, gone: set[int]) -> None:
    before = set(owners(aged).values())

    aged.cleanup_old_memories(dry_run=False, memory_type=kind)

    assert before - set(owners(aged).values()) == gone


@pytest.mark.parametrize("days", [-1, 1.5, "90", True, 36_501])
def test_d35_days_are_a_whole_number(aged: SessionMemory, days: Any) -> None:
    answer = aged.cleanup_old_memories(days, dry_run=False)

    assert "days" in refused("cleanup_old_memories", answer)
    assert len(set(owners(aged).values())) == 9


# Errors -----------------------------------------------------------------------------


def test_d37_the_errors_have_their_names_and_codes() -> None:
    said = {
        "ValidationError": 400,
        "MemoryError": 500,
        "SearchError": 500,
        "ChunkingError": 500,
        "DatabaseError": 500,
        "DatabaseLockError": 503,
    }

    assert {getattr(errors, name).name: getattr(errors, name).code for name in said} == said
    assert errors.MemoryError is errors.MemoryStoreError


STRANGE = [None, 7, True, 1.5, [], ["x"], {}, b"x", "\ud800", "\0", "x" * 300, "", "../..", float("nan"), 10**30, -1]
GOOD: dict[str, Any] = {
    "session_id": "s",
    "session_iter": "v1",
    "task_code": "t",
    "agent_id": "a",
    "title": "T",
    "category": "c",
    "query": "alpha",
    "limit": 3,
    "similarity_threshold": 0.1,
    "chunk_id": 1,
    "surrounding_chunks": 2,
    "memory_id": 1,
    "output_path": "x.md",
    "days_old": 9,
    "memory_type": "report",
}


@pytest.mark.parametrize("tool", TOOLS)
def test_d38_whatever_is_given_the_envelope_is_whole(opened: Opened, tool: str) -> None:
    memory = opened(threshold_filtering=True)
    stored(memory, "report", "alpha")
    method = getattr(memory, tool)
    given = {name: GOOD[name] for name in signature(method).parameters if name in GOOD}
    count = 0
    for name in signature(method).parameters:
        for value in STRANGE:
            count += 1
            content = {"content": f"text {count}"} if "content" in signature(method).parameters else {}
            answer = method(**given | content | {name: value})
            promised(tool, answer)
            if answer["success"]:
                assert answer["error"] is None
            elif answer.get("memory_id") is None:  # else it is a duplicate
                assert refused(tool, answer)
            json_safe(answer)
    assert count >= len(STRANGE)


def json_safe(answer: dict[str, Any]) -> None:
    """Fail if it could not be sent: text with half a character in it."""
    str(answer["message"]).encode()


@pytest.mark.parametrize(
    ("tool", "given", "error"),
    [
        ("search_reports_specific_chunks", {"query": "x"}, "SearchError"),
        ("search_reports_section_context", {"query": "x"}, "SearchError"),
        ("search_system_memory", {"query": "x"}, "SearchError"),
        ("search_reports_full_documents", {"query": "x", "rank": True}, "SearchError"),
    ],
)
def test_d37_a_model_that_gives_no_answer_is_an_error_where_it_was_asked_for(
    opened: Opened, tool: str, given: dict[str, Any], error: str
) -> None:
    memory = opened(Watched())
    stored(memory, "report", "alpha")
    stored(memory, "system_memory", "alpha")
    down = opened(Down(64), mode="vector")

    assert "gives no answer" in refused(tool, getattr(down, tool)(**given), error)


def test_d37_else_it_is_a_message(opened: Opened) -> None:
    memory = opened(Down(64))

    kept = stored(memory, "report", "alpha")
    found = memory.search_reports_specific_chunks("alpha beta gamma")

    assert "only by keyword for now" in kept["message"]
    assert (found["success"], found["tier"], found["total_results"]) == (True, "keyword", 1)
    assert "without the model" in found["message"]


def test_d39_a_lock_is_waited_for(opened: Opened) -> None:
    assert Config().store.busy_seconds == 30
    memory = opened()

    with locked(memory.engine.config.database) as other:
        timer = threading.Timer(0.3, lambda: other.execute("commit"))
        timer.start()
        answer = memory.store_report("a", "s", "alpha")
        timer.join()

    assert answer["success"]


def test_d39_d37_a_lock_that_is_never_given_back_is_named(opened: Opened) -> None:
    config = load(env={}, flags={"home": "x", "embedding.provider": "none"})
    memory = opened(config=replace(config, store=StoreSettings(busy_seconds=0)))
    stored(memory, "report", "alpha")

    with locked(memory.engine.config.database):
        refusals = {
            "store_report": memory.store_report("a", "s", "beta"),
            "delete_memory": memory.delete_memory(1),
            "cleanup_old_memories": memory.cleanup_old_memories(0, dry_run=False),
        }
        found = memory.search_reports_full_documents()

    for tool, answer in refusals.items():
        assert "Try again" in refused(tool, answer, "DatabaseLockError")
    assert (found["success"], len(found["results"])) == (True, 1)  # reading goes on
    assert "not counted" in found["message"]
    assert memory.store_report("a", "s", "beta")["success"]


# Configuration ------------------------------------------------------------------------


NAMES = {
    "EMBEDDING_MODEL": ("all-MiniLM-L6-v2", "embedding", "model"),
    "EMBEDDING_DIM": (384, "embedding", "expected_dimension"),
    "DEFAULT_CHUNK_SIZE": (300, "chunking", "size"),
    "DEFAULT_CHUNK_OVERLAP": (20, "chunking", "overlap"),
    "VECTOR_SEARCH_BATCH_SIZE": (50, "search", "candidates"),
    "LOG_SLOW_QUERY_THRESHOLD": (0.5, "search", "slow_seconds"),
    "USE_ITERATIVE_FETCHING": (False, "search", "deepen"),
    "USE_THRESHOLD_FILTERING": (True, "search", "threshold_filtering"),
    "AUTO_BACKFILL_THRESHOLD": (7, "embedding", "backfill_threshold"),
    "WARM_START_EMBEDDING_MODEL": (False, "mcp", "warm_start"),
}


@pytest.mark.parametrize("name", NAMES)
def test_d47_d48_the_environment_is_read_by_its_documented_names(name: str) -> None:
    value, section, field = NAMES[name]

    config = load("/dev/null", env={name: str(value).lower() if isinstance(value, bool) else str(value)})

    assert getattr(getattr(config, section), field) == value


def test_d47_d48_the_defaults_are_as_documented() -> None:
    config = Config()

    assert (config.chunking.size, config.chunking.overlap) == (450, 50)
    assert (config.search.candidates, config.search.slow_seconds) == (100, 2.0)
    assert (config.search.deepen, config.search.threshold_filtering) == (True, False)
    assert (config.embedding.backfill_threshold, config.mcp.warm_start) == (1000, True)


@pytest.fixture
def set_to(opened: Opened) -> Callable[..., SessionMemory]:
    """Opens a session memory with variables of the environment."""

    def open_with(embedder=None, /, **env: str) -> SessionMemory:
        return opened(embedder, config=load("/dev/null", env={"MEMORY_EMBEDDING_PROVIDER": "none"} | env))

    return open_with


@pytest.mark.parametrize("size", [50, 450, 2_000])
def test_d47_chunks_have_the_size_that_is_set(set_to, size: int) -> None:
    memory = set_to(DEFAULT_CHUNK_SIZE=str(size))

    id = stored(memory, "report", "".join(f"Sentence {n} of it. " for n in range(600)))["memory_id"]

    sizes = [chunk.token_count for _, chunk in memory.engine.documents.outline(id)]
    assert max(sizes) <= size
    assert all(later > size / 2 for later in sizes[:-1])


@pytest.mark.parametrize("overlap", [0, 10, 50])
def test_d47_passages_overlap_by_as_much_as_is_set(set_to, overlap: int) -> None:
    watched = Watched()
    memory = set_to(watched, DEFAULT_CHUNK_OVERLAP=str(overlap))
    body = "".join(f"w{n} " for n in range(2_000))

    id = stored(memory, "report", body)["memory_id"]

    embedded(memory.engine)
    for _, chunk in memory.engine.documents.outline(id)[1:]:
        own = body[chunk.start : chunk.stop].split()
        (passage,) = [text.split() for text in watched.passages if text.split()[-len(own) :] == own]
        before = len(passage) - len(own)
        assert (before > 0) == (overlap > 0)
        assert before <= overlap


def test_d47_each_retriever_brings_as_many_candidates_as_are_set(set_to) -> None:
    found = []
    for number in ("40", "50"):
        memory = set_to(HashedEmbedder(32), VECTOR_SEARCH_BATCH_SIZE=number)
        for n in range(60 - len(owners(memory))):
            stored(memory, "report", f"alpha {n}")
        steps = memory.engine.search(Query("beta", 5, mode=Mode.HYBRID)).steps
        found.append({step.name: step.found for step in steps}["vector"])

    assert found == [40, 50]


def test_d47_what_takes_longer_than_is_set_is_logged(set_to, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "memory"):
        set_to(LOG_SLOW_QUERY_THRESHOLD="3600").search_reports_specific_chunks("alpha")
        assert caplog.text == ""
        set_to(LOG_SLOW_QUERY_THRESHOLD="0").search_reports_specific_chunks("alpha")
    assert "slow search: search_fine_report took" in caplog.text


@pytest.mark.parametrize(("iterative", "documents"), [("true", 3), ("false", 1)])
def test_d48_a_search_looks_deeper_unless_it_may_not(set_to, iterative: str, documents: int) -> None:
    memory = set_to(
        Compass(), USE_ITERATIVE_FETCHING=iterative, VECTOR_SEARCH_BATCH_SIZE="10", MEMORY_SEARCH_MODE="vector"
    )
    stored(memory, "report", made("Near", {"All": [f"{'x ' * 20} 0°"] * 40}).body)
    for n in range(2):
        stored(memory, "report", f"far {n} 80°")
    embedded(memory.engine)

    found = memory.search_reports_full_documents("0°", rank=True)["results"]
    assert sum(row["topup"] is None for row in found) == documents


def test_d48_similar_enough_is_left_to_the_caller_unless_it_is_set(set_to) -> None:
    for flag, count in (("false", 2), ("true", 1)):
        memory = set_to(Compass(), USE_THRESHOLD_FILTERING=flag, MEMORY_SEARCH_MODE="vector")
        for angle in (0, 80):
            memory.store_report("a", "s", f"at {angle}°")
        assert len(memory.search_reports_specific_chunks("0°", similarity_threshold=0.5)["results"]) == count


@pytest.mark.parametrize(("threshold", "embedded"), [("2", False), ("3", True)])
def test_d48_a_search_embeds_what_waits_if_it_is_little(set_to, threshold: str, embedded: bool) -> None:
    first = set_to(Watched())
    first.store_report("a", "s", "zero")
    first.engine.close()  # or it embeds what others keep
    for n in range(3):
        set_to().store_report("a", "s", f"alpha {n}")
    counted = threading.Event()

    def beside() -> None:
        """What the search leaves is embedded in the background: not before it was counted here."""
        if threading.current_thread().name == "memory-fill":
            counted.wait()

    memory = set_to(Watched(before=beside), AUTO_BACKFILL_THRESHOLD=threshold)
    try:
        answer = memory.search_reports_specific_chunks("beta")

        assert (len(vectors(memory)) == 4) is embedded
        assert ("memory embed" in (answer["message"] or "")) is not embedded
    finally:
        counted.set()


def test_d46_d48_a_server_loads_its_model_unless_it_may_not() -> None:
    """That it does is tested with the server; here, that the name is heard."""
    assert load("/dev/null", env={"WARM_START_EMBEDDING_MODEL": "false"}).mcp.warm_start is False
    assert load("/dev/null", env={}).mcp.warm_start is True


# Faults of that system, which cannot happen here ------------------------------------------


def test_a_secret_in_a_report_is_not_kept(memory: SessionMemory) -> None:
    import random

    from secrets_made import SHAPES, made as secret_made, runs

    dice = random.Random(5)
    for number, shape in enumerate(SHAPES[:12]):
        secret = secret_made(shape, dice)
        answer = stored(memory, "report", f"# Setup {number}\n\nWe use {secret.text} there.\n")
        content = memory.reconstruct_document(answer["memory_id"])["content"]
        assert "removed before it was saved" in answer["message"]
        assert not any(run in content for run in runs(secret.secret))
        assert answer["content_hash"] == hashlib.sha256(content.strip().encode()).hexdigest()[:16]

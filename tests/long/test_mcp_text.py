"""What an agent's model reads: the text of an answer, alone and whole, and JSON beside it only where that is asked for."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from agent import Agent, text
from command import COMMAND, Shell

from memory.text.tokens import tokens
from memory.tools.operation import chosen

if TYPE_CHECKING:
    from pathlib import Path

    import mcp_types as types

LATEST = "2026-07-28"
LOCAL = {"MEMORY_EMBEDDING_PROVIDER": "local", "MEMORY_EMBEDDING_MODEL": ""}
UNLIKELY = "which likely do not answer"


def shell(folder: Path, **settings: str) -> Shell:
    work = folder / "shop"
    (work / ".git").mkdir(parents=True)
    return Shell(folder / "home", work, settings)


def server(shell: Shell, *toolsets: str, structured: str = "") -> Agent:
    named = [word for name in toolsets for word in ("--toolset", name)]
    return Agent(shell, LATEST, named, structured=structured)


def handed(result: types.CallToolResult) -> str:
    """What Claude Code hands to its model: the structured content as JSON if there is some, else the text."""
    return text(result) if result.structured_content is None else json.dumps(result.structured_content)


# The setting -------------------------------------------------------------------------


def answered(shell: Shell, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """The results of requests, as they come through the pipe."""
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    first = [{"id": 0, "method": "initialize", "params": opening}, {"method": "notifications/initialized"}]
    asked = [*first, *({"id": id, **one} for id, one in enumerate(messages, start=1))]
    ran = subprocess.run(
        [COMMAND, "mcp", "--toolset", "all"],
        input="".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in asked),
        capture_output=True,
        env=shell.env,
        cwd=shell.folder,
        text=True,
        timeout=60,
        check=True,
    )
    found = {answer["id"]: answer["result"] for answer in map(json.loads, ran.stdout.splitlines())}
    return [found[id] for id in range(1, len(messages) + 1)]


CALL = {"method": "tools/call", "params": {"name": "memory_save", "arguments": {"title": "x"}}}


def test_by_default_no_tool_has_an_output_schema_and_nothing_but_the_text_is_sent(tmp_path: Path) -> None:
    listed, called = answered(shell(tmp_path), {"method": "tools/list"}, CALL)

    assert len(listed["tools"]) == len(chosen(["all"]))
    assert not [tool["name"] for tool in listed["tools"] if "outputSchema" in tool]
    assert "structuredContent" not in called
    assert called["content"][0]["text"].startswith("Saved: ")


def test_always_sends_the_documented_json_beside_the_text(tmp_path: Path) -> None:
    listed, called = answered(shell(tmp_path, MEMORY_MCP_STRUCTURED="always"), {"method": "tools/list"}, CALL)

    assert {tool["name"]: tool["outputSchema"] for tool in listed["tools"]} == {
        tool.name: tool.output for tool in chosen(["all"])
    }
    assert called["structuredContent"]["memory"]["title"] == "x"
    assert called["content"][0]["text"].startswith("Saved: ")


def test_another_value_is_refused_with_those_there_are(tmp_path: Path) -> None:
    here = shell(tmp_path)

    ran = here("config", "set", "mcp.structured", "sometimes", code=2)

    assert "mcp.structured" in ran.err
    assert "'sometimes'" in ran.err
    assert "never, always" in ran.err
    assert {"key": "mcp.structured", "value": "never", "origin": "default"}.items() <= next(
        row for row in here("config", "--json").json["settings"] if row["key"] == "mcp.structured"
    ).items()
    with Agent(here, LATEST, structured="sometimes") as agent:
        assert "never, always" in agent.refused("memory_context")


# What reaches a model ----------------------------------------------------------------


@pytest.mark.parametrize("setting", ["never", "always"])
def test_a_client_that_prefers_json_hands_on_the_fence_and_that_hits_likely_do_not_answer(
    tmp_path: Path, setting: str
) -> None:
    with server(shell(tmp_path, **LOCAL), "core", structured=setting) as agent:
        for title in ("Sessions use JSON web tokens", "Tests run with nox", "The pool has forty connections"):
            agent.tried("memory_save", title=title)

        found = handed(agent.tried("memory_search", query="quantum chromodynamics baking recipe"))
        context = handed(agent.tried("memory_context"))

    for said in (found, context):
        assert ("<<< memories" in said) is (setting == "never")
    assert (UNLIKELY in found) is (setting == "never")


def test_searches_of_sessions_runs_and_the_graph_say_what_they_are_worth(tmp_path: Path) -> None:
    facts = ("Sessions use JSON web tokens", "Tests run with nox", "The pool has forty connections")
    with server(shell(tmp_path, **LOCAL, MEMORY_RUN="query_1"), "sessions", "research", "graph") as agent:
        agent.said("create_entities", entities=[{"name": fact} for fact in facts])
        agent.said("create_relations", relations=[{"from": facts[0], "to": one, "type": "beside"} for one in facts[1:]])
        for fact in facts:
            agent.said("store_report", agent_id="a", session_id="s", content=fact)
            agent.said("memory_store", agent="a", type="discovery", content=fact)
        searches = [
            ("search_reports_specific_chunks", {}),
            ("search_reports_section_context", {}),
            ("search_reports_full_documents", {"rank": True}),
            ("memory_search", {}),
            ("search_nodes", {}),
            ("search_near", {"entity": facts[0]}),
        ]
        for tool, more in searches:
            found = agent.said(tool, query="json web tokens of sessions", **more)
            missed = agent.said(tool, query="quantum chromodynamics baking recipe", **more)

            assert UNLIKELY not in found
            assert UNLIKELY in missed
            if tool.startswith("search_reports"):
                assert found.startswith(("Done.", "Done: 1 found"))
                assert "outcome: answered" in found
                assert "outcome: nothing_relevant" in missed


# Hints -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toolset", "tool", "arguments"),
    [
        ("core", "memory_search", {"query": "fact", "mode": "hybrid"}),
        ("sessions", "search_system_memory", {"query": "unheard of"}),
        ("graph", "search_nodes", {"query": "unheard of"}),
        ("care", "memory_stats", {}),
    ],
)
def test_hints_name_the_tool_that_helps(tmp_path: Path, toolset: str, tool: str, arguments: dict[str, Any]) -> None:
    here = shell(tmp_path)
    here("save", "a fact")
    here("store", "system_memory", "--session", "s", "--agent", "a", stdin="another fact")
    here("graph", "add", "Redis")
    wider = Shell(here.home, here.folder, {"MEMORY_EMBEDDING_MODEL": "hashed-128"})
    with server(wider, toolset, "care") as agent:
        said = text(agent.tried(tool, **arguments))

    assert "memory_reindex" in said
    assert "`memory" not in said
    if toolset != "care":
        with server(wider, toolset) as agent:
            said = text(agent.tried(tool, **arguments))
        assert "memory_reindex" not in said
        assert "`memory reindex` (a command, for the user)" in said


@pytest.mark.parametrize(
    ("toolset", "tool", "arguments", "hint"),
    [
        ("core", "memory_search", {"query": " "}, "memory_context shows memories without one"),
        ("sessions", "search_reports_section_context", {"query": " "}, "`memory list` (a command, for the user)"),
        ("research", "memory_search", {"query_id": "r", "query": " "}, "`memory list` (a command, for the user)"),
        ("graph", "search_nodes", {"query": " "}, "`memory list` (a command, for the user)"),
        ("sessions", "expand_chunk_context", {"chunk_id": 7}, "search_reports_specific_chunks shows the ids of chunks"),
    ],
)
def test_a_hint_names_tools_that_the_agent_has(
    tmp_path: Path, toolset: str, tool: str, arguments: dict[str, Any], hint: str
) -> None:
    with server(shell(tmp_path), toolset) as agent:
        result = agent.tried(tool, **arguments)

    assert result.is_error
    assert hint in text(result)


# What is budgeted is what is sent ----------------------------------------------------


def test_all_that_is_sent_of_a_context_stays_within_its_budget(tmp_path: Path) -> None:
    here = shell(tmp_path)
    with server(here, "core") as agent:
        for number in range(30):
            agent.said("memory_save", title=f"Fact {number}", what=f"what is known of {number} " * (1 + number % 7))
        shown = set()
        for budget in range(120, 1_200, 45):
            for arguments in ({}, {"query": "what is known of 7", "semantic": "always"}, {"limit": 1_000}):
                said = agent.said("memory_context", tokens=budget, **arguments)
                assert tokens(said) <= budget, said
                assert "search for them." in said
                assert ("limit 1000 is not in" in said) is ("limit" in arguments)
                shown.add(said.count("Fact "))
        assert len(shown) > 10
    at_home = Shell(here.home, tmp_path, {"HOME": str(tmp_path)})
    at_home("save", "a wish", "--what", "what is wished for")
    with server(at_home, "core") as agent:
        said = agent.said("memory_context", tokens=130)
        assert tokens(said) <= 130
        assert "your project is unknown" in said


# Each toolset, by what is read in the text alone --------------------------------------

BODY = "\n\n".join(
    [
        "# Performance analysis",
        *(
            f"## {name}\n\n{said}\n\n### Details of {name}\n\n{'Measured on a node of the cluster. ' * 60}"
            for name, said in {
                "Database": "The pool is exhausted at forty clients.",
                "Bottleneck": "A lock that every request takes.",
            }.items()
        ),
        "x" * 30_000,
    ]
)


def read(pattern: str, said: str) -> str:
    """What stands in a text, once."""
    found = set(re.findall(pattern, said))
    assert len(found) == 1, (pattern, said)
    return found.pop()


def inside(said: str) -> str:
    """What stands within the fence."""
    boundary = read(r"<<< memories ([0-9a-f]{12})\n", said)
    return said.partition(f"<<< memories {boundary}\n")[2].partition(f"\n>>> end of memories {boundary}")[0]


def test_notes_by_text_alone(tmp_path: Path) -> None:
    with server(shell(tmp_path), "core") as agent:
        kept = agent.said("memory_save", title="Switched to WAL", what="Readers never block", details=BODY)
        id = read("`([0-9a-f]{8})`", kept)

        assert read(r"1\. \[([0-9a-f]{8}) ", agent.said("memory_search", query="readers block")) == id
        assert read(r"- \[([0-9a-f]{8}) ", agent.said("memory_context")) == id
        whole, start = "", "0"
        while start:
            part = agent.said("memory_details", id=id, start=int(start))
            whole += inside(part).split("\n\n", 1)[1]
            start = next(iter(re.findall(r"from start=(\d+)", part)), "")
            assert start in {"", str(len(whole))}  # no part comes twice
        assert whole == BODY
        new = read("^Saved: `([0-9a-f]{8})`", agent.said("memory_save", title="Back from WAL", supersedes=id))
        for one in (new, id):
            assert f"`{one}`" in agent.said("memory_delete", id=one)
        assert "Nothing is saved yet" in agent.said("memory_search", query="readers block")


def test_a_session_by_text_alone(tmp_path: Path) -> None:
    with server(shell(tmp_path), "sessions") as agent:
        place = {"session_id": "analysis 7", "session_iter": "v3", "task_code": "pnl"}
        kept = agent.said("store_report", agent_id="explorer", content=BODY, **place)
        assert kept.startswith("Done: saved as memory ")
        agent.said("store_session_context", content="Half is read.", **place)
        again = text(agent.tried("store_report", agent_id="explorer", content=BODY, **place))
        assert again.startswith("Not done, ValidationError: the same report is saved here already, as memory ")

        listed = agent.said("list_sessions")
        session, number = read("session_id (.+?), ", listed), read(r"max_session_iter (\d+)", listed)
        loaded = agent.said("load_session_context_for_task", session_id=session, session_iter=number)
        who, task = read(r"report · by (\w+)", loaded), read(r"task (\w+)", loaded)
        scope = {"agent_id": who, "session_id": session, "session_iter": number, "task_code": task}
        found = agent.said("search_reports_specific_chunks", query="pool exhausted", **scope, limit=1)
        chunk, id = read(r"chunk (\d+)", found), read(r"memory (\d+)", found)
        assert (id, number, task) == (read(r"memory_id: (\d+)", kept), "3", "pnl")
        around = agent.said("expand_chunk_context", chunk_id=chunk)
        assert chunk in re.findall(r"\[chunk (\d+)", around)
        assert read(r"memory_id: (\d+)", around) == id
        assert f"memory {id} " in agent.said("search_reports_section_context", query="lock", **scope)
        assert f"reconstruct_document shows memory {id} whole" in agent.said("search_reports_full_documents", **scope)
        assert BODY in agent.said("reconstruct_document", memory_id=id)
        assert BODY in agent.said("get_memory_by_id", memory_id=id)
        assert f"memory {id} was deleted" in agent.said("delete_memory", memory_id=id)
        assert text(agent.tried("delete_memory", memory_id=id)).startswith("Not done, ValidationError: no memory ")
        assert "no report is saved yet" in agent.said("search_reports_specific_chunks", query="pool", **scope)


def test_a_name_that_cannot_be_shown_as_it_is_stands_in_the_text_letter_by_letter(tmp_path: Path) -> None:
    names = {"session_id": "audit [7]  of\nJune", "agent_id": "explorer [a]", "task_code": 'T["1"]'}
    with server(shell(tmp_path), "sessions") as agent:
        agent.said("store_report", content="zebra", **names)

        listed = agent.said("list_sessions")
        found = agent.said("search_reports_specific_chunks", query="zebra")

        told = {name: json.loads(read(rf"\n{name}: (\".*\")\n", found)) for name in names}
        assert told == names
        assert json.loads(read(r"\nsession_id: (\".*\")\n", listed)) == names["session_id"]
        assert "zebra" in agent.said("search_reports_full_documents", **told)


def test_a_run_by_text_alone(tmp_path: Path) -> None:
    with server(shell(tmp_path), "research") as agent:
        run = "query_1767225600_4711"
        said = {"type": "discovery", "content": f"Zebras are striped\n{BODY}", "agent": "worker 1", "tags": ["animal"]}
        kept = agent.said("memory_store", **said, query_id=run)
        id = read(r"^Saved: discovery ([0-9a-f]{8}) by worker 1 in run query_1767225600_4711\.", kept)
        agent.said("memory_store", type="deadend", content="Searched zoo", agent="worker 2", query_id=run)

        found = inside(agent.said("memory_search", query="zebras striped", query_id="*", limit=1))
        who, where = re.match(r"\[discovery\] by (.+?) in run (\S+): ", found).groups()
        assert (who, where) == ("worker 1", run)
        number, tag = re.search(r"\(memory (\w+) #(\w+); similarity [-.\d]+; distance [.\d]+\)$", found).groups()
        assert number == id
        assert id in agent.said("memory_search", query="zebras", query_id=where, tags=[tag])
        assert "memory_details shows all" in found
        whole, start = "", "0"
        while start:
            part = agent.said("memory_details", id=number, start=int(start))
            whole += inside(part).split("\n\n", 1)[1]
            start = next(iter(re.findall(r"from start=(\d+)", part)), "")
            assert start in {"", str(len(whole))}  # no part comes twice
        assert whole == said["content"]
        listed = inside(agent.said("memory_get_deadends", query_id=where))
        assert re.fullmatch(r"Deadend by worker 2: Searched zoo \(memory [0-9a-f]{8}\)", listed)
        begun = agent.said("memory_build_context", query_id=where, agent=who)
        assert "- Searched zoo" in begun
        assert "Zebras" not in begun  # its own
        assert "discovery 1" in agent.said("memory_stats", query_id=where)


def test_a_graph_by_text_alone(tmp_path: Path) -> None:
    with server(shell(tmp_path), "core", "graph") as agent:
        fact = "holds sessions:\n  of the shop,  of the blog"
        facts = [fact, *(letter * 9_000 for letter in "abcdefgh")]
        agent.said("create_entities", entities=[{"name": "Redis", "observations": facts}, {"name": "the  [shop]"}])
        agent.said("create_relations", relations=[{"from": "the  [shop]", "to": "Redis", "relationType": "depends on"}])
        note = read("`([0-9a-f]{8})`", agent.said("memory_save", title="Sessions expire at midnight", project=""))

        found = agent.said("search_nodes", query="sessions of the blog", limit=1)
        id, name = re.search(r"\[([0-9a-f]{8}) [^\]]*\] (.+)", found).groups()
        start, type, end = re.search(r"(.+) -\[(.+)\]-> (.+)", agent.said("open_nodes", names=[name])).groups()
        assert (start, type, end) == ("the  [shop]", "depends on", "Redis")
        assert "[depends on]" in agent.said("find_path", source=start, target=id)
        opened = inside(agent.said("open_nodes", names=[id]))
        known = [one.replace("\n    ", "\n") for one in opened.partition("\nthe  [shop] -[")[0].split("\n  - ")[1:]]
        assert known == facts
        assert "removed: holds" in agent.said(
            "delete_observations", deletions=[{"entityName": name, "observations": known[:1]}]
        )
        agent.said("link_memories", entity=name, memory_ids=[note])
        near = agent.said("search_near", query="midnight", entity=start)
        assert re.search(r"\[([0-9a-f]{8}) · note", near)[1] == note
        assert "1 unlinked" in agent.said("unlink_memories", entity=id, memory_ids=[note])
        gone = agent.said("delete_relations", relations=[{"from": start, "to": end, "relationType": type}])
        assert gone.startswith("1 deleted")
        assert "1 deleted" in agent.said("delete_entities", names=[id])
        assert "not there: Redis" in agent.said("open_nodes", names=[name])


def test_the_state_by_text_alone(tmp_path: Path) -> None:
    with server(shell(tmp_path), "care") as agent:
        assert "0 memories" in agent.said("memory_stats")
        assert agent.said("memory_reindex", dry_run=True).startswith("0 chunks")
        assert agent.said("memory_reindex").startswith("0 chunks embedded")

"""What an agent's model reads: the text of an answer, alone and whole, and JSON beside it only where that is asked for."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from agent import Agent, text
from command import COMMAND, Shell
from memory.mcp.toolsets import chosen

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
    assert called["content"][0]["text"].startswith("Kept: ")


def test_always_sends_the_documented_json_beside_the_text(tmp_path: Path) -> None:
    listed, called = answered(shell(tmp_path, MEMORY_MCP_STRUCTURED="always"), {"method": "tools/list"}, CALL)

    assert {tool["name"]: tool["outputSchema"] for tool in listed["tools"]} == {
        tool.name: tool.output for tool in chosen(["all"])
    }
    assert called["structuredContent"]["memory"]["title"] == "x"
    assert called["content"][0]["text"].startswith("Kept: ")


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

"""Hints for agents name tools, not commands."""

from contextvars import copy_context

import pytest

from memory.cli import cli
from memory.config.settings import TOOLSETS
from memory.tools.operation import chosen
from memory.tools.render.recall import _TOOLS, SERVED, for_agents


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        ("Run `memory reindex`.", "Run memory_reindex."),
        ("Look at `memory status`, then `memory reindex --keep`.", "Look at memory_stats, then memory_reindex."),
        ("`memory session list` shows those there are.", "list_sessions shows those there are."),
        (
            "`memory graph show` lists them; `memory graph add` makes one.",
            "read_graph lists them; create_entities makes one.",
        ),
        ("`memory search --granularity fine` shows them.", "search_reports_specific_chunks shows them."),
        ("Run `memory search walnut`.", "Run `memory search walnut` (a command, for the user)."),
        ("Run `memory embed`.", "Run `memory embed` (a command, for the user)."),
        ("Give an `id`, or memory list.", "Give an `id`, or memory list."),
    ],
)
def test_a_tool_stands_for_a_command(hint, told):
    assert for_agents(hint) == told


@pytest.mark.parametrize("toolset", TOOLSETS)
@pytest.mark.parametrize("command", _TOOLS)
def test_no_tool_is_named_that_the_agent_does_not_have(command, toolset):
    served = {tool.name for tool in chosen([toolset])}

    def told() -> str:
        SERVED.set(served)
        return for_agents(f"`memory {command}` shows them.")

    tool = _TOOLS[command]
    said = tool if tool in served else f"`memory {command}` (a command, for the user)"
    assert copy_context().run(told) == f"{said} shows them."


def test_the_commands_and_the_tools_are_there():
    tools = {tool.name for tool in chosen(["all"])}
    for command, tool in _TOOLS.items():
        group, *inner = command.partition(" --")[0].split()
        found = cli.get_command(None, group)
        assert found is not None, command
        assert not inner or found.get_command(None, inner[0]) is not None, command
        assert tool in tools

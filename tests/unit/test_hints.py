"""Hints for agents name tools, not commands."""

import pytest

from memory.cli import cli
from memory.mcp.toolsets import chosen
from memory.render.hints import _TOOLS, for_agents


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
        ("Run `memory embed`.", "Run `memory embed` (a command, for the user)."),
        ("Give an `id`, or memory list.", "Give an `id`, or memory list."),
    ],
)
def test_a_tool_stands_for_a_command(hint, told):
    assert for_agents(hint) == told


def test_the_commands_and_the_tools_are_there():
    tools = {tool.name for tool in chosen(["all"])}
    for command, tool in _TOOLS.items():
        group, *inner = command.split()
        found = cli.get_command(None, group)
        assert found is not None, command
        assert not inner or found.get_command(None, inner[0]) is not None, command
        assert tool in tools

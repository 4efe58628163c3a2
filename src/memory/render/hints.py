"""What hints say to an agent: it has tools where a person has commands."""

from __future__ import annotations

import re

_TOOLS = {
    "reindex": "memory_reindex",
    "status": "memory_stats",
    "list": "memory_context",
    "save": "memory_save",
    "run list": "memory_stats",
    "session list": "list_sessions",
    "graph export": "read_graph",
    "graph show": "read_graph",
    "graph add": "create_entities",
    "graph observe": "add_observations",
}
"""The tool that does what a command does."""

_COMMAND = re.compile(r"`memory ([a-z]+(?: [a-z]+)?)[^`]*`")


def for_agents(text: str) -> str:
    """A sentence in which tools stand for commands; a command that no tool stands for is said to be one."""
    return _COMMAND.sub(lambda found: _TOOLS.get(found[1]) or f"{found[0]} (a command, for the user)", text)

"""What hints say to an agent: it has tools where a person has commands."""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

SERVED: ContextVar[Collection[str] | None] = ContextVar("SERVED", default=None)
"""The names of the tools that the agent has, as its server sets them for each request; None is all of them."""

_TOOLS = {
    "reindex": "memory_reindex",
    "status": "memory_stats",
    "list": "memory_context",
    "save": "memory_save",
    "search --granularity fine": "search_reports_specific_chunks",
    "run list": "memory_stats",
    "session list": "list_sessions",
    "graph export": "read_graph",
    "graph show": "read_graph",
    "graph add": "create_entities",
    "graph observe": "add_observations",
}
"""The tool that does what a command does, with these options or any."""

_COMMAND = re.compile(r"`memory (([a-z]+(?: [a-z]+)?)[^`]*)`")


def for_agents(text: str) -> str:
    """A sentence in which tools that are served stand for commands; another command is said to be one."""
    served = SERVED.get()

    def told(found: re.Match[str]) -> str:
        tool = _TOOLS.get(found[1]) or _TOOLS.get(found[2])
        if tool is None or (served is not None and tool not in served):
            return f"{found[0]} (a command, for the user)"
        return tool

    return _COMMAND.sub(told, text)

"""Which tools an agent sees: few by default, since each one takes room in its context."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from memory.config.settings import TOOLSETS
from memory.schema.errors import Invalid, did_you_mean
from memory.schema.limits import clipped_repr

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from memory.operations.operation import Operation

ALL = TOOLSETS[-1]
_HOMES = dict(zip(TOOLSETS, ("daily", "upkeep", "sessions.operations", "research.operations", "graph"), strict=False))
"""The module of each toolset's tools: only those that are wanted are imported, with the faces they stand on."""


def toolsets() -> tuple[str, ...]:
    """Their names, in order."""
    return TOOLSETS[:-1]


def chosen(names: Iterable[str]) -> tuple[Operation, ...]:
    """
    The tools of some toolsets, always in the same order; "all" is every one. Of two with the same name the later: it
    takes whatever the other does, and more.

    Raises:
        Invalid: There is no such toolset.
    """
    wanted = set(names)
    known = TOOLSETS
    for name in sorted(wanted):
        if name not in known:
            hint = f"{did_you_mean(name, known, '')} There are: {', '.join(known)}."
            raise Invalid(f"no toolset {name!r}", hint=hint.lstrip())
    return tuple(
        {tool.name: tool for name in _HOMES if ALL in wanted or name in wanted for tool in _tools(name)}.values()
    )


def _tools(toolset: str) -> tuple[Operation, ...]:
    found: tuple[Operation, ...] = import_module(f"memory.operations.{_HOMES[toolset]}").OPERATIONS
    return found


def unknown(name: str, known: Collection[str]) -> str:
    """What to say of a tool that is not among those that were chosen."""
    if elsewhere := next((home for home in _HOMES for tool in _tools(home) if tool.name == name), None):
        brought = f"the setting mcp.toolsets or `memory mcp --toolset {elsewhere}`"
        return (
            f"{name} is in the toolset {elsewhere}, which this server does not have. The user brings it by {brought}."
        )
    return f"no tool {clipped_repr(name)}. {did_you_mean(name, known)}"

"""Every agent, and whether memory is set up in it; a file that cannot be read is said, and stops nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.integrations import parts
from memory.integrations.agents import AGENTS, INSTRUCTIONS
from memory.integrations.command import command
from memory.integrations.edits import Occupied
from memory.integrations.jsontext import Fault, blank
from memory.schema.errors import ConfigError, Invalid

if TYPE_CHECKING:
    from pathlib import Path

    from memory.integrations.agents import Agent
    from memory.integrations.environment import Environment
    from memory.integrations.parts import Part


class Row(NamedTuple):
    """
    Attributes:
        installed: Whether the agent seems to be on this machine.
        user, project: "yes", "old" (of another version or place), "no", "other" (somebody else's), "unreadable".
    """

    name: str
    title: str
    installed: bool
    user: str
    user_file: Path | None
    project: str
    project_file: Path | None


def overview(environment: Environment) -> list[Row]:
    """Every agent: whether it seems to be here, and whether memory is set up in it."""
    mine = command(environment, home=None, config=None, shared=False)
    rows = []
    for agent in AGENTS:
        signs = any(path.exists() for path in agent.signs(environment))
        user, project = parts.for_user(agent, environment, mine, hooks=False)[0], _project(agent, environment)
        rows.append(
            Row(
                agent.name,
                agent.title,
                signs or any(map(environment.program, agent.programs)),
                _state(user),
                user.path,
                _state(project) if project else "no",
                project.path if project else None,
            )
        )
    block = parts.instructions(environment)[0]
    return [*rows, Row(INSTRUCTIONS, "AGENTS.md", block.path.exists(), "no", None, _state(block), block.path)]


def _project(agent: Agent, environment: Environment) -> Part | None:
    """The project's file, if there is one that is not the user's."""
    try:
        return parts.for_project(agent, environment, command(environment, home=None, config=None, shared=True))[0]
    except Invalid:
        return None


def _state(part: Part) -> str:
    try:
        text = part.seen().text
        if blank(text):
            return "no"
        if part.edit.standing(text):
            return "yes" if part.edit.current(text) else "old"
        part.edit.install(text, force=False)
    except Occupied:
        return "other"
    except (Fault, ConfigError):
        return "unreadable"
    return "no"

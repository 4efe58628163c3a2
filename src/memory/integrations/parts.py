"""Which files of an agent get what, and which files of all agents have it; an unreadable file stops nothing here."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from memory.config.project import repository
from memory.integrations.agents import AGENTS, INSTRUCTIONS
from memory.integrations.command import command
from memory.integrations.edits import Hook, JsonEdit, Server, presence
from memory.integrations.files import seen
from memory.integrations.jsontext import Fault, blank
from memory.integrations.prose import Block, Whole
from memory.integrations.toml import TomlEdit
from memory.schema.errors import ConfigError, Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory.integrations.agents import Agent, Hooks
    from memory.integrations.command import Command, Environment
    from memory.integrations.edits import Edit
    from memory.integrations.files import Seen
    from memory.integrations.jsontext import Json


class Part(NamedTuple):
    """
    One file of an agent.

    Attributes:
        what: Our part of the file, in words for people.
        inside: The project that the file belongs to; None if it is the user's alone.
        optional: Whether the rest is done even if someone else's content is in its place.
    """

    what: str
    path: Path
    edit: Edit
    inside: Path | None = None
    optional: bool = False

    @property
    def private(self) -> bool:
        return self.inside is None

    def seen(self) -> Seen:
        """
        Read the file.

        Raises:
            ConfigError: See `memory.integrations.files.seen`.
        """
        return seen(self.path, inside=self.inside)


def root(environment: Environment) -> Path:
    """The project's folder: the root of the git repository around the current folder, else the current folder."""
    return repository(environment.cwd) or environment.cwd


def for_user(agent: Agent, environment: Environment, command: Command, *, hooks: bool) -> list[Part]:
    """The user's files: server, hooks if wanted, skill."""
    server = _server(agent, agent.user(environment), command)
    parts = [server]
    if hooks and agent.hooks:
        slots = tuple(_hooks(agent.hooks, command, environment))
        path = agent.hooks.file(environment)
        if path == server.path and isinstance(server.edit, JsonEdit):
            joined = replace(server.edit, slots=(*server.edit.slots, *slots))
            parts = [server._replace(what="server and hooks", edit=joined)]
        else:
            parts.append(Part("hooks", path, JsonEdit(slots, agent.hooks.needed)))
    if agent.skill:
        parts.append(Part("skill", agent.skill(environment), Whole(_data("skill.md")), optional=True))
    return parts


def for_project(agent: Agent, environment: Environment, command: Command) -> Part:
    """
    The project's file: the server only, because a hook would run on the machines of all who share it.

    Raises:
        Invalid: The agent has no file in projects, or it would be the user's own: the current folder is the home.
    """
    hint = f"Without --project: memory setup {agent.name}"
    if not agent.project:
        raise Invalid(f"{agent.title} reads no file of a project", hint=hint)
    paths = tuple(root(environment) / name for name in agent.project)
    if set(map(os.path.realpath, paths)) & set(map(os.path.realpath, agent.user(environment))):
        raise Invalid(f"{root(environment)} is no project: its file is your own, {paths[0]}", hint=hint)
    return _server(agent, paths, command, inside=root(environment))


def instructions(environment: Environment) -> Part:
    folder = root(environment)
    return Part("instructions", folder / "AGENTS.md", Block(_data("agents.md")), folder)


def _server(agent: Agent, paths: tuple[Path, ...], command: Command, *, inside: Path | None = None) -> Part:
    """Of the files that an agent reads, the one with our entry, else one that exists, else the first."""
    value = agent.entry(command)
    edit: Edit
    if agent.form == "toml":
        edit = TomlEdit(agent.keys[0], value)
    else:
        edit = JsonEdit((Server(agent.keys, value, agent.envelope),), comments=agent.form == "jsonc")
    there = [Part("server", path, edit, inside) for path in [path for path in paths if path.exists()] or paths[:1]]
    return next((part for part in there if len(there) > 1 and _has(part)), there[0])


def _has(part: Part) -> bool:
    try:
        return part.edit.standing(part.seen().text) is not None
    except (Fault, ConfigError):
        return False


def _hooks(hooks: Hooks, command: Command, environment: Environment) -> Iterator[Hook]:
    for event in hooks.events:
        line = command.hook(event.verb, hooks.agent, environment.platform)
        handler: dict[str, Json] = {**event.handler, "command": line}
        value: dict[str, Json] = {**event.group, "hooks": [handler]} if hooks.grouped else handler
        yield Hook(("hooks", event.name), value, ("hook", event.verb, "--agent", hooks.agent))


def _data(name: str) -> str:
    from importlib.resources import files

    return (files("memory.integrations") / name).read_text("utf-8")


class Row(NamedTuple):
    """
    Attributes:
        installed: Whether the agent seems to be on this machine.
        user, project: "unreadable", or the result of `edits.presence`.
    """

    name: str
    title: str
    installed: bool
    user: str
    user_file: Path | None
    project: str
    project_file: Path | None


def overview(environment: Environment) -> list[Row]:
    """Every agent: whether it seems to be installed, and whether memory is set up in it."""
    mine = command(environment, home=None, config=None, shared=False)
    rows = []
    for agent in AGENTS:
        signs = agent.signs(environment) if agent.signs else [path.parent for path in agent.user(environment)]
        user, project = for_user(agent, environment, mine, hooks=False)[0], _project(agent, environment)
        rows.append(
            Row(
                agent.name,
                agent.title,
                any(path.exists() for path in signs) or any(map(environment.program, agent.programs)),
                _state(user),
                user.path,
                _state(project) if project else "no",
                project.path if project else None,
            )
        )
    block = instructions(environment)
    return [*rows, Row(INSTRUCTIONS, "AGENTS.md", block.path.exists(), "no", None, _state(block), block.path)]


def _project(agent: Agent, environment: Environment) -> Part | None:
    """The project's file, if it has one that is not the user's."""
    try:
        return for_project(agent, environment, command(environment, home=None, config=None, shared=True))
    except Invalid:
        return None


def _state(part: Part) -> str:
    try:
        text = part.seen().text
        return "no" if blank(text) else presence(part.edit, text)
    except (Fault, ConfigError):
        return "unreadable"

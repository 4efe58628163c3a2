"""Which files get what, for one agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.errors import Invalid
from memory.project import repository
from memory.setup.edits import Hook, JsonEdit, Needed, Server
from memory.setup.files import seen
from memory.setup.jsontext import Fault
from memory.setup.prose import Block, Whole
from memory.setup.toml import TomlEdit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory.setup.agents import Agent, Event, Hooks
    from memory.setup.command import Command
    from memory.setup.edits import Edit, Slot
    from memory.setup.environment import Environment
    from memory.setup.jsontext import Json


class Part(NamedTuple):
    """
    One file of an agent.

    Attributes:
        what: What of ours goes into it, for people.
        private: Whether it is the user's alone, if it has to be made.
        optional: Whether the rest is done even if something of somebody else stands in its place.
    """

    what: str
    path: Path
    edit: Edit
    private: bool = True
    optional: bool = False


def root(environment: Environment) -> Path:
    """The project's folder: of the git repository around the current folder, else the current one."""
    return repository(environment.cwd) or environment.cwd


def for_user(agent: Agent, environment: Environment, command: Command, *, hooks: bool) -> list[Part]:
    """The user's files: server, hooks unless they are not wanted, skill."""
    server = _server(agent, agent.user(environment), command, private=True)
    parts = [server]
    if hooks and agent.hooks:
        slots = tuple(_hooks(agent.hooks, command, environment))
        path = agent.hooks.file(environment)
        if path == server.path and isinstance(server.edit, JsonEdit):
            joined = JsonEdit((*server.edit.slots, *slots), comments=server.edit.comments)
            parts = [server._replace(what="server and hooks", edit=joined)]
        else:
            parts.append(Part("hooks", path, JsonEdit(slots)))
    if agent.skill:
        parts.append(Part("skill", agent.skill(environment), Whole(_data("skill.md")), optional=True))
    return parts


def for_project(agent: Agent, environment: Environment, command: Command) -> list[Part]:
    """
    The project's file: the server only, since a hook would run on the machines of all who share it.

    Raises:
        Invalid: The agent has no file in projects, or the project's is the user's own: the current folder is the home.
    """
    hint = f"Without --project: memory setup {agent.name}"
    if not agent.project:
        raise Invalid(f"{agent.title} reads no file of a project", hint=hint)
    paths = tuple(root(environment) / name for name in agent.project)
    if set(paths) & set(agent.user(environment)):
        raise Invalid(f"{root(environment)} is no project: its file is your own, {paths[0]}", hint=hint)
    return [_server(agent, paths, command, private=False)]


def instructions(environment: Environment) -> list[Part]:
    return [Part("instructions", root(environment) / "AGENTS.md", Block(_data("agents.md")), private=False)]


def _server(agent: Agent, paths: tuple[Path, ...], command: Command, *, private: bool) -> Part:
    value = agent.entry(command)
    edit: Edit
    if agent.form == "toml":
        edit = TomlEdit(agent.keys[0], value)
    else:
        edit = JsonEdit((Server(agent.keys, value, agent.envelope),), comments=agent.form == "jsonc")
    return Part("server", _chosen(paths, edit), edit, private)


def _chosen(paths: tuple[Path, ...], edit: Edit) -> Path:
    """Of the files that an agent reads, the one with our entry, else one that is there, else the first."""
    there = [path for path in paths if path.exists()]
    return next((path for path in there if len(there) > 1 and _has(path, edit)), (there or list(paths))[0])


def _has(path: Path, edit: Edit) -> bool:
    try:
        return edit.standing(seen(path).text) is not None
    except Fault:
        return False


def _hooks(hooks: Hooks, command: Command, environment: Environment) -> Iterator[Slot]:
    if hooks.version is not None:
        yield Needed("version", hooks.version)
    for event in hooks.events:
        line = command.hook(event.verb, hooks.agent, environment.platform)
        value = _handler(event, line, grouped=hooks.grouped)
        yield Hook(("hooks", event.name), value, f" hook {event.verb} --agent {hooks.agent}")


def _handler(event: Event, line: str, *, grouped: bool) -> dict[str, Json]:
    handler: dict[str, Json] = {**event.handler, "command": line}
    return {**event.group, "hooks": [handler]} if grouped else handler


def _data(name: str) -> str:
    from importlib.resources import files

    return (files("memory.setup") / name).read_text("utf-8")

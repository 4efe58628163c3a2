"""
The files that `memory setup` edits for an agent, and for every agent whether it is set up. A file that cannot be read is
reported, and is no error.

Also what instructions in Markdown look like: a block in the user's file, or a file that is ours alone.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from memory.agents.agents import AGENTS, INSTRUCTIONS, Agent, Hooks
from memory.agents.command import Environment, ServerCommand, command
from memory.agents.edits import Edit, Hook, JsonEdit, Occupied, Server, presence
from memory.agents.files import Seen, seen
from memory.agents.jsontext import MARK, Fault, Json, blank, node_at, parsed
from memory.agents.toml import TomlEdit
from memory.config.project import repository
from memory.schema.errors import ConfigError, Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class AgentFile(NamedTuple):
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
            ConfigError: See `memory.agents.files.seen`.
        """
        return seen(self.path, inside=self.inside)


def root(environment: Environment) -> Path:
    """The project's folder: the root of the git repository around the current folder, else the current folder."""
    return repository(environment.cwd) or environment.cwd


def for_user(
    agent: Agent, environment: Environment, command: ServerCommand, *, hooks: bool, capture: bool = False
) -> list[AgentFile]:
    """The user's files: the server's entry, the skill, and with `hooks` those; with `capture` also the one that captures."""
    server = _server(agent, agent.user(environment), command)
    parts = [server]
    if hooks and agent.hooks:
        slots = tuple(_hooks(agent.hooks, command, environment, capture=capture))
        path = agent.hooks.file(environment)
        if path == server.path and isinstance(server.edit, JsonEdit):
            joined = replace(server.edit, slots=(*server.edit.slots, *slots))
            parts = [server._replace(what="server and hooks", edit=joined)]
        else:
            parts.append(AgentFile("hooks", path, JsonEdit(slots, agent.hooks.needed)))
    if agent.skill:
        parts.append(AgentFile("skill", agent.skill(environment), Whole(_data("skill.md")), optional=True))
    return parts


def plugged(agent: Agent, environment: Environment) -> bool:
    """Whether the agent has memory as a plugin, which brings its own server, hooks and skill."""
    if agent.hooks is None or not agent.plugin:
        return False
    try:
        text = seen(agent.hooks.file(environment)).text
        node = None if blank(text) else node_at(parsed(text, comments=False).root, agent.plugin)
    except (Fault, ConfigError):  # the agent cannot read it either
        return False
    return node is not None and node.value is True


def for_project(agent: Agent, environment: Environment, command: ServerCommand) -> AgentFile:
    """
    The project's file: the server only, because a hook would run on the machines of all who share it.

    Raises:
        Invalid: The agent has no file in projects, or it would be the user's own: the current folder is the home.
    """
    hint = f"Without --project: memory setup {agent.name}"
    if not agent.project:
        raise Invalid(f"{agent.title} has no settings file for a project", hint=hint)
    paths = tuple(root(environment) / name for name in agent.project)
    if set(map(os.path.realpath, paths)) & set(map(os.path.realpath, agent.user(environment))):
        raise Invalid(f"{root(environment)} is not a project: its file is your own, {paths[0]}", hint=hint)
    return _server(agent, paths, command, inside=root(environment))


def instructions(environment: Environment) -> AgentFile:
    folder = root(environment)
    return AgentFile("instructions", folder / "AGENTS.md", MarkedBlock(_data("agents.md")), folder)


def _server(agent: Agent, paths: tuple[Path, ...], command: ServerCommand, *, inside: Path | None = None) -> AgentFile:
    """Of the files that an agent reads, the one with our entry, else one that exists, else the first."""
    value = agent.entry(command)
    edit: Edit
    if agent.form == "toml":
        edit = TomlEdit(agent.keys[0], value)
    else:
        edit = JsonEdit((Server(agent.keys, value, agent.envelope),), comments=agent.form == "jsonc")
    there = [AgentFile("server", path, edit, inside) for path in [path for path in paths if path.exists()] or paths[:1]]
    return next((part for part in there if len(there) > 1 and _state(part) in {"yes", "old"}), there[0])


def _hooks(hooks: Hooks, command: ServerCommand, environment: Environment, *, capture: bool) -> Iterator[Hook]:
    for event in hooks.events:
        if event.capture and not capture:
            continue
        words = ("hook", event.verb, "--agent", hooks.agent, *(["--capture"] if event.capture else []))
        handler: dict[str, Json] = {**event.handler, "command": command.hook(words, environment.platform)}
        value: dict[str, Json] = {**event.group, "hooks": [handler]} if hooks.grouped else handler
        yield Hook(("hooks", event.name), value, words)


def capturing(agent: Agent, environment: Environment) -> bool:
    """Whether sessions of the agent propose what to keep; False if its file cannot be read."""
    if agent.hooks is None:
        return False
    slots = [
        one for one in _hooks(agent.hooks, ServerCommand(()), environment, capture=True) if "--capture" in one.tail
    ]
    try:
        text = seen(agent.hooks.file(environment)).text
        return bool(slots) and JsonEdit(tuple(slots)).standing(text) is not None
    except (Fault, ConfigError):
        return False


def _data(name: str) -> str:
    from importlib.resources import files

    return (files("memory.agents") / name).read_text("utf-8")


class Row(NamedTuple):
    """
    Attributes:
        sign: What shows that the agent is on this machine; None if nothing does.
        user: "plugin", "unreadable", or the result of `edits.presence`.
        project: "unreadable", or the result of `edits.presence`.
    """

    name: str
    title: str
    sign: Path | None
    user: str
    user_file: Path | None
    project: str
    project_file: Path | None


def overview(environment: Environment) -> list[Row]:
    """Every agent: whether it is on this machine, and whether memory is set up in it."""
    mine = _mine(environment)
    rows = []
    for agent in AGENTS:
        parts = for_user(agent, environment, mine, hooks=True, capture=True)
        user, project = for_user(agent, environment, mine, hooks=False)[0], _project(agent, environment)
        rows.append(
            Row(
                agent.name,
                agent.title,
                _sign(agent, environment, parts),
                "plugin" if plugged(agent, environment) else _state(user),
                user.path,
                _state(project) if project else "no",
                project.path if project else None,
            )
        )
    block = instructions(environment)
    sign = block.path if block.path.exists() else None
    return [*rows, Row(INSTRUCTIONS, "AGENTS.md", sign, "no", None, _state(block), block.path)]


def _mine(environment: Environment) -> ServerCommand:
    """The command of our entry on this machine; without its variables if one of them cannot be written into an entry."""
    try:
        return command(environment, home=None, config=None, shared=False)
    except Invalid:
        return command(environment, home=None, config=None, shared=False, carrying=False)


def _sign(agent: Agent, environment: Environment, parts: list[AgentFile]) -> Path | None:
    """What shows that an agent is here: its program, or its folder, if it has a file that is not ours alone."""
    if program := next(filter(None, map(environment.program, agent.programs)), None):
        return Path(program)
    places = agent.signs(environment) if agent.signs else [path.parent for path in agent.user(environment)]
    ours = {part.path: part for part in parts}
    return next((place for place in places if any(not _ours_alone(file, ours) for file in _files(place))), None)


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    for folder, _, names in os.walk(place):
        yield from (Path(folder, name) for name in names)


def _ours_alone(file: Path, ours: Mapping[Path, AgentFile]) -> bool:
    """Whether a file has our part and nothing else, as if we had made it."""
    if file not in ours:
        return False
    try:
        text = ours[file].seen().text
        standing = ours[file].edit.standing(text)
        return standing is not None and standing.install("", force=True) == text
    except (Fault, ConfigError):
        return False


def _project(agent: Agent, environment: Environment) -> AgentFile | None:
    """The project's file, if it has one that is not the user's."""
    try:
        return for_project(
            agent, environment, command(environment, home=None, config=None, shared=True, carrying=False)
        )
    except Invalid:
        return None


def _state(part: AgentFile) -> str:
    try:
        text = part.seen().text
        return "no" if blank(text) else presence(part.edit, text)
    except (Fault, ConfigError):
        return "unreadable"


# Instructions in Markdown ---------------------------------------------------------

BEGIN = "<!-- memory:begin · written by `memory setup`, which overwrites what stands up to the end mark -->"
END = "<!-- memory:end -->"

_MARK = re.compile(r"<!--\s*memory:(?:begin|end)")
_BEGIN = re.compile(rf"(?:^|\A{MARK})(<!-- memory:begin(?: ·[^\r\n<>]*)? -->)[ \t]*\r?$", re.MULTILINE)
_END = re.compile(rf"^({END})[ \t]*\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MarkedBlock:
    """A marked block; what surrounds it is the user's."""

    body: str

    @property
    def text(self) -> str:
        return f"{BEGIN}\n{self.body.strip()}\n{END}"

    def install(self, text: str, *, force: bool) -> str:
        lines = "\r\n" if "\r\n" in text else "\n"
        block = self.text.replace("\n", lines)
        if found := self._found(text):
            return text[: found.start] + block + text[found.stop :]
        rest = text.removeprefix(MARK)
        gap = (lines * (2 - rest.endswith("\n"))) if rest.strip() else ""
        return text + gap + block + lines

    def uninstall(self, text: str, before: str | None) -> str:
        found = self._found(text)
        if not found:
            return text
        lines = "\r\n" if "\r\n" in text else "\n"
        head, tail = text[: found.start], text[found.stop :].lstrip("\r\n")
        if not tail:
            return head.removesuffix(lines) if head.endswith(lines * 2) else head
        head = head.rstrip("\r\n")
        return head + (lines * 2 if head and tail else lines * bool(head)) + tail

    def standing(self, text: str) -> Self | None:
        found = self._found(text)
        if not found:
            return None
        return type(self)(text[found].replace("\r\n", "\n").partition("\n")[2].removesuffix(END))

    @staticmethod
    def _found(text: str) -> slice | None:
        """
        The span of our block; None if there is none.

        Raises:
            Fault: A mark is not alone on its line or has no counterpart, or there is a second block.
        """
        marks = [found.start() for found in _MARK.finditer(text)]
        begins = [found.start(1) for found in _BEGIN.finditer(text)]
        ends = {found.start(1): found.end(1) for found in _END.finditer(text)}
        for place, at in enumerate(marks):
            if at not in (ends if place % 2 else begins):
                raise Fault("a marker of memory is damaged or in the wrong place", at)
        if len(marks) % 2:
            raise Fault(f"no {END} follows", marks[-1])
        if len(marks) > 2:  # a block has two
            raise Fault("a second block written by memory", marks[2])
        return slice(marks[0], ends[marks[1]]) if marks else None


_SIGNED = re.compile(r"\n<!-- written by `memory setup`, ([0-9a-f]{12}) -->\n?\Z")


@dataclass(frozen=True, slots=True)
class Whole:
    """A file that is ours unless someone changed it, which a checksum in its last line shows."""

    body: str

    @property
    def text(self) -> str:
        body = self.body.strip() + "\n"
        return f"{body}\n<!-- written by `memory setup`, {_sum(body)} -->\n"

    def install(self, text: str, *, force: bool) -> str:
        if blank(text) or force or _unchanged(text):
            return self.text
        raise Occupied("it was changed by another program", hint="Replace it: --force.")

    def uninstall(self, text: str, before: str | None) -> str:
        return "" if _unchanged(text) else text

    def standing(self, text: str) -> Self | None:
        if not _unchanged(text):
            return None
        return type(self)(_SIGNED.sub("", text.replace("\r\n", "\n")))


def _unchanged(text: str) -> bool:
    text = text.replace("\r\n", "\n")  # git may have changed the line ends
    found = _SIGNED.search(text)
    return found is not None and _sum(text[: found.start()].strip() + "\n") == found[1]


def _sum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]

"""
One request of `memory setup`, worked out and carried out.

Everything is read and worked out before anything is written: a file that cannot be changed safely stops the whole.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches, unified_diff
from typing import TYPE_CHECKING, NamedTuple

from memory.errors import ConfigError, Invalid
from memory.setup import files, own, parts
from memory.setup.agents import AGENTS, INSTRUCTIONS, NAMES
from memory.setup.command import command
from memory.setup.edits import JsonEdit, Occupied
from memory.setup.jsontext import Fault, blank, child, descended, parsed

if TYPE_CHECKING:
    from pathlib import Path

    from memory.setup.agents import Agent
    from memory.setup.command import Command
    from memory.setup.edits import Edit
    from memory.setup.environment import Environment
    from memory.setup.files import Seen
    from memory.setup.jsontext import Json
    from memory.setup.own import Calls
    from memory.setup.parts import Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    Attributes:
        agent: One of `NAMES`.
        project: Whether the project's file is meant, in place of the user's.
        force: Whether what somebody else put under our name is replaced.
        hooks: Whether hooks are registered too; removing removes them in any case.
        home, config: What `memory --home` and `memory --config` were given.

    Raises:
        Invalid: No agent has the name.
    """

    agent: str
    project: bool = False
    remove: bool = False
    force: bool = False
    hooks: bool = True
    home: str | None = None
    config: str | None = None

    def __post_init__(self) -> None:
        if self.agent not in NAMES:
            near = get_close_matches(self.agent, NAMES, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(NAMES)}."
            raise Invalid(f"no agent {self.agent!r}", hint=hint)


class Step(NamedTuple):
    """
    What became of one file, or will.

    Attributes:
        state: "added", "updated", "already" (as it should be), "removed", "absent" (nothing to remove), "kept" (changed
            by somebody, so left alone).
        calls: What was run in place of writing the file.
        diff: The change, as `diff -u` shows it; empty if something was run.
        backup: The copy of the file from before.
    """

    what: str
    path: Path
    state: str
    calls: tuple[tuple[str, ...], ...] = ()
    diff: str = ""
    backup: Path | None = None


class Outcome(NamedTuple):
    """
    Attributes:
        following: What the user does next; empty if nothing changed.
    """

    steps: tuple[Step, ...]
    notices: tuple[str, ...]
    following: str

    @property
    def changed(self) -> bool:
        return any(step.state in {"added", "updated", "removed"} for step in self.steps)


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


class _Change(NamedTuple):
    """`after` is None if the file goes; `undone` if the file is as it was before ours, so the copy can go."""

    part: Part
    file: Seen
    state: str
    after: str | None
    calls: Calls | None = None
    undone: bool = False
    keep: bool = False


def setup(request: Request, environment: Environment, *, dry_run: bool = False) -> Outcome:
    """
    Register with an agent, or undo it. The same once more changes nothing.

    Raises:
        Invalid: The agent has no file in projects.
        ConfigError: A file cannot be changed safely, or has somebody else's under our name; nothing was changed.
        Error: The agent's own command failed; nothing was changed.
    """
    agent = next((agent for agent in AGENTS if agent.name == request.agent), None)
    shared = request.project or agent is None
    started = command(environment, home=request.home, config=request.config, shared=shared)
    changes = [_planned(part, request) for part in _parts(agent, request, environment, started)]
    if agent and agent.name == "claude-code" and not request.project:
        changes[0] = _called(changes[0], started, environment)
    for change in changes:
        if _differs(change) and not change.calls:
            files.check_writable(change.file)
    steps = tuple(_step(change) for change in changes)
    if not dry_run:
        _make(changes, environment)
    notices = [
        f"{change.part.path} was changed by somebody: left as it is." for change in changes if change.state == "kept"
    ]
    if agent and not request.remove:
        notices += [*started.notices, *([agent.note] if request.project and agent.note else [])]
    outcome = Outcome(steps, tuple(notices), "")
    return outcome._replace(following=agent.following) if agent and outcome.changed and not request.remove else outcome


def _parts(agent: Agent | None, request: Request, environment: Environment, started: Command) -> list[Part]:
    if agent is None:
        return parts.instructions(environment)
    if request.project:
        return parts.for_project(agent, environment, started)
    return parts.for_user(agent, environment, started, hooks=request.hooks or request.remove)


def _planned(part: Part, request: Request) -> _Change:
    file = files.seen(part.path)
    text = file.text
    try:
        standing = part.edit.standing(text)
        if request.remove:
            return _without(part, file, standing)
        after = part.edit.put(text, force=request.force)
    except Fault as fault:
        raise ConfigError(
            f"{part.path}:{_place(text, fault.at)}: {fault}",
            hint=f"Nothing was changed. By hand, {'take out' if request.remove else 'put in'}:\n{part.edit.snippet()}",
        ) from fault
    except Occupied as error:
        if part.optional:
            return _Change(part, file, "kept", text)
        raise Occupied(f"{part.path}: {error}", hint=error.hint) from error
    if after == text:
        return _Change(part, file, "already", text)
    return _Change(part, file, "updated" if standing else "added", after, keep=standing is None)


def _without(part: Part, file: Seen, standing: Edit | None) -> _Change:
    """Without ours: exactly as it was before, if nobody else changed it since; else ours alone is cut out."""
    text = file.text
    if standing is None:
        kept = part.optional and bool(text)
        return _Change(part, file, "kept" if kept else "absent", text)
    before = files.before(part.path)
    known = before is not None or not part.path.is_symlink()  # a link is the user's, so its file was
    with suppress(Fault, Occupied):
        if known and standing.put(before or "", force=True) == text:
            return _Change(part, file, "removed", before, undone=True)
    return _Change(part, file, "removed", part.edit.take(text, before) or None)


def _called(change: _Change, started: Command, environment: Environment) -> _Change:
    """The change made by the agent's own command, if there is one on PATH."""
    program = environment.program(own.PROGRAM)
    if program is None or not _differs(change):
        return change
    if change.state == "removed":
        return change._replace(calls=own.removing(program))
    return change._replace(calls=own.adding(program, started.server, _entry(change)))


def _entry(change: _Change) -> Json:
    """What stands under our name in a JSON file."""
    if not isinstance(change.part.edit, JsonEdit) or blank(change.file.text):
        return None
    root = parsed(change.file.text, comments=False).root
    node, missing = descended(root, ("mcpServers",))
    member = None if missing else child(node, "memory")
    return member.node.value if member else None


def _differs(change: _Change) -> bool:
    return change.state in {"added", "updated", "removed"}


def _place(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"{line}:{at - text.rfind(chr(10), 0, at)}"


def _step(change: _Change) -> Step:
    path = change.part.path
    if change.calls:
        return Step(change.part.what, path, change.state, change.calls.argvs)
    backup = files.backup(path) if change.keep and change.file.data is not None else None
    return Step(change.part.what, path, change.state, diff=_diff(change), backup=backup)


def _diff(change: _Change) -> str:
    after = change.after or ""
    lines = unified_diff(
        change.file.text.splitlines(keepends=True),
        after.splitlines(keepends=True),
        str(change.part.path) if change.file.data is not None else "/dev/null",
        "/dev/null" if change.after is None else str(change.part.path),
    )
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def _make(changes: list[_Change], environment: Environment) -> None:
    for change in changes:
        if change.calls:
            own.run(change.calls, environment)
        elif _differs(change):
            _written(change)


def _written(change: _Change) -> None:
    path = change.part.path
    if change.keep:
        files.keep(change.file)
    if change.after is None:
        files.remove(change.file)
    else:
        files.write(change.file, change.after, private=change.part.private)
    if change.undone:
        files.backup(path).unlink(missing_ok=True)
    if change.after is None and change.part.what == "skill":
        with suppress(OSError):  # somebody has put more into the folder
            path.parent.rmdir()


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
        text = files.seen(part.path).text
        if blank(text):
            return "no"
        if part.edit.standing(text):
            return "yes" if part.edit.current(text) else "old"
        part.edit.put(text, force=False)
    except Occupied:
        return "other"
    except (Fault, ConfigError):
        return "unreadable"
    return "no"

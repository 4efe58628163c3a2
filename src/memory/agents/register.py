"""
Works out one request of `memory setup` and carries it out.

Everything is read and worked out before anything is written: a file that cannot be changed safely stops all of it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from memory.agents import files, setup_files
from memory.agents.agents import AGENTS, NAMES, Agent
from memory.agents.command import Environment, ServerCommand, command, options
from memory.agents.edits import Edit, JsonEdit, Occupied, presence, snippet
from memory.agents.jsontext import Fault, Json, blank, node_at, parsed
from memory.agents.toml import TomlEdit
from memory.schema.errors import ConfigError, Error, Invalid, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    Attributes:
        agent: One of `NAMES`.
        project: Use the project's file instead of the user's.
        force: Replace what someone else put under our name.
        hooks: Register hooks too; removing always removes them.
        capture: Register what proposes at the end of a session what to keep; where that is registered it stays.
        home, config, store, user: What was named before the command: `memory --home FOLDER setup …`.

    Raises:
        Invalid: No agent has the name.
    """

    agent: str
    project: bool = False
    remove: bool = False
    force: bool = False
    hooks: bool = True
    capture: bool = False
    home: str | None = None
    config: str | None = None
    store: str | None = None
    user: str | None = None

    def __post_init__(self) -> None:
        if self.agent not in NAMES:
            raise Invalid(f"no agent {self.agent!r}", hint=did_you_mean(self.agent, NAMES))


CHANGING = frozenset({"added", "replaced", "updated", "removed", "unverified"})


PLUGGED = (
    "{title} has memory as a plugin, which does the same, so nothing was changed. Have one of them: "
    "`claude plugin uninstall memory@tiermem`, or `memory setup {name} --remove`."
)


class FileEdit(NamedTuple):
    """
    What was done to one file, or would be.

    Attributes:
        state: "added", "replaced" (someone else's, by force), "updated", "already" (as it should be), "removed",
            "absent" (nothing to remove), "other" (nothing to remove; someone else's is there),
            "kept" (changed by someone, so left alone), "unverified" (the agent's command reported success,
            but its file does not show it).
        calls: Commands run instead of writing the file, without secrets.
        diff: The change, as `memory.agents.files.diff` shows it; empty if commands were run.
        backup: The copy of the file from before.
    """

    what: str
    path: Path
    state: str
    calls: tuple[tuple[str, ...], ...] = ()
    diff: str = ""
    backup: Path | None = None


class Registration(NamedTuple):
    """
    Attributes:
        following: What the user does next; empty if nothing changed.
    """

    steps: tuple[FileEdit, ...]
    notices: tuple[str, ...]
    following: str
    changed: bool


class _Change(NamedTuple):
    """`after` is None if the file is removed; `undone`: the file is as before ours was added, so the copy can go."""

    part: setup_files.AgentFile
    file: files.Seen
    state: str
    after: str | None
    calls: files.Calls | None = None
    undone: bool = False
    keep: bool = False

    @property
    def differs(self) -> bool:
        return self.state in CHANGING


def setup(request: Request, environment: Environment, *, dry_run: bool = False) -> Registration:
    """
    Register with an agent, or undo it. Doing it twice changes nothing more.

    Raises:
        Invalid: The agent has no file in projects.
        ConfigError: A file cannot be changed safely, or has someone else's entry under our name; nothing was changed.
        Error: The agent's own command failed; the hint says where the former content is.
    """
    agent = next((agent for agent in AGENTS if agent.name == request.agent), None)
    if agent and not (request.remove or request.project) and setup_files.plugged(agent, environment):
        return Registration((), (PLUGGED.format(title=agent.title, name=agent.name),), "", changed=False)
    started = _started(agent, request, environment)
    changes = [_planned(part, request) for part in _parts(agent, request, environment, started)]
    if agent and agent.name == "claude-code" and not request.project:
        changes[0] = _called(changes[0], started, environment)
    for change in changes:
        if change.differs and not change.calls:
            files.check_writable(change.file)
    if not dry_run:
        changes = [_make(change, environment) for change in changes]
    steps = tuple(_step(change) for change in changes)
    notices = [notice for change in changes for notice in _notices(change)]
    if agent and not request.remove:
        notices += [*started.notices, *([agent.note] if request.project and agent.note else [])]
    changed = any(step.state in CHANGING for step in steps)
    return Registration(
        steps, tuple(notices), agent.following if agent and changed and not request.remove else "", changed
    )


def _started(agent: Agent | None, request: Request, environment: Environment) -> ServerCommand:
    """The command for the entry; options of an existing entry stay unless others are given."""
    shared = request.project or agent is None
    named = {name: getattr(request, name) for name in ("home", "config", "store", "user")}
    carrying = agent is not None and not request.remove
    start = partial(command, environment, **named, shared=shared, carrying=carrying)
    if agent and not request.remove:
        part = _parts(agent, request, environment, start())[0]
        with suppress(Fault):  # reported when the change is worked out
            found = part.edit.standing(part.seen().text)
            if isinstance(found, (JsonEdit, TomlEdit)):
                return start(standing=options(found.server))
    return start()


def _parts(
    agent: Agent | None, request: Request, environment: Environment, started: ServerCommand
) -> list[setup_files.AgentFile]:
    if agent is None:
        return [setup_files.instructions(environment)]
    if request.project:
        return [setup_files.for_project(agent, environment, started)]
    capture = request.capture or request.remove or setup_files.capturing(agent, environment)
    return setup_files.for_user(agent, environment, started, hooks=request.hooks or request.remove, capture=capture)


def _planned(part: setup_files.AgentFile, request: Request) -> _Change:
    file = part.seen()
    text = file.text
    try:
        standing = part.edit.standing(text)
        if request.remove:
            return _without(part, file, standing)
        state = "replaced" if request.force and presence(part.edit, text) == "other" else "added"
        after = part.edit.install(text, force=request.force)
    except Fault as fault:
        line, column = text.count("\n", 0, fault.at) + 1, fault.at - text.rfind("\n", 0, fault.at)
        raise ConfigError(
            f"{part.path}:{line}:{column}: {fault}",
            hint=f"Nothing was changed. By hand, {'take out' if request.remove else 'put in'}:\n{snippet(part.edit)}",
        ) from fault
    except Occupied as error:
        if part.optional:
            return _Change(part, file, "kept", text)
        raise Occupied(f"{part.path}: {error}", hint=error.hint) from error
    if after == text:
        return _Change(part, file, "already" if part.edit.standing(text) else "kept", text)
    return _Change(part, file, "updated" if standing else state, after, keep=standing is None and part.private)


def _without(part: setup_files.AgentFile, file: files.Seen, standing: Edit | None) -> _Change:
    """Remove our part: restores the text from before if nothing else changed since, else cuts out only ours."""
    text = file.text
    if standing is None:
        if (part.optional and text) or _foreign(part.edit, text):
            return _Change(part, file, "kept", text)
        return _Change(part, file, "other" if presence(part.edit, text) == "other" else "absent", text)
    before = _before(part)
    known = before is not None or not part.path.is_symlink()  # a link is the user's, and so was its file
    with suppress(Fault, Occupied):
        if known and standing.install(before or "", force=True) == text:
            return _Change(part, file, "removed", before, undone=True)
    return _Change(part, file, "removed", part.edit.uninstall(text, before) or (None if known else ""))


def _before(part: setup_files.AgentFile) -> str | None:
    """The text before ours was added; None if the copy is broken or already contains ours."""
    before = files.before(part.path) if part.private else None
    with suppress(Fault):
        return before if before is None or part.edit.standing(before) is None else None
    return None


def _foreign(edit: Edit, text: str) -> tuple[str, ...]:
    return edit.foreign(text) if isinstance(edit, JsonEdit) else ()


def _notices(change: _Change) -> Iterator[str]:
    path, events = change.part.path, _foreign(change.part.edit, change.file.text)
    if events:
        yield f"{path}: a hook under {', '.join(events)} has our hook inside another command, which was left as it is."
    elif change.state == "kept":
        yield f"{path} was changed by another program, so it was left as it is."
    if change.state == "unverified":
        yield f"`claude` reported no error, but {path} is not as it was asked for; `claude mcp list` shows what it has."


def _called(change: _Change, started: ServerCommand, environment: Environment) -> _Change:
    """The change made by the agent's own command, if that is on PATH."""
    program = environment.program(files.PROGRAM)
    if program is None or not change.differs:
        return change
    if change.state == "removed":
        return change._replace(calls=files.removing(program))
    wanted, old = _entry(change.after or ""), _entry(change.file.text)
    return change._replace(calls=files.adding(program, wanted, started.server, old), keep=True)


def _entry(text: str) -> Json:
    """The entry under our name in Claude Code's file."""
    if blank(text):
        return None
    node = node_at(parsed(text, comments=False).root, ("mcpServers", "memory"))
    return node.value if node else None


def _step(change: _Change) -> FileEdit:
    path = change.part.path
    backup = files.backup(path) if change.keep and change.file.data is not None else None
    calls = tuple(map(files.masked, change.calls.argvs)) if change.calls else ()
    return FileEdit(change.part.what, path, change.state, calls, "" if calls else _diff(change), backup)


def _diff(change: _Change) -> str:
    path = str(change.part.path)
    names = (path if change.file.data is not None else "/dev/null", "/dev/null" if change.after is None else path)
    return files.diff(change.file.text, change.after or "", snippet(change.part.edit), names)


def _make(change: _Change, environment: Environment) -> _Change:
    """Carry out a change; returns it with its final state."""
    if change.calls:
        return _ask(change, change.calls, environment)
    if change.differs:
        _write(change, environment)
    return change


def _ask(change: _Change, calls: files.Calls, environment: Environment) -> _Change:
    """
    Let the agent's own command make the change, after copying the file; then check whether the file shows it.

    Raises:
        Error: The command failed.
    """
    part = change.part

    def standing() -> Json:
        try:
            return _entry(part.seen().text)
        except (Fault, ConfigError):
            return None

    old = standing()
    copy = files.keep(change.file) if change.keep else None
    try:
        files.run_calls(calls, environment, standing)
    except Error as error:
        way = "take out of" if change.state == "removed" else "put into"
        now = "Nothing was changed." if standing() == old else f"What was there before is in {copy or part.path}."
        hint = f"{now} Once that command works, this one does too. By hand, {way} {part.path}:\n{snippet(part.edit)}"
        raise Error(str(error), hint=hint) from error
    wanted = None if change.state == "removed" else _entry(change.after or "")
    return change if _starts_alike(standing(), wanted) else change._replace(state="unverified")


def _starts_alike(entry: Json, wanted: Json) -> bool:
    """Whether an entry starts the right command; the agent may add more to it, such as `"env": {}`."""
    if not (isinstance(entry, dict) and isinstance(wanted, dict)):
        return entry is wanted is None
    return all(entry.get(key) == wanted.get(key) for key in ("command", "args"))


def _write(change: _Change, environment: Environment) -> None:
    path = change.part.path
    if change.keep:
        files.keep(change.file)
    if change.after is None:
        files.remove(change.file)
    else:
        files.write(change.file, change.after, private=change.part.private)
    if change.undone and change.part.private:
        files.backup(path).unlink(missing_ok=True)
    if change.after is None:  # the folders around it go as far as they are empty, but no home and no current one
        inhabited = {environment.home, *environment.home.parents, environment.cwd, *environment.cwd.parents}
        with suppress(OSError):  # the first that holds something, or is a link
            while (path := path.parent) not in inhabited:
                path.rmdir()

"""
Called by agents when a session begins and when a turn ends: memories at the start, a reminder to save at the end.

Agents have different forms for the same two things; `FORMS` has all differences. What an agent says about itself is
untrusted input, used only where it can do no harm: a session's name becomes a hash, and a folder must exist.

Sources, of late 2026: https://code.claude.com/docs/en/hooks, https://geminicli.com/docs/hooks/reference,
https://cursor.com/docs/hooks, https://developers.openai.com/codex/hooks and `codex-rs/hooks` in openai/codex,
https://code.visualstudio.com/docs/agent-customization/hooks, https://docs.github.com/en/copilot/reference/hooks-reference.
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memory.schema import NamedTuple
from memory.schema.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memory.config import Config

STDIN_LIMIT = 16 << 20  # bytes; an agent also sends its last answer
TEXT_LIMIT = 9_500  # characters: Claude Code and Copilot cut a hook's text at 10,000
HEAD_LIMIT = 1 << 20  # bytes of a transcript's first line, which has the instructions of the agent too
QUIET_SECONDS = 10 * 60  # how long a session must last before its agent is reminded
KEPT_SECONDS = 7 * 24 * 3600  # how long a session is remembered
TWICE_SECONDS = 10.0  # in which a second hook at one start says nothing: as long as agents wait for one
BUSY_SECONDS = 2.0  # for a database that another process writes to: the agent waits for us
FOLDER = "hooks"
OVER = "SessionEnd"  # what Claude Code calls the end of a session, after which nobody can be reminded
_CODEX = re.compile(rb'"cli_version": ?"(\d{1,6})\.(\d{1,6})\.')
REMINDED = ".reminded"
_MARK = re.compile(r"[0-9a-f]{32}(\.reminded|\.\d+)?")

REMINDER = (
    "Before you finish: did this session find out anything that the next one would have to find out again? A decision"
    " and its reason, the cause of a bug and its fix, a convention of this project, a preference of the user. Save each"
    " as its own note with memory_save (or `memory save`); if a recalled memory turned out wrong, let the note supersede"
    " it. Nothing secret, and nothing that the repository already says. If there is nothing, finish without a word about"
    " this."
)


class HookReply(NamedTuple):
    """
    What one agent expects on standard output.

    Attributes:
        context: Makes a text part of a new session.
        reminder: Makes the agent read a text before its turn ends; None if there is no way.
        since: The first version whose sessions survive a reminder, as transcripts name it; (0, 0) is any.
    """

    context: Callable[[str], str]
    reminder: Callable[[str], str] | None = None
    since: tuple[int, int] = (0, 0)


def _claude(text: str) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}})


def _block(text: str) -> str:
    return json.dumps({"decision": "block", "reason": text})


def _copilot(text: str) -> str:
    """One file for two readers: Copilot's form outside, and inside it the form of VS Code's own harness."""
    inner = {"hookEventName": "SessionStart", "additionalContext": text}
    return json.dumps({"additionalContext": text, "hookSpecificOutput": inner})


def _copilot_stop(text: str) -> str:
    block = {"decision": "block", "reason": text}
    return json.dumps({**block, "hookSpecificOutput": {"hookEventName": "Stop", **block}})


FORMS: Mapping[str, HookReply] = {
    "claude-code": HookReply(_claude, _block),
    "gemini-cli": HookReply(_claude, lambda text: json.dumps({"decision": "deny", "reason": text})),
    "cursor": HookReply(
        lambda text: json.dumps({"additional_context": text}), lambda text: json.dumps({"followup_message": text})
    ),
    # What earlier versions add to a session for a reminder may spoil it for good (openai/codex#20783); 0.169 is the
    # first that was seen not to. Version 0.154 refused JSON at the start (#45999), and no version plain text.
    "codex": HookReply(str, _block, since=(0, 169)),
    "vscode": HookReply(_copilot, _copilot_stop),
    "plain": HookReply(str),
}
ALIASES: Mapping[str, str] = {
    "claude": "claude-code",
    "gemini": "gemini-cli",
    "copilot": "vscode",
    "copilot-cli": "vscode",
    "vs-code": "vscode",
}


class HookInput(NamedTuple):
    """
    An agent's call.

    Attributes:
        session: The agent's name for the session, as received; empty if it has none.
        folder: Where the agent works; None if unknown or missing.
        transcript: The file in which the agent records the session; None if it names none.
        ending: Whether the turn ends by itself: it was not interrupted, and does not continue because a hook asked.
    """

    session: str
    folder: Path | None
    transcript: Path | None
    ending: bool


def form(agent: str) -> HookReply:
    """
    The output form of an agent.

    Raises:
        Invalid: No such agent.
    """
    name = agent.strip().casefold()
    try:
        return FORMS[ALIASES.get(name, name)]
    except KeyError as error:
        raise Invalid(f"no hooks for the agent {agent!r}", hint=f"There are: {', '.join(FORMS)}.") from error


def call(content: bytes, environment: Mapping[str, str]) -> HookInput:
    """
    Parse an agent's standard input; what it does not say comes from the environment and the current folder.

    Raises:
        Invalid: It is too long, or not a JSON object.
    """
    if len(content) > STDIN_LIMIT:
        raise Invalid(f"the agent sent more than {STDIN_LIMIT >> 20} MB on standard input")
    found: object = {}
    if content.strip():
        try:
            found = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise Invalid("the agent sent something on standard input that is not JSON") from error
    if not isinstance(found, dict):
        raise Invalid(f"the agent sent {type(found).__name__} on standard input, not a JSON object")
    names = (found.get(key) for key in ("session_id", "sessionId", "conversation_id"))
    asked = found.get("stop_hook_active") is True or found.get("loop_count") not in (None, 0)
    transcript = found.get("transcript_path")
    return HookInput(
        next((name for name in names if isinstance(name, str) and name), ""),
        _folder(found, environment),
        Path(transcript) if transcript and isinstance(transcript, str) else None,
        ending=not asked and found.get("status") in (None, "completed") and found.get("hook_event_name") != OVER,
    )


def _folder(found: Mapping[str, object], environment: Mapping[str, str]) -> Path | None:
    """
    The agent's folder; None if it does not exist, because another folder would give it another project's memories.

    Cursor runs a user's hooks in its own folder and names those of the window; the others name theirs.
    """
    roots = found.get("workspace_roots")
    named = roots[0] if isinstance(roots, list) and roots else found.get("cwd") or environment.get("CURSOR_PROJECT_DIR")
    try:
        if not named:
            return Path.cwd()
        folder = Path(named) if isinstance(named, str) else None
        return folder if folder is not None and folder.is_absolute() and folder.is_dir() else None
    except (OSError, ValueError):  # no current folder; a NUL, a lone surrogate, a name too long
        return None


def reminder(form: HookReply, call: HookInput) -> Callable[[str], str] | None:
    """How the agent that calls is reminded; None if it cannot be, or its session might not survive that."""
    return form.reminder if form.since == (0, 0) or _version(call.transcript) >= form.since else None


def _version(transcript: Path | None) -> tuple[int, int]:
    """The version of Codex that began a transcript, as its first line says; (0, 0) if there is none to read."""
    try:
        if transcript is None or not transcript.is_file():  # reading a pipe would wait for a writer
            return (0, 0)
        with transcript.open("rb") as file:
            found = _CODEX.search(file.readline(HEAD_LIMIT))
    except (OSError, ValueError):  # it may not be read; a NUL in its name
        return (0, 0)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def begun(call: HookInput, config: Config) -> str:
    """
    What an agent should read when a session begins, fenced as data; empty if its project has no memories, or if another
    hook has just said it: a plugin and `memory setup` register one each, and VS Code runs those of Claude Code too.

    By keyword only. Creates no database, but records when the session began.

    Raises:
        StoreError: The database cannot be used.
    """
    from memory.config.project import project

    if call.folder is None or not config.begun:
        return ""
    _sweep(config.folder)
    if call.session:
        _since(_mark(call.session, config.folder))
    if (name := project(call.folder)) is None:
        return ""

    from memory.engine import Engine
    from memory.schema.query import around
    from memory.tools.render.recall import beside, context

    with Engine.open(impatient(config), lasting=False) as engine:
        lines = partial(beside, project=name)
        recalled = partial(engine.context, scope=around(name), semantic="never", beside=lines)
        tokens = config.context.tokens
        found = recalled(tokens=tokens)
        while len(found.text) > TEXT_LIMIT and (tokens := tokens * TEXT_LIMIT // len(found.text)):
            found = recalled(tokens=tokens)
    if not found.memories or len(found.text) > TEXT_LIMIT:
        return ""
    if call.session and not _first(_mark(call.session, config.folder)):
        return ""
    return context(found, project=name, empty="")


def ended(call: HookInput, config: Config) -> str:
    """
    The reminder to save, once per session; empty if it is not due.

    It is due when a session has lasted `QUIET_SECONDS` and nothing about its project was saved or corrected meanwhile.

    Raises:
        StoreError: The database cannot be used.
    """
    from memory.config.project import project

    if not (call.ending and call.session and call.folder and config.begun):
        return ""
    mark = _mark(call.session, config.folder)
    since = _since(mark)
    if since is None or time.time() - since < QUIET_SECONDS:
        return ""
    name = project(call.folder)
    if name is None or _kept(name, since, config):
        return ""
    try:
        mark.rename(_reminded(mark))
    except OSError:  # another call was faster; or it cannot be recorded, and then it would be repeated
        return ""
    return REMINDER


def _kept(project: str, since: float, config: Config) -> bool:
    """Whether anything about a project was saved or corrected since a moment."""
    from datetime import timedelta

    from memory.engine import Engine
    from memory.schema.query import EVERYTHING

    with Engine.open(impatient(config), lasting=False) as engine:
        # A server has another clock than the file that records the session.
        began = engine.now() - timedelta(seconds=time.time() - since)
        scope = EVERYTHING._replace(projects=frozenset({project}), since=began)
        return bool(engine.documents.recent(scope, 1))


def impatient(config: Config) -> Config:
    """Settings for which a database that others write to is not waited for long."""
    return replace(config, store=replace(config.store, busy_seconds=min(BUSY_SECONDS, config.store.busy_seconds)))


def _mark(session: str, home: str) -> Path:
    """The file that records a session. It is empty; its modification time is when the session began."""
    from hashlib import sha256

    return Path(home, FOLDER, sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:32])


def _reminded(mark: Path) -> Path:
    """The file's name after the agent was reminded; of several calls, the one that renames it wins."""
    return mark.with_suffix(REMINDED)


def _since(mark: Path) -> float | None:
    """
    When a session began, in seconds since 1970; now, if it is new.

    None after its agent was reminded, or if nothing can be recorded.
    """
    try:
        if _reminded(mark).exists():
            return None
        mark.parent.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return mark.lstat().st_mtime
    except OSError:  # a read-only home: the session continues without a reminder
        return None


def _first(mark: Path) -> bool:
    """
    Whether no other hook has answered this start of a session, which may start again later: resumed, or made shorter.

    Each start has a file with the next number, and of several calls the one that creates it wins.
    """
    starts = {int(file.suffix[1:]): file for file in mark.parent.glob(f"{mark.name}.*") if file.suffix[1:].isdecimal()}
    last = max(starts, default=-1)
    try:
        if starts and 0 <= time.time() - starts[last].lstat().st_mtime < TWICE_SECONDS:
            return False
        os.close(os.open(mark.with_suffix(f".{last + 1}"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    except OSError:  # nothing can be recorded: twice is better than not at all
        return True
    return True


def _sweep(home: str) -> None:
    """Forget old sessions. Removes only files that are named like a mark."""
    oldest = time.time() - KEPT_SECONDS
    with suppress(OSError), os.scandir(Path(home, FOLDER)) as entries:
        for entry in entries:
            if _MARK.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                Path(entry).unlink(missing_ok=True)  # another session may be sweeping too

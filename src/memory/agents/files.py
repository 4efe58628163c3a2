"""
Other programs' settings files: read, compared, copied and replaced in one step, and never overwritten if someone else
has just changed them. ~/.claude.json is changed by Claude Code's own command.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memory.agents.command import NAME, Environment
from memory.config.files import contents, folders, read_only, utf8, write_file
from memory.schema.errors import ConfigError, Error, explained

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.agents.jsontext import Json

BACKUP = ".before-memory"
"""Suffix of the copy of a file from before ours was added."""

OTHERS_BYTES = 64 << 20
"""Limit for another program's file: Claude Code keeps conversations in its file, which grows to megabytes."""

HIDDEN = "…"

_WORD = re.compile(r"""[^\s"'`{}\[\](),:;=<>]+""")
_RUN = re.compile(rf"{HIDDEN}(?:[^\w{HIDDEN}\n]*{HIDDEN})+")


class Seen(NamedTuple):
    """
    A file as it was read.

    Attributes:
        path: The agent's path; a link stays a link.
        target: The file that is read and replaced.
        data: None if there is no file.
    """

    path: Path
    target: Path
    data: bytes | None

    @property
    def text(self) -> str:
        """
        Its text with byte order mark and line ends; empty if there is no file.

        Raises:
            ConfigError: It is not UTF-8.
        """
        return utf8(self.data or b"", str(self.path), ConfigError, mark=True)


def seen(path: Path, *, inside: Path | None = None) -> Seen:
    """
    Read a file.

    Args:
        inside: A folder that links must not leave: whoever made a repository may have put links into it.

    Raises:
        ConfigError: It exists but cannot be read, or is not an ordinary file, or a link leads out of `inside`.
    """
    target = Path(os.path.realpath(path))
    folder = target if inside is None else Path(os.path.realpath(inside))
    if not target.is_relative_to(folder) or ".git" in target.relative_to(folder).parts:  # git's own is no part of it
        raise ConfigError(
            f"{path} is a link that leads out of the project, to {target}; it was neither read nor changed",
            hint="Replace the link with a file of the project.",
        )
    try:
        mode = target.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # reading a pipe would wait for a writer
            raise ConfigError(f"cannot read {path}: it is not a regular file")
        return Seen(path, target, contents(target, OTHERS_BYTES))
    except FileNotFoundError:
        return Seen(path, target, None)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error


def backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def before(path: Path) -> str | None:
    """The file's text before ours was added, if a readable copy was kept; a link in its place is not our copy."""
    copy = backup(path)
    try:
        return contents(copy, OTHERS_BYTES).decode("utf-8") if stat.S_ISREG(copy.lstat().st_mode) else None
    except (OSError, UnicodeDecodeError):
        return None


def check_writable(file: Seen) -> None:
    """
    Find out before anything is written whether writing is possible: later, another file has been changed already.

    Raises:
        ConfigError: The file or its folder is read-only.
    """
    if file.data is not None and read_only(file.target):
        raise ConfigError(f"{file.path} is read-only", hint="Allow writing to it, or change it where it comes from.")
    folder = next(parent for parent in file.target.parents if parent.exists())
    if read_only(folder):
        raise ConfigError(f"cannot write {file.path}: the folder {folder} is read-only", hint="Allow writing to it.")


def write(file: Seen, text: str, *, private: bool) -> None:
    """
    Replace a file, or create it.

    Args:
        private: Give a new file and its new folders to the user alone: 0600 and 0700.
            An existing file keeps its mode and owner.

    Raises:
        ConfigError: It cannot be written, or someone changed it after it was read; it was not touched.
    """
    private = private and file.data is None
    with explained(ConfigError, f"cannot write {file.path}"), folders(file.target.parent, private=private):
        write_file(file.target, text.encode(), private=private, check=partial(_check_unchanged, file))


def remove(file: Seen) -> None:
    """
    Remove a file.

    Raises:
        ConfigError: It cannot be removed, or someone changed it after it was read.
    """
    _check_unchanged(file)
    with explained(ConfigError, f"cannot remove {file.path}"):
        file.target.unlink()


def keep(file: Seen) -> Path | None:
    """
    Copy a file next to itself, for its owner only, replacing an earlier copy. None if there is no file.

    A link in the copy's place is replaced; what it leads to stays.

    Raises:
        ConfigError: The copy cannot be written.
    """
    if file.data is None:
        return None
    copy = backup(file.path)
    with explained(ConfigError, f"cannot write {copy}"):
        write_file(copy, file.data, private=True)
    return copy


def _check_unchanged(file: Seen) -> None:
    if seen(file.path) != file:
        raise ConfigError(
            f"{file.path} was changed by another program just now, so it was left alone",
            hint="Close the agent if it is running, and try again.",
        )


def diff(before: str, after: str, ours: str, names: tuple[str, str]) -> str:
    """
    The changed lines, as `diff -U0` shows them.

    Args:
        ours: A text whose words may all be shown; every other word is masked.
        names: The names of the text before and after.
    """
    known = frozenset(_WORD.findall(ours))
    lines = unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), n=0)
    shown = [f"--- {names[0]}\n", f"+++ {names[1]}\n"]
    for line in list(lines)[2:]:
        masked = _WORD.sub(lambda word: word[0] if word[0] in known else HIDDEN, line[1:])
        text = line if line.startswith("@@") else line[0] + _RUN.sub(HIDDEN, masked)
        shown.append(text if text.endswith("\n") else text + "\n\\ No newline at end of file\n")
    return "".join(shown) if len(shown) > len(names) else ""


# Claude Code's own command: only it may write ~/.claude.json, its state, while it runs ---

PROGRAM = "claude"
TIMEOUT_SECONDS = 60
GRACE_SECONDS = 2.0  # between asking a process to end and killing it

WORD_LIMIT = 30_000
"""Characters of one word of a command: Windows takes 32767 in all, Linux 131072 bytes a word."""

SAID_LIMIT = 500  # characters of the command's output in a message

SCOPE = ("--scope", "user")
"""The last option; options come before the name."""

HIDDEN_ENTRY = "{…}"
"""In place of an entry, whose variables and headers may be secrets."""


class Calls(NamedTuple):
    """
    Attributes:
        argvs: The commands to run in order, until one fails.
        undo: The command to run if one did not finish and the entry is gone.
    """

    argvs: tuple[tuple[str, ...], ...]
    undo: tuple[str, ...] = ()


def adding(program: str, entry: Json, server: Sequence[str], old: Json) -> Calls:
    """
    The commands that add the server for the user.

    Args:
        entry: What should be there.
        server: What the entry starts.
        old: The present entry under our name. It is removed first, because the command does not replace an entry.

    Raises:
        ConfigError: An entry is too long for a command.
    """
    if old is None:
        return Calls(((program, "mcp", "add", *SCOPE, NAME, "--", *server),))
    words = [json.dumps(value) for value in (entry, old)]  # in ASCII, which every command takes
    if max(map(len, words)) > WORD_LIMIT:
        raise ConfigError(f"the entry {NAME!r} has more than {WORD_LIMIT} characters, too many for a command")
    add, undo = ((program, "mcp", "add-json", *SCOPE, NAME, word) for word in words)
    return Calls((*removing(program).argvs, add), undo)


def removing(program: str) -> Calls:
    return Calls(((program, "mcp", "remove", *SCOPE, NAME),))


def masked(argv: tuple[str, ...]) -> tuple[str, ...]:
    """A command without secrets."""
    return (*argv[:-1], HIDDEN_ENTRY) if "add-json" in argv else argv


def shown(argv: Sequence[str]) -> str:
    """A command as a person would type it."""
    return subprocess.list2cmdline(argv) if sys.platform == "win32" else shlex.join(argv)


def run_calls(calls: Calls, environment: Environment, standing: Callable[[], Json]) -> None:
    """
    Run commands of the agent.

    Args:
        standing: Gives the present entry under our name.

    Raises:
        Error: A command failed; the message has its output. If the entry was gone then, it was put back, or the message
            says why not.
    """
    try:
        for argv in calls.argvs:
            _run_call(argv, environment)
    except BaseException as error:  # Ctrl-C between two commands must not cost the entry either
        if calls.undo and standing() is None:
            try:
                _run_call(calls.undo, environment)
            except Error as second:
                raise Error(f"{error or 'interrupted'}; and the old entry did not come back: {second}") from error
        raise


def _run_call(argv: tuple[str, ...], environment: Environment) -> None:
    line = shown((PROGRAM, *masked(argv)[1:]))
    try:
        process = subprocess.Popen(  # noqa: S603  # the program is the one that the user has on PATH
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment.env),
            cwd=environment.cwd,
            start_new_session=True,
        )
        with process:
            try:
                said, wrong = process.communicate(timeout=TIMEOUT_SECONDS)
            except BaseException:
                _end(process)
                raise
    except subprocess.TimeoutExpired as error:
        raise Error(f"`{line}` did not end within {TIMEOUT_SECONDS:g} seconds") from error
    except OSError as error:
        raise Error(f"cannot run `{line}`: {error.strerror or error}") from error
    if code := process.returncode:
        words = " ".join((wrong or said).decode("utf-8", "replace").split())
        if masked(argv) != argv:
            words = words.replace(argv[-1], HIDDEN_ENTRY)
        words = words if len(words) <= SAID_LIMIT else words[: SAID_LIMIT - 1] + "…"
        raise Error(f"`{line}` failed with exit code {code}: {words or 'it said nothing'}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and those it started, after some time to finish writing."""
    if sys.platform == "win32":
        process.kill()
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
        os.killpg(process.pid, signal.SIGKILL)

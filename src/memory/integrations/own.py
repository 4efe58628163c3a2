"""Claude Code's own command for servers: only it may write ~/.claude.json, its state, while it runs."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memory.integrations.command import NAME
from memory.schema.errors import ConfigError, Error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.integrations.command import Environment
    from memory.integrations.jsontext import Json

PROGRAM = "claude"
TIMEOUT_SECONDS = 60
GRACE_SECONDS = 2.0  # between asking a process to end and killing it

WORD_LIMIT = 30_000
"""Characters of one word of a command: Windows takes 32767 in all, Linux 131072 bytes a word."""

SAID_LIMIT = 500  # characters of the command's output in a message

SCOPE = ("--scope", "user")
"""The last option; options come before the name."""

HIDDEN = "{…}"
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
    return (*argv[:-1], HIDDEN) if "add-json" in argv else argv


def shown(argv: Sequence[str]) -> str:
    """A command as a person would type it."""
    return subprocess.list2cmdline(argv) if sys.platform == "win32" else shlex.join(argv)


def run_calls(
    calls: Calls,
    environment: Environment,
    standing: Callable[[], Json],
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> None:
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
            _run_call(argv, environment, timeout_seconds)
    except BaseException as error:  # Ctrl-C between two commands must not cost the entry either
        if calls.undo and standing() is None:
            try:
                _run_call(calls.undo, environment, timeout_seconds)
            except Error as second:
                raise Error(f"{error or 'interrupted'}; and the old entry did not come back: {second}") from error
        raise


def _run_call(argv: tuple[str, ...], environment: Environment, timeout_seconds: float) -> None:
    line = shown((PROGRAM, *masked(argv)[1:]))
    try:
        code, output = _outcome(argv, environment, timeout_seconds)
    except subprocess.TimeoutExpired as error:
        raise Error(f"`{line}` did not end within {timeout_seconds:g} seconds") from error
    except OSError as error:
        raise Error(f"cannot run `{line}`: {error.strerror or error}") from error
    if code:
        words = " ".join(output.decode("utf-8", "replace").split())
        if masked(argv) != argv:
            words = words.replace(argv[-1], HIDDEN)
        words = words if len(words) <= SAID_LIMIT else words[: SAID_LIMIT - 1] + "…"
        raise Error(f"`{line}` failed with exit code {code}: {words or 'it said nothing'}")


def _outcome(argv: tuple[str, ...], environment: Environment, timeout_seconds: float) -> tuple[int, bytes]:
    """The exit code, and the output for errors or else the ordinary one."""
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
            out, err = process.communicate(timeout=timeout_seconds)
        except BaseException:
            _end(process)
            raise
    return process.returncode, err or out


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

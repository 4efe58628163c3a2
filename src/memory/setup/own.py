"""Claude Code's own command for servers: ~/.claude.json is its state, too, and only it may write that while it runs."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from memory.errors import Error
from memory.setup.command import NAME, ours

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.setup.environment import Environment
    from memory.setup.jsontext import Json

PROGRAM = "claude"
TIMEOUT_SECONDS = 60

SCOPE = ("--scope", "user")
"""Last of the options, which stand before the name: `--env` takes all words up to the next option for its own."""


class Calls(NamedTuple):
    """
    Attributes:
        argvs: What is run, one after the other, until one fails.
        undo: What is run if not the first of them failed.
    """

    argvs: tuple[tuple[str, ...], ...]
    undo: tuple[str, ...] = ()


def adding(program: str, server: Sequence[str], old: Json) -> Calls:
    """
    Add the server for the user.

    Args:
        old: The entry that stands under our name. The command adds none in its place, so it goes first; the variables
            that the user gave it stay.
    """
    add = (program, "mcp", "add", *_variables(old), *SCOPE, NAME, "--", *server)
    if old is None:
        return Calls((add,))
    return Calls((*removing(program).argvs, add), (program, "mcp", "add-json", *SCOPE, NAME, json.dumps(old)))


def _variables(entry: Json) -> Iterator[str]:
    env = entry.get("env") if isinstance(entry, dict) and ours(entry) else None
    for name, value in env.items() if isinstance(env, dict) else ():
        yield from ("--env", f"{name}={value}")


def removing(program: str) -> Calls:
    return Calls(((program, "mcp", "remove", *SCOPE, NAME),))


def shown(argv: Sequence[str]) -> str:
    """A command as a person would type it."""
    return subprocess.list2cmdline(argv) if sys.platform == "win32" else shlex.join(argv)


def run(calls: Calls, environment: Environment, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
    """
    Raises:
        Error: One of the calls failed; what it said is in the message, and what went before is undone.
    """
    for number, argv in enumerate(calls.argvs):
        try:
            _run(argv, environment, timeout_seconds)
        except Error:
            if number and calls.undo:
                _run(calls.undo, environment, timeout_seconds)
            raise


def _run(argv: tuple[str, ...], environment: Environment, timeout_seconds: float) -> None:
    line = shown((PROGRAM, *argv[1:]))
    try:
        done = subprocess.run(  # noqa: S603  # the program is the one the user has on PATH
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_seconds,
            env=dict(environment.env),
            cwd=environment.cwd,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Error(f"`{line}` did not end within {timeout_seconds:g} seconds") from error
    except OSError as error:
        raise Error(f"cannot run `{line}`: {error.strerror or error}") from error
    if done.returncode:
        words = " ".join((done.stderr or done.stdout).decode("utf-8", "replace").split())
        told = f"`{line}` failed with exit code {done.returncode}: {words or 'it said nothing'}"
        raise Error(told, hint="Nothing was changed. Once that command works, this one does too.")

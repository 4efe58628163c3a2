"""The command by which an agent starts this installation's server and hooks."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, NamedTuple

from memory.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.setup.environment import Environment
    from memory.setup.jsontext import Json

NAME = "memory"
"""What the server is called in every agent, and what the command is called."""

MODULE = ("-m", "memory")

SHOWN = 200  # characters of somebody else's command in a message

_THROWAWAY = re.compile(
    r"[/\\](archive-v\d+|builds-v\d+|environments-v\d+|pip-[a-z-]*-[a-z0-9_]{6,}|ephemeral-[^/\\]*)[/\\]"
)
"""Folders of `uv run --with`, `uvx` and pip's builds: emptied without asking."""


class Command(NamedTuple):
    """
    Attributes:
        argv: What to start, without the subcommand.
        notices: What the user should know about it.
    """

    argv: tuple[str, ...]
    notices: tuple[str, ...] = ()

    @property
    def server(self) -> tuple[str, ...]:
        return (*self.argv, "mcp")

    def hook(self, verb: str, agent: str, platform: str) -> str:
        """A line for a shell, which is what agents run hooks with."""
        argv = (*self.argv, "hook", verb, "--agent", agent)
        if platform != "win32":
            return shlex.join(argv)
        # Which shell it is on Windows depends on the agent: with slashes bash, cmd and PowerShell all understand it.
        return subprocess.list2cmdline([argv[0].replace("\\", "/"), *argv[1:]])


def command(environment: Environment, *, home: str | None, config: str | None, shared: bool) -> Command:
    """
    How to start this installation, by absolute paths: an agent has neither the user's PATH nor variables.

    Args:
        home: What `memory --home` was given; the database's folder.
        config: What `memory --config` was given; the settings file.
        shared: Whether it goes into a file that others get too: then the bare name, if there is one on PATH, and
            nothing of the user's own variables.

    Raises:
        Invalid: A path is not Unicode, which no settings file can hold.
    """
    program = _program()
    notices = list(fleeting(program[0], environment))
    if shared and environment.program(NAME):
        program, notices = (NAME,), []
    elif shared:
        notices.append(f"{program[0]} is a path of this machine: whoever shares the file needs another one.")
    options: list[str] = []
    for flag, given, variable in (("--home", home, "MEMORY_HOME"), ("--config", config, "MEMORY_CONFIG")):
        value = given or environment.env.get(variable)
        if value and shared and not given:
            notices.append(f"{variable} is yours alone: it was left out of a file that is shared.")
        elif value:
            options += [flag, str(environment.absolute(value))]
    argv = (*program, *options)
    for part in argv:
        if not _is_text(part):
            raise Invalid(f"the path {part!r} is not Unicode text", hint="No settings file of an agent can hold it.")
    return Command(argv, tuple(notices))


def _is_text(part: str) -> bool:
    try:
        part.encode()
    except UnicodeEncodeError:
        return False
    return True


def _program() -> tuple[str, ...]:
    script = NAME + (".exe" if sys.platform == "win32" else "")
    for folder in _script_folders():
        if (folder / script).is_file() and os.access(folder / script, os.X_OK):
            return (str(folder / script),)
    return (sys.executable, *MODULE)


def _script_folders() -> Iterator[Path]:
    yield Path(sysconfig.get_path("scripts"))
    if sys.prefix == sys.base_prefix:  # in a virtual environment the user's own folder is another installation's
        yield Path(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")))


def fleeting(program: str, environment: Environment) -> Iterator[str]:
    """A notice if the program stands where things are cleared away."""
    path = os.path.realpath(program)
    folders = [os.path.realpath(tempfile.gettempdir()), environment.env.get("UV_CACHE_DIR", "")]
    if _THROWAWAY.search(path) or any(folder and path.startswith(folder.rstrip("/\\") + os.sep) for folder in folders):
        yield (
            f"{program} stands in a folder that is cleared away at some time; the agent will not find it then. "
            "Install it to stay, e.g. by `pipx install .` or `uv tool install .` in its sources, and run this again."
        )


def ours(entry: Json) -> bool:
    """
    Whether an entry of an agent starts this program, of whatever version and place.

    By its name alone nothing is ours: others have a server called "memory" too, such as
    `npx @modelcontextprotocol/server-memory`.
    """
    argv = _argv(entry)
    if not argv or "mcp" not in argv[1:]:
        return False
    words = argv[: argv.index("mcp", 1)]
    stems = {path(word).stem.lower() for word in words[:1] for path in (PurePosixPath, PureWindowsPath)}
    return NAME in stems or words[1:3] == list(MODULE) or "tiered-memory" in words


def described(entry: Json) -> str:
    """What an entry starts or asks; neither its variables nor its headers, where secrets are."""
    url = entry.get("url", entry.get("httpUrl", entry.get("serverUrl"))) if isinstance(entry, dict) else None
    text = str(url).partition("?")[0] if url else " ".join(_argv(entry)) or "something else"
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _argv(entry: Json) -> list[str]:
    if not isinstance(entry, dict):
        return []
    program, arguments = entry.get("command"), entry.get("args", [])
    whole = [
        *(program if isinstance(program, list) else [program]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    return [str(word) for word in whole if word is not None]

"""The machine as `memory setup` sees it, and the command that starts this installation's server and hooks there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from string import Template
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from memory.agents import CONFIG, HOME, OPTIONS, STORE, USER, carried
from memory.config.installation import COMMANDS, DISTRIBUTION, FORMER, foreign
from memory.schema.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memory.agents.jsontext import Json

NAME = COMMANDS[0]
"""The name of the server in every agent, and of the command."""

MODULES = tuple(("-m", name) for name in COMMANDS)

NOTHING: Mapping[str, str] = MappingProxyType({})

SHOWN = 60  # characters of someone else's program or host in a message

_THROWAWAY = re.compile(
    r"[/\\](archive-v\d+|builds-v\d+|environments-v\d+|pip-[a-z-]*-[a-z0-9_]{6,}|ephemeral-[^/\\]*)[/\\]"
)
"""Folders of `uv run --with`, `uvx` and pip's builds, which are emptied without asking."""


@dataclass(frozen=True, slots=True)
class Environment:
    """
    A machine as `memory setup` sees it; only `here` looks at the one it runs on, so a test can simulate any.

    Attributes:
        home: The user's folder.
        platform: A value of `sys.platform`; "win32" and "darwin" have folders of their own.
        env: Environment variables. An empty one counts as unset, as in the XDG specification.
        cwd: The current folder, absolute.
    """

    home: Path
    platform: str
    env: Mapping[str, str]
    cwd: Path

    def folder(self, variable: str, default: Path) -> Path:
        """The folder that a variable names, absolute and with `~` expanded; else the default."""
        named = self.env.get(variable, "").strip()
        return self.absolute(named) if named else default

    def expanded(self, name: str) -> str:
        """A path from the user with `~` and `$NAME` expanded, and without blanks around it."""
        name = Template(name.strip()).safe_substitute(self.env)
        return str(self.home) + name[1:] if name == "~" or name.startswith(("~/", "~\\")) else name

    def absolute(self, name: str) -> Path:
        """The same as an absolute path, without following links."""
        return Path(os.path.normpath(self.cwd / self.expanded(name)))

    @property
    def config(self) -> Path:
        """https://specifications.freedesktop.org/basedir-spec: for programs that follow it on every platform."""
        return self.folder("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def applications(self) -> Path:
        """Where Electron programs keep their settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.folder("APPDATA", self.home / "AppData" / "Roaming")
        return self.config

    def program(self, name: str) -> str | None:
        """The absolute path of a program on PATH."""
        found = shutil.which(name, path=self.env.get("PATH", ""))
        return os.path.abspath(found) if found else None  # noqa: PTH100  # Path.absolute keeps `..`


def here() -> Environment:
    """
    The current machine.

    Raises:
        Invalid: The current folder was deleted, or there is no home folder, or its path is not absolute.
    """
    named = os.environ.get("HOME") if sys.platform != "win32" else None
    if named is not None and not Path(named).is_absolute():
        raise Invalid(f"HOME is {named!r}, which is not an absolute path", hint="Set HOME to your home folder.")
    try:
        return Environment(Path.home(), sys.platform, dict(os.environ), Path.cwd())
    except FileNotFoundError as error:
        raise Invalid("the current folder no longer exists", hint="Change to a folder that exists.") from error
    except RuntimeError as error:
        raise Invalid("there is no home folder, where agents keep their files", hint="Set HOME.") from error


class ServerCommand(NamedTuple):
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

    def hook(self, words: Sequence[str], platform: str) -> str:
        """A command line for a shell, which is how agents run hooks; `words` follow the program."""
        argv = (*self.argv, *words)
        if platform != "win32":
            return shlex.join(argv)
        # On Windows the shell depends on the agent; bash, cmd and PowerShell all understand slashes.
        return subprocess.list2cmdline([argv[0].replace("\\", "/"), *argv[1:]])


def command(
    environment: Environment,
    *,
    home: str | None,
    config: str | None,
    shared: bool,
    store: str | None = None,
    user: str | None = None,
    standing: Mapping[str, str] = NOTHING,
    carrying: bool = True,
) -> ServerCommand:
    """
    How to start this installation, by absolute paths: an agent has neither the user's PATH nor the user's variables.

    Args:
        home: The argument of `memory --home`: the database's folder.
        config: The argument of `memory --config`: the settings file.
        store, user: The arguments of `memory --store` and `memory --user`.
        shared: Whether the file is shared with others: then the bare name, if PATH has it.
        standing: The options of an existing entry; they stay unless others are given.
        carrying: Whether what the user's variables say becomes options; else it is only looked for what is ours.

    Raises:
        Invalid: A path is not Unicode, or a variable decides where memories are and can be no part of the entry: see
            `memory.agents`.
    """
    program = _program()
    notices = list(fleeting(program[0], environment))
    # Our command's names that PATH leads to, unless to a stranger's program.
    bare = (name for name in COMMANDS if shared and (path := environment.program(name)) and not foreign(path))
    if name := next(bare, None):
        program, notices = (name,), []
    elif shared:
        notices.append(f"{program[0]} is a path of this machine: others who share the file need another one.")
    given = {HOME: home, CONFIG: config, STORE: store, USER: user}
    flags = {flag: value for flag, value in given.items() if value}
    wanted = carried(environment, flags, shared=shared) if carrying else {}
    gone = {STORE} if HOME in flags else set()  # a folder that is named means its file, not the entry's server
    kept = {flag: value for flag, value in standing.items() if flag not in {*wanted, *gone}}
    notices += [
        f"{flag} {value} stays, as the entry had it; to be rid of it, --remove first." for flag, value in kept.items()
    ]
    found = wanted | kept
    argv = (*program, *(word for flag in OPTIONS if flag in found for word in (flag, found[flag])))
    for part in argv:
        try:
            part.encode()
        except UnicodeEncodeError as error:
            raise Invalid(
                f"the path {part!r} is not Unicode text", hint="No settings file of an agent can hold it."
            ) from error
    return ServerCommand(argv, tuple(notices))


def _program() -> tuple[str, ...]:
    suffix = ".exe" if sys.platform == "win32" else ""
    folders = [Path(sysconfig.get_path("scripts"))]
    if sys.prefix == sys.base_prefix:  # in a virtual environment, the user's folder belongs to another installation
        folders.append(Path(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user"))))
    for script in (folder / f"{name}{suffix}" for folder in folders for name in COMMANDS):
        if script.is_file() and os.access(script, os.X_OK) and not foreign(str(script)):
            return (str(script),)
    return (sys.executable, *MODULES[-1])  # nobody else has a module of that name


def fleeting(program: str, environment: Environment) -> Iterator[str]:
    """A notice if the program is in a folder that gets cleared."""
    path = os.path.realpath(program)
    folders = [os.path.realpath(tempfile.gettempdir()), environment.env.get("UV_CACHE_DIR", "")]
    if _THROWAWAY.search(path) or any(folder and path.startswith(folder.rstrip("/\\") + os.sep) for folder in folders):
        yield (
            f"{program} is in a temporary folder that the system may delete; the agent will not find it then. "
            "Install it to stay, e.g. by `uv tool install` or `pipx install`, and run this again."
        )


def ours(entry: Json) -> bool:
    """
    Whether an entry starts this program, in any version and place.

    The name alone does not make it ours: others have a server called "memory" too, such as
    `npx @modelcontextprotocol/server-memory`.
    """
    words = _before_mcp(entry)
    return bool(words) and (_named(words[0]) or tuple(words[1:3]) in MODULES or any(map(_distribution, words)))


def _named(word: str) -> bool:
    return not {path(word).stem.lower() for path in (PurePosixPath, PureWindowsPath)}.isdisjoint(COMMANDS)


def _distribution(word: str) -> bool:
    """Whether a word of `uvx --from` or `pipx run --spec` is our distribution, by its name now or before."""
    return re.split(r"[\[=<>~!@ ]", word, maxsplit=1)[0] in {DISTRIBUTION, FORMER}


def options(entry: Json) -> dict[str, str]:
    """The options of an entry, by name; none if it is not ours."""
    words = _before_mcp(entry) if ours(entry) else []
    return {flag: words[words.index(flag) + 1] for flag in OPTIONS if flag in words[:-1]}


def our_hook(line: str, tail: Sequence[str]) -> bool:
    """
    Whether a shell command is a hook of ours as `ServerCommand.hook` writes it, in any version and place.

    A command that does anything else as well, such as one that the user wrapped, is not.

    Args:
        tail: The subcommand and what follows it.
    """
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    plain = shlex.join(words) == line or (subprocess.list2cmdline(words) == line and not _SHELL.search(line))
    if not plain or words[-len(tail) :] != list(tail):
        return False
    program = words[: -len(tail)]
    while program[-2:-1] and program[-2] in OPTIONS:
        program = program[:-2]
    match program:
        case [word]:
            return _named(word)
        case [python, *module] if tuple(module) in MODULES:
            return PurePosixPath(python).name.startswith("py")
        case [starter, *rest, word]:
            return (
                PurePosixPath(starter).stem in {"uv", "uvx", "pipx"} and any(map(_distribution, rest)) and _named(word)
            )
    return False


_SHELL = re.compile(r"[;&|<>$`\n]")


def described(entry: Json) -> str:
    """The program that an entry starts or the host that it uses, without the rest, which may contain secrets."""
    url = entry.get("url", entry.get("httpUrl", entry.get("serverUrl"))) if isinstance(entry, dict) else None
    if url:
        text = _host(str(url))
    else:
        words = " ".join(_argv(entry)[:1]).split()
        text = PurePosixPath(PureWindowsPath(words[0]).as_posix()).name if words and "=" not in words[0] else ""
    return text[:SHOWN] or "something else"


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _before_mcp(entry: Json) -> list[str]:
    """The program that an entry starts, and its options; empty if no subcommand `mcp` follows."""
    argv = _argv(entry)
    return argv[: argv.index("mcp", 1)] if "mcp" in argv[1:] else []


def _argv(entry: Json) -> list[str]:
    if not isinstance(entry, dict):
        return []
    program, arguments = entry.get("command"), entry.get("args", [])
    whole = [
        *(program if isinstance(program, list) else [program]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    return [str(word) for word in whole if word is not None]

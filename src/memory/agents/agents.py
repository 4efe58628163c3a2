"""
The agents that `memory setup` knows: where each keeps its files, and what an entry looks like there.

Looked up in November 2026; docs/setup.md has the pages. Only Claude Code is changed through its own command, because
~/.claude.json is also its state, which it writes while it runs. The commands of the others rewrite the whole file
(`gemini mcp add`), know only the user's file (`codex mcp add`), cannot remove (`code --add-mcp`, `opencode mcp add`) or
do not exist (Cursor, Claude Desktop); their files are settings, written by people.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from memory.agents.command import Environment, ServerCommand
    from memory.agents.jsontext import Json

START, STOP = "session-start", "session-end"
"""Arguments of `memory hook`."""


class Event(NamedTuple):
    """
    A moment at which an agent runs commands.

    Attributes:
        name: The agent's name for it.
        verb: The argument for `memory hook`.
        group: Members next to the list of handlers, for agents that group handlers.
        handler: The handler, with its command still empty.
        capture: Only where its user wants sessions to propose what to keep; the command then says so.
    """

    name: str
    verb: str
    handler: dict[str, Json]
    group: dict[str, Json]
    capture: bool = False


class Hooks(NamedTuple):
    """
    Attributes:
        file: The file in which they are registered.
        agent: The agent's name for `memory hook --agent`.
        grouped: Whether an event holds groups, each with a member `hooks`, a list of handlers.
        needed: What the file must have beside them.
    """

    file: Callable[[Environment], Path]
    agent: str
    events: tuple[Event, ...]
    grouped: bool
    needed: Mapping[str, Json] = MappingProxyType({})


def _plain(command: ServerCommand) -> dict[str, Json]:
    return {"command": command.server[0], "args": list(command.server[1:])}


def _typed(command: ServerCommand) -> dict[str, Json]:
    return {"type": "stdio", **_plain(command)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """
    Attributes:
        title: Its name for people.
        user: Candidates for the user's file, best first: the first that exists is used, else the first.
        project: The same in a project's root; empty if the agent has none.
        keys: The path of the object that holds the servers.
        entry: Makes our entry in that object.
        signs: Files and folders; if one exists, the agent is installed. None: the folders of the user's file.
        programs: Names on PATH; if one exists, the agent is installed.
        following: What the user does after setup.
        form: "json", "jsonc" (with comments) or "toml".
        envelope: See `memory.agents.edits.Server`.
        skill: The path for our skill file.
        plugin: The path, in the file of the hooks, of what is true where memory is a plugin of this agent.
        note: What the user should know about a project's file.
    """

    name: str
    title: str
    user: Callable[[Environment], tuple[Path, ...]]
    project: tuple[str, ...] = ()
    keys: tuple[str, ...] = ("mcpServers",)
    entry: Callable[[ServerCommand], dict[str, Json]] = _plain
    signs: Callable[[Environment], tuple[Path, ...]] | None = None
    programs: tuple[str, ...] = ()
    following: str
    form: str = "json"
    envelope: str = ""
    hooks: Hooks | None = None
    skill: Callable[[Environment], Path] | None = None
    plugin: tuple[str, ...] = ()
    note: str = ""

    @property
    def captures(self) -> bool:
        """Whether its transcripts can be read at the end of a session."""
        return self.hooks is not None and any(event.capture for event in self.hooks.events)


def _claude(environment: Environment) -> Path:
    return environment.folder("CLAUDE_CONFIG_DIR", environment.home / ".claude")


def _claude_state(environment: Environment) -> tuple[Path, ...]:
    return (environment.folder("CLAUDE_CONFIG_DIR", environment.home) / ".claude.json",)


def _claude_desktop(environment: Environment) -> tuple[Path, ...]:
    """On Windows a packaged app sees its own folder in place of %APPDATA% (anthropics/claude-code#26073)."""
    name = "claude_desktop_config.json"
    plain = environment.applications / "Claude" / name
    if environment.platform != "win32":
        return (plain,)
    packages = environment.folder("LOCALAPPDATA", environment.home / "AppData" / "Local") / "Packages"
    packaged = sorted(packages.glob("Claude_*")) if packages.is_dir() else []
    return tuple(folder / "LocalCache" / "Roaming" / "Claude" / name for folder in packaged) or (plain,)


def _codex(environment: Environment) -> Path:
    return environment.folder("CODEX_HOME", environment.home / ".codex")


def _cursor(environment: Environment) -> Path:
    return environment.home / ".cursor"


def _gemini(environment: Environment) -> Path:
    return environment.folder("GEMINI_CLI_HOME", environment.home) / ".gemini"


def _opencode(environment: Environment) -> Path:
    return environment.config / "opencode"


def _vscode(environment: Environment) -> tuple[Path, ...]:
    """The default profile's folder; a portable installation has its own."""
    portable = environment.env.get("VSCODE_PORTABLE", "")
    if portable:
        return (environment.absolute(portable) / "user-data" / "User",)
    return tuple(environment.applications / name / "User" for name in ("Code", "Code - Insiders", "VSCodium"))


def _there(folders: tuple[Path, ...]) -> Path:
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def _windsurf(environment: Environment) -> tuple[Path, ...]:
    """
    Windsurf has been Devin Desktop since June 2026; if only the old folder exists, it is used.

    In the new one servers have a separate file since version 3000.3 (docs.devin.ai, MCP configuration).
    """
    settings = environment.applications if environment.platform == "win32" else environment.home / ".config"
    new, old = settings / "devin", environment.home / ".codeium" / "windsurf"
    return ((old if old.is_dir() and not new.is_dir() else new) / "mcp_config.json",)


_BARE: dict[str, Json] = {"command": "", "timeout": 10}  # seconds
_HANDLER: dict[str, Json] = {"type": "command", **_BARE}

AGENTS = (
    Agent(
        name="claude-code",
        title="Claude Code",
        user=_claude_state,
        project=(".mcp.json",),
        entry=_typed,
        signs=lambda environment: (_claude(environment), *_claude_state(environment)),
        programs=("claude",),
        following="Start a new session of Claude Code; `claude mcp list` shows whether it connects.",
        hooks=Hooks(
            lambda environment: _claude(environment) / "settings.json",
            "claude-code",
            (
                Event("SessionStart", START, _HANDLER, {"matcher": "startup|resume|clear|compact"}),
                Event("Stop", STOP, _HANDLER, {}),
                # The end of a turn is none of a session. All hooks at the end of one share 1.5 s unless one names more.
                Event("SessionEnd", STOP, _HANDLER, {}, capture=True),
            ),
            grouped=True,
        ),
        skill=lambda environment: _claude(environment) / "skills" / "memory" / "SKILL.md",
        plugin=("enabledPlugins", "memory@tiermem"),
        note="Claude Code asks everybody once whether they trust the servers of a project.",
    ),
    Agent(
        name="claude-desktop",
        title="Claude Desktop",
        user=_claude_desktop,
        following="Quit Claude Desktop, from its tray icon too, and start it again.",
    ),
    Agent(
        name="cursor",
        title="Cursor",
        user=lambda environment: (_cursor(environment) / "mcp.json",),
        project=(".cursor/mcp.json",),
        entry=_typed,
        programs=("cursor", "cursor-agent"),
        following="Restart Cursor; Settings > MCP shows the server and its switch.",
        hooks=Hooks(
            lambda environment: _cursor(environment) / "hooks.json",
            "cursor",
            # Else a reminder at the end of a turn may be followed by four more.
            (Event("sessionStart", START, _BARE, {}), Event("stop", STOP, {**_BARE, "loop_limit": 1}, {})),
            grouped=False,
            needed={"version": 1},
        ),
        skill=lambda environment: _cursor(environment) / "skills" / "memory" / "SKILL.md",
    ),
    Agent(
        name="codex",
        title="Codex",
        user=lambda environment: (_codex(environment) / "config.toml",),
        project=(".codex/config.toml",),
        keys=("mcp_servers",),
        programs=("codex",),
        following="Start a new session of Codex and trust the hooks of memory under /hooks; `codex mcp list` shows the server.",
        form="toml",
        hooks=Hooks(
            lambda environment: _codex(environment) / "hooks.json",
            "codex",
            (Event("SessionStart", START, _HANDLER, {}), Event("Stop", STOP, _HANDLER, {})),
            grouped=True,
        ),
        skill=lambda environment: environment.home / ".agents" / "skills" / "memory" / "SKILL.md",
        note="Codex reads a project's file only where the project is trusted.",
    ),
    Agent(
        name="opencode",
        title="OpenCode",
        user=lambda environment: (_opencode(environment) / "opencode.json", _opencode(environment) / "opencode.jsonc"),
        project=("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"),
        keys=("mcp",),
        entry=lambda command: {"type": "local", "command": list(command.server)},
        signs=lambda environment: (_opencode(environment), environment.home / ".opencode"),
        programs=("opencode",),
        following="Restart OpenCode; `opencode mcp list` shows the server.",
        form="jsonc",
        envelope="servers",
        # No hooks: with a plugin it waits for npm's registry at every start (docs/decisions/mcp-and-agents.md).
        skill=lambda environment: _opencode(environment) / "skills" / "memory" / "SKILL.md",
    ),
    Agent(
        name="vscode",
        title="VS Code",
        user=lambda environment: (_there(_vscode(environment)) / "mcp.json",),
        project=(".vscode/mcp.json",),
        keys=("servers",),
        entry=_typed,
        programs=("code", "code-insiders", "codium"),
        following="Run `MCP: List Servers` in VS Code and start memory; it asks once whether you trust it.",
        form="jsonc",
        hooks=Hooks(
            lambda environment: environment.home / ".copilot" / "hooks" / "memory.json",
            "vscode",
            (Event("SessionStart", START, _HANDLER, {}), Event("Stop", STOP, _HANDLER, {})),
            grouped=False,
            needed={"version": 1},
        ),
        skill=lambda environment: environment.home / ".copilot" / "skills" / "memory" / "SKILL.md",
    ),
    Agent(
        name="gemini",
        title="Gemini CLI",
        user=lambda environment: (_gemini(environment) / "settings.json",),
        project=(".gemini/settings.json",),
        programs=("gemini",),
        following="Start Gemini CLI in a folder that it trusts; /mcp shows the server.",
        form="jsonc",
        hooks=Hooks(
            lambda environment: _gemini(environment) / "settings.json",
            "gemini-cli",
            (  # its timeouts are milliseconds
                Event("SessionStart", START, {"name": "memory-start", **_HANDLER, "timeout": 10_000}, {}),
                Event("AfterAgent", STOP, {"name": "memory-end", **_HANDLER, "timeout": 10_000}, {}),
            ),
            grouped=True,
        ),
        skill=lambda environment: _gemini(environment) / "skills" / "memory" / "SKILL.md",
    ),
    Agent(
        name="windsurf",
        title="Windsurf (Devin Desktop)",
        user=_windsurf,
        project=(".devin/mcp_config.json",),
        programs=("windsurf", "devin-desktop", "devin"),
        following="Restart Windsurf (Devin Desktop); its list of MCP servers shows memory.",
        note="Windsurf from before June 2026 has no settings file for a project.",
    ),
)

INSTRUCTIONS = "agents-md"
"""Not an agent: a block in the project's AGENTS.md, which most agents read."""

NAMES = (*(agent.name for agent in AGENTS), INSTRUCTIONS)

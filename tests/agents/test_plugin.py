"""The repository as a plugin of Claude Code, installed by `claude plugin` from a local folder: `make test-agents`."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from coding_agents import CODING_AGENTS, PROGRAMS, environment, run_agent
from command import COMMAND, Shell
from scripted_model import Request, ScriptedModel, Wanted

ROOT = Path(__file__).resolve().parents[2]
CLAUDE = next(agent for agent in CODING_AGENTS if agent.program == "claude")
TOOLS = "mcp__plugin_memory_memory__"
LOADS = Wanted("ToolSearch", {"query": f"select:{TOOLS}memory_search"})
SEARCH = Wanted("memory_search", {"query": "lighthouse"})
CONNECTED = re.compile(r"^plugin:memory:memory: memory mcp - ✔ Connected$", re.MULTILINE)

if not PROGRAMS.is_dir():
    pytest.skip("`make test-agents` installs the agents", allow_module_level=True)


@dataclass
class Plugged:
    """
    What was seen of the plugin, and beside it of what `memory setup` had registered before.

    Attributes:
        servers: Before and after it was uninstalled.
        asked: What the model was asked in the session.
        setup: What `memory setup` says once it is there.
    """

    validated: str
    setup: str = ""
    servers: list[str] = field(default_factory=list)
    asked: list[Request] = field(default_factory=list)
    results: tuple[str, ...] = ()


@pytest.fixture(scope="module")
def plugged(tmp_path_factory: pytest.TempPathFactory) -> Plugged:
    home, source = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("source")
    shutil.copytree(ROOT / ".claude-plugin", source / ".claude-plugin")
    shutil.copy(ROOT / "README.md", source)
    project = home / "harbour"
    (project / ".git").mkdir(parents=True)
    (home / "data").mkdir()
    shell = Shell(home / "data", project, {"HOME": str(home)})
    shell("save", "The lighthouse is painted red", "--what", "Ships mistook the white one.", "--project")
    # The plugin starts what is on PATH, and has no options: the rest is as for everybody whose settings are variables.
    ours = {name: value for name, value in shell.env.items() if name.startswith("MEMORY_")}
    claude = replace(
        CLAUDE,
        session=lambda _url: ("--allowedTools", TOOLS.removesuffix("__"), "--print"),
        model=lambda url: {
            **CLAUDE.model(url),
            **ours,
            "PATH": f"{environment(home, url)['PATH']}{os.pathsep}{COMMAND.parent}",
        },
    )

    with ScriptedModel([LOADS, SEARCH]) as model:

        def run(*arguments: str) -> str:
            return run_agent(claude, arguments, home, project, model.url)

        seen = Plugged(run("plugin", "validate", "--strict", str(source)))
        shell("setup", "claude-code")
        run("plugin", "marketplace", "add", str(source))
        run("plugin", "install", "memory@tiermem")
        seen.setup = shell("setup", "claude-code").err
        seen.servers.append(run("mcp", "list"))
        run(*claude.session(model.url), "/memory:recall the lighthouse")
        run("plugin", "uninstall", "memory@tiermem")
        seen.servers.append(run("mcp", "list"))
    seen.asked, seen.results = model.requests, model.results
    return seen


def test_the_plugin_is_valid(plugged: Plugged) -> None:
    assert "Validation passed" in plugged.validated
    for part in ("mcpServers: memory", "skills: memory:memory", "commands: memory:recall", "commands: memory:remember"):
        assert part in plugged.validated


def test_the_server_of_the_plugin_connects_until_it_is_uninstalled(plugged: Plugged) -> None:
    assert CONNECTED.search(plugged.servers[0]), plugged.servers[0]
    assert not CONNECTED.search(plugged.servers[1])


def test_a_session_with_the_plugin_begins_with_what_is_known(plugged: Plugged) -> None:
    assert "Ships mistook the white one." in plugged.asked[0].text


def test_a_session_with_the_plugin_and_what_setup_registered_is_told_once(plugged: Plugged) -> None:
    assert plugged.asked[0].text.count("Ships mistook the white one.") == 1
    assert "Claude Code has memory as a plugin" in plugged.setup


def test_the_command_recall_reaches_the_model(plugged: Plugged) -> None:
    assert "Recall what is known about: the lighthouse" in plugged.asked[0].text


def test_the_plugins_tools_go_through(plugged: Plugged) -> None:
    assert "The lighthouse is painted red" in plugged.results[-1]

"""What decides where memories are goes into an agent's entry, or setup says why it cannot; it is never left out."""

from __future__ import annotations

import json
import shlex
import tomllib
from typing import TYPE_CHECKING

import pytest

from memory.agents.agents import AGENTS
from memory.agents.command import Environment
from memory.agents.register import Request, setup
from memory.schema.errors import Invalid

if TYPE_CHECKING:
    from pathlib import Path

URL = "postgresql://me@host:5432/memory"
PLACES = {agent.name: agent for agent in AGENTS}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "proj" / ".git").mkdir(parents=True)
    return tmp_path / "home"


def machine(home: Path, **env: str) -> Environment:
    return Environment(home, "linux", env, home / "proj")


def arguments(home: Path, agent: str = "cursor", **env: str) -> list[str]:
    """What follows the program in the entry that setup writes where the environment is this."""
    environment = machine(home, **env)
    step = setup(Request(agent=agent), environment).steps[0]
    entry = tomllib.loads(step.path.read_text()) if step.path.suffix == ".toml" else json.loads(step.path.read_text())
    for key in (*PLACES[agent].keys, "memory"):
        entry = entry[key]
    command = entry["command"]
    return command[1:] if isinstance(command, list) else entry["args"]


@pytest.mark.parametrize("agent", list(PLACES))
def test_every_entry_and_every_hook_has_the_servers_url(home: Path, agent: str) -> None:
    environment = machine(home, MEMORY_STORE_URL=URL, MEMORY_USER="ann")

    assert arguments(home, agent, **environment.env) == ["--store", URL, "--user", "ann", "mcp"]
    if hooks := PLACES[agent].hooks:
        groups = [
            one for several in json.loads(hooks.file(environment).read_text())["hooks"].values() for one in several
        ]
        handlers = [one for group in groups for one in group.get("hooks", [group])]
        assert handlers
        for handler in handlers:
            assert shlex.split(handler["command"])[1:6] == ["--store", URL, "--user", "ann", "hook"]
    assert next(step.state for step in setup(Request(agent=agent), environment).steps) == "already"
    assert "absent" not in [step.state for step in setup(Request(agent=agent, remove=True), environment).steps]
    assert [path for path in home.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("env", "options"),
    [
        ({"PGHOST": "db", "PGPORT": "6432"}, "postgresql:///memory?host=db&port=6432"),
        ({"PGSERVICE": "mine"}, "postgresql:///memory?service=mine"),
        ({"PGPASSFILE": "/home/me/pass word"}, "postgresql:///memory?passfile=%2Fhome%2Fme%2Fpass%20word"),
        ({"PGSSLMODE": "require", "PGDATABASE": "other"}, "postgresql:///memory?sslmode=require"),
        ({"PGUSER": "ann", "LANG": "C"}, "postgresql:///memory?user=ann"),
    ],
)
def test_variables_of_postgresql_become_part_of_the_url(home: Path, env: dict[str, str], options: str) -> None:
    assert arguments(home, MEMORY_STORE_URL="postgresql:///memory", **env) == ["--store", options, "mcp"]


def test_what_the_url_says_itself_wins(home: Path) -> None:
    env = {"PGHOST": "other", "PGPORT": "1", "PGUSER": "eve", "PGDATABASE": "x"}

    assert arguments(home, MEMORY_STORE_URL=URL, **env) == ["--store", URL, "mcp"]


def test_a_server_of_the_settings_file_is_reached_as_here(home: Path) -> None:
    (home / "config.yaml").write_text("store:\n  url: postgresql:///memory\n")
    file = str(home / "config.yaml")

    assert arguments(home, MEMORY_CONFIG=file) == ["--config", file, "mcp"]
    assert arguments(home, MEMORY_CONFIG=file, PGHOST="db") == [
        "--config",
        file,
        "--store",
        "postgresql:///memory?host=db",
        "mcp",
    ]


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"MEMORY_STORE_URL": "postgresql://me:secret@host/memory"}, "has a password"),
        ({"MEMORY_STORE_URL": "postgresql://me@host/memory?password=secret"}, "has a password"),
        ({"MEMORY_STORE_URL": "postgresql://me@host/memory?pass%77ord=secret"}, "has a password"),
        ({"MEMORY_STORE_URL": "mysql://secret"}, "is not a URL such as"),
        ({"MEMORY_STORE_URL": URL, "PGPASSWORD": "secret"}, "PGPASSWORD is set"),
        ({"MEMORY_STORE_URL": URL, "PGSERVICEFILE": "/etc/mine"}, "PGSERVICEFILE is set"),
        ({"MEMORY_STORE_URL": "postgresql://?service=a", "PGHOST": "db"}, "PGHOST is set beside a service"),
    ],
)
@pytest.mark.parametrize("agent", ["claude-code", "codex", "vscode"])
def test_what_no_entry_can_have_is_refused(home: Path, agent: str, env: dict[str, str], said: str) -> None:
    with pytest.raises(Invalid, match=said) as caught:
        setup(Request(agent=agent), machine(home, **env))

    assert "secret" not in f"{caught.value} {caught.value.hint}"
    assert [path for path in home.rglob("*") if path.is_file()] == []
    assert setup(Request(agent=agent, remove=True), machine(home, **env)).changed is False


def test_a_data_folder_of_ones_own_is_named(home: Path) -> None:
    assert arguments(home, XDG_DATA_HOME="/data") == ["--home", "/data/memory", "mcp"]
    assert arguments(home, "codex", XDG_DATA_HOME=str(home / ".local/share")) == ["mcp"]
    assert arguments(home, "gemini", XDG_DATA_HOME="/data", MEMORY_HOME="/mine") == ["--home", "/mine", "mcp"]


@pytest.mark.parametrize(
    "env",
    [{"MEMORY_HOME": "/mine"}, {"MEMORY_STORE_URL": URL}, {"MEMORY_CONFIG": "/m.yaml"}, {"XDG_DATA_HOME": "/data"}],
)
def test_what_is_ones_own_is_refused_in_a_file_of_all(home: Path, env: dict[str, str]) -> None:
    with pytest.raises(Invalid, match="say where your memories are"):
        setup(Request(agent="cursor", project=True), machine(home, **env))

    assert [path for path in home.rglob("*") if path.is_file()] == []
    setup(Request(agent="cursor", project=True), machine(home))
    setup(Request(agent="agents-md"), machine(home, **env))


def test_what_is_named_goes_into_a_file_of_all(home: Path) -> None:
    setup(Request(agent="cursor", project=True, store=URL), machine(home, MEMORY_USER="ann"))

    entry = json.loads((home / "proj/.cursor/mcp.json").read_text())["mcpServers"]["memory"]
    assert entry["args"] == ["--store", URL, "mcp"]


def test_a_folder_that_is_named_takes_the_place_of_a_server(home: Path) -> None:
    assert arguments(home, MEMORY_STORE_URL=URL) == ["--store", URL, "mcp"]
    assert arguments(home) == ["--store", URL, "mcp"], "it stays, as setup says"

    outcome = setup(Request(agent="cursor", home="/mine"), machine(home, MEMORY_STORE_URL=URL))

    entry = json.loads((home / ".cursor/mcp.json").read_text())["mcpServers"]["memory"]
    assert (entry["args"], outcome.notices) == (["--home", "/mine", "mcp"], ())

"""`memory setup` as a person runs it, and what it wrote as an agent starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from command import Shell
from terminal import at_terminal

from memory.agents.agents import AGENTS, NAMES

if TYPE_CHECKING:
    from pathlib import Path

KEYS = {agent.name: agent.keys for agent in AGENTS}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A home without any agent, and no program but the system's on PATH."""
    (tmp_path / "person").mkdir()
    person = tmp_path / "person"
    return Shell(tmp_path / "data", person, {"PATH": "/usr/bin:/bin", "HOME": str(person)})


def argv_of(agent: str, file: Path) -> list[str]:
    """The command in an agent's file."""
    text = file.read_text("utf-8")
    entry = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    for key in (*KEYS[agent], "memory"):
        entry = entry[key]
    command = entry["command"]
    return [*command, *entry.get("args", [])] if isinstance(command, list) else [command, *entry["args"]]


def said(argv: list[str], folder: Path, *messages: dict) -> dict[int, dict]:
    """The answers of a server, by id, to what it is sent; it is started as an agent does, without our variables."""
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    wanted = {message["id"] for message in messages if "id" in message}
    answers: dict[int, dict] = {}
    server = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
        text=True,
        encoding="utf-8",
    )
    with server:
        server.stdin.write(lines)
        server.stdin.flush()
        for line in server.stdout:
            answer = json.loads(line)
            if "id" in answer:
                answers[answer["id"]] = answer
            if wanted <= answers.keys():
                break
        server.stdin.close()
        server.wait(timeout=60)
    return answers


def test_the_command_that_was_written_starts_the_server(shell: Shell) -> None:
    """All agents are given the same one."""
    files = {agent.name: shell("setup", agent.name, "--json").json["steps"][0]["file"] for agent in AGENTS}
    ((program, *words),) = {tuple(argv_of(agent, shell.folder / file)) for agent, file in files.items()}

    answers = said(
        [program, *words],
        shell.folder,
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    )

    assert words == ["--home", str(shell.home), "mcp"]
    assert "serverInfo" in answers[1]["result"]
    assert answers[2]["result"]["tools"]


@pytest.mark.parametrize("agent", [agent.name for agent in AGENTS if agent.hooks])
def test_the_hooks_that_were_written_run(agent: str, shell: Shell) -> None:
    steps = shell("setup", agent, "--json").json["steps"]
    file = next(shell.folder / step["file"] for step in steps if "hooks" in step["what"])
    groups = [group for groups in json.loads(file.read_text())["hooks"].values() for group in groups]
    handlers = [handler for group in groups for handler in group.get("hooks", [group])]
    event = {"session_id": "s1", "cwd": str(shell.folder), "hook_event_name": "SessionStart", "source": "startup"}

    for handler in handlers:
        ran = subprocess.run(
            handler["command"],
            shell=True,
            input=json.dumps(event),
            capture_output=True,
            text=True,
            cwd=shell.folder,
            env={"HOME": str(shell.folder), "PATH": "/usr/bin:/bin"},
            check=False,
            timeout=60,
        )
        assert (ran.returncode, ran.stderr) == (0, ""), handler


@pytest.mark.parametrize("agent", NAMES)
def test_setting_up_and_undoing_leaves_nothing(agent: str, shell: Shell) -> None:
    first = shell("setup", agent).out
    second = shell("setup", agent).out
    third = shell("setup", agent, "--remove").out
    fourth = shell("setup", agent, "--remove").out

    assert ": added: " in first
    assert ": already set up: " in second
    assert ": removed: " in third
    assert ": is not there: " in fourth
    assert list(shell.folder.iterdir()) == []


def test_a_dry_run_prints_a_line_a_file_and_writes_nothing(shell: Shell) -> None:
    ran = shell("setup", "cursor", "--dry-run")

    assert ran.out == (
        f"server: would be added: {shell.folder}/.cursor/mcp.json\n"
        f"hooks: would be added: {shell.folder}/.cursor/hooks.json\n"
        f"skill: would be added: {shell.folder}/.cursor/skills/memory/SKILL.md\n"
    )
    assert list(shell.folder.iterdir()) == []


def test_a_verbose_dry_run_prints_the_diffs(shell: Shell) -> None:
    ran = shell("setup", "cursor", "--dry-run", "-v")

    assert "server: would be added: " in ran.out
    assert '+    "memory": {\n' in ran.out
    assert list(shell.folder.iterdir()) == []


def test_the_result_as_json_says_what_was_done(shell: Shell) -> None:
    (shell.folder / ".cursor").mkdir()
    (shell.folder / ".cursor/mcp.json").write_text("{}")

    ran = shell("setup", "cursor", "--no-hooks", "--json").json

    assert ran["schema"] == "memory.setup/1"
    assert (ran["agent"], ran["project"], ran["dry_run"], ran["changed"]) == ("cursor", False, False, True)
    assert [step["what"] for step in ran["steps"]] == ["server", "skill"]
    assert ran["steps"][0]["backup"] == str(shell.folder / ".cursor/mcp.json.before-memory")
    assert ran["next"].startswith("Restart Cursor")
    assert {step["diff"] for step in ran["steps"]} == {""}
    assert shell("setup", "codex", "--dry-run", "--json").json["steps"][0]["diff"].startswith("--- ")


def test_without_an_agent_the_agents_are_listed(shell: Shell) -> None:
    shell("setup", "codex")

    text, rows = shell("setup").out, shell("setup", "--json").json["agents"]

    assert [row["agent"] for row in rows] == list(NAMES)
    assert [row["agent"] for row in rows if row["user"] == "yes"] == ["codex"]
    assert "codex           set up for you  not found\n" in text
    assert "gemini          not set up      not found\n" in text


def test_a_refusal_says_where_and_what_to_write_by_hand(shell: Shell) -> None:
    (shell.folder / ".cursor").mkdir()
    file = shell.folder / ".cursor/mcp.json"
    file.write_text('{\n  // mine\n  "mcpServers": {}\n}\n')

    ran = shell("setup", "cursor", code=2)

    assert f"{file}:2:3: a comment" in ran.err
    assert '    "memory": {\n' in ran.err
    assert file.read_text() == '{\n  // mine\n  "mcpServers": {}\n}\n'


def test_an_option_without_an_agent_is_refused(shell: Shell) -> None:
    assert "name the agent, or add --all" in shell("setup", "--remove", code=2).err
    assert "name the agent, or add --all" in shell("setup", "--remove", "--yes", code=2).err
    assert "--all already includes every agent" in shell("setup", "codex", "--all", code=2).err
    assert "Did you mean 'claude-desktop'?" in shell("setup", "claude-destop", code=2).err


# The agents that are here

QUESTION = "Connect Codex and Gemini CLI? [Y/n]:"


@pytest.fixture
def inhabited(shell: Shell) -> Shell:
    """A home in which Codex and Gemini CLI have left something, and of Cursor there is an empty folder."""
    for name in (".codex/history.jsonl", ".gemini/installation_id"):
        (shell.folder / name).parent.mkdir()
        (shell.folder / name).write_text("")
    (shell.folder / ".cursor").mkdir()
    return shell


def users(shell: Shell) -> dict[str, str]:
    """The agents that have the server."""
    return {row["agent"]: row["user"] for row in shell("setup", "--json").json["agents"] if row["user"] != "no"}


def files_of(shell: Shell) -> set[Path]:
    return {path for path in shell.folder.rglob("*") if path.is_file()}


def test_where_nobody_is_asked_the_list_says_what_to_type(inhabited: Shell) -> None:
    ran = inhabited("setup")

    assert f"codex           not set up  found: {inhabited.folder}/.codex\n" in ran.out
    assert "cursor          not set up  not found\n" in ran.out
    assert "next     memory setup --all      connect Codex and Gemini CLI\n" in ran.out
    assert users(inhabited) == {}


def test_all_connects_the_agents_that_are_here_and_all_remove_undoes_it(inhabited: Shell) -> None:
    before = files_of(inhabited)

    added = inhabited("setup", "--all").out
    connected = users(inhabited)
    listed = inhabited("setup").out
    removed = inhabited("setup", "--all", "--remove").out

    assert [line for line in added.splitlines() if not line.startswith(" ")] == ["Codex", "Gemini CLI"]
    assert connected == {"codex": "yes", "gemini": "yes"}
    assert "next" not in listed
    assert [line for line in removed.splitlines() if not line.startswith(" ")] == ["Codex", "Gemini CLI"]
    assert files_of(inhabited) == before
    assert inhabited("setup", "--all", "--remove").out == "nothing of memory is in any agent's files\n"


def plug_in(shell: Shell, value: str) -> None:
    """What `claude plugin install memory@tiermem` leaves of itself in the settings."""
    (shell.folder / ".claude").mkdir(exist_ok=True)
    (shell.folder / ".claude/settings.json").write_text(f'{{"enabledPlugins": {{"memory@tiermem": {value}}}}}\n')


@pytest.mark.parametrize("arguments", [("claude-code",), ("--all",)])
def test_who_has_the_plugin_is_not_connected_twice(inhabited: Shell, arguments: tuple[str, ...]) -> None:
    plug_in(inhabited, "true")
    before = {path for path in files_of(inhabited) if ".claude" in str(path)}

    ran = inhabited("setup", *arguments)

    assert {path for path in files_of(inhabited) if ".claude" in str(path)} == before
    assert "Claude Code has memory as a plugin, which does the same, so nothing was changed." in ran.err
    assert "Claude Code\n" not in ran.out
    assert users(inhabited)["claude-code"] == "plugin"
    assert "claude-code     set up as a plugin for you " in inhabited("setup").out


@pytest.mark.parametrize("value", ["false", "null", "[true]", "tru"])
def test_a_plugin_that_is_off_is_none(inhabited: Shell, value: str) -> None:
    plug_in(inhabited, value)

    assert "claude-code" not in users(inhabited)


def test_what_was_connected_before_the_plugin_came_can_be_removed(shell: Shell) -> None:
    shell("setup", "claude-code")
    settings = shell.folder / ".claude/settings.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"enabledPlugins": {"memory@tiermem": True}}))

    shell("setup", "claude-code", "--remove")

    assert "hook session-start" not in settings.read_text()
    assert json.loads(settings.read_text())["enabledPlugins"] == {"memory@tiermem": True}


def test_a_dry_run_of_all_prints_a_line_a_file(inhabited: Shell) -> None:
    before = files_of(inhabited)

    ran = inhabited("setup", "--dry-run")

    assert ran.out.count("would be added") == 5
    assert ran.out.count("\n") == 7
    assert files_of(inhabited) == before


def test_an_agent_that_cannot_be_connected_keeps_no_other_from_it(inhabited: Shell) -> None:
    (inhabited.folder / ".codex/config.toml").write_text("[mcp_servers.memory]\ncommand = 'npx'\nargs = ['other']\n")

    ran = inhabited("setup", "--all", code=1)
    as_json = inhabited("setup", "--all", "--json", code=1).json["agents"]

    assert "memory: Codex: " in ran.err
    assert "there already is a server 'memory' that memory did not write: npx" in ran.err
    assert users(inhabited) == {"codex": "other", "gemini": "yes"}
    assert [(one["agent"], "error" in one) for one in as_json] == [("codex", True), ("gemini", False)]


def test_where_no_agent_is_here_it_says_so(shell: Shell) -> None:
    assert "no coding agent was found on this machine" in shell("setup").out
    assert "no coding agent was found on this machine" in shell("setup", "--all").out


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(("answer", "connected"), [("\n", {"codex", "gemini"}), ("n\n", set())])
def test_at_a_terminal_it_asks_whether_to_connect_them(inhabited: Shell, answer: str, connected: set[str]) -> None:
    said = at_terminal(inhabited, answer, "setup")

    assert QUESTION in said
    assert ("skill: added" in said) == bool(connected)
    assert users(inhabited).keys() == connected


def test_claude_codes_own_command_does_not_get_our_standard_input(shell: Shell) -> None:
    program = shell.folder / "bin" / "claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\ncat > "$HOME/stdin"\nprintf "%s " "$@" > "$HOME/asked"\n')
    program.chmod(0o755)
    with_claude = replace(shell, settings={**shell.settings, "PATH": f"{program.parent}:/usr/bin:/bin"})

    ran = with_claude("setup", "claude-code", stdin="yes\n")

    assert (shell.folder / "stdin").read_text() == ""
    assert (shell.folder / "asked").read_text().startswith("mcp add --scope user memory -- ")
    assert "server: could not be verified, though asked for by `" in ran.out
    assert "`claude mcp list` shows what it has" in ran.err


def test_the_module_runs_as_the_command(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "memory", "--version"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        check=True,
        timeout=60,
    )

    assert ran.stdout.startswith("memory ")


def capturing(shell: Shell) -> list[str]:
    """The commands that Claude Code runs at the end of a session."""
    file = shell.folder / ".claude" / "settings.json"
    groups = json.loads(file.read_text())["hooks"].get("SessionEnd", []) if file.exists() else []
    return [handler["command"] for group in groups for handler in group["hooks"]]


def test_capture_is_off_and_stays_as_it_was_asked_for(shell: Shell) -> None:
    shell("setup", "claude-code")
    assert capturing(shell) == []

    shell("setup", "claude-code", "--capture")
    (line,) = capturing(shell)
    assert line.endswith(" hook session-end --agent claude-code --capture")
    assert "already set up" in shell("setup", "claude-code", "--capture").out
    assert "hooks: already set up" in shell("setup", "claude-code").out
    assert capturing(shell) == [line]


def test_capture_is_corrected_like_the_other_hooks(shell: Shell) -> None:
    shell("setup", "claude-code", "--capture")
    file = shell.folder / ".claude" / "settings.json"
    (line,) = capturing(shell)
    program = line.partition(" ")[0]
    file.write_text(file.read_text().replace(program, "/old/bin/memory"))

    assert "hooks: updated" in shell("setup", "claude-code").out
    assert capturing(shell) == [line]


def test_capture_is_undone_with_the_rest(shell: Shell) -> None:
    shell("setup", "claude-code", "--capture")
    shell("setup", "claude-code", "--remove")

    assert list(shell.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("codex",), "sessions of codex cannot propose"),
        (("claude-code", "--project"), "--project does not"),
        (("claude-code", "--no-hooks"), "--no-hooks does not"),
        (("--all", "--remove"), "--remove does not"),
    ],
)
def test_capture_where_it_cannot_be_is_refused(arguments: tuple[str, ...], why: str, shell: Shell) -> None:
    assert why in shell("setup", *arguments, "--capture", code=2).err
    assert list(shell.folder.iterdir()) == []


def test_capture_for_all_is_for_those_that_can(inhabited: Shell) -> None:
    (inhabited.folder / ".claude").mkdir()
    (inhabited.folder / ".claude" / "CLAUDE.md").touch()

    inhabited("setup", "--all", "--capture")

    assert len(capturing(inhabited)) == 1
    assert "--capture" not in (inhabited.folder / ".codex" / "hooks.json").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(("answer", "count"), [("\n", 0), ("y\n", 1)])
def test_at_a_terminal_capture_is_asked_for_once_and_no_is_usual(shell: Shell, answer: str, count: int) -> None:
    said = at_terminal(shell, answer, "setup", "claude-code")

    assert said.count("propose notes when they end, for you to review? [y/N]") == 1
    assert len(capturing(shell)) == count
    if count:
        assert "[y/N]" not in at_terminal(shell, "", "setup", "claude-code")

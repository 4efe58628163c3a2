"""
What `memory setup` writes, and that it leaves everything else as it was.

tests/support/golden/setup has, by agent, a home before and after. @PROGRAM@ stands for this installation's program there, and
@INSTRUCTIONS@ for the packaged block.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import tomlkit
from hypothesis import given, reject, strategies as st

from memory.agents import files
from memory.agents.agents import AGENTS, NAMES
from memory.agents.command import Environment, ServerCommand, command, fleeting, ours
from memory.agents.edits import Hook, JsonEdit, Occupied, Server, snippet
from memory.agents.jsontext import MARK, Fault, parsed
from memory.agents.register import Registration, Request, setup
from memory.agents.setup_files import MarkedBlock, Whole, for_user, instructions, overview
from memory.agents.toml import TomlEdit
from memory.schema.errors import ConfigError, Error, Invalid

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).parents[2] / "support" / "golden" / "setup"
CASES = sorted(path.name for path in GOLDEN.iterdir())
PLATFORMS = ("linux", "darwin", "win32")

CHANGES: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "with CRLF": lambda text: text.replace("\n", "\r\n"),
    "with a byte order mark": lambda text: MARK + text,
    "with both": lambda text: MARK + text.replace("\n", "\r\n"),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "proj" / ".git").mkdir(parents=True)
    return tmp_path / "home"


def machine(home: Path, *, platform: str = "linux", **env: str) -> Environment:
    """A machine without any agent's program on PATH."""
    return Environment(home, platform, env, home / "proj")


def agent_of(case: str) -> str:
    return next(name for name in NAMES if case == name or case.startswith(f"{name}-"))


def files_of(home: Path) -> dict[str, bytes]:
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def run(environment: Environment, agent: str, **options: bool) -> Registration:
    return setup(Request(agent=agent, **options), environment)


def states(outcome: Registration) -> list[str]:
    return [step.state for step in outcome.steps]


# Golden files


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_gets_ours_and_keeps_the_rest(case: str, change: str, home: Path) -> None:
    environment, golden = machine(home), GOLDEN / case
    for path in (golden / "before").rglob("*"):
        if path.is_file():
            target = home / path.relative_to(golden / "before")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(CHANGES[change](path.read_text("utf-8")).encode())
    before = files_of(home)
    program = command(environment, home=None, config=None, shared=False).argv[0]
    block = snippet(instructions(environment).edit)

    run(environment, agent_of(case))

    for path in (golden / "after").rglob("*"):
        if path.is_file():
            name = path.relative_to(golden / "after").as_posix()
            text = path.read_text("utf-8").replace("@PROGRAM@", program).replace("@INSTRUCTIONS@", block.strip())
            changed = CHANGES[change](text) if name in before else text
            assert (home / name).read_bytes().decode() == changed, name
    copies = {name.removesuffix(files.BACKUP): data for name, data in files_of(home).items() if files.BACKUP in name}
    assert copies == {name: data for name, data in before.items() if not name.startswith("proj/")}

    run(environment, agent_of(case), remove=True)

    assert files_of(home) == before


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("agent", [agent.name for agent in AGENTS])
def test_what_was_not_there_is_made_and_goes_again(agent: str, platform: str, home: Path) -> None:
    environment = machine(home, platform=platform)
    before = sorted(home.rglob("*"))

    first, second = run(environment, agent), run(environment, agent)
    made = files_of(home)
    third, fourth = run(environment, agent, remove=True), run(environment, agent, remove=True)

    assert set(states(first)) == {"added"}
    assert set(states(second)) == {"already"}
    assert set(states(third)) == {"removed"}
    assert set(states(fourth)) == {"absent"}
    assert {home / name for name in made} == {step.path for step in first.steps}
    assert sorted(home.rglob("*")) == before


@pytest.mark.parametrize("agent", NAMES)
def test_twice_changes_nothing_the_second_time(agent: str, home: Path) -> None:
    (home / "proj" / "AGENTS.md").write_text("# Rules\n")
    environment = machine(home)
    run(environment, agent)
    once = files_of(home)

    second = run(environment, agent)

    assert not second.changed
    assert second.following == ""
    assert files_of(home) == once


@pytest.mark.parametrize("agent", NAMES)
def test_a_dry_run_shows_what_would_change_and_changes_nothing(agent: str, home: Path) -> None:
    outcome = setup(Request(agent=agent), machine(home), dry_run=True)

    assert files_of(home) == {}
    assert all(f"+++ {step.path}\n" in step.diff for step in outcome.steps)
    assert any(line.startswith("+") and "memory" in line for line in outcome.steps[0].diff.splitlines()[2:])


# Where files are


@pytest.mark.parametrize(
    ("agent", "platform", "path"),
    [
        ("claude-code", "linux", ".claude.json"),
        ("claude-desktop", "darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("claude-desktop", "linux", ".config/Claude/claude_desktop_config.json"),
        ("cursor", "win32", ".cursor/mcp.json"),
        ("codex", "darwin", ".codex/config.toml"),
        ("opencode", "win32", ".config/opencode/opencode.json"),
        ("vscode", "linux", ".config/Code/User/mcp.json"),
        ("vscode", "darwin", "Library/Application Support/Code/User/mcp.json"),
        ("vscode", "win32", "AppData/Roaming/Code/User/mcp.json"),
        ("gemini", "linux", ".gemini/settings.json"),
        ("windsurf", "linux", ".config/devin/mcp_config.json"),
        ("windsurf", "win32", "AppData/Roaming/devin/mcp_config.json"),
    ],
)
def test_the_users_file(agent: str, platform: str, path: str, home: Path) -> None:
    outcome = setup(Request(agent=agent), machine(home, platform=platform), dry_run=True)

    assert outcome.steps[0].path == home / path


@pytest.mark.parametrize(
    ("agent", "variable", "path"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "else/.claude.json"),
        ("codex", "CODEX_HOME", "else/config.toml"),
        ("opencode", "XDG_CONFIG_HOME", "else/opencode/opencode.json"),
        ("vscode", "XDG_CONFIG_HOME", "else/Code/User/mcp.json"),
        ("vscode", "VSCODE_PORTABLE", "else/user-data/User/mcp.json"),
        ("gemini", "GEMINI_CLI_HOME", "else/.gemini/settings.json"),
    ],
)
def test_a_variable_moves_the_folder(agent: str, variable: str, path: str, home: Path) -> None:
    moved = machine(home, **{variable: str(home / "else")})
    relative = machine(home, **{variable: "../else"})
    empty = machine(home, **{variable: ""})

    assert setup(Request(agent=agent), moved, dry_run=True).steps[0].path == home / path
    assert setup(Request(agent=agent), relative, dry_run=True).steps[0].path == home / path
    assert setup(Request(agent=agent), empty, dry_run=True).steps[0].path != home / path


def test_claude_desktop_from_a_package_has_its_file_in_the_package(home: Path) -> None:
    (home / "AppData/Local/Packages/Claude_pzs8sxrjxfjjc").mkdir(parents=True)
    (home / "AppData/Roaming/Claude").mkdir(parents=True)
    (home / "AppData/Roaming/Claude/claude_desktop_config.json").write_text("{}")

    step = run(machine(home, platform="win32"), "claude-desktop").steps[0]

    folder = home / "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude"
    assert step.path == folder / "claude_desktop_config.json"


def test_who_has_windsurfs_old_folder_alone_has_the_old_file(home: Path) -> None:
    (home / ".codeium/windsurf").mkdir(parents=True)
    old = setup(Request(agent="windsurf"), machine(home), dry_run=True).steps[0].path
    (home / ".config/devin").mkdir(parents=True)
    new = setup(Request(agent="windsurf"), machine(home), dry_run=True).steps[0].path

    assert (old, new) == (home / ".codeium/windsurf/mcp_config.json", home / ".config/devin/mcp_config.json")


def test_of_two_files_that_an_agent_reads_the_one_with_our_entry_is_changed(home: Path) -> None:
    folder = home / ".config/opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text('{"mcp": {"memory": {"type": "local", "command": ["/old/memory", "mcp"]}}}')
    (folder / "opencode.json").write_text("{}")

    run(machine(home), "opencode")

    assert "/old/memory" not in (folder / "opencode.jsonc").read_text()
    assert (folder / "opencode.json").read_text() == "{}"


# Projects


@pytest.mark.parametrize(
    ("agent", "path"),
    [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("codex", ".codex/config.toml"),
        ("opencode", "opencode.json"),
        ("vscode", ".vscode/mcp.json"),
        ("gemini", ".gemini/settings.json"),
        ("windsurf", ".devin/mcp_config.json"),
    ],
)
def test_a_projects_file_stands_in_its_root_and_has_the_server_alone(agent: str, path: str, home: Path) -> None:
    deep = home / "proj" / "a" / "b"
    deep.mkdir(parents=True)

    outcome = run(Environment(home, "linux", {}, deep), agent, project=True)

    assert [step.path for step in outcome.steps] == [home / "proj" / path]
    assert list(files_of(home)) == [f"proj/{path}"]


def test_without_a_repository_a_projects_file_stands_in_the_current_folder(tmp_path: Path) -> None:
    outcome = run(Environment(Path("/nobody"), "linux", {}, tmp_path), "cursor", project=True)

    assert outcome.steps[0].path == tmp_path / ".cursor/mcp.json"


def test_claude_desktop_has_no_projects(home: Path) -> None:
    with pytest.raises(Invalid, match="Claude Desktop has no settings file for a project"):
        run(machine(home), "claude-desktop", project=True)


@pytest.mark.parametrize("agent", ["cursor", "codex", "gemini"])
def test_the_home_is_no_project_if_its_file_is_the_users(agent: str, home: Path) -> None:
    environment = Environment(home, "linux", {}, home)

    with pytest.raises(Invalid, match="is not a project"):
        run(environment, agent, project=True)
    assert {row.name: row for row in overview(environment)}[agent].project_file is None


def program(folder: Path, name: str, script: str = "exit 0") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_a_shared_file_has_the_bare_name_if_it_is_on_path(home: Path) -> None:
    program(home / "bin", "memory")

    run(machine(home, PATH=str(home / "bin")), "cursor", project=True)

    entry = json.loads((home / "proj/.cursor/mcp.json").read_text())["mcpServers"]["memory"]
    assert entry == {"type": "stdio", "command": "memory", "args": ["mcp"]}


def test_a_shared_file_with_an_absolute_path_says_so(home: Path) -> None:
    outcome = run(machine(home), "cursor", project=True)

    assert any("is a path of this machine" in notice for notice in outcome.notices)


# The command


def test_an_entry_names_home_and_settings_file_absolutely(home: Path) -> None:
    environment = machine(home, MEMORY_CONFIG="~/mine.yaml")

    setup(Request(agent="cursor", home="../data"), environment)

    entry = json.loads((home / ".cursor/mcp.json").read_text())["mcpServers"]["memory"]
    assert entry["args"] == ["--home", str(home / "data"), "--config", str(home / "mine.yaml"), "mcp"]
    hooks = json.loads((home / ".cursor/hooks.json").read_text())["hooks"]
    assert f"--home {home / 'data'} " in hooks["sessionStart"][0]["command"]


def test_the_command_is_this_installations() -> None:
    environment = Environment(Path("/home/u"), "linux", {}, Path("/"))

    argv = command(environment, home=None, config=None, shared=False).argv

    assert Path(argv[0]).is_absolute()
    assert argv == (str(Path(sys.executable).with_name("memory")),)


def test_a_command_in_a_hook_is_quoted_for_its_shell() -> None:
    unix = ServerCommand(("/my tools/memory",)).hook(("hook", "session-start", "--agent", "cursor"), "linux")
    windows = ServerCommand(("C:\\my tools\\memory.exe",)).hook(("hook", "session-start", "--agent", "cursor"), "win32")

    assert unix == "'/my tools/memory' hook session-start --agent cursor"
    assert windows == '"C:/my tools/memory.exe" hook session-start --agent cursor'


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("/h/.cache/uv/archive-v0/x/bin/memory", True),
        ("C:\\u\\uv\\cache\\archive-v0\\x\\Scripts\\memory.exe", True),
        ("/h/uv-cache/x/bin/memory", True),
        ("/tmp/pip-build-env-3k_2ab12/bin/memory", True),
        ("/h/.local/bin/memory", False),
        ("/h/.local/share/uv/tools/tiered-memory/bin/memory", False),
    ],
)
def test_a_program_that_will_be_cleared_away_is_said(program: str, said: bool, home: Path) -> None:
    assert bool(list(fleeting(program, machine(home, UV_CACHE_DIR="/h/uv-cache")))) is said


def test_a_path_that_is_not_unicode_is_refused(home: Path) -> None:
    with pytest.raises(Invalid, match="not Unicode"):
        command(machine(home), home=os.fsdecode(b"/caf\xe9"), config=None, shared=False)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "memory", "args": ["mcp"]},
        {"command": "/opt/x/bin/memory", "args": ["--home", "/data", "mcp"]},
        {"command": "C:\\x\\memory.exe", "args": ["mcp"]},
        {"command": "/usr/bin/python3", "args": ["-m", "memory", "mcp"]},
        {"command": "uvx", "args": ["--from", "tiered-memory", "memory", "mcp"]},
        {"command": "uvx", "args": ["--from", "tiermem[mcp]==0.2.0", "memory", "mcp"]},
        {"command": "/opt/x/bin/tiermem", "args": ["mcp"]},
        {"command": "/usr/bin/python3", "args": ["-m", "tiermem", "mcp"]},
        {"type": "local", "command": ["/opt/memory", "mcp"]},
    ],
)
def test_ours_is_known_by_what_it_starts(entry: dict) -> None:
    assert ours(entry)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]},
        {"command": "/opt/basic-memory", "args": ["mcp"]},
        {"command": "uvx", "args": ["--from", "tiermemory", "another", "mcp"]},
        {"command": "npx", "args": ["memory", "mcp"]},
        {"command": "memory"},
        {"url": "https://memory.example.com/mcp"},
        {"command": None, "args": "mcp"},
        ["memory", "mcp"],
        None,
    ],
)
def test_another_server_of_the_name_is_not_ours(entry: object) -> None:
    assert not ours(entry)


# What is not ours


FOREIGN = {
    "cursor": (".cursor/mcp.json", '{"mcpServers": {"memory": {"command": "npx", "args": ["server-memory"]}}}'),
    "codex": (".codex/config.toml", '[mcp_servers.memory]\ncommand = "npx"  # mine\nargs = ["server-memory"]\n'),
    "opencode": (".config/opencode/opencode.json", '{"mcp": {"memory": {"type": "remote", "url": "https://x"}}}'),
}


@pytest.mark.parametrize("agent", FOREIGN)
def test_an_entry_of_somebody_else_is_refused_and_replaced_by_force(agent: str, home: Path) -> None:
    path, text = home / FOREIGN[agent][0], FOREIGN[agent][1]
    path.parent.mkdir(parents=True)
    path.write_text(text)

    with pytest.raises(Occupied, match="that memory did not write") as refused:
        run(machine(home), agent)
    assert files_of(home) == {FOREIGN[agent][0]: text.encode()}
    assert "--force" in refused.value.hint
    assert str(path) in str(refused.value)
    assert states(run(machine(home), agent, remove=True))[0] == "other"

    assert states(run(machine(home), agent, force=True))[0] == "replaced"
    assert "server-memory" not in path.read_text()
    assert "https://x" not in path.read_text()

    run(machine(home), agent, remove=True)
    assert path.read_text() == text


def test_a_refusal_says_what_is_there_without_its_secrets(home: Path) -> None:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    entry = {"command": "npx", "args": ["server-memory"], "env": {"KEY": "hidden"}}
    path.write_text(json.dumps({"mcpServers": {"memory": entry}}))

    with pytest.raises(Occupied, match=r"that memory did not write: npx$"):
        run(machine(home), "cursor")


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("/old/memory", ["mcp"]),
        ("/home/x/.local/share/uv/tools/tiered-memory/bin/memory", ["mcp"]),
        ("/home/x/.local/share/pipx/venvs/tiered-memory/bin/python", ["-m", "memory", "mcp"]),
        ("uvx", ["--from", "tiered-memory", "memory", "mcp"]),
        ("uvx", ["--from", "tiermem[mcp]", "tiermem", "mcp"]),
    ],
)
def test_an_entry_of_an_older_version_is_updated_and_keeps_what_the_user_added(
    program: str, arguments: list[str], home: Path
) -> None:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    former = {"env": {"A": "1"}, "command": program, "args": arguments}
    path.write_text(json.dumps({"mcpServers": {"memory": former}}))

    outcome = run(machine(home), "cursor")

    assert states(outcome)[0] == "updated"
    entry = json.loads(path.read_text())["mcpServers"]["memory"]
    assert list(entry) == ["env", "command", "args", "type"]
    assert entry["command"] == command(machine(home), home=None, config=None, shared=False).argv[0]


def test_a_toml_entry_of_an_older_version_is_updated_and_keeps_its_comments(home: Path) -> None:
    path = home / ".codex/config.toml"
    path.parent.mkdir()
    path.write_text('[mcp_servers.memory]\ncommand = "/old/memory"  # why\nargs = ["mcp"]\nenabled = false\n')

    run(machine(home), "codex")

    assert "  # why\n" in path.read_text()
    assert tomllib.loads(path.read_text())["mcp_servers"]["memory"]["enabled"] is False
    assert "/old" not in path.read_text()


def test_the_only_toml_entry_goes_and_what_came_since_stays(home: Path) -> None:
    path = home / ".codex/config.toml"
    run(machine(home), "codex")
    path.write_text(path.read_text() + '\n[projects."/a"]  # mine\ntrust_level = "trusted"\n')

    run(machine(home), "codex", remove=True)

    assert path.read_text().strip() == '[projects."/a"]  # mine\ntrust_level = "trusted"'


def test_toml_that_the_library_cannot_read_is_refused_and_stays(home: Path) -> None:
    path = home / ".codex/config.toml"
    path.parent.mkdir()
    server = '[mcp_servers.memory]\ncommand = "memory"\nargs = ["mcp"]\n'
    text = f'[mcp_servers.memory.env]\nA = "1"\n{server}[mcp_servers]\nz = 1\n[mcp_servers.memory.tools.a]\nb = true\n'
    path.write_text(text)
    tomllib.loads(text)

    for remove in (False, True):
        with pytest.raises(ConfigError, match=r'"memory" already exists'):
            run(machine(home), "codex", remove=remove)
        assert path.read_text() == text


@pytest.mark.parametrize("old", ["/opt/memory", "/old/memory"])
def test_arrays_of_tables_that_stand_apart_stay_apart(old: str) -> None:
    ours = f'[mcp_servers.memory]\ncommand = "{old}"\nargs = ["mcp"]\n'
    text = f"[[profiles]]\na = 1\n[tui]\n{ours}[[profiles]]\na = 2\n# end\n"
    edit = TomlEdit("mcp_servers", ENTRY)
    rendered = tomlkit.parse(text).as_string()
    assert rendered.index("a = 2") < rendered.index("[tui]")  # so a document is never rendered as a whole

    assert edit.install(text, force=False) == text.replace(old, "/opt/memory")
    assert edit.uninstall(text, None) == text.replace(ours, "")


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ('"mcpServers": {}', '"mcpServers": {', '"x": 1,\n  "mcpServers": {', '"x": 1,\n  "mcpServers": {}'),
        ('"a": 1', '"a": 1', '"a": 2', '"a": 2'),
    ],
    ids=["an object that was there", "an object that only we needed"],
)
def test_removing_leaves_what_was_added_since_and_no_more(home: Path, before, old, new, after) -> None:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text(f"{{\n  {before}\n}}\n")
    run(machine(home), "cursor")
    path.write_text(path.read_text().replace(old, new))

    run(machine(home), "cursor", remove=True)

    assert path.read_text() == f"{{\n  {after}\n}}\n"


def test_a_hook_of_ours_beside_others_goes_alone(home: Path) -> None:
    path = home / ".claude/settings.json"
    run(machine(home), "claude-code")
    group = json.loads(path.read_text())
    group["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "say done"})
    path.write_text(json.dumps(group))

    assert states(run(machine(home), "claude-code"))[1] == "already"
    run(machine(home), "claude-code", remove=True)

    left = json.loads(path.read_text())["hooks"]
    assert left == {"SessionStart": [], "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}


def test_a_hook_of_an_older_version_is_updated_in_place(home: Path) -> None:
    path = home / ".claude/settings.json"
    run(machine(home), "claude-code")
    path.write_text(path.read_text().replace('"/', '"/old/'))

    run(machine(home), "claude-code")

    hooks = json.loads(path.read_text())["hooks"]
    assert "/old" not in path.read_text()
    assert [len(groups) for groups in hooks.values()] == [1, 1]


def test_a_hook_under_the_distributions_former_name_is_updated_in_place(home: Path) -> None:
    path = home / ".claude/settings.json"
    run(machine(home), "claude-code")
    program = command(machine(home), home=None, config=None, shared=False).argv[0]
    path.write_text(path.read_text().replace(program, "uvx --from tiered-memory memory"))

    run(machine(home), "claude-code")

    assert "tiered-memory" not in path.read_text()
    assert [len(groups) for groups in json.loads(path.read_text())["hooks"].values()] == [1, 1]


def test_a_shared_file_names_the_command_that_no_stranger_has(home: Path) -> None:
    stranger = program(home / "bin", "memory")
    stranger.write_text("#!/usr/bin/python3\nfrom mcp_memory_service.cli.main import main\nmain()\n")
    program(home / "bin", "tiermem")

    found = command(machine(home, PATH=str(home / "bin")), home=None, config=None, shared=True)

    assert found.argv == ("tiermem",)


def test_hooks_can_be_left_out_and_come_later(home: Path) -> None:
    run(machine(home), "gemini", hooks=False)
    assert "hooks" not in json.loads((home / ".gemini/settings.json").read_text())

    run(machine(home), "gemini")
    assert set(json.loads((home / ".gemini/settings.json").read_text())["hooks"]) == {"SessionStart", "AfterAgent"}

    run(machine(home), "gemini", remove=True)
    assert files_of(home) == {}


def test_a_skill_that_somebody_changed_stays(home: Path) -> None:
    skill = home / ".claude/skills/memory/SKILL.md"
    run(machine(home), "claude-code")
    changed = skill.read_text().replace("memory", "my memory", 1)
    skill.write_text(changed)

    again, removed = run(machine(home), "claude-code"), run(machine(home), "claude-code", remove=True)

    assert states(again) == ["already", "already", "kept"]
    assert states(removed) == ["removed", "removed", "kept"]
    assert skill.read_text() == changed
    assert any("was changed by another program" in notice for notice in again.notices)


def test_a_skill_of_an_older_version_is_updated_and_removed() -> None:
    old = Whole("# Old\n").install("", force=False)
    new = Whole("# New\n").install(old, force=False)

    assert new.startswith("# New\n")
    assert Whole("# New").uninstall(old, None) == ""
    with pytest.raises(Occupied):
        Whole("# New\n").install(old.replace("Old", "Mine"), force=False)


# Files that cannot be changed safely


BROKEN = {
    "duplicate server": (
        "cursor",
        '{"mcpServers": {"memory": {"command": "memory", "args": ["mcp"]},\n "memory": {}}}',
        2,
        2,
    ),
    "duplicate object": ("cursor", '{"mcpServers": {},\n  "mcpServers": {}}', 2, 3),
    "comment": ("cursor", '{\n  // mine\n  "mcpServers": {}\n}', 2, 3),
    "trailing comma": ("cursor", '{\n  "mcpServers": {},\n}', 2, 19),
    "no object": ("cursor", '{"mcpServers": []}', 1, 16),
    "no object at all": ("cursor", "[]", 1, 1),
    "cut off": ("cursor", '{"mcpServers": {', 1, 17),
    "more behind": ("cursor", "{} {}", 1, 4),
    "not JSON": ("cursor", "mcpServers: {}", 1, 1),
    "not a number": ("cursor", '{"a": NaN}', 1, 7),
    "bad escape": ("cursor", '{"a": "\\x"}', 1, 8),
    "unfinished comment": ("vscode", "{\n  /* mine\n}", 2, 3),
    "no list of hooks": ("gemini", '{"hooks": {"SessionStart": {}}}', 1, 28),
    "TOML": ("codex", 'model = "x"\nbroken\n', 2, 7),
    "TOML without tables": ("codex", "a = 1\nmcp_servers = 3\n", 2, 1),
    "TOML with a word": ("codex", '[mcp_servers]\nmemory = "x"\n', 1, 2),
    "block without end": ("agents-md", "# Rules\n<!-- memory:begin -->\nx\n", 2, 1),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("remove", [False, True])
def test_a_file_that_cannot_be_changed_safely_is_refused_with_what_to_write(
    case: str, remove: bool, home: Path
) -> None:
    agent, text, line, column = BROKEN[case]
    path = setup(Request(agent=agent), machine(home), dry_run=True).steps[0].path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

    with pytest.raises(ConfigError) as refused:
        run(machine(home), agent, remove=remove)

    assert str(refused.value).startswith(f"{path}:{line}:{column}: ")
    assert "memory" in refused.value.hint
    assert files_of(home) == {path.relative_to(home).as_posix(): text.encode()}


def test_the_snippet_of_a_refusal_is_what_a_new_file_would_have(home: Path) -> None:
    run(machine(home), "cursor")
    path = home / ".cursor/mcp.json"
    new = path.read_text()
    path.write_text("{,}")

    with pytest.raises(ConfigError) as refused:
        run(machine(home), "cursor")

    assert refused.value.hint.endswith(new)


def test_a_file_that_is_nested_without_end_is_refused() -> None:
    with pytest.raises(Fault, match="nested more than"):
        parsed("[" * 5000, comments=False)


@pytest.mark.parametrize(
    "text", [f"a = {'[' * 5000}{']' * 5000}", f"a = {'[' * 5000}", f"{'a . ' * 100_000}b = 1", f"[{'a.' * 300}b]"]
)
def test_a_toml_file_that_is_nested_without_end_is_refused(text: str) -> None:
    with pytest.raises(Fault, match=r"\ATOML (key|value) nested more than 12 levels deep"):  # it is not broken
        TomlEdit("mcp_servers", ENTRY).install(text, force=False)


@pytest.mark.parametrize("text", ["a.b = 1\n[a.b]\n", "a.b = {c = 1}\n[a.x]\n[a.b]\n"])
def test_a_toml_file_that_has_a_table_twice_is_refused(text: str) -> None:
    with pytest.raises(Fault, match='broken TOML: Key "b" already exists'):
        TomlEdit("mcp_servers", ENTRY).install(text, force=False)


def test_a_file_in_another_encoding_is_refused(home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_bytes('{"mcpServers": {}}'.encode("utf-16"))

    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        run(machine(home), "cursor")


@pytest.mark.parametrize("text", ["", "\n", MARK, "  \r\n"])
def test_an_empty_file_is_filled_and_emptied_again(text: str, home: Path) -> None:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_bytes(text.encode())

    run(machine(home), "cursor")
    assert json.loads(path.read_bytes().decode().removeprefix(MARK))["mcpServers"]["memory"]["args"] == ["mcp"]

    run(machine(home), "cursor", remove=True)
    assert path.read_bytes() == text.encode()


# How files are written


def test_a_read_only_file_is_refused_before_anything_is_written(home: Path) -> None:
    hooks = home / ".cursor/hooks.json"
    hooks.parent.mkdir()
    hooks.write_text("{}")
    hooks.chmod(0o444)

    with pytest.raises(ConfigError, match=r"hooks\.json is read-only"):
        run(machine(home), "cursor")

    assert files_of(home) == {".cursor/hooks.json": b"{}"}


def test_a_read_only_folder_is_refused(home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor").chmod(0o555)
    try:
        with pytest.raises(ConfigError, match=r"folder .* is read-only"):
            run(machine(home), "cursor")
    finally:
        (home / ".cursor").chmod(0o755)


def test_a_folder_in_place_of_the_file_is_refused(home: Path) -> None:
    (home / ".cursor/mcp.json").mkdir(parents=True)

    with pytest.raises(ConfigError, match=r"cannot read .*mcp\.json: Is a directory"):
        run(machine(home), "cursor")


def test_a_new_file_is_the_users_alone_and_a_shared_one_is_not(home: Path) -> None:
    old = os.umask(0o022)
    try:
        run(machine(home), "cursor")
        run(machine(home), "cursor", project=True)
    finally:
        os.umask(old)

    assert stat.S_IMODE((home / ".cursor").stat().st_mode) == 0o700
    assert stat.S_IMODE((home / ".cursor/mcp.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "proj/.cursor/mcp.json").stat().st_mode) == 0o644


def test_a_file_keeps_its_mode_and_its_copy_is_private(home: Path) -> None:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text("{}")
    path.chmod(0o640)

    run(machine(home), "cursor")

    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert stat.S_IMODE(files.backup(path).stat().st_mode) == 0o600
    assert files.backup(path).read_text() == "{}"


def test_a_link_stays_and_its_target_is_written(home: Path) -> None:
    target, path = home / "dotfiles" / "cursor.json", home / ".cursor/mcp.json"
    target.parent.mkdir()
    path.parent.mkdir()
    target.write_text('{"mcpServers": {}}')
    path.symlink_to(target)

    run(machine(home), "cursor")
    assert path.is_symlink()
    assert "memory" in json.loads(target.read_text())["mcpServers"]

    run(machine(home), "cursor", remove=True)
    assert path.is_symlink()
    assert target.read_text() == '{"mcpServers": {}}'


def test_what_somebody_wrote_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("{}")
    file = files.seen(path)
    path.write_text('{"new": 1}')

    with pytest.raises(ConfigError, match="changed by another program just now"):
        files.write(file, "{}", private=True)
    with pytest.raises(ConfigError, match="changed by another program just now"):
        files.remove(file)

    assert path.read_text() == '{"new": 1}'
    assert [entry.name for entry in tmp_path.iterdir()] == ["mcp.json"]


def test_a_file_that_came_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    file = files.seen(path)
    path.write_text("{}")

    with pytest.raises(ConfigError, match="changed by another program"):
        files.write(file, "mine", private=True)

    assert path.read_text() == "{}"


def test_a_copy_is_of_the_file_before_ours_not_of_one_with_ours(home: Path) -> None:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text("{}")
    run(machine(home), "cursor")

    setup(Request(agent="cursor", home="/data"), machine(home))

    assert files.backup(path).read_text() == "{}"


# Claude Code's own command


@pytest.fixture
def claude(home: Path) -> Callable[[str], Environment]:
    """A machine with a `claude` that writes down its arguments, one a line, and then does as told."""

    def made(script: str = "exit 0") -> Environment:
        program(home / "bin", "claude", f'printf "%s\\n" "$@" "<end>" >> {home}/calls; cat >> {home}/stdin; {script}')
        return machine(home, PATH=f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}")

    return made


def asked(home: Path) -> list[list[str]]:
    """What the recording `claude` was called with."""
    log = home / "calls"
    calls = log.read_text().split("<end>\n") if log.exists() else []
    return [call.splitlines() for call in calls if call]


def test_claude_codes_own_command_adds_the_server(claude: Callable[..., Environment], home: Path) -> None:
    environment = claude()
    argv = command(environment, home=None, config=None, shared=False).argv

    outcome = setup(Request(agent="claude-code"), environment)

    assert asked(home) == [["mcp", "add", "--scope", "user", "memory", "--", *argv, "mcp"]]
    assert outcome.steps[0].calls[0][1:] == tuple(asked(home)[0])
    assert not (home / ".claude.json").exists()
    assert (home / ".claude/settings.json").exists()
    assert (home / "stdin").read_text() == ""


def test_a_dry_run_calls_nothing(claude: Callable[..., Environment], home: Path) -> None:
    outcome = setup(Request(agent="claude-code"), claude(), dry_run=True)

    assert outcome.steps[0].calls[0][1:3] == ("mcp", "add")
    assert asked(home) == []


def test_an_entry_that_is_as_it_should_be_calls_nothing(claude: Callable[..., Environment], home: Path) -> None:
    environment = claude()
    run(machine(home), "claude-code")

    assert states(setup(Request(agent="claude-code"), environment)) == ["already"] * 3
    assert asked(home) == []


def test_an_older_entry_is_removed_and_added(claude: Callable[..., Environment], home: Path) -> None:
    environment = claude()
    (home / ".claude.json").write_text('{"mcpServers": {"memory": {"command": "/old/memory", "args": ["mcp"]}}}')

    setup(Request(agent="claude-code"), environment)

    assert [call[:4] for call in asked(home)] == [
        ["mcp", "remove", "--scope", "user"],
        ["mcp", "add-json", "--scope", "user"],
    ]


def test_an_older_entry_keeps_what_the_user_added(claude: Callable[..., Environment], home: Path) -> None:
    environment = claude()
    old = {"command": "/old/memory", "args": ["mcp"], "env": {"A": "1", "B": "2 3"}, "timeout": 60_000}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"memory": old}}))
    program = command(environment, home=None, config=None, shared=False).argv[0]

    setup(Request(agent="claude-code"), environment)

    assert asked(home)[1][:5] == ["mcp", "add-json", "--scope", "user", "memory"]
    assert json.loads(asked(home)[1][5]) == {**old, "command": program, "type": "stdio"}


def test_removing_calls_the_command(claude: Callable[..., Environment], home: Path) -> None:
    environment = claude()
    run(machine(home), "claude-code")

    setup(Request(agent="claude-code", remove=True), environment)

    assert asked(home) == [["mcp", "remove", "--scope", "user", "memory"]]


def test_a_command_that_fails_is_told_in_its_own_words_and_nothing_is_written(
    claude: Callable[..., Environment], home: Path
) -> None:
    environment = claude("echo 'managed by your company' >&2; exit 3")

    with pytest.raises(Error, match=r"`claude mcp add .* failed with exit code 3: managed by your company"):
        setup(Request(agent="claude-code"), environment)

    assert not (home / ".claude").exists()


def test_if_adding_fails_what_was_removed_comes_back(claude: Callable[..., Environment], home: Path) -> None:
    old = {"command": "/old/memory", "args": ["mcp"], "env": {"A": "1"}}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"memory": old}}))
    environment = claude(
        f'[ "$2" = remove ] && echo "{{}}" > {home}/.claude.json; case "$6" in */old/*) exit 0;; ?*) exit 1;; esac'
    )

    with pytest.raises(Error, match="failed with exit code 1: it said nothing"):
        setup(Request(agent="claude-code"), environment)

    assert [call[1] for call in asked(home)] == ["remove", "add-json", "add-json"]
    assert json.loads(asked(home)[-1][-1]) == old


def test_a_command_that_hangs_is_given_up(
    claude: Callable[..., Environment], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "TIMEOUT_SECONDS", 0.2)
    environment = claude("exec sleep 30")
    calls = files.removing(environment.program("claude"))

    with pytest.raises(Error, match=r"`claude mcp remove --scope user memory` did not end within 0\.2 seconds"):
        files.run_calls(calls, environment, lambda: None)


def test_a_projects_file_is_edited_even_with_the_command(claude: Callable[..., Environment], home: Path) -> None:
    setup(Request(agent="claude-code", project=True), claude())

    assert asked(home) == []
    assert (home / "proj/.mcp.json").exists()


# The list


def test_the_list_says_what_is_here_and_what_is_set_up(home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex/history.jsonl").write_text("")
    run(machine(home), "gemini")
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text(FOREIGN["cursor"][1])
    (home / "proj/.mcp.json").write_text("{,}")
    setup(Request(agent="windsurf", home="/else"), machine(home))

    rows = {row.name: row for row in overview(machine(home))}

    assert list(rows) == list(NAMES)
    assert (rows["codex"].sign, rows["codex"].user) == (home / ".codex", "no")
    assert (rows["gemini"].sign, rows["gemini"].user) == (None, "yes")
    assert rows["cursor"].sign == home / ".cursor"
    assert rows["cursor"].user == "other"
    assert rows["claude-code"].project == "unreadable"
    assert rows["windsurf"].user == "old"
    assert (rows["opencode"].sign, rows["opencode"].user, rows["opencode"].project) == (None, "no", "no")


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("agent", [agent.name for agent in AGENTS])
@pytest.mark.parametrize("hooks", [True, False])
def test_what_we_made_is_no_sign_of_an_agent(agent: str, platform: str, hooks: bool, home: Path) -> None:
    environment = machine(home, platform=platform)

    def sign() -> Path | None:
        return next(row.sign for row in overview(environment) if row.name == agent)

    first = run(environment, agent, hooks=hooks).steps[0].path
    after_setup = sign()
    first.write_text(first.read_text() + "\n")

    assert after_setup is None
    assert first.is_relative_to(sign())


def test_an_empty_folder_is_no_sign_of_an_agent(home: Path) -> None:
    (home / ".gemini/skills").mkdir(parents=True)

    assert next(row.sign for row in overview(machine(home)) if row.name == "gemini") is None


def test_an_agent_is_here_if_its_program_is_on_path(home: Path) -> None:
    program(home / "bin", "opencode")

    rows = {row.name: row for row in overview(machine(home, PATH=str(home / "bin")))}

    assert rows["opencode"].sign == home / "bin/opencode"


def test_an_agent_that_is_unknown_gets_the_nearest_name() -> None:
    with pytest.raises(Invalid, match="no agent 'claud'") as refused:
        Request(agent="claud")
    assert refused.value.hint == "Did you mean 'claude-code'?"


# Laws

NAMES_OF_KEYS = st.sampled_from(["mcpServers", "memory", "a", 'b\\"', "é", ""]) | st.text(max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES_OF_KEYS, inner, max_size=3),
    max_leaves=8,
)
OTHERS = st.dictionaries(NAMES_OF_KEYS.filter(lambda name: name != "memory"), VALUES, max_size=3)
DOCUMENTS = st.builds(
    lambda rest, servers: {**rest, **({} if servers is None else {"mcpServers": servers})},
    st.dictionaries(NAMES_OF_KEYS.filter(lambda name: name != "mcpServers"), VALUES, max_size=3),
    st.none() | OTHERS,
)
ENTRY = {"command": "/opt/memory", "args": ["mcp"]}


@st.composite
def written(draw: st.DrawFn, *, comments: bool = False, own: bool = False) -> tuple[dict, str]:
    """A document, with ours in it if it should be, and a text that says it with white space, and comments, wherever they may be."""
    spaces = [" ", "\n", "\t", "\r\n", "    "] + (["// c\n", "/* , */", "/*\n*/"] if comments else [])
    gap = st.lists(st.sampled_from(spaces), max_size=2).map("".join) | st.just("")

    def text(value: object) -> str:
        match value:
            case dict():
                items = [
                    f"{draw(gap)}{json.dumps(name, ensure_ascii=draw(st.booleans()))}{draw(gap)}:{draw(gap)}{text(item)}{draw(gap)}"
                    for name, item in value.items()
                ]
            case list():
                items = [f"{draw(gap)}{text(item)}{draw(gap)}" for item in value]
            case _:
                return json.dumps(value, ensure_ascii=draw(st.booleans()))
        comma = "," + draw(gap) if comments and items and draw(st.booleans()) else ""
        inside = ",".join(items) + comma or draw(gap)
        return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"

    document = draw(DOCUMENTS)
    if own:
        items = [*document.pop("mcpServers", {}).items()]
        items.insert(draw(st.integers(0, len(items))), ("memory", ENTRY))
        document["mcpServers"] = dict(items)
    return document, draw(st.sampled_from(["", MARK])) + draw(gap) + text(document) + draw(gap)


def added_to(before: str, after: str) -> bool:
    """Whether `after` is `before` with something put in: at one place, or at one and a comma at another."""
    rest = iter(after)
    return all(char in rest for char in before)


@pytest.mark.parametrize("comments", [False, True])
def test_adding_says_the_same_and_ours_and_touches_nothing(comments: bool) -> None:
    edit = JsonEdit((Server(("mcpServers",), ENTRY),), comments=comments)

    @given(written(comments=comments))
    def law(pair: tuple[dict, str]) -> None:
        document, text = pair

        after = edit.install(text, force=False)

        said = parsed(after, comments=comments).root.value
        assert said == {**document, "mcpServers": {**document.get("mcpServers", {}), "memory": ENTRY}}
        assert added_to(text, after)
        if not comments:
            assert json.loads(after.removeprefix(MARK)) == said
        assert edit.install(after, force=False) == after
        assert edit.standing(text) is None
        assert edit.standing(after) is not None

    law()


@pytest.mark.parametrize("comments", [False, True])
def test_removing_says_the_same_without_ours(comments: bool) -> None:
    edit = JsonEdit((Server(("mcpServers",), ENTRY),), comments=comments)

    @given(written(comments=comments))
    def law(pair: tuple[dict, str]) -> None:
        document, text = pair

        left = edit.uninstall(edit.install(text, force=False), text)

        assert parsed(left, comments=comments).root.value == document
        assert edit.uninstall(left, text) == left

    law()


@given(written())
def test_what_is_put_in_is_one_span(pair: tuple[dict, str]) -> None:
    _, text = pair
    after = JsonEdit((Server(("mcpServers",), ENTRY),)).install(text, force=False)
    head = next((at for at, (one, other) in enumerate(zip(text, after, strict=False)) if one != other), len(text))
    span = len(after) - len(text)

    assert after[:head] + after[head + span :] == text


@given(written(comments=True, own=True))
def test_an_entry_that_somebody_moved_is_taken_from_where_it_stands(pair: tuple[dict, str]) -> None:
    document, text = pair
    edit = JsonEdit((Server(("mcpServers",), ENTRY),), comments=True)

    left = edit.uninstall(text, None)

    rest = {name: value for name, value in document["mcpServers"].items() if name != "memory"}
    assert parsed(left, comments=True).root.value == {**document, "mcpServers": rest}
    assert added_to(left, text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"s":{// c\n"memory":@}}', '{"s":{// c\n}}'),
        ('{"s":{/* c *//* d */"memory":@}}', '{"s":{/* c *//* d */}}'),
        ('{"s":{"a": 1, // c\n"memory":@}}', '{"s":{"a": 1 // c\n}}'),
        ('{"s":{"a": 1, // c\r\n"memory":@,"b": 2}}', '{"s":{"a": 1, // c\r\n"b": 2}}'),
        ('{"s":{"memory":@, "b": 2}}', '{"s":{"b": 2}}'),
        ('{"s":{\n  "memory":@, // ours\n  "b": 2\n}}', '{"s":{ // ours\n  "b": 2\n}}'),
        ('{"s":{\n  "memory":@\n}}', '{"s":{}}'),
        ('{"s":{\n  "a": 1,\n  "memory":@,\n}}', '{"s":{\n  "a": 1,\n}}'),
    ],
)
def test_what_is_left_when_ours_is_cut_out(text: str, left: str) -> None:
    edit = JsonEdit((Server(("s",), ENTRY),), comments=True)

    assert edit.uninstall(text.replace("@", json.dumps(ENTRY)), None) == left


@given(written(comments=True))
def test_hooks_are_put_and_taken(pair: tuple[dict, str]) -> None:
    document, text = pair
    document.pop("hooks", None)
    hook = Hook(
        ("hooks", "Stop"),
        {"hooks": [{"command": "memory hook session-end --agent x"}]},
        ("hook", "session-end", "--agent", "x"),
    )
    edit = JsonEdit((hook,), comments=True)

    after = edit.install(text, force=False)

    assert parsed(after, comments=True).root.value == {**document, "hooks": {"Stop": [hook.value]}}
    assert parsed(edit.uninstall(after, text), comments=True).root.value == document


@given(st.text(alphabet='{}[]",:/*\\ \n1ae-', max_size=30))
def test_any_text_is_changed_or_refused(text: str) -> None:
    edit = JsonEdit((Server(("mcpServers",), ENTRY),), comments=True)
    try:
        after = edit.install(text, force=False)
    except (Fault, Occupied):
        return
    assert edit.standing(after) is not None


@given(st.text(max_size=40), st.sampled_from(["\n", "\r\n"]))
def test_a_block_is_put_and_taken(text: str, lines: str) -> None:
    text = "\n".join(text.split()).replace("\n", lines)
    block = MarkedBlock("Use memory.\n")

    after = block.install(text, force=False)

    assert block.install(after, force=False) == after
    assert MarkedBlock("Use it more.").install(after, force=False).count("memory:begin") == 1
    assert block.uninstall(after, None).strip() == text.strip()


TOML_PARTS = (
    "# a comment",
    "  # indented",
    "",
    'model = "x"  # why',
    "a.b = 1",
    "s = '''\n[mcp_servers.memory]\n'''",
    "mcp_servers.docs.command = 'npx'",
    "mcp_servers = { docs = { command = 'npx' } } # inline",
    "mcp_servers = {}",
    "[tui]\ntheme = 'dark' # t",
    "[[profiles]]\nname = 'p'",
    '[projects."/a.b"]\ntrust = true',
    "[mcp_servers]",
    "[mcp_servers]\nz = 1\n# mine",
    '[mcp_servers.docs]\ncommand = "npx"\nargs = [ # list\n  "a",\n]\n\n',
    "[mcp_servers.docs.env]\nA = '1'",
)


@st.composite
def tomls(draw: st.DrawFn) -> str:
    """A file as people leave it, if what came of it is TOML: comments, dotted keys, tables in any order and spelling."""
    parts = draw(st.lists(st.sampled_from(TOML_PARTS), unique=True, max_size=6))
    text = "\n".join(parts) + draw(st.sampled_from(["", "\n", "\n\n"]))
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        reject()
    return draw(st.sampled_from(["", MARK])) + text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@given(tomls())
def test_toml_is_changed_in_our_entry_only_and_comes_back_to_the_byte(text: str) -> None:
    edit = TomlEdit("mcp_servers", ENTRY)
    was = tomllib.loads(text.removeprefix(MARK))

    after = edit.install(text, force=False)
    left = edit.uninstall(after, text)

    said = tomllib.loads(after.removeprefix(MARK))
    assert said == {**was, "mcp_servers": {**was.get("mcp_servers", {}), "memory": ENTRY}}
    assert edit.install(after, force=False) == after
    if not text.strip(f"{MARK}\r\n"):
        assert not left.strip(MARK)
    elif text.endswith("\n"):
        assert left == text
    else:
        assert left in {text, text + "\n", text + "\r\n"}


TOML_OURS = (
    '[mcp_servers.memory]\ncommand = "@"\nargs = ["mcp"]',
    '[mcp_servers.memory]  # ours\nargs = ["mcp"]\n# ours\n\ncommand = "@"  # ours\nenv.A = "1"',
    '[ "mcp_servers" . memory ]\ncommand = "@"\nargs = [\n  "mcp", # ours\n]',
    '[mcp_servers.memory]\ncommand = "@"\nargs = ["mcp"]\n\n[mcp_servers.memory.env]\nA = "1"',
    'mcp_servers.memory = { command = "@", args = ["mcp"] }',
    'mcp_servers.memory.command = "@"\nmcp_servers.memory.args = ["mcp"]',
)


@st.composite
def tomls_with_ours(draw: st.DrawFn) -> tuple[str, str]:
    """A file with ours in some form, wherever it may stand, and the file without it."""
    parts = draw(
        st.lists(st.sampled_from([*TOML_PARTS, "[[profiles]]\nname = 'q'\n# behind"]), unique=True, max_size=6)
    )
    place = draw(st.integers(0, len(parts)))
    text = "\n".join([*parts[:place], draw(st.sampled_from(TOML_OURS)), *parts[place:], ""])
    rest = "\n".join([*parts, ""])
    try:
        said, other = tomllib.loads(text), tomllib.loads(rest)
        entry = said["mcp_servers"].pop("memory")
    except (tomllib.TOMLDecodeError, KeyError, TypeError):
        reject()
    said, other = ({"mcp_servers": {}, **one} for one in (said, other))
    if said != other or entry not in ({**ENTRY, "command": "@"}, {**ENTRY, "command": "@", "env": {"A": "1"}}):
        reject()  # a part stands in the table of another
    return text, rest


@given(tomls_with_ours(), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", MARK]))
def test_a_toml_entry_goes_from_wherever_it_stands_and_nothing_else_does(
    made: tuple[str, str], lines: str, mark: str
) -> None:
    edit = TomlEdit("mcp_servers", ENTRY)
    text, rest = (one.replace("@", "/old/memory").replace("\n", lines) for one in made)
    text = mark + text

    updated, left = edit.install(text, force=False), edit.uninstall(text, None)

    assert updated == text.replace("/old/memory", ENTRY["command"])
    assert edit.uninstall(updated, None) == left
    assert left.startswith(mark)
    kept, there = (one.removeprefix(mark).split(lines) for one in (left, rest))
    assert list(filter(str.strip, kept)) == list(filter(str.strip, there))


@pytest.mark.parametrize("agent", [agent.name for agent in AGENTS])
def test_every_snippet_is_a_file_that_has_ours(agent: str, home: Path) -> None:
    environment = machine(home)
    found = next(one for one in AGENTS if one.name == agent)

    for part in for_user(found, environment, command(environment, home=None, config=None, shared=False), hooks=True):
        text = snippet(part.edit)
        assert part.edit.install(text, force=False) == text

"""
What people tried against `memory setup`, each once, as an example that must not happen again.

The person's home is a folder of the test; `claude` is a program of ours that keeps its servers as Claude Code does.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
import tomllib
from typing import TYPE_CHECKING

import pytest
from command import Shell

from memory.agents import files
from memory.agents.command import Environment, command, described, here, our_hook
from memory.agents.edits import snippet
from memory.agents.jsontext import Fault
from memory.agents.register import Registration, Request, setup
from memory.agents.setup_files import MarkedBlock, overview
from memory.agents.toml import TomlEdit
from memory.schema.errors import ConfigError, Error, Invalid

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TOKEN = "not-a-token-but-kept-like-one"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "proj" / ".git").mkdir(parents=True)
    return tmp_path / "home"


def machine(home: Path, **env: str) -> Environment:
    return Environment(home, "linux", env, home / "proj")


def run(environment: Environment, agent: str, **options: bool) -> Registration:
    return setup(Request(agent=agent, **options), environment)


def states(outcome: Registration) -> list[str]:
    return [step.state for step in outcome.steps]


def put(path: Path, text: str | object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


# Links in a project


def test_a_link_in_the_place_of_the_copy_is_not_followed(home: Path) -> None:
    profile = put(home / ".bashrc", "alias l=ls\n")
    path = put(home / ".cursor/mcp.json", "{}")
    files.backup(path).symlink_to(profile)

    run(machine(home), "cursor")

    assert profile.read_text() == "alias l=ls\n"
    assert not files.backup(path).is_symlink()
    assert files.backup(path).read_text() == "{}"


def test_a_link_in_the_place_of_the_copy_is_not_what_was_there_before(home: Path) -> None:
    path = home / ".cursor/mcp.json"
    run(machine(home), "cursor")
    files.backup(path).symlink_to(put(home / "secret", ""))

    run(machine(home), "cursor", remove=True)

    assert not path.exists()


def test_no_copy_is_put_into_a_project(home: Path) -> None:
    profile = put(home / ".bashrc", "alias l=ls\n")
    path = put(home / "proj/.mcp.json", {"mcpServers": {}})
    files.backup(path).symlink_to(profile)
    put(home / "proj/AGENTS.md", "# Rules\n")

    added = run(machine(home), "claude-code", project=True).steps[0]
    run(machine(home), "agents-md")
    run(machine(home), "claude-code", project=True, remove=True)

    assert added.backup is None
    assert profile.read_text() == "alias l=ls\n"
    assert files.backup(path).is_symlink()
    assert not files.backup(home / "proj/AGENTS.md").exists()
    assert json.loads(path.read_text()) == {"mcpServers": {}}


LINKS = {
    "to a file": ("agents-md", "AGENTS.md", ".aws/credentials", ".aws/credentials"),
    "to a folder": ("cursor", ".cursor", "mine", "mine/mcp.json"),
    "into git's folder": ("agents-md", "AGENTS.md", "proj/.git/config", "proj/.git/config"),
}


@pytest.mark.parametrize("remove", [False, True])
@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("case", LINKS)
def test_a_link_out_of_the_project_is_neither_read_nor_changed(
    case: str, remove: bool, dry_run: bool, home: Path
) -> None:
    agent, link, to, file = LINKS[case]
    said = put(home / file, "{}")
    (home / "proj" / link).symlink_to(home / to)

    with pytest.raises(ConfigError, match="is a link that leads out of the project, to"):
        setup(Request(agent=agent, project=agent == "cursor", remove=remove), machine(home), dry_run=dry_run)

    assert said.read_text() == "{}"
    assert {row.name: row.project for row in overview(machine(home))}[agent] == "unreadable"


def test_a_link_inside_the_project_is_followed(home: Path) -> None:
    target = put(home / "proj/CLAUDE.md", "# Rules\n")
    (home / "proj/AGENTS.md").symlink_to("CLAUDE.md")

    run(machine(home), "agents-md")
    assert "memory:begin" in target.read_text()

    run(machine(home), "agents-md", remove=True)
    assert target.read_text() == "# Rules\n"


def test_the_home_through_a_link_is_no_project_either(home: Path) -> None:
    (home.parent / "link").symlink_to(home)
    environment = Environment(home.parent / "link", "linux", {}, home)

    with pytest.raises(Invalid, match="is not a project"):
        run(environment, "cursor", project=True)


# Claude Code's own command


CLAUDE = """
import json, os, signal, sys, time
from pathlib import Path

home, argv = Path(os.environ["HOME"]), sys.argv[1:]
file = home / ".claude.json"
with open(home / "calls", "a") as calls:
    calls.write(json.dumps(argv) + "\\n")
number = len((home / "calls").read_text().splitlines())
PRELUDE
said = json.loads(file.read_text()) if file.exists() else {}
servers = said.setdefault("mcpServers", {})
if argv[1] == "remove":
    del servers["memory"]
elif "memory" in servers:
    sys.exit("it exists already")
elif argv[1] == "add":
    start = argv[argv.index("--") + 1:]
    servers["memory"] = {"type": "stdio", "command": start[0], "args": start[1:], "env": {}}
else:
    servers["memory"] = json.loads(argv[5])
file.write_text(json.dumps(said))
"""


@pytest.fixture
def claude(home: Path) -> Callable[[str], Environment]:
    """A machine with a `claude` that keeps its servers; first it does what it is told, `number` being that of its call."""

    def made(prelude: str = "") -> Environment:
        path = put(home / "bin/claude", f"#!{sys.executable}\n" + CLAUDE.replace("PRELUDE", prelude))
        path.chmod(0o755)
        return machine(home, PATH=f"{home / 'bin'}:/usr/bin:/bin", HOME=str(home))

    return made


def entry_in(home: Path) -> object:
    return json.loads((home / ".claude.json").read_text())["mcpServers"].get("memory")


def asked(home: Path) -> list[list[str]]:
    return [json.loads(line) for line in (home / "calls").read_text().splitlines()]


OLD = {"type": "stdio", "command": "/old/memory", "args": ["mcp"], "env": {"KEY": TOKEN}, "timeout": 60_000}


def test_ctrl_c_between_two_calls_does_not_cost_the_entry(claude: Callable[..., Environment], home: Path) -> None:
    file = put(home / ".claude.json", {"mcpServers": {"memory": OLD}})
    was = file.read_text()
    environment = claude("if number == 2: os.kill(os.getppid(), signal.SIGINT); time.sleep(60)")

    with pytest.raises(KeyboardInterrupt):
        run(environment, "claude-code")

    assert entry_in(home) == OLD
    assert files.backup(file).read_text() == was


def test_ctrl_c_while_the_entry_goes_does_not_cost_it(claude: Callable[..., Environment], home: Path) -> None:
    put(home / ".claude.json", {"mcpServers": {"memory": OLD}})
    gone = "file.write_text('{\"mcpServers\": {}}'); os.kill(os.getppid(), signal.SIGINT); time.sleep(60)"

    with pytest.raises(KeyboardInterrupt):
        run(claude(f"if number == 1: {gone}"), "claude-code")

    assert entry_in(home) == OLD


def test_an_update_keeps_every_field_and_half_a_character(claude: Callable[..., Environment], home: Path) -> None:
    old = {**OLD, "env": {"A": "\ud800", "B": "é"}}
    put(home / ".claude.json", {"mcpServers": {"memory": old}})

    outcome = run(claude(), "claude-code")

    assert states(outcome)[0] == "updated"
    assert entry_in(home) == {
        **old,
        "command": command(machine(home), home=None, config=None, shared=False).argv[0],
    }


def test_an_entry_too_long_for_a_command_is_refused_before_the_first_call(
    claude: Callable[..., Environment], home: Path
) -> None:
    file = put(home / ".claude.json", {"mcpServers": {"memory": {**OLD, "env": {"A": "x" * files.WORD_LIMIT}}}})
    was = file.read_text()

    with pytest.raises(ConfigError, match="too many for a command"):
        run(claude(), "claude-code")

    assert file.read_text() == was
    assert not (home / "calls").exists()


def test_force_over_a_server_of_somebody_else_keeps_a_copy(claude: Callable[..., Environment], home: Path) -> None:
    file = put(home / ".claude.json", {"mcpServers": {"memory": {"type": "http", "url": "https://x"}}})
    was = file.read_text()

    step = run(claude(), "claude-code", force=True).steps[0]

    assert (step.state, step.backup) == ("replaced", files.backup(file))
    assert files.backup(file).read_text() == was
    assert files.backup(file).stat().st_mode & 0o777 == 0o600


def test_a_copy_with_ours_in_it_is_not_what_was_there_before(claude: Callable[..., Environment], home: Path) -> None:
    put(home / ".claude.json", {"mcpServers": {"memory": OLD}})
    run(claude(), "claude-code")
    (home / ".claude.json").write_text(files.backup(home / ".claude.json").read_text())

    run(machine(home), "claude-code", remove=True)

    assert entry_in(home) is None


def test_a_broken_copy_is_no_hindrance(home: Path) -> None:
    path = put(home / ".cursor/mcp.json", "{}")
    run(machine(home), "cursor")
    files.backup(path).write_text("{,}")

    run(machine(home), "cursor", remove=True)

    assert "memory" not in path.read_text()


def test_if_the_old_entry_does_not_come_back_both_errors_are_told(
    claude: Callable[..., Environment], home: Path
) -> None:
    file = put(home / ".claude.json", {"mcpServers": {"memory": OLD}})
    environment = claude("if number > 1: sys.exit(f'no. {number}: {argv[-1]}')")

    with pytest.raises(Error) as failed:
        run(environment, "claude-code")

    assert "no. 2: " in str(failed.value)
    assert "the old entry did not come back" in str(failed.value)
    assert "no. 3: " in str(failed.value)
    assert TOKEN not in str(failed.value) + failed.value.hint
    assert f"What was there before is in {files.backup(file)}." in failed.value.hint


def test_a_command_that_fails_says_how_to_do_it_by_hand(claude: Callable[..., Environment], home: Path) -> None:
    with pytest.raises(Error) as failed:
        run(claude("sys.exit('x' * 3_000_000)"), "claude-code")

    assert len(str(failed.value)) < 1000
    assert failed.value.hint.startswith("Nothing was changed. ")
    assert f"By hand, put into {home / '.claude.json'}:\n" in failed.value.hint
    assert '"mcpServers": {' in failed.value.hint


def test_a_command_that_does_nothing_is_not_believed(claude: Callable[..., Environment], home: Path) -> None:
    outcome = run(claude("sys.exit(0)"), "claude-code")

    assert states(outcome) == ["unverified", "added", "added"]
    assert any("claude mcp list" in notice for notice in outcome.notices)


def test_a_command_that_does_it_is_believed(claude: Callable[..., Environment], home: Path) -> None:
    environment = claude()

    assert states(run(environment, "claude-code"))[0] == "added"
    assert states(run(environment, "claude-code"))[0] == "already"
    assert states(run(environment, "claude-code", remove=True))[0] == "removed"


def test_what_a_command_started_ends_with_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "TIMEOUT_SECONDS", 5)
    fifo = home / "fifo"
    os.mkfifo(fifo)
    script = put(home / "bin/claude", f"#!/bin/sh\nexec 3>{fifo}\nsleep 600 &\necho up >&3\nwait\n")
    script.chmod(0o755)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    environment = machine(home, PATH=f"{home / 'bin'}:/usr/bin:/bin")

    with pytest.raises(Error, match="did not end within"):
        files.run_calls(files.removing(str(script)), environment, lambda: None)

    assert os.read(reader, 3) == b"up\n"
    assert select.select([reader], [], [], 60)[0], "what it started still has the pipe"
    assert os.read(reader, 1) == b""
    os.close(reader)


# Secrets


def secret_files(home: Path, *, indent: int | None) -> None:
    other = {"command": "npx", "args": [TOKEN], "env": {"KEY": TOKEN}}
    put(home / ".cursor/mcp.json", json.dumps({"mcpServers": {"docs": other}}, indent=indent))
    put(home / ".gemini/settings.json", json.dumps({"mcpServers": {"docs": other}, "x": TOKEN}, indent=indent))
    put(home / ".codex/config.toml", f'[mcp_servers.docs]\ncommand = "npx"\nenv = {{ KEY = "{TOKEN}" }}')
    put(home / "proj/AGENTS.md", f"Use {TOKEN}.")


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("agent", ["cursor", "gemini", "codex", "agents-md"])
def test_a_dry_run_shows_what_is_ours_and_no_secret_beside_it(agent: str, indent: int | None, home: Path) -> None:
    secret_files(home, indent=indent)

    added = setup(Request(agent=agent), machine(home), dry_run=True).steps[0].diff
    run(machine(home), agent)
    removed = setup(Request(agent=agent, remove=True), machine(home), dry_run=True).steps[0].diff

    assert "npx" not in added + removed
    assert TOKEN not in added + removed
    assert any(line.startswith("+") and "memory" in line for line in added.splitlines()[2:])
    assert any(line.startswith("-") and "memory" in line for line in removed.splitlines()[2:])


def test_a_dry_run_shows_no_variable_of_our_entry(claude: Callable[..., Environment], home: Path) -> None:
    put(home / ".claude.json", {"mcpServers": {"memory": OLD}})
    put(home / ".cursor/mcp.json", {"mcpServers": {"memory": OLD}})
    environment = claude()

    by_claude = setup(Request(agent="claude-code"), environment, dry_run=True).steps[0]
    done = run(environment, "claude-code").steps[0]
    in_file = setup(Request(agent="cursor", remove=True), environment, dry_run=True).steps[0]

    assert by_claude.calls[1][-1] == files.HIDDEN_ENTRY
    assert TOKEN not in repr(by_claude) + repr(done) + repr(in_file)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"command": "npx", "args": ["server", "--api-key", TOKEN]}, "npx"),
        ({"command": f"/opt/bin/server --key {TOKEN}"}, "server"),
        ({"command": f"KEY={TOKEN} server"}, "something else"),
        ({"command": ["C:\\x\\server.exe", TOKEN]}, "server.exe"),
        ({"url": f"https://u:{TOKEN}@mcp.example.com:80/{TOKEN}?a={TOKEN}"}, "mcp.example.com"),
        ({"url": f"https://[{TOKEN}"}, "something else"),
    ],
)
def test_a_server_of_somebody_else_is_named_by_its_program_or_host_alone(entry: dict, said: str) -> None:
    assert described(entry) == said


# Hooks


FOREIGN_HOOKS = [
    'logger "ran hook session-start --agent claude-code"; important-thing',
    "cd /x && . ./env.sh && /opt/memory hook session-start --agent claude-code | my-filter",
    "cd /x && /opt/memory hook session-start --agent claude-code",
    "/opt/memory hook session-start --agent claude-code; rm lock",
    "$(brew --prefix)/memory hook session-start --agent claude-code",
    "env A=1 memory hook session-start --agent claude-code",
    "/opt/memory --verbose hook session-start --agent claude-code",
    "echo 'memory hook session-start --agent claude-code",
]


@pytest.mark.parametrize("line", FOREIGN_HOOKS)
def test_a_hook_that_does_more_than_ours_stays_and_none_is_put_beside_it(line: str, home: Path) -> None:
    hooks = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": line}]}]}}
    path = put(home / ".claude/settings.json", hooks)

    added = run(machine(home), "claude-code")
    start = json.loads(path.read_text())["hooks"]["SessionStart"]
    run(machine(home), "claude-code", remove=True)

    assert start == hooks["hooks"]["SessionStart"]
    assert json.loads(path.read_text()) == hooks
    assert any("a hook under SessionStart has our hook inside another command" in text for text in added.notices)


def test_removing_says_that_a_wrapped_hook_stays(home: Path) -> None:
    hooks = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": FOREIGN_HOOKS[1]}]}]}}
    path = put(home / ".claude/settings.json", hooks)

    outcome = run(machine(home), "claude-code", remove=True)

    assert states(outcome)[1] == "kept"
    assert json.loads(path.read_text()) == hooks
    assert len(outcome.notices) == 1


@pytest.mark.parametrize(
    "program",
    [
        "memory",
        "~/bin/memory",
        "'/my tools/memory'",
        "'/a;b/memory'",
        "/opt/memory --home /data --config '/my data/x.yaml'",
        "/usr/bin/python3.11 -m memory --home /data",
        "uvx --from tiered-memory memory",
        "uvx --from 'tiermem[mcp]' tiermem",
        "/usr/bin/python3.11 -m tiermem",
        '"C:/Program Files (x86)/memory.exe"',
    ],
)
def test_a_hook_of_ours_is_known(program: str) -> None:
    assert our_hook(f"{program} hook session-end --agent cursor", ("hook", "session-end", "--agent", "cursor"))


# TOML


SERVER = {"command": "/opt/memory", "args": ["mcp"]}
OURS = '[mcp_servers.memory]\ncommand = "/opt/memory"\nargs = ["mcp"]\n'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            OURS + '# env = 1\n#[mcp_servers.old]\n#command = "foo"\n\n[z]\na = 1\n',
            '# env = 1\n#[mcp_servers.old]\n#command = "foo"\n\n[z]\na = 1\n',
        ),
        (f"a = 1\n\n{OURS}\n# of z\n[z]\na = 1\n", "a = 1\n\n# of z\n[z]\na = 1\n"),
        (f"a = 1\n\n{OURS}\n# a note at the end", "a = 1\n\n# a note at the end"),
        (f"{OURS}# ours\nenabled = true\n# mine\n", "# mine\n"),
        (
            f"{OURS}[mcp_servers.memory.env]\nA = 1\n# mine\n[mcp_servers.z]\nb = 1\n",
            "# mine\n[mcp_servers.z]\nb = 1\n",
        ),
        (
            '[mcp_servers]\n# mine\nmemory = { command = "memory", args = ["mcp"] }\n# mine\n',
            "[mcp_servers]\n# mine\n# mine\n",
        ),
        (
            f'a = """\n{OURS}"""\n[ "mcp_servers" . memory ]\ncommand = "memory"\nargs = ["mcp"]\n',
            f'a = """\n{OURS}"""\n',
        ),
    ],
)
def test_what_stands_around_our_table_stays(text: str, left: str) -> None:
    assert TomlEdit("mcp_servers", SERVER).uninstall(text, None) == left


def test_comments_behind_a_table_that_is_replaced_stay() -> None:
    text = '[mcp_servers.memory]\ncommand = "npx"\n# mine\n\n# of z\n[z]\na = 1\n'

    after = TomlEdit("mcp_servers", SERVER).install(text, force=True)

    assert after == f"# mine\n\n# of z\n[z]\na = 1\n\n{OURS}"


def test_a_number_that_is_none_is_kept() -> None:
    edit = TomlEdit("mcp_servers", SERVER)

    after = edit.install("a = nan\nb = [inf, nan]\n", force=False)

    assert tomllib.loads(after)["mcp_servers"]["memory"] == SERVER
    assert edit.uninstall(after, None) == "a = nan\nb = [inf, nan]\n"


# AGENTS.md


VALID = snippet(MarkedBlock("Use memory."))


@pytest.mark.parametrize("remove", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        f"<!-- memory:begin\nuser A\nuser B\n{VALID}user C\n",
        "<!-- memory:begin\nuser A\n<!-- x -->\nuser B\n<!-- memory:end -->\n",
        "<!-- memory:begin-notes -->\nuser A\n<!-- memory:end -->\n",
        f"{VALID}user A\n<!-- memory:end -->\n",
        "user A <!-- memory:begin -->\nuser B\n<!-- memory:end -->\n",
        "<!-- memory:begin -->\nuser A\n<!-- memory:end --> user B\n",
        "user A\n<!-- memory:end -->\n",
        "<!-- memory:begin --> <!-- memory:end -->\n",
        VALID + VALID,
    ],
)
def test_a_damaged_mark_is_refused(text: str, remove: bool) -> None:
    block = MarkedBlock("Use it more.")

    with pytest.raises(Fault):
        block.uninstall(text, None) if remove else block.install(text, force=False)


@pytest.mark.parametrize("text", ["# Rules\n", "# Rules\n\n\n", "# Rules\r\n", ""])
def test_a_block_goes_to_the_byte_without_a_copy(text: str) -> None:
    block = MarkedBlock("Use memory.")

    assert block.uninstall(block.install(text, force=False), None) == text


# Files, homes, entries


def test_a_pipe_in_the_place_of_a_file_is_not_read(home: Path) -> None:
    fifo = home / ".cursor/mcp.json"
    fifo.parent.mkdir()
    os.mkfifo(fifo)
    tried = threading.Event()

    def end_every_reading() -> None:
        while not tried.is_set():
            os.close(os.open(fifo, os.O_WRONLY))

    writer = threading.Thread(target=end_every_reading)
    writer.start()
    try:
        with pytest.raises(ConfigError, match="not a regular file"):
            run(machine(home), "cursor")
        assert {row.name: row.user for row in overview(machine(home))}["cursor"] == "unreadable"
    finally:
        tried.set()
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        writer.join()
        os.close(reader)


@pytest.mark.parametrize("agent", ["cursor", "codex", "opencode"])
def test_home_and_settings_file_of_an_entry_stay(agent: str, home: Path) -> None:
    first = setup(Request(agent=agent, home="/data/work", config="/data/x.yaml"), machine(home))
    once = {step.path: step.path.read_text() for step in first.steps}

    second = run(machine(home), agent)
    third = setup(Request(agent=agent, home="/data/other"), machine(home))

    assert not second.changed
    assert "--home /data/work stays, as the entry had it; to be rid of it, --remove first." in second.notices
    assert all("/data/work" in text for path, text in once.items() if path.name != "SKILL.md")
    assert "/data/work" not in third.steps[0].path.read_text()
    assert "/data/x.yaml" in third.steps[0].path.read_text()


def test_hooks_of_ours_beside_a_server_of_somebody_else_are_no_hindrance(home: Path) -> None:
    path = home / ".gemini/settings.json"
    run(machine(home), "gemini")
    said = json.loads(path.read_text())
    put(path, {**said, "mcpServers": {"memory": {"command": "npx"}}})

    with pytest.raises(ConfigError, match="that memory did not write: npx"):
        run(machine(home), "gemini")


def test_a_relative_home_of_a_shared_entry_stays_relative(home: Path) -> None:
    entry = {"type": "stdio", "command": "memory", "args": ["--home", ".memory", "mcp"]}
    path = put(home / "proj/.mcp.json", {"mcpServers": {"memory": entry}})

    run(machine(home), "claude-code", project=True)

    assert json.loads(path.read_text())["mcpServers"]["memory"]["args"] == ["--home", ".memory", "mcp"]


@pytest.mark.parametrize("value", ["", "home/me", "."])
def test_a_home_that_is_no_absolute_path_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", value)

    with pytest.raises(Invalid, match="not an absolute path"):
        here()


def test_words_say_what_was_replaced_and_what_stays(tmp_path: Path) -> None:
    person = tmp_path / "person"
    put(person / ".cursor/mcp.json", {"mcpServers": {"memory": {"command": "npx"}}})
    shell = Shell(tmp_path / "data", person, {"PATH": "/usr/bin:/bin", "HOME": str(person)})

    stays = shell("setup", "cursor", "--remove").out
    replaced = shell("setup", "cursor", "--force").out

    assert "server: is not there; another one of the name, not ours, stays: " in stays
    assert "server: replaced: " in replaced
    assert "next" not in shell("setup").out


def test_the_list_says_what_to_do_as_long_as_an_agent_is_not_set_up(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "data", tmp_path, {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini/installation_id").write_text("")

    before = shell("setup").out
    shell("setup", "gemini")

    assert before.endswith("next     memory setup AGENT      connect one of them\n")
    assert "next" not in shell("setup").out

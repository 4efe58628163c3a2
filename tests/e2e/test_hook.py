"""What agents run at the start and the end of their sessions, with what each of them says on standard input."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import click
import pytest
import yaml
from command import COMMAND, Ran, Shell

from memory import Draft, Engine
from memory.cli import cli
from memory.config import load
from memory.redact.injection import orders
from memory.store.sqlite import SqliteStore
from memory.text.tokens import tokens
from memory.tools.daily import OPERATIONS
from memory.tools.hook import FORMS, KEPT_SECONDS, QUIET_SECONDS, REMINDER, TEXT_LIMIT, TWICE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

SESSION = "3f0c9c1e-6a54-4a2b-9a11-0b7f6f0c2d77"
LONG_AGO = 2 * QUIET_SECONDS


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in a project named shop, without any memories."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    return Shell(tmp_path / "home", tmp_path / "shop")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a memory of that project and one of another, both an hour old."""
    home = tmp_path_factory.mktemp("written")
    config = load(env={}, flags={"home": str(home), "embedding.provider": "hashed", "embedding.model": "hashed-64"})
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    with Engine(SqliteStore(config.database), config, now=lambda: hour_ago, lasting=False) as engine:
        engine.save(Draft(title="Switched to JWT", what="Replaced session cookies", project="shop"))
        engine.save(Draft(title="Moved to Kafka", what="Rabbit lost messages", project="events"))
    return home


@pytest.fixture
def kept(shell: Shell, written: Path) -> Shell:
    """The same with a home in which something is kept."""
    shutil.copytree(written, shell.home)
    return shell


def claude(shell: Shell, event: str, **more: Any) -> dict[str, Any]:
    common = {
        "session_id": SESSION,
        "transcript_path": "/nowhere/t.jsonl",
        "cwd": str(shell.folder),
        "hook_event_name": event,
        "permission_mode": "default",
    }
    return common | ({"source": "startup"} if event == "SessionStart" else {"stop_hook_active": False}) | more


def gemini(shell: Shell, event: str, **more: Any) -> dict[str, Any]:
    common = {
        "session_id": SESSION,
        "transcript_path": "",
        "cwd": str(shell.folder),
        "timestamp": "2026-11-20T10:00:00Z",
    }
    if event == "SessionStart":
        return common | {"hook_event_name": event, "source": "startup"} | more
    answer = {"prompt": "fix it", "prompt_response": "done", "stop_hook_active": False}
    return common | {"hook_event_name": "AfterAgent"} | answer | more


def cursor(shell: Shell, event: str, **more: Any) -> dict[str, Any]:
    common = {
        "conversation_id": SESSION,
        "generation_id": "g",
        "cursor_version": "3.7",
        "workspace_roots": [str(shell.folder)],
        "user_email": None,
        "transcript_path": None,
    }
    if event == "SessionStart":
        return common | {"hook_event_name": "sessionStart", "session_id": SESSION, "composer_mode": "agent"} | more
    return common | {"hook_event_name": "stop", "status": "completed", "loop_count": 0} | more


def codex(shell: Shell, event: str, **more: Any) -> dict[str, Any]:
    record = transcript(shell, "0.169.0")
    return claude(shell, event, model="m", transcript_path=record, turn_id="1", last_assistant_message=None) | more


def transcript(shell: Shell, version: str) -> str:
    """The beginning of a record of Codex."""
    head = {
        "type": "session_meta",
        "payload": {"id": SESSION, "cli_version": version, "base_instructions": "B" * 40_000},
    }
    path = shell.home / f"rollout-{version}.jsonl"
    path.write_text(f"{json.dumps(head)}\n{json.dumps({'cli_version': '9.999.0'})}\n")
    return str(path)


def vscode(shell: Shell, event: str, **more: Any) -> dict[str, Any]:
    said = {"timestamp": "2026-11-20T10:00:00Z", "cwd": str(shell.folder), "sessionId": SESSION, "hookEventName": event}
    return said | ({"source": "new"} if event == "SessionStart" else {"stop_hook_active": False}) | more


SAYS = {
    "claude-code": claude,
    "gemini-cli": gemini,
    "cursor": cursor,
    "codex": codex,
    "vscode": vscode,
    "plain": claude,
}
REMINDABLE = [name for name, form in FORMS.items() if form.reminder]


def context_of(agent: str, out: str) -> str:
    """The text that the agent reads, by the rules of its documentation."""
    if agent in {"codex", "plain"}:
        assert not out.lstrip().startswith(("{", "[")), "Codex would take it for JSON"
        return out
    said = json.loads(out)
    if agent == "cursor":
        return said["additional_context"]
    inner = said["hookSpecificOutput"]
    assert inner["hookEventName"] == "SessionStart"
    if agent == "vscode":
        assert said["additionalContext"] == inner["additionalContext"]
    return inner["additionalContext"]


def reason_of(agent: str, out: str) -> str:
    said = json.loads(out)
    if agent == "cursor":
        return said["followup_message"]
    assert said["decision"] == ("deny" if agent == "gemini-cli" else "block")
    if agent == "vscode":
        assert said["hookSpecificOutput"] == {"hookEventName": "Stop", "decision": "block", "reason": said["reason"]}
    else:
        assert set(said) == {"decision", "reason"}
    return said["reason"]


def start(shell: Shell, agent: str = "claude-code", code: int | None = 0, **more: Any) -> Ran:
    said = json.dumps(SAYS[agent](shell, "SessionStart", **more))
    return shell("hook", "session-start", "--agent", agent, stdin=said, code=code)


def end(shell: Shell, agent: str = "claude-code", code: int | None = 0, **more: Any) -> Ran:
    said = json.dumps(SAYS[agent](shell, "Stop", **more))
    return shell("hook", "session-end", "--agent", agent, stdin=said, code=code)


def marks(shell: Shell) -> list[Path]:
    """What records sessions, without their starts."""
    return [file for file in _files(shell) if not file.suffix[1:].isdecimal()]


def _files(shell: Shell) -> list[Path]:
    return sorted((shell.home / "hooks").iterdir()) if (shell.home / "hooks").exists() else []


def begin(shell: Shell, seconds: float = LONG_AGO, agent: str = "claude-code") -> Path:
    """A session that began some time ago."""
    start(shell, agent)
    (mark,) = marks(shell)
    os.utime(mark, (time.time() - seconds,) * 2)
    return mark


# At the start


@pytest.mark.parametrize("agent", FORMS)
def test_an_agent_reads_the_memories_of_its_project_in_its_own_form(kept: Shell, agent: str) -> None:
    ran = start(kept, agent)

    text = context_of(agent, ran.out)
    assert "Switched to JWT" in text
    assert "Moved to Kafka" not in text
    assert "end of memories" in text
    assert not ran.err


@pytest.mark.parametrize("agent", FORMS)
def test_nothing_is_said_where_nothing_is_kept(kept: Shell, agent: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    ran = start(replace(kept, folder=tmp_path / "empty"), agent)

    assert (ran.out, ran.err) == ("", "")


def test_no_database_is_made(shell: Shell) -> None:
    assert start(shell) == Ran(0, "", "")
    assert end(shell) == Ran(0, "", "")

    assert not shell.home.exists()


@pytest.mark.parametrize("alias", ["claude", "Claude-Code", "gemini", "copilot", "vs-code"])
def test_agents_have_other_names(kept: Shell, alias: str) -> None:
    ran = kept("hook", "session-start", "--agent", alias, stdin=json.dumps(claude(kept, "SessionStart")))

    assert "Switched to JWT" in json.loads(ran.out)["hookSpecificOutput"]["additionalContext"]


def test_cursor_means_the_folder_of_its_window_not_the_one_it_runs_in(kept: Shell, tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    elsewhere = replace(kept, folder=tmp_path / ".cursor")
    said = json.dumps(cursor(kept, "SessionStart"))

    ran = elsewhere("hook", "session-start", "--agent", "cursor", stdin=said)

    assert "Switched to JWT" in json.loads(ran.out)["additional_context"]


def test_cursor_may_name_its_window_in_the_environment(kept: Shell, tmp_path: Path) -> None:
    named = replace(kept, folder=tmp_path, settings={"CURSOR_PROJECT_DIR": str(kept.folder)})

    ran = named("hook", "session-start", "--agent", "cursor", stdin="{}")

    assert "Switched to JWT" in json.loads(ran.out)["additional_context"]


@pytest.mark.parametrize("said", ["", "  \n", "{}", '{"session_id": null, "cwd": null}', '{"new_field": [1]}'])
def test_an_agent_that_says_nothing_means_the_current_folder(kept: Shell, said: str) -> None:
    assert "Switched to JWT" in kept("hook", "session-start", stdin=said).out
    assert not marks(kept), "a session without a name cannot be remembered"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")
def test_a_person_at_a_terminal_is_not_waited_for(kept: Shell) -> None:
    import pty

    own, theirs = pty.openpty()
    command = [COMMAND, "hook", "session-start"]
    ran = subprocess.run(
        command, stdin=theirs, capture_output=True, env=kept.env, cwd=kept.folder, timeout=60, check=True
    )
    os.close(own)
    os.close(theirs)

    assert b"Switched to JWT" in ran.stdout


def test_no_stdin_at_all_is_nothing_said(kept: Shell) -> None:
    line = f"'{COMMAND}' hook session-start <&-"
    ran = subprocess.run(line, shell=True, capture_output=True, env=kept.env, cwd=kept.folder, timeout=60, check=True)

    assert b"Switched to JWT" in ran.stdout


def test_no_more_is_said_than_an_agent_takes(shell: Shell) -> None:
    lines = [{"title": f"Note {i}", "what": "a b c d " * 150, "project": "shop"} for i in range(12)]
    for line in lines:
        shell("save", line["title"], "--what", line["what"], "--project", "shop")
    wide = replace(shell, settings={"MEMORY_CONTEXT_TOKENS": "50000"})

    text = context_of("claude-code", start(wide).out)

    assert TEXT_LIMIT / 3 < len(text) <= TEXT_LIMIT
    assert "end of memories" in text


def test_all_that_is_said_stays_within_the_budget(shell: Shell) -> None:
    for number in range(8):
        shell("save", f"Note {number}", "--what", f"what is known of {number} " * number, "--project", "shop")
    for budget in (150, 220, 300, 450):
        narrow = replace(shell, settings={"MEMORY_CONTEXT_TOKENS": str(budget)})

        text = context_of("claude-code", start(narrow, session_id=str(budget)).out)

        assert "search for them." in text
        assert tokens(text) <= budget


def test_of_several_hooks_at_one_start_one_speaks(kept: Shell) -> None:
    said = json.dumps(claude(kept, "SessionStart")).encode()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    for start_number in range(2):  # the session begins, and is resumed later
        running = [kept.start("hook", "session-start", "--agent", "claude-code", **pipes) for _ in range(3)]

        outs = [process.communicate(said, timeout=60) for process in running]

        assert [err for _, err in outs] == [b""] * 3
        assert sum(bool(out) for out, _ in outs) == 1
        for file in (kept.home / "hooks").glob(f"*.{start_number}"):
            os.utime(file, (time.time() - 2 * TWICE_SECONDS,) * 2)


def test_a_start_that_failed_or_had_nothing_to_say_counts_for_none(shell: Shell) -> None:
    shell("save", "Of another project", "--project", "elsewhere")
    assert start(shell) == Ran(0, "", "")
    shell("save", "Switched to JWT", "--project", "shop")

    assert "Switched to JWT" in start(shell).out
    assert start(shell) == Ran(0, "", "")
    assert "Switched to JWT" in start(shell, session_id="another").out


# At the end


@pytest.mark.parametrize("agent", REMINDABLE)
def test_an_agent_is_reminded_in_its_own_form(kept: Shell, agent: str) -> None:
    begin(kept, agent=agent)

    ran = end(kept, agent)

    assert reason_of(agent, ran.out) == REMINDER
    assert not ran.err


@pytest.mark.parametrize("agent", sorted(set(FORMS) - set(REMINDABLE)))
def test_an_agent_that_cannot_be_reminded_is_told_nothing(kept: Shell, agent: str) -> None:
    begin(kept, agent=agent)

    assert end(kept, agent) == Ran(0, "", "")


@pytest.mark.parametrize("version", ["0.168.9", "0.99.1", "", None])
def test_codex_is_not_reminded_in_a_version_that_a_reminder_spoils(kept: Shell, version: str | None) -> None:
    begin(kept, agent="codex")
    record = None if version is None else transcript(kept, version)

    before = end(kept, "codex", transcript_path=record)

    assert before == Ran(0, "", "")
    for newer in ("0.169.0-alpha.2", "0.170.1", "1.0.0"):
        begin(kept, agent="codex")
        assert end(kept, "codex", transcript_path=transcript(kept, newer)).out
        for mark in marks(kept):
            mark.unlink()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
def test_a_transcript_that_is_no_file_is_not_waited_for(kept: Shell) -> None:
    begin(kept, agent="codex")
    os.mkfifo(kept.home / "pipe")

    for path in (str(kept.home / "pipe"), str(kept.home), "a\0b", "/nowhere/t.jsonl"):
        assert end(kept, "codex", transcript_path=path) == Ran(0, "", "")


def test_a_session_is_reminded_once(kept: Shell) -> None:
    begin(kept)

    assert end(kept).out
    assert end(kept) == Ran(0, "", "")
    start(kept, source="resume")
    assert end(kept) == Ran(0, "", "")


def test_of_many_calls_at_once_one_reminds(kept: Shell) -> None:
    begin(kept)
    said = json.dumps(claude(kept, "Stop")).encode()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = [kept.start("hook", "session-end", "--agent", "claude-code", **pipes) for _ in range(4)]

    outs = [process.communicate(said, timeout=60) for process in running]

    assert [err for _, err in outs] == [b""] * 4
    assert sum(bool(out) for out, _ in outs) == 1


@pytest.mark.parametrize(
    ("agent", "more"),
    [
        ("claude-code", {"stop_hook_active": True}),
        ("gemini-cli", {"stop_hook_active": True}),
        ("vscode", {"stop_hook_active": True}),
        ("cursor", {"loop_count": 1}),
        ("cursor", {"status": "aborted"}),
        ("cursor", {"status": "error"}),
        ("claude-code", {"session_id": ""}),
        ("claude-code", {"session_id": 7}),
    ],
)
def test_no_reminder_where_it_does_not_belong(kept: Shell, agent: str, more: dict[str, Any]) -> None:
    begin(kept, agent=agent)

    assert end(kept, agent, **more) == Ran(0, "", "")


def test_a_short_session_is_not_reminded(kept: Shell) -> None:
    begin(kept, QUIET_SECONDS - 60)

    assert end(kept) == Ran(0, "", "")


def test_a_session_whose_beginning_was_not_seen_begins_with_its_first_end(kept: Shell) -> None:
    assert end(kept) == Ran(0, "", "")
    (mark,) = marks(kept)
    os.utime(mark, (time.time() - LONG_AGO,) * 2)

    assert end(kept).out


def test_coming_back_does_not_begin_anew(kept: Shell) -> None:
    begin(kept)
    start(kept, source="compact")

    assert end(kept).out


def test_who_has_saved_is_not_reminded(kept: Shell) -> None:
    begin(kept)
    kept("save", "Tokens live an hour", "--what", "Refresh them", "--project", "shop")

    assert end(kept) == Ran(0, "", "")


def test_who_has_corrected_is_not_reminded(kept: Shell) -> None:
    begin(kept)
    (memory,) = kept("list", "--project", "shop", "--json").json["memories"]
    kept("update", str(memory["memory_id"]), "--impact", "Log in again")

    assert end(kept) == Ran(0, "", "")


def test_what_was_saved_for_another_project_does_not_count(kept: Shell) -> None:
    begin(kept)
    kept("save", "Partitions are six", "--what", "One a consumer", "--project", "events")

    assert end(kept).out


# What is remembered of sessions


def test_a_mark_is_empty_and_only_its_owners(kept: Shell) -> None:
    start(kept)

    (mark,) = marks(kept)
    assert mark.stat().st_size == 0
    if sys.platform != "win32":
        assert stat.S_IMODE(mark.stat().st_mode) == 0o600
        assert stat.S_IMODE(mark.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a\0b", "\ud800", "x" * 5000, "con", ".", "%2e%2e/"])
def test_the_name_of_a_session_is_never_a_path(kept: Shell, name: str, tmp_path: Path) -> None:
    before = {path for path in tmp_path.rglob("*") if "hooks" not in path.parts}

    start(kept, session_id=name)
    end(kept, session_id=name)

    (mark,) = marks(kept)
    assert len(mark.name) == 32
    assert set(mark.name) <= set("0123456789abcdef")
    after = {path for path in tmp_path.rglob("*") if "hooks" not in path.parts}
    assert {path.suffix for path in after - before} <= {".db-wal", ".db-shm"}


def test_old_sessions_are_forgotten_and_nothing_else(kept: Shell) -> None:
    old, reminded = begin(kept, KEPT_SECONDS + 60), kept.home / "hooks" / ("a" * 32 + ".reminded")
    foreign = kept.home / "hooks" / "notes.txt"
    started = old.with_suffix(".0")
    for path in (reminded, foreign, started):
        path.touch()
        os.utime(path, (time.time() - KEPT_SECONDS - 60,) * 2)

    start(kept, session_id="another")

    assert not started.exists()
    names = {path.name for path in marks(kept)}
    assert old.name not in names
    assert reminded.name not in names
    assert foreign.name in names
    assert len(names) == 2


def test_a_link_in_the_place_of_a_mark_is_not_followed(kept: Shell, tmp_path: Path) -> None:
    start(kept)
    (mark,) = marks(kept)
    mark.unlink()
    mark.symlink_to(tmp_path / "target")

    start(kept)
    end(kept)

    assert not (tmp_path / "target").exists()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="its owner may write anyway")
def test_where_nothing_can_be_remembered_memories_are_still_given(kept: Shell) -> None:
    (kept.home / "hooks").mkdir()
    (kept.home / "hooks").chmod(0o500)

    assert "Switched to JWT" in start(kept).out
    assert end(kept) == Ran(0, "", "")


def test_a_file_in_the_place_of_the_folder_does_no_harm(kept: Shell) -> None:
    (kept.home / "hooks").touch()

    assert "Switched to JWT" in start(kept).out
    assert end(kept) == Ran(0, "", "")


# What goes wrong

HOSTILE = {
    "not JSON": b"ignore me",
    "half of it": b'{"session_id": "a"',
    "no object": b"[1, 2]",
    "a number": b"7",
    "not UTF-8": b'{"cwd": "\xff\xfe"}',
    "deep": b"[" * 200_000,
    "huge": b'{"session_id": "' + b"a" * (17 << 20) + b'"}',
    "a long number": b'{"loop_count": ' + b"9" * 10_000 + b"}",
}


@pytest.mark.parametrize("verb", ["session-start", "session-end"])
@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
def test_what_cannot_be_read_is_a_sentence_and_stops_no_session(kept: Shell, verb: str, said: bytes) -> None:
    ran = kept("hook", verb, "--agent", "claude-code", stdin=said, code=1)

    assert not ran.out
    assert ran.err.startswith("memory: ")
    assert len(ran.err) < 200
    assert not marks(kept)


def test_what_is_too_long_is_not_read_to_its_end(kept: Shell) -> None:
    ran = kept("hook", "session-start", stdin=HOSTILE["huge"], code=1)

    assert "more than 16 MB" in ran.err


@pytest.mark.parametrize("value", [[], {}, [[]], "1", 1e308, True, None])
def test_fields_of_other_types_do_no_harm(kept: Shell, value: Any) -> None:
    names = (
        "session_id",
        "sessionId",
        "conversation_id",
        "stop_hook_active",
        "loop_count",
        "status",
        "workspace_roots",
    )
    said = json.dumps(dict.fromkeys(names, value) | {"cwd": str(kept.folder)})

    for verb in ("session-start", "session-end"):
        assert not kept("hook", verb, "--agent", "cursor", stdin=said).err


@pytest.mark.parametrize("folder", ["/no/such/folder", "relative", "a\0b", "\ud800", "x" * 5000, 7, ["/"], "~"])
def test_a_folder_that_is_not_there_has_no_memories(kept: Shell, folder: Any) -> None:
    assert start(kept, cwd=folder) == Ran(0, "", "")
    assert end(kept, cwd=folder) == Ran(0, "", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["session-start", "--agent", "emacs"],
        ["session-end", "--agent", "emacs"],
        ["session-end", "--agent"],
        ["session-end", "--no-such-option"],
        ["session-end", "one too many"],
        ["session-middle"],
    ],
)
def test_a_wrong_call_stops_no_session(kept: Shell, arguments: list[str]) -> None:
    ran = kept("hook", *arguments, code=1)

    assert not ran.out
    assert ran.err.startswith("memory: ")


def test_settings_that_cannot_be_used_stop_no_session(kept: Shell) -> None:
    broken = replace(kept, settings={"MEMORY_CONTEXT_TOKENS": "many"})

    assert "many" in start(broken, code=1).err
    assert end(broken, code=1).err


def test_a_database_that_is_none_stops_no_session(kept: Shell) -> None:
    begin(kept)
    (kept.home / "memory.db").write_bytes(b"no database at all" * 1000)

    assert start(kept, code=1).err.startswith("memory: ")
    assert end(kept, code=1).err.startswith("memory: ")


@pytest.mark.parametrize("verb", ["session-start", "session-end"])
def test_neither_imports_what_is_slow(kept: Shell, verb: str) -> None:
    begin(kept)
    script = (
        "import sys; from memory.cli import main; code = main(sys.argv[1:]); sys.stdout.flush();"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr); sys.exit(code)"
    )
    said = json.dumps(claude(kept, "Stop") if verb == "session-end" else claude(kept, "SessionStart", session_id="new"))
    command = [sys.executable, "-c", script, "hook", verb, "--agent", "claude-code"]
    env = kept.env | {"MEMORY_EMBEDDING_PROVIDER": "local", "MEMORY_EMBEDDING_MODEL": ""}
    ran = subprocess.run(
        command, input=said.encode(), capture_output=True, env=env, cwd=kept.folder, timeout=60, check=True
    )

    imported = set(ran.stderr.decode().split())
    assert ran.stdout
    assert "apsw" in imported
    heavy = {
        "numpy",
        "mcp",
        "httpx",
        "yaml",
        "rich",
        "torch",
        "openai",
        "ollama",
        "tokenizers",
        "sqlite_vec",
        "pyromark",
    }
    assert not imported & heavy


# What agents are told by a file

FILES = {name: files("memory.agents").joinpath(name).read_text("utf-8") for name in ("skill.md", "agents.md")}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_every_tool_that_is_named_is_there(text: str) -> None:
    named = set(re.findall(r"memory_[a-z]+", text))

    assert {"memory_context", "memory_search", "memory_details", "memory_save", "memory_delete"} <= named
    assert named <= {tool.name for tool in OPERATIONS}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_every_command_that_is_named_is_there(text: str) -> None:
    lines = re.findall(r"`memory ([a-z]+)([^`]*)`", text)

    assert lines
    for verb, rest in lines:
        command = cli.get_command(click.Context(cli), verb)
        assert command is not None, verb
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"--[a-z]+", rest)) <= known, rest


def test_the_skill_has_the_front_matter_that_agents_ask_for() -> None:
    _, head, _ = FILES["skill.md"].split("---\n", 2)
    said = yaml.safe_load(head)

    assert set(said) == {"name", "description"}
    assert said["name"] == "memory"
    assert len(said["description"]) <= 1024, "https://agentskills.io/specification"


@pytest.mark.parametrize(("name", "most"), [("skill.md", 1000), ("agents.md", 350)])
def test_what_is_read_at_every_start_is_short_and_no_attack(name: str, most: int) -> None:
    assert tokens(FILES[name]) <= most
    assert orders(FILES[name]) is None

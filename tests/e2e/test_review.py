"""What a session leaves, from the hook at its end to a memory, as a person and as an agent meet it."""

from __future__ import annotations

import json
import os
import random
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from captured_made import transcript_of
from command import Ran, Shell
from secret_ways import left, one_of_each
from secrets_made import Made, made
from terminal import at_terminal

from memory.carry.formats.conversation import ASSISTANT, USER
from memory.carry.review import SETTLED, WAITING, Proposed, Review
from memory.tools.hook import REMINDER

if TYPE_CHECKING:
    from pathlib import Path

SESSION = "3f0c9c1e-6a54-4a2b-9a11-0b7f6f0c2d77"
DECIDED = "We decided to keep invoices for ten years in `archive/`."
RULED = "From now on squash commits before you push."
SAID = ((USER, DECIDED), (ASSISTANT, "Done."), (USER, f"thanks. {RULED}"))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in a project named shop, without any memories."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    return Shell(tmp_path / "home", tmp_path / "shop")


def ended(shell: Shell, *said: tuple[str, str], name: str = "session", **more: Any) -> Ran:
    """The end of a session in which this was said."""
    path = shell.folder.parent / f"{name}.jsonl"
    if said:
        path.write_text(transcript_of(*said), "utf-8")
    event = {"session_id": SESSION, "transcript_path": str(path), "cwd": str(shell.folder)}
    event |= {"hook_event_name": "SessionEnd", "reason": "other"} | more
    return shell("hook", "session-end", "--agent", "claude-code", "--capture", stdin=json.dumps(event))


def waiting(shell: Shell) -> list[dict[str, Any]]:
    return shell("review", "--json").json["waiting"]


def whats(shell: Shell) -> list[str]:
    return [one["what"] for one in waiting(shell)]


def memories(shell: Shell) -> list[dict[str, Any]]:
    return shell("list", "--json").json["memories"]


def test_a_session_that_ends_proposes_and_keeps_nothing(shell: Shell) -> None:
    ran = ended(shell, *SAID)

    assert ran == Ran(0, "", "")
    assert whats(shell) == [DECIDED, RULED]
    assert not (shell.home / "memory.db").exists()
    assert [path.name for path in shell.home.iterdir()] == ["memory.db-review"]
    assert stat.S_IMODE((shell.home / "memory.db-review").stat().st_mode) == 0o600


def test_without_the_option_nothing_is_proposed(shell: Shell) -> None:
    path = shell.folder.parent / "session.jsonl"
    path.write_text(transcript_of(*SAID))
    event = {"session_id": SESSION, "transcript_path": str(path), "cwd": str(shell.folder)}

    assert shell("hook", "session-end", "--agent", "claude-code", stdin=json.dumps(event)) == Ran(0, "", "")
    assert not shell.home.exists()
    assert "nothing waits for review" in shell("review").out


def test_each_is_shown_with_its_place(shell: Shell) -> None:
    ended(shell, *SAID)
    first, second = waiting(shell)

    assert (first["sort"], first["role"], first["project"], first["session"]) == ("decision", USER, "shop", SESSION)
    assert (first["line"], first["time"]) == (2, "2026-03-11T09:00:00+00:00")
    assert first["file"] == str(shell.folder.parent / "session.jsonl")
    said = shell("review").out
    assert f"{first['id'][:8]}  decided · shop · said by you · 2026-03-11T09:00\n    {DECIDED}\n" in said
    assert f"{second['file']}:4\n" in said
    assert said == shell("review", "list").out


def test_what_is_kept_is_a_note_with_source_and_session(shell: Shell) -> None:
    ended(shell, *SAID)
    first, second = waiting(shell)

    said = shell("review", "keep", first["id"][:8]).out

    (note,) = memories(shell)
    assert said == f"Saved {note['id'][:8]} {DECIDED}\n"
    assert (note["kind"], note["what"], note["category"], note["project"]) == ("note", DECIDED, "decision", "shop")
    assert (note["source"], note["session_id"]) == ("claude-code", SESSION)
    assert (note["metadata"]["transcript"], note["metadata"]["line"]) == (first["file"], 2)
    assert waiting(shell) == [second]
    assert DECIDED in shell("search", "invoices").out


def test_what_is_dropped_leaves_only_a_hash(shell: Shell) -> None:
    ended(shell, *SAID)
    first, second = waiting(shell)

    assert shell("review", "drop", first["id"], second["id"][:8]).out == "Dropped 2 proposals\n"

    stored = (shell.home / "memory.db-review").read_text()
    assert "invoices" not in stored
    assert "squash" not in stored
    assert first["id"] in stored
    assert waiting(shell) == []
    assert not (shell.home / "memory.db").exists()


def test_what_was_reviewed_is_not_proposed_again(shell: Shell) -> None:
    ended(shell, *SAID)
    first, second = waiting(shell)
    shell("review", "keep", first["id"])
    shell("review", "drop", second["id"])
    shell("delete", memories(shell)[0]["id"])

    ended(shell)
    ended(shell, (USER, f"ok, {DECIDED.lower()}"), name="later")

    assert waiting(shell) == []


def test_what_waits_is_not_proposed_twice(shell: Shell) -> None:
    ended(shell, *SAID)
    ended(shell, *SAID, name="later")

    assert whats(shell) == [DECIDED, RULED]


def test_another_project_has_its_own(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "events" / ".git").mkdir(parents=True)
    ended(shell, *SAID)
    ended(shell, cwd=str(tmp_path / "events"))

    assert [one["project"] for one in waiting(shell)] == ["shop", "shop", "events", "events"]


NEAR = {
    "the same": (DECIDED, []),
    "in other words": ("Invoices stay in `archive/` for ten years, we decided to keep them.", []),
    "another number": ("We decided to keep invoices for 7 years in `vault/`.", None),
    "the contrary": ("We decided to not keep invoices for ten years in `archive/`.", None),
    "something else": ("We decided to keep the shop open on Sundays in December.", None),
}


@pytest.mark.parametrize(("said", "proposed"), NEAR.values(), ids=NEAR)
def test_what_a_memory_says_already_is_not_proposed(shell: Shell, said: str, proposed: list[str] | None) -> None:
    shell("save", "Invoices", "--what", DECIDED, "--project")

    ended(shell, (USER, said))

    assert whats(shell) == ([said] if proposed is None else proposed)


def test_an_edit_changes_what_waits(shell: Shell) -> None:
    ended(shell, *SAID)
    first, _ = waiting(shell)

    shell(
        "review",
        "edit",
        first["id"][:8],
        "--what",
        "Invoices are kept for ten years.",
        "--why",
        "Tax.",
        "--project",
        "",
    )
    changed, _ = waiting(shell)

    assert (changed["id"], changed["what"], changed["why"]) == (first["id"], "Invoices are kept for ten years.", "Tax.")
    assert changed["project"] is None
    shell("review", "keep", first["id"])
    assert memories(shell)[0]["what"] == "Invoices are kept for ten years."
    ended(shell)
    assert whats(shell) == [RULED]


@pytest.mark.parametrize(
    "arguments", [("keep", "zz"), ("drop", "0000"), ("edit", "zz", "--what", "x"), ("keep", ""), ("edit", "zz")]
)
def test_what_does_not_wait_is_not_found(shell: Shell, arguments: tuple[str, ...]) -> None:
    ended(shell, *SAID)

    ran = shell("review", *arguments, code=None)

    assert ran.code in {1, 2}
    assert ran.err.startswith("memory: ")
    assert len(waiting(shell)) == 2


def test_an_edit_without_changes_is_refused(shell: Shell) -> None:
    ended(shell, *SAID)

    assert "nothing to change" in shell("review", "edit", waiting(shell)[0]["id"], code=2).err


def test_no_proposal_is_exported(shell: Shell) -> None:
    ended(shell, *SAID)
    shell("save", "Other", "--what", "Something else is kept.")

    assert "invoices" not in shell("export").out


# Secrets


def test_no_form_of_a_secret_reaches_the_queue(shell: Shell) -> None:
    """Each in a sentence of its own that is proposed otherwise, and in one beside it."""
    several = one_of_each()
    for first in range(0, len(several), 10):
        said = [
            (
                USER,
                f"From now on take box number{number} for the deployment: {one.text}\n\nWe decided on it. {one.text}",
            )
            for number, one in enumerate(several[first : first + 10], start=first)
        ]
        ended(shell, *said, name=f"session-{first}")

    assert len(waiting(shell)) > 50
    assert left(shell.home, several) == []
    plain = Made("any", "the word is x9q2Zk7Lm4", "x9q2Zk7Lm4")
    ended(shell, (USER, "From now on the word for the door is x9q2Zk7Lm4."))
    assert left(shell.home, [plain]) == [plain.text]


def test_an_edit_takes_secrets_out(shell: Shell) -> None:
    ended(shell, *SAID)
    secret = made("any ghp_⟨{a36}⟩", random.Random(1))

    shell("review", "edit", waiting(shell)[0]["id"], "--what", f"The token is ghp_{secret.secret}")

    assert left(shell.home, [secret]) == []


def test_a_rule_of_the_user_that_is_broken_proposes_nothing(shell: Shell) -> None:
    shell.home.mkdir()
    (shell.home / ".memoryignore").write_text("/[unclosed/\n")

    ran = ended(shell, *SAID)

    assert ".memoryignore" in ran.err
    assert waiting(shell) == []


# What goes wrong


def test_the_reminder_comes_as_without(shell: Shell) -> None:
    shell("save", "Other", "--what", "Something else is kept.", "--project", "events")
    begun = {"session_id": SESSION, "cwd": str(shell.folder), "hook_event_name": "SessionStart"}
    shell("hook", "session-start", "--agent", "claude-code", stdin=json.dumps(begun))
    for mark in (shell.home / "hooks").iterdir():
        os.utime(mark, (0, 0))

    over = ended(shell, *SAID)
    turn = ended(shell, *SAID, hook_event_name="Stop", stop_hook_active=False)

    assert over.out == ""
    assert json.loads(turn.out)["reason"] == REMINDER
    assert whats(shell) == [DECIDED, RULED]


TRANSCRIPTS = [None, "", "/nowhere/t.jsonl", "a\0b", "x" * 5000, 7, "/dev/zero", "/", "\ud800"]


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=map(ascii, map(str, TRANSCRIPTS)))
def test_a_transcript_that_is_none_is_passed_over(shell: Shell, transcript: Any) -> None:
    assert ended(shell, transcript_path=transcript) == Ran(0, "", "")


def test_a_pipe_is_not_waited_for(shell: Shell, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "session.jsonl")

    assert ended(shell) == Ran(0, "", "")


def test_a_folder_that_is_gone_has_no_project_and_proposes_nothing(shell: Shell) -> None:
    assert ended(shell, *SAID, cwd="/no/such/folder") == Ran(0, "", "")
    assert waiting(shell) == []


@pytest.mark.parametrize("content", [b"not JSON", b"[]", b'{"schema": "memory.review/2"}', b'{"schema": {}}', b"\xff"])
def test_a_damaged_queue_stops_no_session_and_is_not_overwritten(shell: Shell, content: bytes) -> None:
    shell.home.mkdir()
    (shell.home / "memory.db-review").write_bytes(content)

    ran = ended(shell, *SAID)

    assert (ran.code, ran.out) == (0, "")
    assert "memory.db-review is damaged, or of another version" in ran.err
    assert "memory.db-review" in shell("review", code=1).err
    assert (shell.home / "memory.db-review").read_bytes() == content


def test_a_database_that_is_none_stops_no_session(shell: Shell) -> None:
    shell.home.mkdir()
    (shell.home / "memory.db").write_bytes(b"no database at all" * 1000)

    ran = ended(shell, *SAID)

    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("memory: ")


def test_sessions_that_end_at_once_lose_nothing(shell: Shell) -> None:
    shell.home.mkdir()
    queue = Review(str(shell.home / "memory.db"))

    def add(number: int) -> None:
        queue.add([one(number)])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))

    assert {found.id for found in queue.waiting()} == {one(number).id for number in range(40)}


def one(number: int) -> Proposed:
    return Proposed(f"{number:032x}", "rule", f"Rule {number}", "", USER, "/t.jsonl", number, "", "", None)


def test_the_oldest_make_room_and_do_not_come_back(tmp_path: Path) -> None:
    queue = Review(str(tmp_path / "memory.db"))
    queue.add([one(number) for number in range(1, WAITING + 3)])

    assert [found.line for found in queue.waiting()] == [*range(3, WAITING + 3)]
    assert queue.add([one(1)]) == []
    for number in range(WAITING + 3, 3 * WAITING):
        queue.settle(one(number).id)
    assert len(json.loads((tmp_path / "memory.db-review").read_text())["settled"]) <= SETTLED


def test_the_hook_imports_nothing_slow(shell: Shell) -> None:
    shell("save", "Other", "--what", "Something else is kept.")
    path = shell.folder.parent / "session.jsonl"
    path.write_text(transcript_of(*SAID))
    event = {
        "session_id": SESSION,
        "transcript_path": str(path),
        "cwd": str(shell.folder),
        "hook_event_name": "SessionEnd",
    }
    script = (
        "import sys; from memory.cli import main; code = main(sys.argv[1:]);"
        "print(*sorted({name.partition('.')[0] for name in sys.modules})); sys.exit(code)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, "hook", "session-end", "--capture"],
        input=json.dumps(event).encode(),
        capture_output=True,
        env=shell.env,
        cwd=shell.folder,
        timeout=60,
        check=True,
    )

    assert whats(shell) == [DECIDED, RULED]
    assert not set(ran.stdout.decode().split()) & {"numpy", "mcp", "httpx", "yaml", "rich", "sqlite_vec", "pyromark"}


# At a terminal

pty_only = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")


@pty_only
def test_at_a_terminal_it_goes_through_what_waits(shell: Shell) -> None:
    third = "I prefer long variable names over short ones in this repo."
    ended(shell, *SAID, (USER, third))

    said = at_terminal(shell, "k\nd\n\n", "review")

    assert "1 of 3" in said
    assert "1 saved, 1 dropped, 1 waiting" in said
    assert [note["what"] for note in memories(shell)] == [DECIDED]
    assert whats(shell) == [third]


@pty_only
def test_at_a_terminal_nothing_is_kept_by_return_or_by_quitting(shell: Shell) -> None:
    ended(shell, *SAID)

    assert "0 saved, 0 dropped, 2 waiting" in at_terminal(shell, "\nq\n", "review")
    assert len(waiting(shell)) == 2


@pty_only
def test_at_a_terminal_it_is_edited_before_it_is_kept(shell: Shell, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "Invoices stay ten years." > "$1"\n')
    editor.chmod(0o755)
    ended(shell, *SAID)

    at_terminal(Shell(shell.home, shell.folder, {"EDITOR": str(editor), "VISUAL": ""}), "e\nq\n", "review")

    assert [note["what"] for note in memories(shell)] == ["Invoices stay ten years."]
    assert whats(shell) == [RULED]

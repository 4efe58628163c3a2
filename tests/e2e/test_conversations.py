"""Conversations as people bring them: whole, once, in the right project, or told what they are not."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from command import Shell
from formats import PEERS

if TYPE_CHECKING:
    from pathlib import Path

FIRST, SECOND = (f"5f3a9f0e-0000-4000-8000-00000000000{number}" for number in (1, 2))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "harbour" / ".git").mkdir(parents=True)
    return Shell(tmp_path / "home", tmp_path / "harbour")


def saved(shell: Shell) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shell("export").out.splitlines()]


def line(number: int, text: str, session: str = FIRST, **more: Any) -> dict[str, Any]:
    """A line of a transcript of Claude Code."""
    said = {"type": "user", "sessionId": session, "message": {"role": "user", "content": text}}
    return said | {"uuid": f"u{number}", "timestamp": f"2026-03-07T11:00:{number:02}Z", "cwd": "/srv/tide"} | more


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    return path


# What is of no program ------------------------------------------------------------


FOREIGN = {
    "an object": json.dumps({"messages": [{"role": "user", "text": "hello"}]}),
    "a pretty object": json.dumps({"messages": [{"role": "user", "text": "hello"}]}, indent=2),
    "a pretty object with a title": json.dumps({"title": "T", "messages": [{"text": "hello"}]}, indent=2),
    "an object with a title": json.dumps({"title": "T", "messages": [{"text": "hello"}]}),
    "an array": json.dumps([{"role": "user", "text": "hello"}]),
    "a pretty array": json.dumps([{"role": "user", "text": "hello"}], indent=2),
    "an array of texts": json.dumps(["hello", "squid"]),
    "an empty array": "[]",
    "an empty object": "{}",
    "lines": '{"role": "user", "text": "hello"}\n{"role": "assistant", "text": "hi"}\n',
    "with a mark": "\ufeff" + json.dumps({"log": {"entries": []}}, indent=1),
}


@pytest.mark.parametrize("shape", FOREIGN)
@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_json_of_no_known_program_is_told_so_in_a_sentence_whatever_its_shape(
    shell: Shell, shape: str, ending: str
) -> None:
    file = shell.folder / f"chat.{ending}"
    file.write_text(FOREIGN[shape], "utf-8")

    ran = shell("import", file.name, code=2)

    said = f"memory: {file.name}: JSON that memory cannot import\nmemory: `memory help importing` lists them.\n"
    assert (ran.out, ran.err) == ("", said)


@pytest.mark.parametrize("text", ['{"titel": "a"}', '{"title": "a"}\n{"titel": "b"}'])
def test_a_draft_with_a_mistake_is_still_a_draft(shell: Shell, text: str) -> None:
    (shell.folder / "own.jsonl").write_text(text)

    assert "no field 'titel'" in shell("import", "own.jsonl", code=2).err


def test_what_is_no_json_is_told_so(shell: Shell) -> None:
    (shell.folder / "broken.json").write_text('{\n  "title": \n')

    assert "not JSON" in shell("import", "broken.json", code=2).err


# Projects -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "project"),
    [
        ("C:\\Users\\me\\src\\tide", "tide"),
        ("D:/srv/tide/", "tide"),
        ("\\\\server\\share\\tide", "tide"),
        ("C:\\Users\\me", None),
        ("/srv/tide", "tide"),
        ("src", None),
    ],
)
def test_a_path_of_another_system_names_a_project_too(shell: Shell, folder: str, project: str | None) -> None:
    written(shell.folder / "s.jsonl", line(0, "How high is the tide?", cwd=folder))

    shell("import", "s.jsonl")

    assert [note["project"] for note in saved(shell)] == [project]


# Sessions -------------------------------------------------------------------------


@pytest.mark.parametrize("names", [(FIRST, SECOND), (SECOND, FIRST)], ids=["in order", "the other way round"])
def test_a_session_that_was_resumed_is_one_note(shell: Shell, names: tuple[str, str]) -> None:
    folder, (one, other) = shell.folder / "sessions", names
    start = [line(0, "How high is the tide?", one), line(1, "And the swell?", one)]
    written(folder / f"{one}.jsonl", *start)
    assert shell("import", folder, "--json").json["kept"] == 1
    written(folder / f"{other}.jsonl", *start, line(2, "And whales?", other))

    ran = shell("import", folder)

    assert "1 updated" in ran.out
    assert f"{one}.jsonl: the session goes on in {other}.jsonl, which contains all of this one" in ran.err
    [note] = saved(shell)
    assert [note["body"].count(text) for text in ("tide?", "swell?", "whales?")] == [1, 1, 1]
    assert note["id"] == one.replace("-", "")
    assert "0 saved, 0 updated, 1 already there, 1 left out" in shell("import", folder).out


def test_a_session_and_its_fork_are_two_notes_though_they_begin_with_the_same_lines(shell: Shell) -> None:
    start = [line(0, "How high is the tide?"), line(1, "And the swell?")]
    written(shell.folder / "sessions" / f"{FIRST}.jsonl", *start, line(2, "And whales?"))
    written(shell.folder / "sessions" / f"{SECOND}.jsonl", *start, line(3, "And squids?", SECOND))

    assert shell("import", "sessions", "--json").json["kept"] == 2
    assert sorted("whales" in note["body"] for note in saved(shell)) == [False, True]


def test_a_session_whose_folder_was_changed_loses_nothing(shell: Shell) -> None:
    written(shell.folder / "p" / "-srv-tide" / f"{FIRST}.jsonl", line(1, "How high is the tide?"))
    written(shell.folder / "p" / "-srv-a-swell" / f"{FIRST}.jsonl", line(2, "And the swell?", cwd="/srv/swell"))

    shell("import", "p")
    shell("import", "p")

    said = {note["project"]: (note["id"] == FIRST.replace("-", ""), "tide?" in note["body"]) for note in saved(shell)}
    assert said == {"tide": (True, True), "swell": (False, False)}


def test_in_an_archive_a_session_that_was_resumed_is_one_note_and_one_whose_folder_was_changed_loses_nothing(
    shell: Shell,
) -> None:
    start = [line(0, "How high is the tide?"), line(1, "And the swell?")]
    there = shell.folder / "p"
    written(there / "-srv-tide" / f"{FIRST}.jsonl", *start)
    written(there / "-srv-tide" / f"{SECOND}.jsonl", *start, line(2, "And whales?", SECOND))
    written(there / "-srv-a-swell" / f"{FIRST}.jsonl", line(3, "And squids?", cwd="/srv/swell"))
    shutil.make_archive(str(archive := shell.folder / "sessions"), "zip", there)

    assert shell("import", archive.with_suffix(".zip"), "--json").json["kept"] == 2
    assert "0 saved, 0 updated, 2 already there, 1 left out" in shell("import", archive.with_suffix(".zip")).out
    assert "0 saved, 0 updated, 2 already there, 1 left out" in shell("import", "p").out

    said = {note["project"]: (note["id"] == FIRST.replace("-", ""), note["body"]) for note in saved(shell)}
    assert {name: (first, "whales?" in body, "squids?" in body) for name, (first, body) in said.items()} == {
        "tide": (True, True, False),
        "swell": (False, False, True),
    }


def test_what_is_nobodys_words_is_counted_and_said_once(shell: Shell) -> None:
    for session in (FIRST, SECOND):
        command = "<command-name>/clear</command-name>\n<command-args></command-args>"
        meta = line(2, "Caveat", isMeta=True)
        written(shell.folder / "s" / f"{session}.jsonl", line(0, f"Hello {session}"), line(1, command), meta)

    ran = shell("import", "s")

    assert ran.out == "found 2: 2 saved, 0 updated, 0 already there, 0 left out\n"
    assert ran.err.count("not saved of claude-code: messages of the program (4)") == 1
    assert "not saved of claude-code: messages of the program (4)" in shell("import", "s", "--dry-run").err


def test_a_session_in_which_nobody_says_anything_is_named(shell: Shell) -> None:
    written(shell.folder / "agent.jsonl", line(0, "Count the buoys.", isSidechain=True))

    ran = shell("import", "agent.jsonl")

    assert "agent.jsonl: it contains no message: there are only messages of subagents" in ran.err
    assert saved(shell) == []


def test_a_checkpoint_that_was_saved_again_is_one_note_that_grew(shell: Shell) -> None:
    file = shell.folder / "checkpoint-tide.json"
    rows = [{"role": "user", "parts": [{"text": "How high?"}]}]
    file.write_text(json.dumps(rows))
    shell("import", file)
    rows.append({"role": "model", "parts": [{"text": "Two metres."}]})
    file.write_text(json.dumps(rows, indent=2))

    assert "1 updated" in shell("import", file).out

    [note] = saved(shell)
    assert "Two metres." in note["body"]


@pytest.mark.parametrize("name", ["documented/claude.ai-archive/export.zip"])
def test_what_claude_remembered_stays_where_a_later_export_says_otherwise(shell: Shell, name: str) -> None:
    shell("import", PEERS / name)
    later = [{"account_uuid": "0f9a7c1e-0000-4000-8000-00000000b000", "conversations_memory": "Sails on Sundays."}]
    (shell.folder / "memories.json").write_text(json.dumps(later))

    shell("import", "memories.json")

    bodies = [note["body"] for note in saved(shell)]
    assert {"Draws charts for a living.", "Sails on Sundays."} <= {*bodies}


# Memories of Claude Code ------------------------------------------------------------


def project(shell: Shell, **files: str) -> Path:
    folder = shell.folder / "projects" / "-srv-tide" / "memory"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    return folder


FEEDBACK = "---\nname: metres\ndescription: Lengths in metres\ntype: feedback\n---\n\nNever feet.\n"


def test_a_memory_belongs_to_the_project_whose_folder_the_transcript_beside_it_names(shell: Shell) -> None:
    folder = project(shell, feedback_metres=FEEDBACK)
    written(folder.parent / f"{FIRST}.jsonl", line(0, "Hello", cwd="/srv/somewhere/harbour-charts"))

    shell("import", folder)

    [note] = saved(shell)
    assert (note["project"], note["title"], note["what"]) == ("harbour-charts", "metres", "Lengths in metres")
    assert (note["category"], note["tags"], note["kind"]) == ("preference", ["feedback"], "note")
    assert "Never feet." in note["body"]
    assert note["metadata"] == {}


def test_a_memory_without_a_transcript_belongs_to_the_folder_of_its_project(shell: Shell) -> None:
    project(shell, feedback_metres=FEEDBACK)

    shell("import", "projects")

    assert [note["project"] for note in saved(shell)] == ["-srv-tide"]


def test_the_index_of_memories_is_none_and_one_that_holds_the_text_itself_is(shell: Shell) -> None:
    folder = project(shell, MEMORY="# Memory\n\n- [Metres](feedback_metres.md) — lengths\n", feedback_metres=FEEDBACK)

    ran = shell("import", folder)
    assert "MEMORY.md: it only lists the memories beside it" in ran.err
    assert [note["title"] for note in saved(shell)] == ["metres"]

    (folder / "MEMORY.md").write_text("# Tides\n\nThe gauge is read at six.\n")
    shell("import", folder)
    assert [note["title"] for note in saved(shell)] == ["metres", "Tides"]


def test_a_memory_that_changed_is_one_note(shell: Shell) -> None:
    folder = project(shell, feedback_metres=FEEDBACK)
    shell("import", folder)
    (folder / "feedback_metres.md").write_text(FEEDBACK.replace("Never feet.", "Neither feet nor yards."))

    assert "1 updated" in shell("import", folder).out
    assert "Neither feet nor yards." in saved(shell)[0]["body"]

"""What a command prints reaches every terminal: whatever its encoding, and whether anybody listens."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from command import Shell

if TYPE_CHECKING:
    from pathlib import Path

FACE = "\U0001f600"
ENCODINGS = ("cp1252", "ascii", "latin-1", "utf-16", "shift_jis")
READING = (
    ("search", "smile"),
    ("search", FACE, "--explain"),
    ("search", "nothing", "--project", f"no{FACE}"),
    ("list",),
    ("details", "1"),
    ("context", "smile"),
    ("stats",),
    ("status",),
    ("tags",),
    ("trash",),
    ("doctor",),
    ("config",),
    ("ledger",),
    ("export",),
    ("session", "list"),
    ("session", "show", "s"),
    ("run", "list"),
    ("graph", "stats"),
    ("graph", "show", f"e{FACE}"),
    ("reindex", "--dry-run"),
    ("review",),
    ("setup",),
    ("model",),
    ("reconstruct", "4", "--json"),
    ("expand", "4"),
)
CHANGING = (
    ("save", f"New {FACE}", "--what", f"more {FACE}"),
    ("update", "1", "--what", f"again {FACE}"),
    ("pin", "1"),
    ("delete", "2"),
    ("undo", "--yes"),
    ("delete", "3"),
    ("trash", "restore", "3"),
    ("graph", "add", f"f{FACE}"),
    ("graph", "link", f"e{FACE}", f"→{FACE}", f"f{FACE}"),
)
WRONG = (
    (f"no{FACE}",),
    ("search", "x", "--category", FACE),
    ("details", f"zz{FACE}"),
    ("import", f"/no/{FACE}"),
    ("config", "get", FACE),
    ("list", "--since", FACE),
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    made = Shell(folder / "home", folder)
    made("save", f"Smile {FACE} café", "--what", f"→ 日本 {FACE}", "--tag", f"t{FACE}", "--project", f"p{FACE}")
    made("save", f"Second {FACE}", "--what", "x", "--details", f"# {FACE}")
    made("save", f"Third {FACE}", "--what", "y")
    made("store", "report", "-", "--session", "s", "--agent", f"a{FACE}", stdin=f"# Report {FACE}\n\ntext {FACE}\n")
    made("graph", "add", f"e{FACE}")
    return made.home


@pytest.fixture
def shell(tmp_path: Path, filled: Path) -> Shell:
    folder = tmp_path / "work"
    folder.mkdir()
    return Shell(shutil.copytree(filled, tmp_path / "home"), folder)


@pytest.mark.parametrize(
    ("encoding", "form"), [*((encoding, ()) for encoding in ENCODINGS), ("ascii", ("--json",)), ("utf-16", ("--json",))]
)
def test_no_character_stops_a_command(shell: Shell, encoding: str, form: tuple[str, ...]) -> None:
    there = replace(shell, encoding=encoding)

    for command in (*READING, *CHANGING):
        ran = there(*command, *form, code=None)
        assert ran.code in (0, 1), (command, ran)
        if form and ran.out and command != ("export",):
            assert json.loads(ran.out), command
    for command in WRONG:
        assert there(*command, *form, code=None).code in (1, 2), command


def test_what_an_encoding_lacks_is_an_escape_or_plain_signs(shell: Shell) -> None:
    listed = replace(shell, encoding="ascii")("list", "--project", f"p{FACE}").out

    assert listed.startswith("Smile \\U0001f600 caf\\xe9  note - p\\U0001f600 - ")
    assert replace(shell, encoding="cp1252")("list", "--project", f"p{FACE}").out.startswith(
        "Smile \\U0001f600 café  note · "
    )


@pytest.mark.parametrize(("encoding", "written"), [("cp1252", "\\ud83d\\ude00"), ("utf-16", FACE), ("utf-8", FACE)])
def test_json_says_the_same_in_every_encoding(shell: Shell, encoding: str, written: str) -> None:
    ran = replace(shell, encoding=encoding)("list", "--json")

    assert written in ran.out
    assert ran.json["memories"] == shell("list", "--json").json["memories"]


def _ended(shell: Shell, *arguments: str, **streams: Any) -> int:
    """The exit code of a process; a traceback fails the test."""
    with tempfile.TemporaryFile() as err:
        code = shell.start(*arguments, **{"stdout": subprocess.DEVNULL, "stderr": err} | streams).wait(60)
        err.seek(0)
        assert b"Traceback" not in err.read()
    return code


@pytest.mark.parametrize(
    "settings",
    [{"PYTHONIOENCODING": "cp1252"}, {"PYTHONIOENCODING": "ascii:strict"}, {"LC_ALL": "C"}, {"LC_ALL": "POSIX"}],
)
def test_an_interpreter_of_another_encoding_deletes_and_undoes(shell: Shell, settings: dict[str, str]) -> None:
    there = replace(shell, settings=settings)

    assert _ended(there, "delete", "1") == 0
    assert _ended(there, "undo", "--yes") == 0
    assert f"Smile {FACE} café" in shell("list").out


def test_names_that_are_not_unicode_are_printed_in_every_encoding(shell: Shell) -> None:
    name = os.fsdecode(b"n\xff.md")
    (shell.folder / name).write_text("# A page\n", "utf-8")

    for encoding in ("", *ENCODINGS):
        there = replace(shell, encoding=encoding)
        for command in (
            ("import", name),
            ("search", name),
            ("import", f"no{name}"),
            ("export", "-o", f"{name}{encoding}"),
        ):
            for form in ((), ("--json",)):
                assert there(*command, *form, code=None).code in (0, 1, 2), (encoding, command)


def _unread() -> int:
    """The writing end of a pipe whose reader has left."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def test_a_reader_of_standard_error_who_has_left_changes_nothing(shell: Shell, tmp_path: Path) -> None:
    unread, full = _unread(), os.open("/dev/full", os.O_WRONLY)
    with (tmp_path / "out").open("wb") as out:
        for stream in (unread, full):
            assert _ended(shell, "delete", "zz", stderr=stream) == 1
            assert _ended(shell, "no", stderr=stream) == 2
            assert _ended(shell, "search", "smile", stdout=out, stderr=stream) == 0
    os.close(unread)
    os.close(full)

    assert (tmp_path / "out").read_text("utf-8").count("Smile") == 2


def test_a_program_that_runs_the_command_with_streams_of_its_own_reads_what_it_says(shell: Shell) -> None:
    code = """
import sys
from memory.cli import run
sys.stderr = open(2, "w", encoding="utf-8", closefd=False)
sys.argv = ["memory", "save", "Deploys are on Tuesdays"]
run()
"""
    ran = subprocess.run([sys.executable, "-c", code], env=shell.env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("Saved ")

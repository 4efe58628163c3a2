"""Words that are no commands, files that are there, and projects that are all of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from command import Shell

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    folder = tmp_path / "work"
    folder.mkdir()
    made = Shell(tmp_path / "home", folder)
    made("save", "One", "--project", "a", "--category", "Decision")
    made("save", "Two", "--project", "b")
    return made


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("recall", "search"),
        ("Forget", "delete"),
        ("edit", "update"),
        ("restore", "trash restore"),
        ("serach", "search"),
    ],
)
def test_a_word_that_is_no_command_gets_the_one_that_is_meant(shell: Shell, word: str, meant: str) -> None:
    assert f"Did you mean {meant!r}?" in shell(word, "x", code=2).err


@pytest.mark.parametrize("command", [("export",), ("graph", "export")])
def test_an_export_takes_the_place_of_a_file_only_by_force(shell: Shell, command: tuple[str, ...]) -> None:
    shell("graph", "add", "entity")
    out = shell.folder / "out"
    out.write_text("mine", "utf-8")

    refused = shell(*command, "-o", "out", code=2)

    assert "--force" in refused.err
    assert out.read_text("utf-8") == "mine"
    shell(*command, "-o", "out", "--force")
    assert json.loads(out.read_text("utf-8").splitlines()[0])
    assert out.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["memory.db", "memory.db-wal"])
def test_no_export_takes_the_place_of_the_database(shell: Shell, name: str) -> None:
    for command in (("export",), ("graph", "export")):
        assert "is the database" in shell(*command, "-o", str(shell.home / name), "--force", code=2).err
    assert "One" in shell("list").out


def test_a_star_is_all_projects_where_a_command_narrows_and_no_project_of_a_memory(shell: Shell) -> None:
    for words in (("list",), ("search", "one two"), ("tags",), ("context",)):
        found, whole = shell(*words, "--project", "*").out, shell(*words).out
        assert len(found) == len(whole)
    for words in (("save", "x"), ("update", "1"), ("import", "-"), ("store", "knowledge_base", "-", "--title", "t")):
        assert "a memory belongs to one project" in shell(*words, "--project", "*", code=2, stdin="# t\n\nx").err
    assert len(shell("list", "--json").json["memories"]) == 2


def test_categories_and_kinds_may_be_in_capitals(shell: Shell) -> None:
    assert shell("list", "--category", "DECISION").out == shell("list", "--category", "decision").out != ""
    assert shell("list", "--kind", "Notes").out == shell("list").out

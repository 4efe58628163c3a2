"""Paths as people write them into variables and settings, and homes in which nothing is saved yet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from command import Shell

if TYPE_CHECKING:
    from pathlib import Path

READING = (
    ("search", "x"),
    ("list",),
    ("status",),
    ("details", "1"),
    ("context",),
    ("context", "x"),
    ("stats",),
    ("export",),
    ("doctor",),
    ("config",),
    ("tags",),
    ("trash",),
    ("ledger",),
    ("session", "list"),
    ("session", "show", "s"),
    ("run", "list"),
    ("run", "show", "r"),
    ("graph", "stats"),
    ("graph", "export"),
    ("graph", "search", "x"),
    ("expand", "1"),
    ("reconstruct", "1"),
    ("reindex", "--dry-run"),
    ("mirror", "--conflicts"),
    ("review",),
)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    folder = tmp_path / "work"
    folder.mkdir()
    return Shell(tmp_path / "home", folder)


@pytest.mark.parametrize("there", [False, True], ids=["no folder", "empty folder"])
def test_what_only_reads_makes_nothing(shell: Shell, tmp_path: Path, there: bool) -> None:
    if there:
        shell.home.mkdir()
    before = sorted(tmp_path.rglob("*"))

    for command in READING:
        shell(*command, code=None)
        assert sorted(tmp_path.rglob("*")) == before, command
    assert str(shell.home) in shell("status").out
    shell("save", "first")
    assert "first" in shell("list").out


@pytest.mark.parametrize("written", ["$HOME/var", "${HOME}/var", "~/var", " @/var", "@/var\n"])
def test_a_home_is_found_however_it_is_written(shell: Shell, tmp_path: Path, written: str) -> None:
    there = replace(shell, settings={"MEMORY_HOME": written.replace("@", str(tmp_path))})

    there("save", "here")

    assert (tmp_path / "var" / "memory.db").exists()
    assert not [*shell.folder.iterdir()]
    assert replace(shell, settings={"MEMORY_HOME": str(tmp_path / "var")})("list").out.startswith("here ")


@pytest.mark.parametrize(
    "written", ["var", "./var", "../var", "$NOWHERE/var", "${NOWHERE}/var", "~nobody-of-this-name/var"]
)
def test_a_home_that_is_another_in_every_folder_is_refused(shell: Shell, tmp_path: Path, written: str) -> None:
    there = replace(shell, settings={"MEMORY_HOME": written})
    before = sorted(tmp_path.rglob("*"))

    for command in (("save", "x"), ("list",), ("status",)):
        ran = there(*command, code=2)
        assert written in ran.err
    assert sorted(tmp_path.rglob("*")) == before
    assert written in shell("config", "set", "home", written, code=2).err


def test_an_option_may_name_a_folder_below_the_current_one(shell: Shell) -> None:
    shell("--home", "here", "save", "x")

    assert (shell.folder / "here" / "memory.db").exists()
    assert "--home is blank" in shell("--home", " ", "list", code=2).err


def test_a_folder_that_has_a_dollar_in_its_name_is_that_folder(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "$odd").mkdir()

    replace(shell, settings={"MEMORY_HOME": str(tmp_path / "$odd")})("save", "x")

    assert (tmp_path / "$odd" / "memory.db").exists()


def test_an_agent_is_given_the_place_itself(shell: Shell, tmp_path: Path) -> None:
    there = replace(shell, settings={"MEMORY_HOME": "$HOME/var "})

    there("setup", "cursor", "--yes")

    written = (tmp_path / ".cursor" / "mcp.json").read_text("utf-8")
    assert f'"{tmp_path / "var"}"' in written
    assert replace(shell, settings={"MEMORY_HOME": "var"})("setup", "cursor", "--yes", code=2).err
    assert (tmp_path / ".cursor" / "mcp.json").read_text("utf-8") == written


def test_a_database_that_cannot_be_reached_is_not_taken_for_an_empty_one(shell: Shell) -> None:
    shell.home.write_text("a file", "utf-8")

    assert shell("list", code=1).err

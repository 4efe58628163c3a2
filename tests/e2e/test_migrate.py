"""`memory migrate`, as a person meets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command import Shell

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = Shell(tmp_path / "home", tmp_path)
    shell("save", "alpha", "--what", "beta gamma")
    shell("save", "second", "--what", "delta")
    return shell


def test_it_moves_compares_and_says_how_to_switch(shell, tmp_path) -> None:
    target = tmp_path / "target"

    ran = shell("migrate", shell.home, target, "--verify")

    assert ran.out.splitlines() == [
        f"2 memories moved from {shell.home}/memory.db to {target}/memory.db",
        "verified: both have 2 memories with equal hashes, and all else is equal",
        "next:",
        "  end the programs that write to FROM; if there are any, run this again, which brings what they wrote",
        f"  memory config set home '{target}'",
        "  start the programs again",
    ]
    assert ran.err == ""
    assert "alpha" in Shell(target, tmp_path)("search", "beta").out


def test_run_again_it_has_nothing_to_do_and_brings_what_is_new(shell, tmp_path) -> None:
    target = tmp_path / "target"
    shell("migrate", shell.home, target)

    assert shell("migrate", shell.home, target).out.startswith(f"nothing to do: 2 memories of {shell.home}/memory.db")
    shell("save", "third", "--what", "epsilon")
    facts = shell("migrate", shell.home, target, "--verify", "--json").json

    assert facts["schema"] == "memory.migrate/1"
    assert (facts["memories"], facts["verified"]["same"], facts["removed"]) == (3, True, 0)
    assert facts["verified"]["rows"]["memories"] == [3, 3]


def test_a_dry_run_says_how_much_there_is_and_makes_nothing(shell, tmp_path) -> None:
    ran = shell("migrate", shell.home, tmp_path / "target", "--dry-run", "--json").json

    assert ran["rows"]["memories"] == 2
    assert not (tmp_path / "target").exists()


def test_what_cannot_be_moved_is_said_in_a_sentence(shell, tmp_path) -> None:
    other = Shell(tmp_path / "other", tmp_path)
    other("save", "mine", "--what", "kept")

    assert "holds memories" in shell("migrate", shell.home, other.home, code=2).err
    assert "no database" in shell("migrate", tmp_path / "none", other.home, code=2).err
    assert "moved onto itself" in shell("migrate", shell.home, shell.home / "memory.db", code=2).err
    assert "secret" not in shell("migrate", shell.home, "postgresql://me:secret@nowhere.invalid/x", code=1).err
    assert "mine" in other("list").out


def test_what_has_moved_and_was_changed_since_is_left_alone(shell, tmp_path) -> None:
    target = Shell(tmp_path / "target", tmp_path)
    shell("migrate", shell.home, target.home)
    target("pin", "1")

    assert "holds memories" in shell("migrate", shell.home, target.home, "--verify", code=2).err
    assert target("details", "1", "--json").json["memory"]["pinned"]


def test_the_settings_are_switched_when_all_is_there(tmp_path) -> None:
    shell = Shell(tmp_path / "home", tmp_path, {"MEMORY_HOME": "", "HOME": str(tmp_path)})
    shell("save", "alpha", "--what", "beta gamma")
    source, target = shell("status", "--json").json["database"], tmp_path / "target"

    ran = shell("migrate", source, target, "--verify", "--switch")

    assert ran.out.splitlines()[2:] == [
        f"switched: home = {target}",
        "next:",
        "  start the programs again",
    ]
    assert str(target) in shell("status").out
    assert shell("save", "new").out
    assert "new" in Shell(target, tmp_path)("list").out


def test_nothing_is_moved_where_the_settings_could_not_be_switched(shell, tmp_path) -> None:
    target = tmp_path / "target"

    assert "$MEMORY_HOME overrides" in shell("migrate", shell.home, target, "--switch", code=2).err
    named = shell("--home", shell.home, "migrate", shell.home, "postgresql://nowhere.invalid/x", "--switch", code=2)
    assert "--home overrides" in named.err
    other = Shell(tmp_path / "other", tmp_path, {"MEMORY_HOME": "", "HOME": str(tmp_path)})
    assert "not FROM" in other("migrate", shell.home, target, "--switch", code=2).err
    assert not target.exists()

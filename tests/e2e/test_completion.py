"""What a shell completes: ids with titles, projects and tags, in bash, zsh and fish."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from command import COMMAND, Shell

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home", tmp_path)


def saved(shell: Shell, title: str, *options: str) -> str:
    return shell("save", title, *options, "--json").json["memory"]["id"][:8]


def completed(shell: Shell, kind: str, *words: str) -> list[str]:
    """What a shell is answered while the last word is typed."""
    asked = {"_MEMORY_COMPLETE": f"{kind}_complete", "COMP_WORDS": " ".join(("memory", *words))}
    asked |= {"COMP_CWORD": words[-1] if kind == "fish" else str(len(words))}
    return list(filter(None, replace(shell, settings=asked)().out.splitlines()))


def test_ids_are_completed_with_their_titles(shell: Shell) -> None:
    first, second = saved(shell, "Use *tabs*, not: blanks"), saved(shell, "Deploys\u001b[31m on Friday")

    for command in ("details", "update", "delete", "pin", "undo", "reconstruct"):
        assert completed(shell, "bash", command, "") == [
            f"plain,{second}  Deploys\ufffd 31m on Friday",
            f"plain,{first}  Use  tabs , not: blanks",
        ]
    assert completed(shell, "bash", "details", first[:7]) == [f"plain,{first}"]
    assert completed(shell, "zsh", "details", first[:7]) == ["plain", first, "Use *tabs*, not: blanks"]
    assert completed(shell, "fish", "details", first[:7]) == [f"plain,{first}\tUse *tabs*, not: blanks"]
    assert completed(shell, "bash", "details", "nope") == []


def test_projects_and_tags_are_completed_with_their_counts(shell: Shell) -> None:
    saved(shell, "one", "--project", "shop", "--tag", "db")
    saved(shell, "two", "--project", "shop", "--tag", "db", "--tag", "ui design")
    saved(shell, "three", "--project", "harbour")

    for command in ("search", "list", "save", "tags"):
        assert completed(shell, "zsh", command, "--project", "") == ["plain", "shop", "2", "plain", "harbour", "1"]
    assert completed(shell, "fish", "list", "--tag", "") == ["plain,db\t2", "plain,ui design\t1"]
    assert completed(shell, "bash", "save", "--tag", "u") == ["plain,ui design"]


def test_flags_before_the_command_name_the_memories(shell: Shell, tmp_path: Path) -> None:
    saved(shell, "here")
    there = saved(replace(shell, home=tmp_path / "other"), "elsewhere")

    assert completed(shell, "bash", "--home", str(tmp_path / "other"), "details", "") == [f"plain,{there}"]


def test_where_nothing_can_be_read_nothing_is_completed_nor_made(shell: Shell) -> None:
    assert completed(shell, "bash", "details", "") == []
    assert not shell.home.exists()
    shell.home.mkdir()
    (shell.home / "memory.db").write_text("no database " * 99)
    assert completed(shell, "zsh", "list", "--project", "") == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_itself_completes(shell: Shell) -> None:
    ids = sorted((saved(shell, "Use tabs"), saved(shell, "Never * on Friday")))
    script = shell("completion", "bash").out
    ask = 'COMP_WORDS=(memory details "$1"); COMP_CWORD=2; COMPREPLY=(); _memory_completion memory; printf "%s\\n" "${COMPREPLY[@]}"'
    env = shell.env | {"PATH": f"{COMMAND.parent}:{shell.env['PATH']}"}
    ran = [
        subprocess.run(
            ["bash", "-c", f"{script}\n{ask}", "bash", word],
            cwd=shell.folder,
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        for word in ("", ids[0])
    ]

    assert sorted(line[:8] for line in ran[0].stdout.splitlines()) == ids
    assert "Use tabs" in ran[0].stdout
    assert ran[1].stdout == f"{ids[0]}\n"

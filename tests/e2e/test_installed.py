"""What an installation says that lacks the server's library, or has a stranger of its name beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from command import Shell

if TYPE_CHECKING:
    from pathlib import Path

ALONE = "import sys\nsys.modules['mcp'] = None  # as if it were not installed\nfrom memory.cli import run\nrun()\n"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "folder").mkdir()
    return Shell(tmp_path / "home", tmp_path / "folder")


def alone(shell: Shell, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command of somebody who has installed the library alone."""
    argv = [sys.executable, "-c", ALONE, *arguments]
    how = {"env": shell.env, "cwd": shell.folder, "stdin": subprocess.DEVNULL, "timeout": 60}
    return subprocess.run(argv, capture_output=True, text=True, check=False, **how)


@pytest.mark.parametrize(
    "command", [("mcp",), ("mcp", "--http"), ("setup", "cursor"), ("setup", "claude-code", "--dry-run")]
)
def test_without_the_servers_library_agents_are_told_what_to_install(shell: Shell, command: tuple[str, ...]) -> None:
    before = sorted(shell.folder.parent.rglob("*"))

    ran = alone(shell, *command)

    assert ran.returncode == 1
    what, hint = ran.stderr.splitlines()
    assert what == "memory: the server for agents needs the package mcp, which is not installed"
    assert "tiermem[mcp" in hint
    assert sorted(shell.folder.parent.rglob("*")) == before


def test_without_the_servers_library_everything_else_works(shell: Shell) -> None:
    assert alone(shell, "save", "Postgres pool raised").returncode == 0

    assert "Postgres pool raised" in alone(shell, "search", "postgres").stdout
    assert alone(shell, "setup").returncode == 0
    assert alone(shell, "setup", "agents-md").returncode == 0
    assert alone(shell, "setup", "cursor", "--remove").returncode == 0


def test_doctor_names_a_stranger_that_has_taken_our_name(shell: Shell, tmp_path: Path) -> None:
    shell("init")
    stranger = tmp_path / "bin" / "memory"
    stranger.parent.mkdir()
    stranger.write_text("#!/usr/bin/python3\nfrom mcp_memory_service.cli.main import main\nmain()\n")
    stranger.chmod(0o755)
    beside = Shell(shell.home, shell.folder, {"PATH": f"{stranger.parent}:{shell.env['PATH']}"})

    found = beside("doctor", "--json", code=1).json["findings"]

    [name] = [one for one in found if one["name"] == "name"]
    assert str(stranger) in name["told"]
    assert "tiermem" in name["hint"]
    assert json.loads(shell("doctor", "--json").out)["well"]

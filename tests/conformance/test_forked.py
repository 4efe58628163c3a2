"""A forked process of `memory` is to its client what a started one is."""

from __future__ import annotations

import re
import signal
import subprocess
from typing import TYPE_CHECKING

import forked
import pytest
from command import COMMAND, Shell

if TYPE_CHECKING:
    from pathlib import Path

CALLS = {
    "saves": (["save", "--title", "Übung", "--what", "what", "--json"], b""),
    "reads its input": (["save", "--title", "x", "--details", "-", "--json"], "a body with ü".encode()),
    "shows its settings": (["config"], b""),
    "refuses": (["search", "--limit", "none", "x"], b""),
    "fails": (["details", "99"], b""),
    "serves until its input ends": (["mcp"], b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'),
}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    folder = tmp_path / "shop"
    folder.mkdir()
    return Shell(tmp_path / "home", folder, {"MEMORY_SEARCH_LIMIT": "7"})


def begun(shell: Shell, way: str, arguments: list[str]) -> subprocess.Popen[bytes]:
    program = forked.command(shell.env) if way == "forked" else [str(COMMAND)]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*program, *arguments], env=shell.env, cwd=shell.folder, stdin=pipe, stdout=pipe, stderr=pipe
    )


def same(text: str, shell: Shell) -> str:
    """Without what differs from one store to the next."""
    plain = re.sub(r"\b[0-9a-f]{8,32}\b|\d{4}-\d\d-[\dT:.+Z-]*", "…", text.replace(str(shell.home), "HOME"))
    return re.sub(" +", " ", plain)  # columns are as wide as the home's name is long


@pytest.mark.parametrize("call", CALLS)
def test_its_streams_and_its_exit_code_are_the_same(shell, call):
    arguments, given = CALLS[call]
    found = []
    for way in ("started", "forked"):
        here = Shell(shell.home / way, shell.folder, shell.settings)
        process = begun(here, way, arguments)
        out, err = (same(text.decode(), here) for text in process.communicate(given, timeout=60))
        found.append((process.returncode, out, err))

    assert found[0] == found[1]
    assert any(found[0][1:])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it(shell, number):
    codes = []
    for way in ("started", "forked"):
        process = begun(shell, way, ["mcp"])
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(number)
        codes.append(process.wait(60))  # its input stays open: the end of that ends it too
        process.communicate()

    assert codes == [128 + number] * 2

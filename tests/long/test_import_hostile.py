"""Files of a gigabyte cost an import a bounded part of memory, and a sentence."""

from __future__ import annotations

import resource
import subprocess
import zipfile
from typing import TYPE_CHECKING

import pytest
from command import COMMAND, Shell

if TYPE_CHECKING:
    from pathlib import Path

GIGABYTE = 1 << 30
ROOM = 600 << 20
"""Bytes of memory that the process may have of its own."""

TURN = b'{"type":"user","sessionId":"s","message":{"role":"user","content":"said"}}\n'
THING = b'{"type":"entity","name":"%s","entityType":"t","observations":["x"]}\n'


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "work").mkdir()
    return Shell(tmp_path / "home", tmp_path / "work")


def sparse(path: Path, head: bytes, tail: bytes = b"") -> None:
    with path.open("wb") as file:
        file.write(head)
        file.seek(GIGABYTE)
        file.write(tail)


def imported(shell: Shell, path: Path) -> tuple[int, str]:
    """The exit code, and what was said."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (ROOM, ROOM))

    env = shell.env | {"OPENBLAS_NUM_THREADS": "1"}
    ran = subprocess.run(
        [COMMAND, "import", path], env=env, cwd=shell.folder, capture_output=True, check=False, preexec_fn=limited
    )
    return ran.returncode, (ran.stdout + ran.stderr).decode()


@pytest.mark.parametrize(
    ("name", "head", "tail", "said"),
    [
        ("session.jsonl", TURN + b'{"type":"user","message":{"content":"', b'"}}\n', "found 2: 1 saved, 0 updated"),
        (
            "graph.jsonl",
            THING % b"A" + b'{"type":"entity","name":"',
            b"\n" + THING % b"B",
            "found 3: 2 saved, 0 updated",
        ),
    ],
)
def test_a_line_of_a_gigabyte_is_skipped_and_the_others_are_kept(shell, name, head, tail, said) -> None:
    sparse(shell.folder / name, head, tail)

    code, text = imported(shell, shell.folder / name)

    assert (code, text.startswith(said)) == (1, True), text
    assert "the line has more than 33,554,432 bytes" in text


def test_a_line_of_a_gigabyte_of_our_own_is_refused(shell: Shell) -> None:
    with (shell.folder / "own.jsonl").open("wb") as file:
        file.write(b'{"title": "')
        for _ in range(GIGABYTE >> 20):
            file.write(b"a" * (1 << 20))

    code, text = imported(shell, shell.folder / "own.jsonl")

    assert (code, "the line has more than" in text) == (2, True), text


def test_what_an_archive_unpacks_to_is_never_whole(shell: Shell) -> None:
    with zipfile.ZipFile(shell.folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("conversations.json", "w", force_zip64=True) as file:
            file.write(b'[{"title":"t","mapping":{"a":"')
            for _ in range(GIGABYTE >> 20):
                file.write(b"x" * (1 << 20))
        archive.writestr("fine.md", "# Fine\n")

    code, text = imported(shell, shell.folder / "bomb.zip")

    assert (code, text.startswith("found 2: 1 saved")) == (1, True), text
    assert "longer than 33,554,432 characters" in text


def test_half_a_million_bad_rows_are_counted_and_the_first_are_named(shell: Shell) -> None:
    rows = 500_000
    with (shell.folder / "rows.json").open("w") as file:
        file.write('{"results": [{"id": "a", "memory": "said"}')
        file.writelines(f', {{"id": "{number}", "memory": ""}}' for number in range(rows))
        file.write("]}")

    code, text = imported(shell, shell.folder / "rows.json")

    assert (code, f"found {rows + 1:,}: 1 saved, 0 updated, 0 already there, {rows:,} left out" in text) == (1, True), (
        text[:500]
    )
    assert len(text.splitlines()) < 100

"""What a model makes of single words, as a person and an agent's server make it and meet it."""

from __future__ import annotations

import json
from dataclasses import replace
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pytest
from agent import ERAS, Agent
from command import Shell
from notes_made import drafts

from memory.store import UNAIDED
from memory.vectors.words import listed, opened

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 120


def files(shell: Shell) -> list[Path]:
    return sorted(shell.home.glob("words-*"))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = Shell(tmp_path / "home", tmp_path, {"MEMORY_EMBEDDING_WORDS": "auto"})
    lines = [json.dumps({"title": note.title, "what": note.what}) for note in drafts(UNAIDED + 5)]
    shell("import", "-", stdin="\n".join(lines))
    return shell


@pytest.mark.parametrize("command", ["embed", "reindex"])
def test_embedding_makes_them_once_and_says_so_in_status_and_ledger(shell: Shell, command: str) -> None:
    assert not files(shell)
    shell("search", "anything else")
    assert not files(shell)

    shell(command)

    (path,) = files(shell)
    found = opened(path)
    assert found.whole
    assert found.count == len(listed())
    assert path.stat().st_mode & 0o777 == 0o600
    assert f"from {found.count:,} words of the model" in shell("status").out
    assert shell("status", "--json").json["lexicon"]["words"] == found.count
    lines = shell("ledger", "--json").json["lines"]
    assert [line["texts"] for line in lines if line["purpose"] == "words"] == [found.count]
    before = path.stat()
    shell(command)
    assert path.stat() == before


def test_off_makes_none(shell: Shell) -> None:
    replace(shell, settings={"MEMORY_EMBEDDING_WORDS": "never"})("embed")
    assert not files(shell)


def test_doctor_finds_a_damaged_file_and_embedding_mends_it(shell: Shell) -> None:
    shell("embed")
    (path,) = files(shell)
    good = path.read_bytes()
    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))

    assert "the word vectors in" in shell("doctor", code=1).out
    shell("embed")

    assert path.read_bytes() == good
    shell("doctor")


def test_a_server_makes_them_in_the_background(shell: Shell) -> None:
    with Agent(shell, ERAS[-1]) as agent:
        agent.call("memory_search", query="anything")
        until = monotonic() + PATIENCE
        while not (files(shell) and opened(files(shell)[0]).whole) and monotonic() < until:
            sleep(0.1)

    assert opened(files(shell)[0]).whole

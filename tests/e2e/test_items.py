"""What a program keeps under keys of its own is a memory as any other: mirrored, exported, undone, and found by no other name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from command import Shell

from memory import KeyedStore
from memory.config import FLAG, Config, with_setting

if TYPE_CHECKING:
    from pathlib import Path

ANN, BOB = ("users", "ann"), ("users", "bob/2")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home", tmp_path)


def items(shell: Shell) -> KeyedStore:
    config = with_setting(with_setting(Config(), "embedding.provider", "none", FLAG), "home", str(shell.home), FLAG)
    return KeyedStore.open(config)


def filled(shell: Shell) -> None:
    with items(shell) as store:
        store.put(ANN, "tea", {"likes": "green", "n": [1, {"x": None}]}, ttl=3600)
        store.put(ANN, "note", "text one\n")
        store.put(BOB, "tea", {"likes": "green", "n": [1, {"x": None}]})
        store.put(BOB, "empty", "")


def kept(shell: Shell) -> list[tuple]:
    with items(shell) as store:
        return [one[:6] for one in store.search()]


def test_a_page_is_edited_and_the_value_with_it(shell: Shell) -> None:
    filled(shell)
    folder = shell.folder / "pages"
    shell("mirror", str(folder))
    before = kept(shell)
    shell("mirror", str(folder))
    assert kept(shell) == before

    page = next(folder.rglob("note.md"))
    page.write_text(page.read_text("utf-8").replace("text one", "text two"), "utf-8")
    next(folder.rglob("empty.md")).unlink()
    shell("mirror", str(folder))

    assert [(one[1], one[2]) for one in kept(shell)] == [
        ("note", "text two\n"),
        *[("tea", {"likes": "green", "n": [1, {"x": None}]})] * 2,
    ]


def test_an_export_brings_keys_and_times_into_another_store(shell: Shell, tmp_path: Path) -> None:
    filled(shell)
    other = replace(shell, home=tmp_path / "other")

    other("import", "-", stdin=shell("export").out)

    assert kept(other) == kept(shell)
    with items(other) as store:
        assert store.put(ANN, "tea", "new").memory == store.get(ANN, "tea").memory
        assert store.engine.store.counts().memories == 4


def test_a_put_and_a_delete_are_taken_back(shell: Shell) -> None:
    filled(shell)
    with items(shell) as store:
        id = str(store.put(ANN, "note", "another").memory)
        store.delete(BOB, "tea")

    shell("undo", id)
    lying = shell("trash", "--json").json["memories"][0]["id"]
    shell("trash", "restore", lying)

    with items(shell) as store:
        assert store.get(ANN, "note").value == "text one\n"
        assert store.get(BOB, "tea").value == {"likes": "green", "n": [1, {"x": None}]}


def test_a_context_shows_none_unasked(shell: Shell) -> None:
    filled(shell)
    shell("save", "We use tabs")

    assert "green" not in shell("context").out
    assert "green" in shell("search", "green").out

"""Several people share a database: what one does, another does not take back, and what one prefers is nobody else's matter."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import postgres
import pytest
from command import Shell

from memory import Config, Draft, Engine
from memory.config.settings import EmbeddingSettings
from memory.schema.errors import Invalid, NotFound
from memory.schema.step import step
from memory.store.postgres import PostgresStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")


@pytest.fixture(autouse=True)
def database() -> Iterator[None]:
    with postgres.opened():
        yield


def person(name: str, folder: Path) -> Shell:
    (folder / name).mkdir()
    return Shell(folder / name, folder, {"MEMORY_STORE_URL": postgres.URL, "MEMORY_USER": name})


@contextmanager
def program(name: str, folder: Path) -> Iterator[Engine]:
    config = Config(home=str(folder / name), user=name, embedding=EmbeddingSettings(provider="none"))
    with Engine(PostgresStore(postgres.URL), config, lasting=False) as engine:
        yield engine


def titles(shell: Shell, *arguments: str) -> list[str]:
    return sorted(one["title"] for one in shell(*arguments, "--json").json["memories"])


def test_bob_does_not_undo_what_alice_did(tmp_path: Path) -> None:
    alice, bob = person("alice", tmp_path), person("bob", tmp_path)
    alice("save", "hers", "--what", "alpha")

    assert "nothing to undo" in bob("undo", "--yes", code=1).err
    id = alice("list", "--json").json["memories"][0]["id"]
    assert "is by alice" in bob("undo", id, "--yes", code=2).err
    bob("save", "his", "--what", "beta")
    bob("undo")
    assert titles(bob, "list") == ["hers"]
    assert "nothing to redo" in alice("redo", "--yes", code=1).err
    bob("redo")
    step = alice("history", "--user", "alice", "--json").json["steps"][0]
    assert (step["verb"], step["user"]) == ("save", "alice")
    assert "is by alice" in bob("undo", "--step", step["step"][:8], "--yes", code=2).err
    alice("undo")
    assert titles(alice, "list") == ["his"]


def test_lists_the_trash_and_exports_show_and_filter_by_person(tmp_path: Path) -> None:
    alice, bob = person("alice", tmp_path), person("bob", tmp_path)
    alice("save", "hers", "--what", "alpha")
    bob("save", "his", "--what", "beta")
    assert "by alice" in bob("list").out
    assert titles(bob, "list", "--author", "alice") == ["hers"]
    assert [one.count('"author": "bob"') for one in bob("export", "--author", "bob").out.splitlines()] == [1]
    alice("delete", "--yes", alice("list", "--author", "alice", "--json").json["memories"][0]["id"])
    bob("delete", "--yes", bob("list", "--author", "bob", "--json").json["memories"][0]["id"])

    assert titles(bob, "trash", "list", "--user", "alice") == ["hers"]
    assert titles(bob, "trash", "list") == ["hers", "his"]
    assert bob("trash", "empty", "--yes").out == "1 memory deleted for good\n"
    assert titles(alice, "trash", "list") == ["hers"], "what others deleted stays"
    alice("trash", "restore", alice("trash", "list", "--json").json["memories"][0]["id"])
    assert titles(alice, "list", "--author", "alice") == ["hers"]


def test_a_preference_of_no_project_is_its_authors_unless_it_is_shared(tmp_path: Path) -> None:
    alice, bob = person("alice", tmp_path), person("bob", tmp_path)
    everywhere = ("--category", "preference", "--project", "")
    alice("save", "Tabs", "--what", "Use tabs", *everywhere)
    alice("save", "English", "--what", "Write in English", *everywhere, "--shared")
    alice("save", "Fact", "--what", "The server is in Graz", "--project", "")

    assert titles(alice, "context") == ["English", "Fact", "Tabs"]
    assert titles(bob, "context") == ["English", "Fact"]
    assert titles(bob, "context", "--project", "shop") == ["English", "Fact"]
    assert titles(bob, "list") == ["English", "Fact", "Tabs"]
    assert "Tabs" in bob("search", "use tabs").out
    bob("save", "Tabs", "--what", "Use tabs", *everywhere)
    assert titles(bob, "context") == ["English", "Fact", "Tabs"]
    hers = bob("list", "--author", "alice", "--category", "preference", "--json").json["memories"]
    bob("update", next(one["id"] for one in hers if one["title"] == "Tabs"), "--why", "They are narrower")
    assert "narrower" not in bob("context").out
    alice("update", next(one["id"] for one in hers if one["title"] == "Tabs"), "--shared")
    assert "narrower" in bob("context").out
    alice("update", next(one["id"] for one in hers if one["title"] == "English"), "--no-shared")
    assert titles(bob, "context") == ["Fact", "Tabs", "Tabs"]


def test_writers_at_once_keep_their_names(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    names = ["alice", "bob", "eve"]

    def save(name: str) -> None:
        with program(name, tmp_path) as engine:
            for number in range(20):
                with step("save"):
                    engine.save(Draft(title=f"{name} {number}", what=f"{name} says {number}"))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(save, names))
    with program("bob", tmp_path) as engine:
        assert {one.author for one in engine.recent(limit=60)} == set(names)
        assert all(one.title.startswith(str(one.author)) for one in engine.recent(limit=60))
        for _ in range(20):
            engine.trash.undo(engine.trash.last(), lambda _done, _total: None)
        assert {one.author for one in engine.recent(limit=60)} == {"alice", "eve"}
        with pytest.raises(NotFound):
            engine.trash.last()
        with pytest.raises(Invalid, match="is by"):
            engine.trash.last(engine.recent(limit=1)[0].uid)


def test_a_step_of_whom_nothing_is_known_can_be_undone(tmp_path: Path) -> None:
    import psycopg

    alice, bob = person("alice", tmp_path), person("bob", tmp_path)
    alice("save", "old", "--what", "alpha")
    with psycopg.connect(postgres.URL, autocommit=True) as db:
        db.execute("update memory.steps set person = ''")
        db.execute("update memory.memories set author = null")

    assert titles(bob, "context") == ["old"]
    bob("undo")
    assert titles(alice, "list") == []

"""Term vectors that are learned again answer as before until all is learned, whenever that is stopped, killed or closed."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import postgres
import pytest
from notes_made import drafts
from sound import sound
from stores import STORES
from untaught import WIDTH, fill, numbers

from memory import Config, Engine
from memory.keep.rules import delete_memories
from memory.store.sqlite import SqliteStore
from memory.vectors.providers.inside import HashedEmbedder
from memory.vectors.term_vectors.filter import Vocabulary
from memory.vectors.term_vectors.learn import learn, learn_page
from oracle.ram import RamStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from memory.store import Store

PAGE, COUNT, GONE = 30, 60, 5


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.vectors.term_vectors.learn.PAGE", PAGE)
    monkeypatch.setattr("memory.vectors.term_vectors.learn.NUMBERS", PAGE * WIDTH)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with STORES[request.param](tmp_path) as store:
        yield store


def taught(store: Store) -> tuple:
    """Have a store learn from notes, of which some are gone then: it would learn otherwise now. All that it knows."""
    fill(store, COUNT + GONE)
    assert learn(store, 1) == COUNT + GONE
    delete_memories(store, [*range(1, GONE + 1)])
    return numbers(store)


def new(store: Store) -> bool:
    """Whether all was learned again, each passage once, in whichever pages."""
    other = RamStore()
    taught(other)
    other.term_vectors.learn(1, None)
    learn(other, 1)
    return counted(store) == counted(other)


def test_a_page_ends_with_its_text_and_all_is_learned(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store, COUNT)
    monkeypatch.setattr("memory.vectors.term_vectors.learn.CHARACTERS", 1)

    assert learn_page(store, 1, COUNT, lambda: None, Vocabulary()) == 1
    assert learn(store, 1) == COUNT - 1


def test_whoever_finds_that_another_has_ended_it_learns_nothing_more(store: Store) -> None:
    taught(store)
    asked = count()

    def going() -> bool:
        if next(asked) == 1:
            assert learn(store, 1) == COUNT - PAGE
        return True

    assert learn(store, 1, anew=True, going=going) == PAGE
    assert new(store)


def counted(store: Store) -> tuple[int, dict[str, tuple[int, int]]]:
    """What does not depend on the order in which numbers are added up."""
    known = store.term_vectors.of_terms(1, None)
    return store.term_vectors.learned(1).passages, {term: (one.passages, one.last) for term, one in known.items()}


def pages(most: int) -> Callable[[], bool]:
    """Goes on for so many pages."""
    left = iter(range(most))
    return lambda: next(left, None) is not None


def test_the_former_answer_until_all_is_learned_and_the_next_goes_on(store: Store) -> None:
    before = taught(store)

    learned = learn(store, 1, anew=True, going=pages(1))
    assert learned == PAGE
    while numbers(store) == before and learned < COUNT:
        assert store.term_vectors.progress(1).waiting == 0
        learned += learn(store, 1, whole=False, going=pages(1))

    assert learned == COUNT  # each once
    assert new(store)
    assert store.term_vectors.learned(-1) is None
    assert learn(store, 1, whole=False) == 0


def test_what_is_saved_and_deleted_meanwhile_is_learned_and_forgotten(store: Store) -> None:
    before = taught(store)
    learn(store, 1, anew=True, going=pages(1))
    delete_memories(store, [10, 11, COUNT])
    fill(store, 5, first=COUNT + GONE)
    assert store.term_vectors.progress(1).waiting == 5

    learn(store, 1)

    assert store.term_vectors.learned(-1) is None
    assert store.term_vectors.progress(1).waiting == 0
    assert numbers(store) != before
    assert store.term_vectors.learned(1).passages == COUNT + 5 - 1  # one was gone before its turn


def test_an_error_at_any_write_leaves_the_former_or_the_new(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = taught(store)
    for at in count():
        with failing(store, at, monkeypatch) as failed:
            with suppress(Stopped):
                learn(store, 1, anew=True)
        if not failed:
            break
        assert numbers(store) == before
        assert store.term_vectors.progress(1).waiting == 0
    assert at > COUNT // PAGE
    assert new(store)


class Stopped(Exception):
    pass


@contextmanager
def failing(store: Store, at: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The write with this number, from 0, fails; a list that holds something once it did."""
    failed: list[int] = []
    numbers = count()

    def counted(method: Callable[..., None]) -> Callable[..., None]:
        def write(*args: object, **options: object) -> None:
            if next(numbers) == at:
                failed.append(at)
                raise Stopped
            method(*args, **options)

        return write

    with monkeypatch.context() as patch:
        for name in ("learn", "switch"):
            patch.setattr(store.term_vectors, name, counted(getattr(store.term_vectors, name)), raising=True)
        yield failed


LEARNING = f"""
import os, signal, sys
from memory.vectors.term_vectors import learn as whole
whole.PAGE, whole.NUMBERS = {PAGE}, {PAGE * WIDTH}
kind, where, at = sys.argv[1:]
if kind == "sqlite":
    from memory.store.sqlite.database import Database
else:
    from memory.store.postgres.database import ServerPool as Database
begun, write = iter(range(int(at))), Database.write

def killed(self, **options):
    if next(begun, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)
    return write(self, **options)

Database.write = killed  # before the stores are made of it
if kind == "sqlite":
    from memory.store.sqlite import SqliteStore as Opened
else:
    from memory.store.postgres import PostgresStore as Opened
store = Opened(where)
whole.learn(store, 1, anew=sys.stdin.readline() == "anew\\n")
print("done", flush=True)
"""


@pytest.mark.parametrize("kind", [kind for kind in STORES if kind != "ram"])
def test_killed_at_any_transaction_the_former_or_the_new_answer(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    where, opened = str(path), SqliteStore
    if kind != "sqlite":
        from memory.store.postgres import PostgresStore

        where, opened = postgres.emptied(), PostgresStore
    with closing(opened(where)) as store:
        before = taught(store)
    for at in range(1, 100):
        child = subprocess.run(
            [sys.executable, "-c", LEARNING, kind, where, str(at)], input=b"anew\n", stdout=subprocess.PIPE, check=False
        )
        with closing(opened(where)) as store:
            assert numbers(store) == before or new(store)
            assert store.term_vectors.progress(1).waiting == 0
            assert list(store.check()) == []
            ended = new(store)
        if kind == "sqlite":
            sound(path)
        if child.stdout == b"done\n":
            break
        assert child.returncode == -signal.SIGKILL
    assert at > COUNT // PAGE
    assert ended


def test_after_a_reindex_to_another_model_its_term_vectors_and_strangers_are_there_when_it_begins_to_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(Config(), home=str(tmp_path))
    with Engine(SqliteStore(tmp_path / "memory.db"), settings, embedder=HashedEmbedder(WIDTH), lasting=False) as engine:
        engine.save_all(drafts(COUNT))
    with Engine(SqliteStore(tmp_path / "memory.db"), settings, embedder=HashedEmbedder(64), lasting=False) as engine:
        found, activate = [], engine.store.generations.activate

        def seen(id: int, **options: object) -> bool:
            met = [one.strangers is not None for one in engine.store.generations.every() if one.id == id]
            found.append((engine.store.term_vectors.progress(id), met))
            return activate(id, **options)

        monkeypatch.setattr(engine.store.generations, "activate", seen)
        engine.reindex()

        assert [(one.passages >= COUNT, one.waiting, met) for one, met in found] == [(True, 0, [True])]
        assert engine.store.generations.answering()[1] is not None

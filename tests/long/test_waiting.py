"""Passages wait until enough are there to be learned from together: what comes of it is as if each had come by itself."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import apsw
import pytest
from notes_made import drafts
from sound import sound
from untaught import UNTAUGHT, WIDTH, numbers, same

from memory import Config, Draft, Engine
from memory.keep.rules import delete_memories
from memory.store.sqlite import SqliteStore
from memory.vectors.providers.inside import HashedEmbedder
from memory.vectors.term_vectors.filter import Vocabulary
from memory.vectors.term_vectors.learn import BEHIND, OWN_AXES, WAITING, enough, learn_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from memory.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(SqliteStore(path)) as store:
        yield store


def saver(store: Store, config: Config | None = None, *, lasting: bool = False) -> Engine:
    return Engine(store, config or Config(), embedder=HashedEmbedder(WIDTH), lasting=lasting)


def notes(count: int) -> list[Draft]:
    """Of which many say pairs of words that others said long before."""
    dice = Random(4)
    pairs = [" ".join(dice.sample(["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen"], 3)) for _ in range(60)]
    return [replace(note, why=f"{dice.choice(pairs)}. {dice.choice(pairs)}!") for note in drafts(count)]


def learned_one_by_one(path: Path, saved: Sequence[Draft]) -> tuple:
    with closing(SqliteStore(path)) as store:
        engine = saver(store, UNTAUGHT)
        for note in saved:
            engine.save(note)
            assert learn_page(store, 1, 2, lambda: None, Vocabulary()) == 1
        return numbers(store)


def waiting(store: Store) -> int:
    return store.term_vectors.progress(1).waiting


def test_what_waits_teaches_the_same_numbers_as_if_each_had_come_by_itself(store: Store, tmp_path: Path) -> None:
    saved, dice = notes(OWN_AXES + 60), Random(1)
    expected = learned_one_by_one(tmp_path / "other.db", saved)

    engine, counts = saver(store), set()
    for note in saved:
        engine.save(note)
        counts.add(waiting(store))
        if dice.random() < 0.05:
            engine.vectors.learn()
    engine.vectors.learn()

    same(store, expected)
    assert enough(OWN_AXES) <= max(counts) < enough(len(saved))
    assert store.term_vectors.learned(1).basis is not None


def test_it_is_all_one_which_process_saves(path: Path, tmp_path: Path) -> None:
    saved = notes(150)
    expected = learned_one_by_one(tmp_path / "other.db", saved)

    with closing(SqliteStore(path)) as one, closing(SqliteStore(path)) as other:
        engines = [saver(one), saver(other)]
        for number, note in enumerate(saved):
            engines[number * 7 % 5 % 2].save(note)
        engines[0].vectors.learn()

        same(other, expected)


def test_a_small_store_learns_with_each_save_and_a_large_one_is_never_far_behind() -> None:
    assert [enough(passages) for passages in (0, 1, 2 * BEHIND - 1, 2 * BEHIND)] == [1, 1, 1, 2]
    assert enough(BEHIND * WAITING) == enough(10**6) == WAITING
    assert all(enough(passages) <= max(1, passages / BEHIND) for passages in range(10_000))


def test_what_is_deleted_while_it_waits_teaches_nothing(store: Store, path: Path) -> None:
    engine = saver(store)
    engine.save_all(drafts(320))
    engine.vectors.learn()
    before = numbers(store)
    secret = engine.save(Draft(title="secretive hushword", what="hushword among subjects. Secretive it is."))
    kept = engine.save(Draft(title="an okapi"))
    assert waiting(store) == 2

    delete_memories(store, [secret.memory.id])

    assert waiting(store) == 1
    engine.vectors.learn()
    assert set(numbers(store)[-1]) == set(before[-1]) | {"okapi"}
    delete_memories(store, [kept.memory.id])
    sound(path)


def test_a_text_that_is_changed_while_it_waits_teaches_once(store: Store) -> None:
    engine = saver(store)
    engine.save_all(drafts(320))
    engine.vectors.learn()
    saved = engine.save(Draft(title="zebra", what="a quagga"))

    engine.update(saved.memory.id, what="an okapi")

    assert waiting(store) == 1
    engine.vectors.learn()
    assert set(store.term_vectors.of_terms(1, ["zebra", "quagga", "okapi"])) == {"zebra", "okapi"}
    assert store.term_vectors.learned(1).passages == 321


def test_a_save_is_kept_though_nothing_can_be_learned(store: Store, path: Path) -> None:
    engine = saver(store)
    engine.save_all(drafts(30))
    before = numbers(store)
    with closing(apsw.Connection(str(path))) as db:
        db.execute("create trigger broken before update on lexicons begin select raise(abort, 'broken'); end")

    saved = [engine.save(note).memory.id for note in drafts(3, first=30)]

    assert len(store.memories.by_id(saved)) == 3
    assert waiting(store) == 3
    assert numbers(store) == before
    with closing(apsw.Connection(str(path))) as db:
        db.execute("drop trigger broken")
    engine.save(*drafts(1, first=33))
    engine.save(*drafts(1, first=34))
    assert waiting(store) == 1  # as many as came, and one more
    sound(path)


def test_the_thread_beside_leaves_what_saves_leave_and_a_person_does_not(path: Path) -> None:
    store = SqliteStore(path)
    wordless = replace(Config(), embedding=replace(Config().embedding, words="never"))  # else all is learned anew
    filling = saver(store, wordless)
    filling.save_all(drafts(320))
    filling.vectors.learn()
    with saver(store, wordless, lasting=True) as engine:
        few = enough(320) - 1
        engine.save_all(drafts(few, first=320))
        assert waiting(store) == few

        engine.vectors.wake()
        for thread in threading.enumerate():
            if thread.name == "memory-fill":
                thread.join(60)
        assert waiting(store) == few
        engine.embed()
        assert waiting(store) == 0


def test_an_import_leaves_nothing_to_be_learned(store: Store) -> None:
    engine = saver(store)
    engine.save_all(drafts(320))
    engine.vectors.learn()

    with engine.maintenance.importing():
        engine.save_all(drafts(3, first=320))
    engine.maintenance.catch_up()

    assert (waiting(store), store.term_vectors.learned(1).passages) == (0, 323)


def test_no_save_of_a_program_that_stays_learns(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []

    def seen(*arguments: object, **options: object) -> int:
        threads.append(threading.current_thread().name)
        return learn_page(*arguments, **options)

    monkeypatch.setattr("memory.vectors.term_vectors.learn.learn_page", seen)
    with saver(store, lasting=True) as engine:
        for note in drafts(5):
            engine.save(note)
        for thread in threading.enumerate():
            if thread.name == "memory-fill":
                thread.join(60)

        assert set(threads) == {"memory-fill"}
        assert waiting(store) == 0


def test_a_program_that_ends_right_after_its_save_learns_what_is_due(path: Path) -> None:
    for note in drafts(5):
        with saver(SqliteStore(path), lasting=True) as engine:
            engine.save(note)

    with closing(SqliteStore(path)) as store:
        assert (waiting(store), store.term_vectors.learned(1).passages) == (0, 5)

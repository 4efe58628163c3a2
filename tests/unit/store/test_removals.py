"""What went is known for a while, so that a copy can forget it."""

from __future__ import annotations

import pytest
from entries import directions, embedded, note

from memory.keep.rules import delete_memories, write_entries
from memory.schema.memory import ChunkId
from memory.schema.space import Window
from memory.store.sqlite import SqliteStore, derived


@pytest.fixture
def store(tmp_path):
    store = SqliteStore(tmp_path / "memory.db")
    rows = directions(3)
    write_entries(store, [note(str(i), embedded=embedded([rows[i]])) for i in range(3)])
    yield store
    store.close()


def since(store, number, generation=None):
    with store.snapshot() as db:
        return derived.since(db, number, generation)


def fail_after_deleting(store):
    with store.transaction():
        delete_memories(store, [1])
        raise RuntimeError


def number(store):
    with store.snapshot() as db:
        return derived.latest(db)


def test_what_is_added_is_no_removal(store):
    assert since(store, 0) == since(store, 0, 1) == (0, frozenset())


def test_a_chunk_that_is_deleted_went_with_its_vectors(store):
    delete_memories(store, [2])

    assert since(store, 0).chunks == since(store, 0, 1).chunks == {2}
    assert since(store, number(store)) == (number(store), frozenset())


def test_a_chunk_whose_vectors_are_made_again_lost_only_those(store):
    store.vectors.set_vectors(1, directions(1), [Window(ChunkId(3), 0, 0)])

    assert since(store, 0).chunks == set()
    assert since(store, 0, 1).chunks == {3}


def test_after_a_repair_or_another_fingerprint_nothing_of_before_counts(store):
    store.repair()
    assert since(store, 0) is since(store, 0, 1) is None

    repaired = number(store)
    one, other = (directions(1, seed=seed).tobytes() for seed in (1, 2))
    store.generations.mark(1, one)
    store.generations.mark(1, other, instead_of=one)
    assert since(store, repaired).chunks == set()
    assert since(store, repaired, 1) is None


def test_of_a_transaction_that_was_rolled_back_nothing_went(store):
    with pytest.raises(RuntimeError):
        fail_after_deleting(store)

    assert since(store, 0) == (0, frozenset())


def test_what_is_too_old_is_not_known_and_a_copy_from_the_future_is_not_believed(store):
    with store.transaction() as db:
        db.execute("insert into removals (number, chunk_id) values (100000, 7)")
        derived.note(db, 1, [1])

    assert since(store, 0) is None
    assert since(store, 99_999) == (100_001, {7})
    assert since(store, 100_001) == (100_001, frozenset())
    assert since(store, 100_002) is None
    with store.transaction() as db:
        derived.note(db, 1, [2])
        assert db.execute("select min(number), max(number) from removals").get == (100_000, 100_002)

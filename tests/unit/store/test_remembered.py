"""What a store remembers of its database is what the database would say."""

from __future__ import annotations

import shutil
from contextlib import closing

import apsw
import numpy as np
import pytest
from entries import SPACE, START, directions, embedded, note, unit, words

from memory.keep.rules import delete_memories, write_entries
from memory.schema.memory import MemoryId
from memory.schema.query import ACTIVE, EVERYTHING
from memory.store.sqlite import SqliteStore, matrix


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("remembered") / "memory.db"
    rows = directions(600)
    rows[300] = rows[100]  # ties
    with closing(SqliteStore(path)) as store:
        write_entries(store, [note(str(i), embedded=embedded([rows[i]])) for i in range(600)])
    return path


@pytest.fixture
def store(tmp_path, written):
    store = SqliteStore(shutil.copy(written, tmp_path))
    yield store
    store.close()


def asked(store, k=50, scope=EVERYTHING, seed=7):
    return store.vectors.by_vector(1, directions(1, seed=seed)[0], scope, k)


def test_the_copy_answers_as_the_database_does_to_the_last_digit(store):
    for k in (1, 50, 599, 600, 5000):
        for seed in range(5):
            fresh = SqliteStore(store.path)
            scanned = asked(fresh, k, seed=seed)
            held = [asked(store, k, seed=seed) for _ in range(3)][-1]
            fresh.close()

            assert store.vectors._matrix._held is not None
            assert held == scanned


def test_ties_go_by_id_with_the_copy_too(store):
    vector = directions(600)[100]
    for _ in range(3):
        found = store.vectors.by_vector(1, vector, EVERYTHING, 2)

    assert [scored.chunk for scored in found] == [301, 101]


def test_several_windows_of_a_chunk_count_once(store):
    write_entries(store, [note("many", embedded=embedded([unit(1, i / 1000) for i in range(300)], [0] * 300))])
    for _ in range(3):
        found = store.vectors.by_vector(1, unit(1), ACTIVE, 100)

    assert len(found) == 100
    assert len({scored.chunk for scored in found}) == 100


def test_where_the_nearest_were_superseded_the_copy_says_which_come_next(store):
    """And the database compares these only; how much it does is counted in steps of its machine."""
    for old in asked(store, 100):
        write_entries(store, [note(f"new {old.memory}", supersedes=old.memory)])

    def steps(one):
        done = []
        one.vectors._db.connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, done.append)
        found = asked(one, scope=ACTIVE)
        one.vectors._db.connection.trace_v2(0)
        return found, sum(statement["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"] for statement in done)

    fresh = SqliteStore(store.path)
    scanned, all_steps = steps(fresh)
    assert fresh.vectors._matrix._held is None
    fresh.close()
    asked(store), asked(store)
    held, few_steps = steps(store)

    assert held == scanned
    assert len(held) == 50
    assert few_steps < all_steps / 2


def test_a_change_by_another_process_is_seen_at_once(store):
    asked(store), asked(store)
    assert store.vectors._matrix._held is not None
    other = SqliteStore(store.path)
    vector = directions(1, seed=7)[0]
    [kept] = write_entries(other, [note("new", embedded=embedded([vector]))])

    assert asked(store)[0].memory == kept.memory.id

    asked(store)
    delete_memories(other, [MemoryId(kept.memory.id)])
    other.close()
    assert kept.memory.id not in {scored.memory for scored in asked(store)}


def test_a_single_search_or_one_after_each_change_makes_no_copy(store):
    asked(store)
    assert store.vectors._matrix._held is None

    write_entries(store, [note("new", embedded=embedded([unit(1)]))])
    asked(store)
    assert store.vectors._matrix._held is None


def test_a_generation_that_is_too_large_is_scanned(store, monkeypatch):
    monkeypatch.setattr(matrix, "MOST_BYTES", 600 * SPACE.dimension * 4 - 1)
    before = asked(store)

    assert [asked(store), asked(store)] == [before, before]
    assert store.vectors._matrix._held is None


def test_an_empty_generation_has_no_nearest(tmp_path):
    store = SqliteStore(tmp_path / "memory.db")
    generation = store.generations.begin(SPACE, START)

    found = [store.vectors.by_vector(generation.id, np.asarray(unit(1)), EVERYTHING, 5) for _ in range(3)]

    assert [list(one) for one in found] == [[], [], []]
    store.close()


def test_counts_of_words_follow_every_write(store):
    other = SqliteStore(store.path)

    def rows():
        return [found.keywords.weigh(words("zebra"))[0].rows for found in (store, other)]

    assert rows() == rows() == [0, 0]
    id = write_entries(store, [note("zebra")])[0].memory.id
    assert rows() == rows() == [1, 1]
    write_entries(other, [note("zebra again")])
    assert rows() == rows() == [2, 2]
    delete_memories(other, [id])
    assert rows() == rows() == [1, 1]
    other.close()


def told(store):
    return (
        store.generations.every(),
        store.queue.queued(),
        [bytes(part.tobytes()) if hasattr(part, "tobytes") else part for part in store.generations.centre(1)],
        store.generations.answering(),
    )


def test_what_is_remembered_of_a_state_of_the_file_is_what_it_says(store):
    """Whoever wrote: another program, this one, or this one in a transaction that is not over, or was undone."""
    other = SqliteStore(store.path)

    def fresh():
        with closing(SqliteStore(store.path)) as one:
            return told(one)

    told(store).__getitem__(0).clear()
    assert told(store) == told(store) == fresh()

    row = directions(1, seed=3)[0]
    write_entries(other, [note("other", embedded=embedded([row])), note("waits")])
    assert told(store) == fresh()
    with store.snapshot():
        before = told(store)
        write_entries(other, [note("later")])
        assert told(store) == before
    assert told(store) == fresh() != before

    write_entries(store, [note("own", embedded=embedded([row]))])
    assert told(store) == fresh()
    now = fresh()

    def undone():
        with store.transaction():
            write_entries(store, [note("undone", embedded=embedded([row])), note("waits in vain")])
            assert told(store)[1] == now[1] + 1
            assert told(store)[2] != now[2]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        undone()
    assert told(store) == now
    other.close()

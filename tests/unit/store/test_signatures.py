"""Signatures name the nearest of many vectors; whatever happens to their file, the database answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import numpy as np
import pytest
from entries import directions, embedded, note

from memory.keep.rules import delete_memories, write_entries
from memory.schema.errors import StoreError
from memory.schema.memory import ChunkId
from memory.schema.query import ACTIVE, EVERYTHING, Scope
from memory.schema.space import Space, Window
from memory.store.narrow import narrowed, rounded
from memory.store.sqlite import SqliteStore, derived, signatures

WIDE = Space("test", "wide", 1, 100)  # no multiple of 64
COUNT = 700


def wide(count, seed=0):
    made = np.random.default_rng(seed).normal(size=(count, WIDE.dimension)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("signatures") / "memory.db"
    rows = wide(COUNT)
    with closing(SqliteStore(path)) as store:
        write_entries(
            store,
            [note(f"secret {i}", source=f"s{i % 3}", embedded=embedded([rows[i]], space=WIDE)) for i in range(COUNT)],
        )
    return path


@pytest.fixture
def store(tmp_path, monkeypatch, written):
    monkeypatch.setattr(signatures, "FROM", COUNT // 2)
    store = SqliteStore(shutil.copy(written, tmp_path))
    yield store
    store.close()


def asked(store, k=10, scope=EVERYTHING, seed=7):
    return list(store.vectors.by_vector(1, wide(1, seed)[0], scope, k))


def exactly(store, *args, **named):
    fresh = SqliteStore(store.path, exact=True)
    found = asked(fresh, *args, **named)
    fresh.close()
    return found


def files(store):
    return derived.files(store.path, signatures.NAME)


def test_they_are_made_once_and_asked_at_once(store):
    assert store.vectors.unsigned()
    assert store.vectors.signed(1) == 0
    assert store.vectors.sign()
    assert not store.vectors.sign()
    assert store.vectors.signed(1) == COUNT
    assert asked(store) == exactly(store)
    assert store.vectors._matrix.signed


def test_bits_and_codes_alone_find_nearly_all(store, monkeypatch):
    """Of random directions, where most bits tell nothing, a tenth is ranked; real ones are nearer each other."""
    monkeypatch.setattr(signatures, "CANDIDATES", COUNT // 5)
    monkeypatch.setattr(signatures, "RANKED", 20)
    store.vectors.sign()
    found = [
        len({one.chunk for one in asked(store, seed=seed)} & {one.chunk for one in exactly(store, seed=seed)})
        for seed in range(20)
    ]

    assert sum(found) >= 0.9 * 10 * len(found)


def test_every_scope_is_answered_as_without_them(store, monkeypatch):
    for few in (2000, 5):  # of few in scope, their bits are not looked at
        monkeypatch.setattr(signatures, "FEW", few)
        store.vectors.sign()
        for scope in (ACTIVE, EVERYTHING, Scope(sources=frozenset({"s1"})), Scope(among=frozenset({3, 5, 9}))):
            for k in (1, 50, 600):
                assert asked(store, k, scope) == exactly(store, k, scope)


def test_where_much_was_superseded_the_next_ones_are_found(store):
    store.vectors.sign()
    for old in asked(store, 100):
        write_entries(store, [note(f"new {old.memory}", supersedes=old.memory)])

    assert asked(store, 50, ACTIVE) == exactly(store, 50, ACTIVE)


@pytest.mark.parametrize("again", [False, True])
def test_vectors_that_were_read_once_are_those_that_are_there(store, again):
    """Where the last rows go, what comes next has their places in the table."""
    store.vectors.sign()
    ask = [(k, seed) for k in (10, 100) for seed in range(8)]
    before = [asked(store, k, seed=seed) for k, seed in ask]
    rows, last = wide(10, 8), range(COUNT - 9, COUNT + 1)
    if again:
        windows = [Window(ChunkId(chunk), 0, row) for row, chunk in enumerate(last)]
        store.vectors.set_vectors(1, rows, windows)
    else:
        delete_memories(store, list(last))
        write_entries(store, [note(f"new {i}", embedded=embedded([rows[i]], space=WIDE)) for i in range(10)])

    assert store._db.connection.execute("select max(row) from vectors_1").get == COUNT
    assert [asked(store, k, seed=seed) for k, seed in ask] == [exactly(store, k, seed=seed) for k, seed in ask]
    assert before != [asked(store, k, seed=seed) for k, seed in ask]


def test_they_are_made_again_when_a_sixteenth_is_newer_or_went(store):
    store.vectors.sign()
    share = COUNT // signatures.NEWER_SHARE
    delete_memories(store, list(range(1, share - 2)))
    assert not store.vectors.unsigned()
    rows = wide(3, 8)
    write_entries(store, [note(f"new {i}", embedded=embedded([rows[i]], space=WIDE)) for i in range(3)])

    assert store.vectors.unsigned()
    assert store.vectors.sign()
    assert store.vectors.signed(1) == COUNT - share + 6


def test_what_is_deleted_leaves_the_file_with_the_next_making_and_at_once_if_it_must(store):
    store.vectors.sign()
    [before] = files(store)
    code = rounded(wide(COUNT))[9]
    stored = np.rint(code / (np.abs(code).max() / 127)).astype(np.int8).tobytes()
    assert stored in before.read_bytes()

    delete_memories(store, list(range(1, 100)))
    store.vectors.sign()
    [after] = files(store)
    assert stored not in after.read_bytes()

    assert store.wipe()
    assert files(store) == []
    assert asked(store) == exactly(store)


def test_who_asks_exactly_neither_asks_nor_makes_any(store):
    store.vectors.sign()
    exact = SqliteStore(store.path, exact=True)
    asked(exact), asked(exact)

    assert exact.vectors.signed(1) == 0
    assert not exact.vectors.unsigned()
    assert not exact.vectors._matrix.signed
    exact.close()


@pytest.mark.parametrize("how", ["flipped", "cut", "gone", "other"])
def test_a_file_that_is_not_as_it_was_written_is_not_asked_and_the_doctor_mends_it(store, how, tmp_path):
    store.vectors.sign()
    [file] = files(store)
    content = bytearray(file.read_bytes())
    file.unlink()
    if how == "flipped":
        content[-20_000] ^= 1  # a code: after them come two pages
    elif how == "cut":
        del content[-4096:]
    elif how == "other":
        content[200:300] = bytes(100)
    if how != "gone":
        file.write_bytes(content)
    fresh = SqliteStore(store.path)

    assert [asked(fresh) for _ in range(3)] == [exactly(store)] * 3
    assert not fresh.vectors._matrix.signed
    assert ["not as it was written" in fault for fault in fresh.check()] == [True]
    assert fresh.vectors.unsigned()
    fresh.repair()
    assert fresh.check() == ()
    assert fresh.vectors.sign()
    assert asked(fresh) == exactly(store)
    assert fresh.vectors._matrix.signed
    fresh.close()


def test_a_database_that_was_restored_asks_no_signatures_of_what_came_later(store, tmp_path):
    store.vectors.sign()
    copy = tmp_path / "copy.db"
    with apsw.Connection(store.path) as source, apsw.Connection(str(copy)) as target:
        with target.backup("main", source, "main") as backup:
            backup.step()
    rows = wide(100, 5)
    write_entries(store, [note(f"later {i}", embedded=embedded([rows[i]], space=WIDE)) for i in range(100)])
    store.vectors.sign()
    for name in ("", "-wal", "-shm"):
        Path(f"{store.path}{name}").unlink(missing_ok=True)
    copy.rename(store.path)
    restored = SqliteStore(store.path)
    write_entries(restored, [note("another", embedded=embedded([wide(1, 7)[0]], space=WIDE))])

    assert [asked(restored) for _ in range(2)] == [exactly(store)] * 2
    assert restored.vectors.sign()
    assert asked(restored) == exactly(store)
    restored.close()


MAKER = """
import resource, signal, sys
from memory.store.sqlite import signatures
from memory.store.sqlite import SqliteStore
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
signatures.FROM = 10
SqliteStore(sys.argv[1]).vectors.sign()
"""


def test_a_full_disk_leaves_the_answers_and_no_file(store):
    made = subprocess.run(
        [sys.executable, "-c", MAKER, store.path], capture_output=True, text=True, env={**os.environ}, check=False
    )

    assert f"{StoreError.__name__}: cannot write" in made.stderr
    assert files(store) == []
    assert asked(store) == exactly(store)


def test_a_making_that_is_stopped_leaves_no_file(store):
    assert not store.vectors.sign(lambda: False)
    assert files(store) == []
    assert store.vectors.sign()


def test_damaged_numbers_are_like_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(signatures, "FROM", 40)
    store = SqliteStore(tmp_path / "memory.db")
    rows = directions(50)
    write_entries(store, [note(str(i), embedded=embedded([rows[i]])) for i in range(50)])
    with store.transaction() as db:
        db.execute(
            "update vectors_1 set embedding = ? where chunk_id = 3", (*narrowed(np.full((1, 8), np.nan, "<f4")),)
        )
        db.execute("update vectors_1 set embedding = ? where chunk_id = 4", (*narrowed(np.full((1, 8), 3e38, "<f4")),))
    store.vectors.sign()

    found = list(store.vectors.by_vector(1, rows[0], EVERYTHING, 5))
    assert store.vectors._matrix.signed
    assert found[0].chunk == 1
    assert 3 not in {one.chunk for one in found}
    store.close()

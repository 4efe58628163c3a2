"""Whoever is killed while a derived file is made, filled or put in place leaves the answers as they were."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import numpy as np
from entries import embedded, note

from memory.keep.rules import write_entries
from memory.schema.query import EVERYTHING
from memory.schema.space import Space
from memory.store.sqlite import SqliteStore, derived, signatures

WIDE = Space("test", "wide", 1, 384)
COUNT, KILLS = 3_000, 50

MAKER = """
import sys
from memory.store.sqlite import signatures
from memory.store.sqlite import SqliteStore
signatures.FROM, signatures.PART, signatures.worth = 10, 100, lambda _database: True
store = SqliteStore(sys.argv[1])
store.vectors.sign()
print("begun", flush=True)
while True:
    store.vectors.sign()
"""


def vectors(count, seed):
    made = np.random.default_rng(seed).normal(size=(count, WIDE.dimension)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def test_a_maker_that_is_killed_at_any_moment_leaves_the_answers(tmp_path, monkeypatch):
    monkeypatch.setattr(signatures, "FROM", 10)
    store = SqliteStore(tmp_path / "memory.db")
    rows = vectors(COUNT, 1)
    write_entries(store, [note(str(i), embedded=embedded([rows[i]], space=WIDE)) for i in range(COUNT)])
    dice, query, asked = random.Random(1), vectors(1, 2)[0], 0
    for number in range(KILLS):
        makers = [subprocess.Popen([sys.executable, "-c", MAKER, store.path], stdout=subprocess.PIPE) for _ in range(2)]
        for maker in makers:
            assert maker.stdout.readline() == b"begun\n"
        time.sleep(dice.uniform(0, 0.1))  # not for anything: to be at another moment
        for maker in makers:
            maker.kill()
            maker.communicate()
        write_entries(store, [note(f"after {number}", embedded=embedded([vectors(1, 100 + number)[0]], space=WIDE))])
        fresh, exact = SqliteStore(store.path), SqliteStore(store.path, exact=True)
        found = fresh.vectors.by_vector(1, query, EVERYTHING, 10)
        asked += fresh.vectors._matrix.signed

        assert list(found) == list(exact.vectors.by_vector(1, query, EVERYTHING, 10))
        assert fresh.check() == ()
        fresh.close()
        exact.close()
    assert asked > KILLS // 2
    monkeypatch.setattr(signatures, "worth", lambda _database: True)
    assert store.vectors.sign()
    assert len(derived.files(store.path, signatures.NAME)) == 1
    store.close()

"""New strangers follow the former ones in one transaction: until then these serve, whenever it is stopped or killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import numpy as np
import postgres
import pytest
from entries import directions, embedded, heads, kept, note
from stores import STORES

from memory.keep.rules import delete_memories
from memory.schema.space import Window
from memory.store import strangers
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory.schema.memory import MemoryId
    from memory.schema.space import Strangers
    from memory.store import Store

BLOCK, COUNT = 4, 10
FORMER, NEW = directions(6, seed=4), directions(5, seed=8)
ROWS = directions(COUNT, seed=6)
STEPS = COUNT // BLOCK + 2  # the last finds nothing more
REAL = [kind for kind in STORES if kind != "ram"]
TOLERANCE = 1e-6


def filled(store: Store) -> list[MemoryId]:
    ids = kept(store, *(note(str(n), embedded=embedded(ROWS[n : n + 1])) for n in range(COUNT)))
    store.vectors.set_strangers(1, FORMER, right=0.4, stamp=1)
    return ids


def known(store: Store) -> Strangers:
    found = store.generations.every()[0].strangers
    assert found is not None
    return found


def right(store: Store) -> bool:
    """Whether what is known of them is what comparing all vectors again finds, or said to be too near."""
    noted = known(store)
    store.vectors.set_strangers(1, None)
    true = known(store)
    higher = np.subtract(noted.nearest, true.nearest)
    return (
        min(higher) > -TOLERANCE and sum(higher > TOLERANCE) <= noted.loose and abs(noted.mean - true.mean) < TOLERANCE
    )


def changed(store: Store, change: str, ids: list[MemoryId]) -> None:
    if change == "save":
        kept(store, note("new", embedded=embedded(NEW[:1])))
    elif change == "replace":
        store.vectors.set_vectors(1, NEW[[0]], [Window(heads(store, ids[0])[0], 0, 0)])
    elif change == "delete":
        delete_memories(store, ids[-2:])
    elif change == "reused":  # the row of the last one gets another vector
        delete_memories(store, ids[-1:])
        changed(store, "save", ids)


@pytest.fixture(params=REAL)
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(strangers, "BLOCK", BLOCK)
    with STORES[request.param](tmp_path) as store:
        yield store


@pytest.mark.parametrize("at", [2, STEPS - 1, STEPS])
@pytest.mark.parametrize("change", ["nothing", "save", "replace", "delete", "reused"])
def test_the_former_serve_at_each_step_and_the_new_know_what_came_and_went_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch, change: str, at: int
) -> None:
    ids, steps, compared = filled(store), 0, store.vectors._compared

    def step(*args: object) -> object:
        nonlocal steps
        steps += 1
        found = compared(*args)
        if steps == at:
            changed(store, change, ids)
        assert (known(store).stamp, len(known(store).nearest)) == (1, len(FORMER))
        assert np.array_equal(store.generations.strangers(1), FORMER)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(store.vectors, "_compared", step)
        assert store.vectors.set_strangers(1, NEW, right=0.5, stamp=2)

    assert steps >= STEPS - 1  # some may go before their turn
    assert (known(store).stamp, known(store).right) == (2, 0.5)
    assert np.array_equal(store.generations.strangers(1), NEW)
    assert list(store.check()) == []
    assert right(store)


class Stopped(Exception):
    pass


@pytest.mark.parametrize("kind", STORES)
def test_an_error_at_any_step_leaves_the_former(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [] if kind == "ram" else ["_compared", "_switch"]
    with STORES[kind](tmp_path) as store:
        filled(store)
        before = known(store)
        for name in names:
            with monkeypatch.context() as patch, suppress(Stopped):
                patch.setattr(store.vectors, name, failing)
                store.vectors.set_strangers(1, NEW, stamp=2)
            assert known(store) == before

        store.vectors.set_strangers(1, NEW, stamp=2)

        assert known(store).stamp == 2
        assert right(store)


def failing(*_: object, **__: object) -> None:
    raise Stopped


SWITCHING = f"""
import os, signal, sys
kind, where, at = sys.argv[1:]
import importlib
from memory.store import strangers
module = importlib.import_module(f"memory.store.{{kind}}.database")
database = module.Database if kind == "sqlite" else module.ServerPool
begun, former = iter(range(int(at))), {{name: getattr(database, name) for name in ("read", "write")}}

def killed(name):
    def transaction(self, *args, **options):
        if ready and next(begun, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return former[name](self, *args, **options)
    return transaction

ready = False
for name in former:
    setattr(database, name, killed(name))  # before the stores are made of it
strangers.BLOCK = {BLOCK}
from entries import directions
store = importlib.import_module(f"memory.store.{{kind}}")
opened = (store.SqliteStore if kind == "sqlite" else store.PostgresStore)(where)
ready = True
opened.vectors.set_strangers(1, directions({len(NEW)}, seed=8), stamp=2)
print("done", flush=True)
"""


@pytest.mark.parametrize("kind", REAL)
def test_killed_at_any_transaction_the_former_or_the_new_serve(kind: str, tmp_path: Path) -> None:
    where, opened = str(tmp_path / "memory.db"), SqliteStore
    if kind != "sqlite":
        from memory.store.postgres import PostgresStore

        where, opened = postgres.emptied(), PostgresStore
    with closing(opened(where)) as store:
        filled(store)
        before = known(store)
    for at in range(100):
        program = f"import sys; sys.path[:0] = {sys.path!r}\n{SWITCHING}"
        child = subprocess.run(
            [sys.executable, "-c", program, kind, where, str(at)], stdout=subprocess.PIPE, check=False
        )
        with closing(opened(where)) as store:
            if child.stdout == b"done\n":
                assert known(store).stamp == 2
                assert right(store)
                break
            assert child.returncode == -signal.SIGKILL
            assert known(store) == before
            assert list(store.check()) == []
    assert at > COUNT // BLOCK + 1  # each block, and the switch

"""Laws of how near strangers come: exact while vectors come, and never too low whatever goes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pytest
from entries import directions, embedded, heads, kept, note
from hypothesis import example, given, strategies as st
from profiles import examples
from stores import new

from memory.keep.rules import delete_memories
from memory.schema.space import Window
from memory.store import generations, strangers

if TYPE_CHECKING:
    from memory.schema.memory import MemoryId
    from memory.schema.space import Vectors
    from memory.store.sqlite import SqliteStore

ASKED = directions(6, seed=4)
ROWS = directions(60, seed=6)
DIGITS = 1e-5

steps = st.lists(
    st.one_of(
        st.tuples(st.just("save"), st.integers(1, 20)),
        st.tuples(st.just("replace"), st.integers(0, 9)),
        st.tuples(st.just("delete"), st.integers(0, 9)),
        st.tuples(st.just("anew"), st.just(0)),
    ),
    min_size=1,
    max_size=12,
)


@examples(0.5)
@given(steps)
def test_the_noted_cosines_are_those_of_a_full_comparison_until_something_goes(taken) -> None:
    with TemporaryDirectory() as folder, closing(new(Path(folder))) as store:
        ids = kept(store, note("first", embedded=embedded(ROWS[:1])))
        store.vectors.set_strangers(1, ASKED)
        exact, used = True, 1
        for step, number in taken:
            if step == "save":
                windows = [ROWS[(used + n) % len(ROWS)] for n in range(number)]
                ids += kept(store, note(f"note {used}", embedded=embedded(windows, [0] * number)))
                used += number
            elif step == "anew":
                store.vectors.set_strangers(1, None)
                exact = True
            elif ids and step == "replace":
                (chunk,) = heads(store, ids[number % len(ids)])
                store.vectors.set_vectors(1, ROWS[[used % len(ROWS)]], [Window(chunk, 0, 0)])
                exact, used = False, used + 1
            elif ids:
                delete_memories(store, [ids.pop(number % len(ids))])
                exact = False
        noted = store.generations.every()[0].strangers
        assert store.check() == ()

        store.vectors.set_strangers(1, None)

        true = store.generations.every()[0].strangers
        assert min(np.subtract(noted.nearest, true.nearest)) >= -DIGITS
        assert abs(noted.mean - true.mean) < DIGITS
        assert sum(np.subtract(noted.nearest, true.nearest) > DIGITS) <= (0 if exact else noted.loose)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strangers, "BLOCK", 3)


@pytest.mark.usefixtures("small_blocks")
@examples(0.5)
@example(0, ["save", "replace", "begin"], ["save", "delete"])
@given(
    st.integers(0, 12),
    st.lists(st.sampled_from(["save", "replace", "delete", "block", "begin"]), max_size=14),
    st.lists(st.sampled_from(["save", "replace", "delete"]), max_size=6),
)
def test_a_comparison_misses_nothing_that_comes_or_goes_meanwhile(before, taken, late) -> None:
    with TemporaryDirectory() as folder, closing(new(Path(folder))) as store:
        rows = iter(np.tile(ROWS, (4, 1)))
        ids = kept(store, *(note(str(n), embedded=embedded([next(rows)])) for n in range(before + 1)))
        with store.transaction() as db:
            strangers.keep(db, 1, ASKED, 0.4, 3)
        begun = [began(store)]
        for step in taken:
            if step == "begin":  # another process's; nothing of the former counts
                begun.append(began(store))
            elif step == "block":
                begun[-1] = further(store, begun[-1]) or begun[-1]
            else:
                changed(store, step, ids, next(rows))
            assert store.generations.every()[0].strangers is None

        begun = [compared(store, one) for one in begun]
        for step in late:
            changed(store, step, ids, next(rows))
        for one in begun:
            assert store.generations.every()[0].strangers is None
            with store.transaction() as db:
                assert strangers.ended(db, 1, one, generations.total(db, 1)[0])

        noted = store.generations.every()[0].strangers
        assert store.check() == ()
        store.vectors.set_strangers(1, None)
        true = store.generations.every()[0].strangers
        higher = np.subtract(noted.nearest, true.nearest)
        assert min(higher) >= -DIGITS
        assert sum(higher > DIGITS) <= noted.loose
        assert (abs(noted.mean - true.mean) < DIGITS, true.loose) == (True, 0)


def began(store: SqliteStore) -> strangers.Comparison:
    with store.transaction() as db:
        return strangers.begin(db, 1)


def further(store: SqliteStore, comparison: strangers.Comparison) -> strangers.Comparison | None:
    with store.snapshot() as db:
        return strangers.compared(db, 1, comparison)


def changed(store: SqliteStore, step: str, ids: list[MemoryId], row: Vectors) -> None:
    if step == "save":
        ids += kept(store, note(f"new {row}", embedded=embedded([row])))
    elif step == "replace" and ids:
        (chunk,) = heads(store, ids[len(ids) // 2])
        store.vectors.set_vectors(1, row.reshape(1, -1), [Window(chunk, 0, 0)])
    elif ids:
        delete_memories(store, [ids.pop()])  # with the last row, whose number the next takes


def compared(store: SqliteStore, comparison: strangers.Comparison) -> strangers.Comparison:
    while (more := further(store, comparison)) is not None:
        comparison = more
    return comparison

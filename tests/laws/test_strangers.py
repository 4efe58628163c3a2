"""Laws of how near strangers come: exact while vectors come, and never too low whatever goes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from entries import directions, embedded, heads, kept, note
from hypothesis import given, strategies as st
from profiles import examples

from memory.schema.space import Window
from memory.store.sqlite.store import SqliteStore
from memory.write.rules import delete_memories

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
    with TemporaryDirectory() as folder, closing(SqliteStore(Path(folder) / "memory.db")) as store:
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

"""Laws of which of many ids are chosen: what `np.isin` says, however far apart they are."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from memory.store.sqlite.held import chosen

DENSE = st.lists(st.integers(0, 40), max_size=30)
SPARSE = st.lists(st.integers(0, 2**62), max_size=10)


@given(DENSE | SPARSE, DENSE | SPARSE)
def test_the_same_ids_are_chosen(ids: list[int], some: list[int]) -> None:
    column = np.array(ids, np.int64)

    assert chosen(column, some).tolist() == np.isin(column, np.array(some, np.int64)).tolist()

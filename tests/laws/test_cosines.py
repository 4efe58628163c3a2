"""Cosines of vectors at hand are the database's, to the last bit."""

from __future__ import annotations

import apsw
import numpy as np
from hypothesis import given, strategies as st
from profiles import examples

from memory.store.sqlite.held import Owned, alike, compared, cosines, speaking
from memory.store.sqlite.opening import load_vectors

DB = apsw.Connection(":memory:")
load_vectors(DB)


def asked(one, other):
    return DB.execute("select 1 - vec_distance_cosine(?, ?)", (one.tobytes(), other.tobytes())).get


@examples(1)
@given(st.integers(1, 40), st.integers(1, 3), st.sampled_from([1, 3, 16, 384, 385]), st.integers(0, 1 << 30))
def test_cosines_are_those_of_the_database(count, vectors, dimension, seed):
    random = np.random.default_rng(seed)
    rows, some = (random.standard_normal((n, dimension)).astype(np.float32) for n in (count, vectors))
    rows[0] = some[0]

    assert cosines(rows, some).tolist() == [[asked(row, one) for row in rows] for one in some]


def test_the_database_computes_so_on_this_machine():
    assert alike(DB)


def test_of_several_rows_the_most_similar_speaks_for_a_chunk_and_what_is_damaged_does_not():
    query, other = np.eye(4, dtype=np.float32)[:2]
    rows = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [np.nan, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]], np.float32)

    ids = np.array([7, 7, 7, 8, 9])
    owned, found = compared(Owned(ids, ids, rows), [query.tobytes(), other.tobytes()])
    best = speaking(owned.chunks, found[0])

    assert owned.chunks[best].tolist() == [7, 9]
    assert found[:, best].tolist() == [[1.0, 0.0], [0.0, 0.0]]

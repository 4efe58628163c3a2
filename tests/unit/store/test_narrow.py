"""Numbers in 14 bits: what every store can keep is read as it was given."""

from __future__ import annotations

import apsw
import numpy as np
import pytest

from memory.store.narrow import BYTES, narrowed, plain, rounded, size, widened
from memory.store.sqlite.held import cosines
from memory.store.sqlite.opening import load_vectors
from memory.store.sqlite.vectors import DISTANCE, compared

DIMENSIONS = (1, 2, 3, 5, 64, 383, 384, 3072)


def directions(count: int, dimension: int) -> np.ndarray:
    made = np.random.default_rng(dimension).standard_normal((count, dimension)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_what_is_read_is_what_was_given_to_the_bit(dimension: int) -> None:
    kept = rounded(np.concatenate([directions(20, dimension), np.eye(dimension, dtype=np.float32)[:2]]))

    packed = b"".join(narrowed(kept))

    assert len(packed) == len(kept) * size(dimension)
    assert widened(packed, dimension).tobytes() == plain(packed, dimension) == kept.tobytes()
    assert rounded(kept).tobytes() == kept.tobytes()


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_sql_knows_how_many_bytes_a_vector_has(dimension: int) -> None:
    (own,) = narrowed(directions(1, dimension))

    assert apsw.Connection(":memory:").execute("select " + BYTES.format(count="?1"), (dimension,)).get == len(own)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 3e38, 2.0])
def test_a_vector_that_cannot_have_length_1_is_none(number: float) -> None:
    packed = narrowed(np.array([[0.6, 0.8], [number, 0.1], [0, 1]], np.float32))

    for found in (widened(b"".join(packed), 2), np.frombuffer(plain(b"".join(packed), 2), "<f4").reshape(3, 2)):
        assert np.isfinite(found).tolist() == [[True, True], [False, False], [True, True]]


def test_none_are_none() -> None:
    assert narrowed(np.empty((0, 384), np.float32)) == []
    assert widened(b"", 384).shape == (0, 384)


@pytest.mark.parametrize("dimension", [384, 3072])
def test_vectors_are_as_similar_as_before(dimension: int) -> None:
    vectors = directions(200, dimension).astype(np.float64)
    kept = rounded(vectors.astype(np.float32)).astype(np.float64)
    kept /= np.linalg.norm(kept, axis=1, keepdims=True)

    errors = np.abs(kept @ vectors.T - vectors @ vectors.T)

    assert errors.max() < 1e-4
    assert errors.mean() < 1e-5


def test_sqlite_compares_without_steps_what_has_them_to_the_bit() -> None:
    kept, (query,) = (
        rounded(directions(50, 384) * np.linspace(0.1, 1, 50, dtype=np.float32)[:, None]),
        directions(1, 384),
    )
    with apsw.Connection(":memory:") as db:
        load_vectors(db)
        db.execute("create table kept (embedding blob)")
        db.executemany("insert into kept values (?)", [(one,) for one in narrowed(kept)])

        found = [one for (one,) in db.execute(f"select 1 - {DISTANCE} from kept", compared(query.tobytes()))]

    assert found == cosines(kept, query[None])[0].tolist()

"""Laws of the axes along which term vectors are kept: main axes of vectors, and rows along them."""

from __future__ import annotations

from array import array

import numpy as np
import pytest
from hypothesis import given, strategies as st

from memory.store import Asked, TermVector
from memory.vectors.term_vectors import stretch
from memory.vectors.term_vectors.learn import FIRST, axes, folding, projected, turned

seeds = st.integers(0, 10_000)


def dense(seed: int, height: int, width: int, share: float) -> np.ndarray:
    """A matrix of which about this share of the entries is not 0; some rows and columns may be empty."""
    dice = np.random.default_rng(seed)
    return np.where(dice.random((height, width)) < share, dice.uniform(-1, 1, (height, width)), 0).astype(np.float32)


@given(seeds, st.integers(1, 40), st.integers(1, 700), st.integers(1, 200))
def test_rows_lie_along_axes_as_a_product_says(seed: int, rows: int, dimension: int, axes: int) -> None:
    dice = np.random.default_rng(seed)
    one, across = dice.standard_normal((rows, dimension)), dice.standard_normal((axes, dimension))

    found = projected(one.astype(np.float32), across.astype(np.float32))

    assert found == pytest.approx(one @ across.T, abs=1e-4 * dimension)


def test_rows_are_turned_to_other_axes() -> None:
    dice = np.random.default_rng(5)
    turn, _ = np.linalg.qr(dice.standard_normal((6, 4)))
    codes = dice.integers(-127, 128, (3, 6)).astype(np.int8)
    known = [TermVector(f"t{n}", n, n, n / 2, 0.5, code.tobytes()) for n, code in enumerate(codes)]

    rows = turned(known, turn.astype(np.float32))

    for one, before, code in zip(rows, known, codes, strict=True):
        assert one[:4] == before[:4]
        found = one.scale * np.frombuffer(one.code, np.int8).astype(float)
        assert found == pytest.approx(0.5 * code @ turn, abs=one.scale)


@given(st.integers(1, 2 * FIRST + 50))
def test_the_first_axes_are_orthonormal_and_few(dimension: int) -> None:
    found = folding(dimension)

    assert len(found) <= FIRST
    assert found @ found.T == pytest.approx(np.eye(len(found)), abs=1e-5)
    assert dimension > FIRST or found.tolist() == np.eye(dimension).tolist()


def test_axes_along_which_much_differs_are_held_back_once_they_are_the_stores_own() -> None:
    spread, basis = array("d", [16.0, 1.0, 0.0]), np.eye(3, dtype=np.float32).tobytes()

    assert stretch(Asked(4, spread, None, 0.0)) == [1, 1, 1]
    found = stretch(Asked(4, spread, basis, 0.0))
    assert found[:2] == pytest.approx([2**-0.25, 0.5**-0.25])
    assert np.isfinite(found).all()
    assert np.isfinite(stretch(Asked(0, array("d", bytes(24)), basis, 0.0))).all()


@given(seeds, st.integers(1, 40), st.integers(1, 30), st.integers(1, 12))
def test_axes_are_orthonormal_and_no_more_than_are_needed(seed: int, count: int, dimension: int, most: int) -> None:
    rows = dense(seed, count, dimension, 0.8)

    found = axes(rows, most)

    assert found.dtype == np.float32
    assert 1 <= len(found) <= min(most, dimension)
    assert found @ found.T == pytest.approx(np.eye(len(found)), abs=1e-4)


def test_there_are_no_more_axes_than_rows_differ_along() -> None:
    rows = dense(1, 60, 3, 1) @ dense(2, 3, 40, 1)

    assert len(axes(rows, 10)) == 3


@pytest.mark.parametrize("most", [2, 9])
def test_of_rows_that_do_not_differ_an_axis_remains(most: int) -> None:
    found = axes(np.zeros((30, 9), np.float32), most)

    assert np.isfinite(found).all()
    assert len(found) >= 1


@given(seeds, st.integers(1, 6), st.integers(0, 6))
def test_axes_span_all_that_rows_of_low_rank_differ_in(seed: int, rank: int, more: int) -> None:
    rows = dense(seed, 60, rank, 1) @ dense(seed + 1, rank, 40, 1)

    found = axes(rows, rank + more)

    assert rows @ found.T @ found == pytest.approx(rows, abs=1e-3)


def test_axes_keep_most_of_what_rows_differ_in() -> None:
    dice = np.random.default_rng(8)
    lengths = np.array([9, 5, 3, 2, 1, *[0.1] * 35])
    rows = (dice.standard_normal((500, 40)) * lengths).astype(np.float32)

    found = axes(rows, 5)

    kept = np.linalg.norm(rows @ found.T) ** 2 / np.linalg.norm(rows) ** 2
    best = np.sort(np.linalg.svd(rows, compute_uv=False))[::-1]
    assert kept == pytest.approx((best[:5] ** 2).sum() / (best**2).sum(), abs=0.005)

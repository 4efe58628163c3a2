"""Laws of the arithmetic behind term vectors: products with sparse matrices, ridge regression, main axes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from memory.search.term_vectors import ridge as module
from memory.search.term_vectors.learn import _term_vectors, axes, cosines
from memory.search.term_vectors.ridge import Product, Sparse, ridge

seeds = st.integers(0, 10_000)
shares = st.floats(0, 1)


def dense(seed: int, height: int, width: int, share: float) -> np.ndarray:
    """A matrix of which about this share of the entries is not 0; some rows and columns may be empty."""
    dice = np.random.default_rng(seed)
    return np.where(dice.random((height, width)) < share, dice.uniform(-1, 1, (height, width)), 0).astype(np.float32)


def sparse(matrix: np.ndarray, seed: int = 0) -> Sparse:
    """The same by its entries, in any order."""
    rows, columns = np.nonzero(matrix)
    order = np.random.default_rng(seed).permutation(len(rows))
    return Sparse(rows[order], columns[order], matrix[rows, columns][order], matrix.shape)


@given(seeds, st.integers(0, 30), st.integers(0, 30), st.integers(1, 5), shares)
def test_a_product_is_that_of_the_dense_matrix(seed: int, height: int, width: int, across: int, share: float) -> None:
    matrix = dense(seed, height, width, share)
    other = dense(seed + 1, width, across, 1)

    assert Product(sparse(matrix, seed))(other) == pytest.approx(matrix @ other, abs=1e-5)
    assert Product(sparse(matrix, seed).transposed)(dense(seed, height, across, 1)) == pytest.approx(
        matrix.T @ dense(seed, height, across, 1), abs=1e-5
    )


@pytest.mark.parametrize("room", [1, 7, 4096])
def test_a_product_is_the_same_however_many_rows_are_multiplied_at_a_time(room: int, monkeypatch) -> None:
    monkeypatch.setattr(module, "ROOM", room)
    matrix = dense(1, 60, 40, 0.3)
    matrix[7] = 1.0  # one row that is longer than the room
    other = dense(2, 40, 3, 1)

    assert Product(sparse(matrix))(other) == pytest.approx(matrix @ other, abs=1e-5)


def test_a_product_with_empty_rows_and_columns() -> None:
    matrix = dense(3, 9, 8, 0.5)
    matrix[[0, 4, 8]] = 0
    matrix[:, [0, 7]] = 0
    other = dense(4, 8, 2, 1)

    found = Product(sparse(matrix))(other)

    assert found == pytest.approx(matrix @ other, abs=1e-6)
    assert not found[[0, 4, 8]].any()


@given(seeds, st.tuples(st.integers(1, 12), st.integers(1, 8), st.integers(1, 4)), shares, st.floats(0.1, 5))
def test_enough_steps_come_to_the_solution_of_the_normal_equations(
    seed: int, shape: tuple[int, int, int], share: float, weight: float
) -> None:
    height, width, across = shape
    matrix, wanted = dense(seed, height, width, share), dense(seed + 1, height, across, 1)

    found = ridge(sparse(matrix, seed), wanted, weight=weight, steps=60)

    square = matrix.T.astype(np.float64) @ matrix + weight * np.eye(width)
    assert found == pytest.approx(np.linalg.solve(square, matrix.T @ wanted), abs=1e-3)


def test_a_first_step_already_goes_where_the_solution_is() -> None:
    matrix, wanted = dense(5, 40, 20, 0.2), dense(6, 40, 3, 1)

    def left(steps: int) -> float:
        found = ridge(sparse(matrix), wanted, weight=0.3, steps=steps)
        return float(np.linalg.norm(matrix @ found - wanted) ** 2 + 0.3 * np.linalg.norm(found) ** 2)

    assert np.linalg.norm(wanted) ** 2 > left(1) > left(2) > left(5) >= left(60) - 1e-3


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


@given(seeds, st.integers(1, 9), st.integers(1, 20), st.floats(1e-6, 1e6))
def test_a_code_is_off_by_half_a_step_at_most(seed: int, count: int, axes: int, size: float) -> None:
    vectors = dense(seed, count, axes, 0.7) * np.float32(size)

    found = _term_vectors([f"t{n}" for n in range(count)], vectors)

    for term_vector, vector in zip(found, vectors, strict=True):
        assert len(term_vector.code) == axes
        assert term_vector.scale == pytest.approx(max(np.abs(vector).max() / 127, 1e-12))
        off = np.abs(term_vector.scale * np.frombuffer(term_vector.code, np.int8).astype(np.float64) - vector)
        assert off.max() <= term_vector.scale * 0.501


def test_no_vectors_of_no_terms() -> None:
    assert _term_vectors([], np.zeros((0, 5), np.float32)) == []


def test_a_cosine_with_nothing_is_0() -> None:
    one = np.array([[3, 4], [0, 0], [1, 0]], np.float32)
    other = np.array([[4, 3], [1, 1], [-2, 0]], np.float32)

    assert cosines(one, other).tolist() == pytest.approx([0.96, 0, -1])

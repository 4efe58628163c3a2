"""Laws of a question's vector: with numpy and without it is the same, and it lies where passages do."""

from __future__ import annotations

import math
import sys
from array import array

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from memory.schema.space import Centre, dot, shrunk
from memory.store import Asked
from memory.vectors import term_vectors
from memory.vectors.term_vectors import Summed, pointed
from memory.vectors.term_vectors.learn import FIRST, folding

seeds = st.integers(0, 10_000)
DIMENSIONS = [1, 7, 48, FIRST, FIRST + 1]


def without_numpy(*given: object) -> array | None:
    """`pointed` as in a process that has no numpy."""
    known = sys.modules.pop("numpy")
    try:
        return pointed(*given)
    finally:
        sys.modules["numpy"] = known


def rows(dice: np.random.Generator, count: int, width: int) -> list[tuple[float, bytes]]:
    codes = dice.integers(-128, 128, (count, width), np.int8)
    return [(float(weight), code.tobytes()) for weight, code in zip(dice.uniform(0, 0.1, count), codes, strict=True)]


def made(seed: int, dimension: int, *, own: bool, words: int) -> tuple[Summed, Asked, Centre]:
    """A question of three terms and some words, in a store with axes of its own or without."""
    dice = np.random.default_rng(seed)
    basis = np.linalg.qr(dice.standard_normal((dimension, dimension)))[0][: max(1, dimension // 2)] if own else None
    axes = len(folding(dimension)) if basis is None else len(basis)
    asked = Asked(
        40,
        array("d", dice.uniform(0, 40, axes).tolist()),
        None if basis is None else basis.astype("<f4").tobytes(),
        0.5,
    )
    mean = dice.uniform(-0.1, 0.1, dimension).astype("<f4").tobytes() if words else b""
    summed = Summed(rows(dice, 3, axes), rows(dice, words, dimension), mean, 0.3 * words)
    return summed, asked, shrunk(array("d", dice.uniform(-1, 1, dimension).tolist()), 30)


@given(seeds, st.sampled_from(DIMENSIONS), st.booleans(), st.integers(0, 2))
@example(1, FIRST + 1, False, 2)
@example(1, FIRST, True, 1)
def test_with_numpy_and_without_it_is_the_same(seed: int, dimension: int, own: bool, words: int) -> None:
    question = made(seed, dimension, own=own, words=words)

    assert list(without_numpy(*question)) == pytest.approx(list(pointed(*question)), abs=1e-6)


@given(seeds, st.sampled_from(DIMENSIONS), st.booleans())
def test_it_lies_as_far_out_as_passages_and_in_the_direction_of_the_sum(seed: int, dimension: int, own: bool) -> None:
    summed, asked, centre = made(seed, dimension, own=own, words=0)

    found = without_numpy(summed, asked, centre)

    assert dot(found, found) == pytest.approx(1, abs=1e-5)
    basis = folding(dimension) if asked.basis is None else np.frombuffer(asked.basis, "<f4").reshape(-1, dimension)
    along = sum(weight * np.frombuffer(code, np.int8) for weight, code in summed.terms) * term_vectors.stretch(asked)
    direction = along @ basis
    by_hand = np.asarray(centre.vector) + math.sqrt(max(0, 1 - centre.square)) * direction / np.linalg.norm(direction)
    assert list(found) == pytest.approx(by_hand / np.linalg.norm(by_hand), abs=1e-5)


@pytest.mark.parametrize("ask", [pointed, without_numpy])
def test_what_has_no_direction_is_nowhere(ask) -> None:
    summed, asked, centre = made(3, 7, own=True, words=0)
    damaged = np.full((3, 7), math.nan, "<f4").tobytes()

    assert ask(summed._replace(terms=()), asked, centre) is None
    assert ask(summed, asked._replace(basis=damaged), centre) is None
    assert ask(summed._replace(terms=[(math.inf, bytes([1, 2, 3]))]), asked, centre) is None


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=20), st.integers(0, 1000))
def test_a_centre_is_drawn_to_zero_and_its_direction_has_length_1(total: list[float], count: int) -> None:
    found = shrunk(array("d", total), count)

    assert list(found.vector) == pytest.approx([one / (count + 50) for one in total], abs=1e-6)
    assert found.square == pytest.approx(dot(found.vector, found.vector))
    assert not found.square or dot(found.unit, found.unit) == pytest.approx(1, abs=1e-4)

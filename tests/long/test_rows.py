"""Laws of the arithmetic behind term vectors: how a passage corrects rows, how these are rounded, main axes."""

from __future__ import annotations

import math
from array import array

import numpy as np
import pytest
from hypothesis import given, strategies as st

from memory.search.term_vectors.axes import FIRST, axes, folding
from memory.search.term_vectors.rows import NOISE, SENTENCES, Lesson, Rows
from memory.search.term_vectors.sums import stretch
from memory.store import HEARD, Asked, Prior, TermVector
from memory.store.pairs import pair_sums

seeds = st.integers(0, 10_000)
shares = st.floats(0, 1)
WORDS = ("ant", "bee", "cat", "dog", "ant bee", "bee cat", "cat dog")
texts = st.dictionaries(st.sampled_from(WORDS), st.integers(1, 4), min_size=1)
histories = st.lists(st.tuples(texts, seeds), min_size=1, max_size=6)


def dense(seed: int, height: int, width: int, share: float) -> np.ndarray:
    """A matrix of which about this share of the entries is not 0; some rows and columns may be empty."""
    dice = np.random.default_rng(seed)
    return np.where(dice.random((height, width)) < share, dice.uniform(-1, 1, (height, width)), 0).astype(np.float32)


# Rows ------------------------------------------------------------------------------------


def lesson(counts: dict[str, int], sentences: tuple[dict[str, int], ...] = ()) -> Lesson:
    return Lesson(counts, sentences, np.zeros(0, np.float32))


def weighed(counts: dict[str, int], held: dict[str, int], passages: int) -> dict[str, float]:
    """tf-idf of length 1, as docs/ranking.md says it."""
    weights = {
        term: (1 + math.log(count)) * (0.7 if " " in term else 1) * math.log(1 + passages / held[term])
        for term, count in counts.items()
    }
    length = math.sqrt(sum(one * one for one in weights.values()))
    return {term: one / length for term, one in weights.items()}


def correct(
    matrix: dict[str, np.ndarray], met: dict[str, float], x: dict[str, float], wanted: np.ndarray, trust: float
) -> None:
    """One step of the filter, in words of docs/ranking.md."""
    gains = {term: one / (NOISE + met[term]) for term, one in x.items()}
    missed = wanted - sum(one * matrix[term] for term, one in x.items())
    step = 1 / trust + sum(one * gains[term] for term, one in x.items())
    for term, one in x.items():
        matrix[term] = matrix[term] + gains[term] / step * missed
        met[term] += trust * one * one


@given(histories, st.booleans())
def test_a_passage_corrects_the_rows_of_its_terms_as_the_formula_says(history, sentences: bool) -> None:
    rows = Rows({}, WORDS, 3)
    matrix, met, held = (dict.fromkeys(WORDS, zero) for zero in (np.zeros(3), 0.0, 0))
    for passages, (counts, seed) in enumerate(history, start=1):
        wanted = dense(seed, 1, 3, 1)[0]
        parts = tuple({term: 1} for term in counts) if sentences else ()

        rows.correct(lesson(counts, parts), wanted, passages)

        for term in counts:
            held[term] += 1
        own = {term: count for term, count in counts.items() if " " not in term or held[term] > 1}
        if own:
            correct(matrix, met, weighed(own, held, passages), wanted, 1.0)
        for term in own if sentences else ():
            correct(matrix, met, {term: 1.0}, wanted, SENTENCES / len(parts))

    found = {one.term: one for one in rows.term_vectors()}
    assert set(found) == {term for term in WORDS if held[term] > (" " in term)}
    for term, one in found.items():
        assert (one.passages, one.met) == (held[term], pytest.approx(met[term], rel=1e-4))
        code = one.scale * np.frombuffer(one.code, np.int8).astype(float)
        assert code == pytest.approx(matrix[term], abs=0.02 * len(history))


@given(histories, seeds)
def test_new_words_begin_with_their_word_vectors_scaled_by_what_those_foretold(history, seed: int) -> None:
    words = {term: dense(seed + n, 1, 3, 1)[0] for n, term in enumerate(WORDS) if " " not in term and term != "dog"}
    known: dict[str, TermVector] = {}
    prior, held = Prior(), dict.fromkeys(WORDS, 0)
    for passages, (every, at) in enumerate(history, start=1):
        counts = {term: count for term, count in every.items() if " " not in term} or {"ant": 1}  # pairs: see above
        wanted = dense(at, 1, 3, 1)[0]
        matrix = {term: one.scale * np.frombuffer(one.code, np.int8).astype(float) for term, one in known.items()}
        met = {term: one.met for term, one in known.items()}
        rows = Rows(known, counts, 3, words={term: words[term] for term in words if term in counts}, prior=prior)

        rows.correct(lesson(counts), wanted, passages)

        for term in counts:
            held[term] += 1
        x = weighed(counts, held, passages)
        new = [term for term in counts if term not in known]
        foretold = sum((x[term] * words.get(term, np.zeros(3)) for term in new), np.zeros(3))
        missed = wanted - sum((x[term] * matrix[term] for term in counts if term in known), np.zeros(3))
        along, square = prior.along + foretold @ missed, prior.square + foretold @ foretold
        scale = max(0.0, along / square) if square else 0.0
        for term in new:
            matrix[term], met[term] = scale * words.get(term, np.zeros(3)), NOISE if term in words else 0.0
        correct(matrix, met, x, wanted, 1.0)
        prior = rows.prior
        known |= {one.term: one for one in rows.term_vectors()}
        assert prior.scale == pytest.approx(scale, rel=1e-3, abs=1e-5)
        for term in counts:
            code = known[term].scale * np.frombuffer(known[term].code, np.int8).astype(float)
            assert code == pytest.approx(matrix[term], abs=0.51 * known[term].scale + 1e-4)
            assert known[term].met == pytest.approx(met[term], rel=1e-4)


@given(histories)
def test_it_is_all_one_how_many_passages_come_at_a_time(history) -> None:
    together, known = Rows({}, WORDS, 3), {}
    for passages, (counts, seed) in enumerate(history, start=1):
        wanted = dense(seed, 1, 3, 1)[0]
        together.correct(lesson(counts), wanted, passages)
        alone = Rows(known, counts, 3)
        alone.correct(lesson(counts), wanted, passages)
        known = aged(known, alone.first_said(counts)) | {one.term: one for one in alone.term_vectors()}

    assert {term: one for term, one in known.items() if one.code} == {one.term: one for one in together.term_vectors()}


def aged(known: dict[str, TermVector], first: list[str]) -> dict[str, TermVector]:
    """The same after a passage that was the first to say these pairs, as `TermVectors.of_terms` says it."""
    older = {term: one if one.code or not first else one._replace(last=one.last - 1) for term, one in known.items()}
    return older | {pair: TermVector(pair, 1, -1, 0.0, 0.0, b"") for pair in first}


@pytest.mark.parametrize("between", [0, HEARD - 1, HEARD])
@pytest.mark.parametrize("before", [True, False])
def test_a_pair_is_known_to_have_been_said_by_one_of_the_last_passages(between: int, *, before: bool) -> None:
    others = [f"w{number} x{number}" for number in range(between)]
    said = {"ant bee": TermVector("ant bee", 1, -1, 0.0, 0.0, b"")} if before else {}
    rows, wanted = Rows(said, [*WORDS, *others], 3), np.ones(3, np.float32)
    if not before:
        rows.correct(lesson({"ant bee": 1}), wanted, 1)
    for passages, pair in enumerate(others, start=2):
        rows.correct(lesson({pair: 1, "ant": 1}), wanted, passages)
        rows.correct(lesson({"ant": 1}), wanted, passages)  # says no pair: does not count

    rows.correct(lesson({"ant bee": 1}), wanted, between + 2)

    known = between < HEARD
    assert ("ant bee" in {one.term for one in rows.term_vectors()}) == known
    assert rows.added == (between > 0) + known


def test_pairs_with_the_same_check_sum_are_taken_for_one_another_as_in_a_store() -> None:
    one, other = "ougq tunn", "xeji sbtf"
    assert len({*pair_sums([one, other])}) == 1
    rows, wanted = Rows({}, [one, other], 3), np.ones(3, np.float32)

    for passages, pair in enumerate([one, other], start=1):
        rows.correct(lesson({pair: 1}), wanted, passages)

    assert [found.term for found in rows.term_vectors()] == [other]


@given(texts, seeds, st.integers(1, 400))
def test_what_was_learned_once_is_foretold_better(counts, seed: int, passages: int) -> None:
    rows, wanted = Rows({}, WORDS, 5), dense(seed, 1, 5, 1)[0]
    counts |= {"ant": 1}

    first = rows.correct(lesson(counts), wanted, passages)
    second = rows.correct(lesson(counts), wanted, passages + 1)

    assert not first.any()
    assert np.linalg.norm(wanted - second) < np.linalg.norm(wanted)


@given(seeds, st.integers(1, 20), st.floats(1e-6, 1e6))
def test_a_code_is_off_by_half_a_step_at_most(seed: int, axes: int, size: float) -> None:
    rows = Rows({}, ["ant"], axes)
    wanted = dense(seed, 1, axes, 0.7)[0] * np.float32(size)

    rows.correct(lesson({"ant": 1}), wanted, 1)

    ((*_, scale, code),) = rows.term_vectors()
    expected = wanted / (1 + NOISE)
    assert len(code) == axes
    assert scale == pytest.approx(max(np.abs(expected).max() / 127, 1e-12), rel=1e-4)
    assert np.abs(scale * np.frombuffer(code, np.int8).astype(np.float64) - expected).max() <= scale * 0.51


def test_rows_are_turned_to_other_axes() -> None:
    dice = np.random.default_rng(5)
    turn, _ = np.linalg.qr(dice.standard_normal((6, 4)))
    codes = dice.integers(-127, 128, (3, 6)).astype(np.int8)
    known = {f"t{n}": TermVector(f"t{n}", n, n, n / 2, 0.5, code.tobytes()) for n, code in enumerate(codes)}
    rows = Rows(known, (), 6)

    rows.turn(turn.astype(np.float32))

    for one, code in zip(rows.term_vectors(), codes, strict=True):
        assert one[:4] == known[one.term][:4]
        found = one.scale * np.frombuffer(one.code, np.int8).astype(float)
        assert found == pytest.approx(0.5 * code @ turn, abs=one.scale)


# Axes ------------------------------------------------------------------------------------


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

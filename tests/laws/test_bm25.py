"""The best chunks by postings are those that a sum over every chunk finds, to the last digit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st
from profiles import examples

from memory.store.memories import K1 as SATURATION, LEAST_IDF, B
from memory.store.sqlite.bm25 import FEW_SHARE, Listed, LivePostings, met

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from memory.schema.answer import Ranking


class Lists(NamedTuple):
    """See `memory.store.sqlite.posting_file.Base`; the chunk of row r is 2r + 1, its memory r // 2."""

    lengths: NDArray[np.int32]
    words: Mapping[str, tuple[NDArray[np.int32], NDArray[np.uint16]]]

    @property
    def ids(self) -> NDArray[np.int64]:
        return np.arange(len(self.lengths)) * 2 + 1

    @property
    def owners(self) -> NDArray[np.int64]:
        return np.arange(len(self.lengths)) // 2

    @property
    def changed(self) -> NDArray[np.int64]:
        return self.owners * 10

    happened = changed
    number, last = 0, 1 << 30

    def postings(self, token: str, *, prefix: bool) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        begun = [own for word, own in self.words.items() if word == token or (prefix and word.startswith(token))]
        rows, halves = zip((np.empty(0, np.int32), np.empty(0, np.uint16)), *begun, strict=True)
        return np.concatenate(rows), np.concatenate(halves)


def lists(seed: int, size: int) -> Lists:
    """Words from one that a few rows hold to one that more than half do, among rows of all lengths."""
    dice = np.random.default_rng(seed)
    words = {}
    for number, share in enumerate((0.6, 0.3, 0.3, 0.1, 0.03, 0.01, 0.003)):
        rows = np.flatnonzero(dice.random(size) < share).astype(np.int32)
        words["ab"[number % 2] + str(number)] = (rows, dice.choice([1, 2, 2, 3, 6, 60], len(rows)).astype(np.uint16))
    return Lists(dice.integers(1, 200, size).astype(np.int32), words)


def expected(
    held: LivePostings, base: Lists, terms: Sequence[Listed], count: int, allowed: set[int]
) -> list[tuple[int, float]]:
    """Rows with their scores, by plain sums."""
    chunks, tokens = held.totals
    scores: dict[int, float] = {}
    for term in terms:
        idf = max(LEAST_IDF, math.log((chunks - len(term.rows) + 0.5) / (len(term.rows) + 0.5)))
        assert term.halves is not None
        for row, halves in zip(term.rows.tolist(), term.halves.tolist(), strict=True):
            often, norm = halves / 2, SATURATION * (1 - B + B * int(base.lengths[row]) / (tokens / chunks))
            scores[row] = scores.get(row, 0.0) + idf * (often * (SATURATION + 1) / (often + norm))
    return sorted(((row, one) for row, one in scores.items() if row in allowed), key=lambda one: (-one[1], -one[0]))[
        :count
    ]


def said(ranking: Ranking) -> list[tuple[int, float]]:
    return [(chunk // 2, score) for chunk, score in zip(ranking.chunks, ranking.scores, strict=True)]


wanted = st.lists(
    st.sampled_from([(f"{'ab'[n % 2]}{n}", False) for n in range(7)] + [("a", True), ("b", True), ("none", False)]),
    min_size=1,
    max_size=6,
)


@given(st.integers(0, 1000), st.sampled_from([30, 400, 5000]), wanted, st.integers(1, 300), st.sets(st.integers(0, 29)))
@examples(2)
def test_the_best_are_those_of_a_plain_sum(seed, size, tokens, count, gone) -> None:
    base = lists(seed, size)
    held = LivePostings(base)
    held.forget([2 * row + 1 for row in gone], 1)
    terms = [held.listed(token, prefix=prefix) for token, prefix in tokens]
    every = set(range(size)) - gone

    assert said(held.best(terms, count)) == expected(held, base, terms, count, every)
    for share in (0.001, 0.3):
        among = np.flatnonzero(np.random.default_rng(seed).random(size) < share).astype(np.int32)
        allowed = every & {*among.tolist()}
        assert said(held.best(terms, count, among)) == expected(held, base, terms, count, allowed)
        own = said(held.of(terms, [2 * row + 1 for row in among.tolist()]))
        assert own == expected(held, base, terms, size, allowed)


def test_common_words_alone_are_hardly_looked_at(monkeypatch) -> None:
    base = lists(1, 50_000)
    held = LivePostings(base)
    terms = [held.listed(token, prefix=False) for token in ("a0", "b1", "a6")]
    looked: list[int] = []
    monkeypatch.setattr(LivePostings, "_about", lambda *given: looked.append(len(found := about(*given))) or found)

    found = held.best(terms, 10)

    assert said(found) == expected(held, base, terms, 10, set(range(50_000)))
    assert sum(looked) * FEW_SHARE < sum(len(term.rows) for term in terms)


def test_what_says_a_common_word_often_comes_before_what_says_a_rarer_one_once() -> None:
    rare, common = np.arange(100, dtype=np.int32), np.arange(500, 750, dtype=np.int32)
    words = {"rare": (rare, np.full(100, 1, np.uint16)), "common": (common, np.full(250, 120, np.uint16))}
    base = Lists(np.full(1000, 50, np.int32), words)
    held = LivePostings(base)
    terms = [held.listed(token, prefix=False) for token in ("common", "rare")]

    assert said(held.best(terms, 3)) == expected(held, base, terms, 3, set(range(1000)))
    assert held.best(terms, 3).chunks[0] == 1499  # of equals the latest


about = LivePostings._about


@pytest.mark.parametrize("sizes", [(0, 5), (5, 0), (3, 400), (400, 3), (100, 100)])
def test_what_two_have_is_found_whichever_is_longer(sizes) -> None:
    dice = np.random.default_rng(3)
    one, other = (np.sort(dice.choice(500, size, replace=False)).astype(np.int32) for size in sizes)

    here, there = met(one, other)

    assert one[here].tolist() == other[there].tolist() == sorted({*one.tolist()} & {*other.tolist()})


def test_rows_of_memories_are_those_that_are_left() -> None:
    held = LivePostings(lists(1, 30))
    held.forget([9], 1)  # the chunk of row 4, of memory 2

    assert held.owned([2, 7, 99]).tolist() == [5, 14, 15]

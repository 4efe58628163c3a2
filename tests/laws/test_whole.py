"""Many passages at once teach what they teach one after the other: their terms, and how they correct rows."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from memory.schema.memory import Chunk, ChunkId, ChunkType, Excerpt, MemoryId
from memory.search.term_vectors.known import known, rounded
from memory.search.term_vectors.learn import _lesson
from memory.search.term_vectors.pages import STEPS, Vocabulary, read
from memory.search.term_vectors.rows import NOISE, SENTENCES
from memory.search.term_vectors.step import projected
from memory.search.term_vectors.whole import taught
from memory.store import HEARD, Prior, TermVector

AXES = 4
words = st.sampled_from(
    "ant bee cat dog of the x HTTPServer getUserName user_id 12 A7 naïve 数据库 入門 running \x02 é".split(" ")
)
signs = st.sampled_from([" ", " ", " ", ". ", "! ", "\n", "。 ", ", "])
pieces = st.lists(st.tuples(words, signs), max_size=25).map(lambda pairs: "".join(map("".join, pairs)))
places = st.integers(0, 10_000)


def excerpt(number: int, title: str, what: str, tags: tuple[str, ...] = ()) -> Excerpt:
    head = Chunk(0, 0, 0, ChunkType.HEAD, (), 0, 0)
    return Excerpt(ChunkId(number), MemoryId(number), head, what, "", title, what, "", "", tags)


notes = st.lists(st.tuples(pieces, pieces, st.booleans()), max_size=8).map(
    lambda texts: [excerpt(n, title, what, ("tag7",) if tag else ()) for n, (title, what, tag) in enumerate(texts)]
)


def lessons(every: list[Excerpt]):
    return [_lesson((one, np.zeros((1, 1), np.float32)), np.zeros(1, np.float32)) for one in every]


@given(notes)
def test_a_page_holds_the_terms_of_each_passage_and_of_its_sentences(every: list[Excerpt]) -> None:
    vocabulary = Vocabulary()

    page = read(every, vocabulary)

    terms = vocabulary.terms(page.keys)
    assert page.keys.tolist() == sorted({vocabulary.key(term) for term in terms})
    found, sentences = [Counter() for _ in every], [[Counter() for _ in range(STEPS)] for _ in every]
    for owner, term, times in zip(page.owners, page.terms, page.times, strict=True):
        found[owner][terms[term]] = times
    for step, held, often in zip(page.steps, page.held, page.often, strict=True):
        sentences[step // STEPS][step % STEPS][terms[page.terms[held]]] = often
    for expected, counts, parts, number in zip(lessons(every), found, sentences, page.sentences, strict=True):
        assert counts == expected.counts
        assert number == len(expected.sentences)
        own = [{term: n for term, n in part.items() if term in counts} for part in expected.sentences]
        assert parts[1 : 1 + number] == own


class Filter:
    """The filter of docs/ranking.md, one passage after the other, without rounding."""

    def __init__(self, begin: dict[str, np.ndarray]) -> None:
        self.begin = begin
        self.rows: dict[str, np.ndarray] = {}
        self.met: dict[str, float] = {}
        self.held: dict[str, int] = {}
        self.said: dict[str, int] = {}
        self.noted = 0
        self.prior = Prior()
        self.passages = 0

    def learn(self, lesson, wanted: np.ndarray) -> np.ndarray:
        self.passages += 1
        counts = {term: count for term, count in lesson.counts.items() if self.counted(term)}
        self.noted += len(counts) < len(lesson.counts)
        x, new = self.weighed(counts), [term for term in counts if term not in self.rows]
        for term in new:
            self.rows[term], self.met[term] = np.zeros(AXES), NOISE * (term in self.begin)
        likely = sum((x[term] * self.begin[term] for term in new if term in self.begin), np.zeros(AXES))
        if likely.any():
            missed = wanted - self.foretold(x)
            self.prior = self.prior.met(float(likely @ missed), float(likely @ likely))
            for term in new:
                self.rows[term] = self.prior.scale * self.begin.get(term, np.zeros(AXES))
        foretold = self.foretold(x)
        self.correct(x, wanted, 1.0)
        for part in lesson.sentences:
            own = {term: count for term, count in part.items() if term in counts}
            self.correct(self.weighed(own), wanted, SENTENCES / len(lesson.sentences))
        return foretold

    def counted(self, term: str) -> bool:
        if " " in term and term not in self.held:
            former, self.said[term] = self.said.get(term), self.noted
            if former is None or self.noted - former > HEARD:
                return False
            self.held[term] = 1
        self.held[term] = self.held.get(term, 0) + 1
        return True

    def weighed(self, counts) -> dict[str, float]:
        x = {
            term: (1 + math.log(n)) * (0.7 if " " in term else 1) * math.log(1 + self.passages / self.held[term])
            for term, n in counts.items()
        }
        length = math.sqrt(sum(one * one for one in x.values()))
        return {term: one / length for term, one in x.items()}

    def foretold(self, x: dict[str, float]) -> np.ndarray:
        return sum((one * self.rows[term] for term, one in x.items()), np.zeros(AXES))

    def correct(self, x: dict[str, float], wanted: np.ndarray, trust: float) -> None:
        gains = {term: one / (NOISE + self.met[term]) for term, one in x.items()}
        missed, step = wanted - self.foretold(x), 1 / trust + sum(one * gains[term] for term, one in x.items())
        for term, one in x.items():
            self.rows[term] = self.rows[term] + gains[term] / step * missed
            self.met[term] += trust * one * one


@settings(deadline=None)
@given(st.lists(notes, min_size=1, max_size=3), places, st.booleans())
def test_a_page_corrects_rows_as_passage_after_passage_does(pages, seed: int, begins: bool) -> None:
    dice = np.random.default_rng(seed)
    begin = {word: dice.standard_normal(AXES) for word in ("ant", "bee", "http", "user")} if begins else {}
    one_by_one, vocabulary, prior = Filter(begin), Vocabulary(), Prior()
    held, passages = known([], AXES, vocabulary), 0
    for every in pages:
        wanted = dice.standard_normal((len(every), AXES)).astype(np.float32)
        page = read(every, vocabulary)
        fresh = {
            vocabulary.key(word): row.astype(np.float32) for word, row in begin.items() if word not in one_by_one.rows
        }

        made = taught(page, held, wanted, passages + 1 + np.arange(len(every)), words=fresh, prior=prior)

        held, prior, passages = made.known, made.prior, passages + len(every)
        for lesson, lies, foretold in zip(lessons(every), wanted, made.foretold, strict=True):
            assert foretold == pytest.approx(one_by_one.learn(lesson, lies), abs=0.05 * len(pages))
        assert prior.scale == pytest.approx(one_by_one.prior.scale, rel=0.05, abs=0.02)
        found = {one.term: one for one in held.term_vectors(np.arange(len(held.keys)), vocabulary)}
        assert found.keys() == one_by_one.rows.keys()
        for term, one in found.items():
            assert (one.passages, one.met) == (one_by_one.held[term], pytest.approx(one_by_one.met[term], rel=1e-5))
            row = one.scale * np.frombuffer(one.code, np.int8).astype(float)
            assert row == pytest.approx(one_by_one.rows[term], abs=0.03 * len(pages))


@pytest.mark.parametrize("each", [7, 300])
def test_it_is_all_one_how_many_passages_a_page_has(each: int) -> None:
    dice = np.random.default_rng(each)
    said = [" ".join(f"w{n}" for n in dice.zipf(1.3, 12) if n < 500) for _ in range(300)]
    every, wanted = [excerpt(n, text, text) for n, text in enumerate(said)], dice.standard_normal((300, AXES))

    def learned(each: int) -> dict[str, np.ndarray]:
        vocabulary, prior = Vocabulary(), Prior()
        held = known([], AXES, vocabulary)
        for first in range(0, 300, each):
            page, lies = read(every[first : first + each], vocabulary), wanted[first : first + each].astype(np.float32)
            made = taught(page, held, lies, first + 1 + np.arange(len(lies)), words={}, prior=prior)
            held, prior = made.known, made.prior
        rows = held.term_vectors(np.arange(len(held.keys)), vocabulary)
        return {one.term: np.frombuffer(one.code, np.int8) for one in rows}

    one_by_one, by_pages = learned(1), learned(each)
    assert one_by_one.keys() == by_pages.keys()
    same = [one_by_one[term] == by_pages[term] for term in one_by_one]
    assert np.mean(same) > 0.98  # else a sum was rounded to another side


@pytest.mark.parametrize("between", [0, HEARD - 1, HEARD])
@pytest.mark.parametrize("pages", [1, 2])
def test_a_pair_has_a_row_if_one_of_the_last_passages_said_it(between: int, pages: int) -> None:
    every = [
        excerpt(0, "ant bee", ""),
        *(
            one for n in range(between) for one in (excerpt(n, f"w{n}x y{n}z", ""), excerpt(n, "ant", ""))
        ),  # this: no pair
        excerpt(1, "ant bee", ""),
    ]
    vocabulary = Vocabulary()
    held, passages = known([], AXES, vocabulary), 0
    for part in [every] if pages == 1 else [every[:-1], every[-1:]]:
        numbers = passages + 1 + np.arange(len(part))
        page, wanted = read(part, vocabulary), np.ones((len(part), AXES), np.float32)
        held = taught(page, held, wanted, numbers, words={}, prior=Prior()).known
        passages += len(part)

    found = {one.term: one for one in held.term_vectors(np.arange(len(held.keys)), vocabulary)}
    assert ("ant bee" in found) == (between < HEARD)
    assert found["ant"].passages == 2 + between
    assert found["ant"].last == passages


def test_what_was_said_once_before_counts_and_the_last_mention_does() -> None:
    vocabulary = Vocabulary()
    held = known([TermVector("ant bee", 1, -HEARD, 0.0, 0.0, b"")], AXES, vocabulary)
    assert vocabulary.terms(held.heard) == ["ant bee"]

    assert held.hearing(held.heard, np.array([-1]), 1).said.tolist() == [-1]
    assert len(held.hearing(held.heard[:0], np.zeros(0, np.int64), 1).heard) == 0


@given(st.lists(st.tuples(words, st.integers(1, 3), st.integers(1, 3)), unique=True), st.integers(1, 12))
def test_the_rarest_go_as_from_a_store(rows, most: int) -> None:
    terms = {name.lower() + (" pair" if n == 3 else ""): (n, last) for name, n, last in rows}
    found = [TermVector(term, n, last, 1.0, 1.0, bytes(AXES)) for term, (n, last) in terms.items()]
    vocabulary = Vocabulary()

    held = known(found, AXES, vocabulary).without_rarest(most, vocabulary)

    order = sorted(terms, key=lambda term: (" " not in term, *terms[term], term))
    expected = order if len(order) <= most else order[len(order) - most * 9 // 10 :]
    assert sorted(vocabulary.terms(held.keys)) == sorted(expected)


@given(places, st.integers(1, 40), st.integers(1, 700), st.integers(1, 200))
def test_rows_lie_along_axes_as_a_product_says(seed: int, rows: int, dimension: int, axes: int) -> None:
    dice = np.random.default_rng(seed)
    one, across = dice.standard_normal((rows, dimension)), dice.standard_normal((axes, dimension))

    found = projected(one.astype(np.float32), across.astype(np.float32))

    assert found == pytest.approx(one @ across.T, abs=1e-4 * dimension)


def test_codes_are_off_by_half_a_step() -> None:
    matrix = np.array([[0, 0, 0], [1, -2, 127]], np.float32)

    scales, codes = rounded(matrix.copy())

    assert scales[0] > 0
    assert (codes * scales[:, None]) == pytest.approx(matrix, abs=0.5)


def test_stems_that_are_taken_back_were_never_there() -> None:
    vocabulary = Vocabulary()
    vocabulary.add(["ant", "bee", "cat"])

    vocabulary.back(1)

    assert (vocabulary.number("cat"), vocabulary["bees"], vocabulary.number("ant")) == (1, 2, 0)
    assert vocabulary.stems == ["ant", "cat", "bee"]

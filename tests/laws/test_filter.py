"""Passages correct rows as the formulas say, however many a page has; and a page holds their terms."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from memory.schema.memory import Chunk, ChunkId, ChunkType, Excerpt, MemoryId
from memory.store import HEARD, Prior, TermVector
from memory.text.tokens import passage
from memory.vectors.term_vectors import words
from memory.vectors.term_vectors.filter import (
    NOISE,
    SENTENCES,
    STEPS,
    Vocabulary,
    longer,
    page_of,
    rounded,
    sentences,
    taught,
)

AXES = 4
spellings = st.sampled_from(
    "ant bee cat dog of the x HTTPServer getUserName user_id 12 A7 naïve 数据库 入門 running \x02 é".split(" ")
)
signs = st.sampled_from([" ", " ", " ", ". ", "! ", "\n", "。 ", ", "])
pieces = st.lists(st.tuples(spellings, signs), max_size=25).map(lambda pairs: "".join(map("".join, pairs)))
places = st.integers(0, 10_000)


def excerpt(number: int, title: str, what: str, tags: tuple[str, ...] = ()) -> Excerpt:
    head = Chunk(0, 0, 0, ChunkType.HEAD, (), 0, 0)
    return Excerpt(ChunkId(number), MemoryId(number), head, what, "", title, what, "", "", tags)


notes = st.lists(st.tuples(pieces, pieces, st.booleans()), max_size=8).map(
    lambda texts: [excerpt(n, title, what, ("tag7",) if tag else ()) for n, (title, what, tag) in enumerate(texts)]
)


# The terms of a page ---------------------------------------------------------


class Terms(NamedTuple):
    """How often each term stands in a passage, and in each of its sentences."""

    counts: Counter[str]
    sentences: list[Counter[str]]


def terms_of(one: Excerpt) -> Terms:
    """The obvious way: the words of all sentences stand together, and behind them those that these do not show."""
    text = passage(one, 0)
    cut = sentences(text)
    plain = [words_alone(sentence) for sentence in cut]
    hidden = words(text)[len(words_alone(text)) :]
    counts = Counter(words(one.title) + paired([*(word for own in plain for word in own), *hidden]))
    return Terms(counts, [Counter(paired(words(cut[n]) if hidden else plain[n])) for n in longer(cut)])


def words_alone(text: str) -> list[str]:
    """Without the parts of names and grams, which `words` has last."""
    vocabulary = Vocabulary()
    [numbers] = vocabulary.numbers(text)
    return vocabulary.terms(np.array(numbers, np.int64))


def paired(words: list[str]) -> list[str]:
    return words + [f"{a} {b}" for a, b in pairwise(words)]


@given(notes)
def test_a_page_holds_the_terms_of_each_passage_and_of_its_sentences(every: list[Excerpt]) -> None:
    vocabulary = Vocabulary()

    page = page_of(every, vocabulary)

    terms = vocabulary.terms(page.keys)
    assert len({*terms}) == len(terms)
    assert page.keys.tolist() == sorted(page.keys.tolist())
    found, parts = [Counter() for _ in every], [[Counter() for _ in range(STEPS)] for _ in every]
    for owner, term, times in zip(page.owners, page.terms, page.times, strict=True):
        found[owner][terms[term]] = times
    for step, held, often in zip(page.steps, page.held, page.often, strict=True):
        parts[step // STEPS][step % STEPS][terms[page.terms[held]]] = often
    for expected, counts, own, number in zip(map(terms_of, every), found, parts, page.sentences, strict=True):
        assert counts == expected.counts
        assert number == len(expected.sentences)
        held = [{term: n for term, n in part.items() if term in counts} for part in expected.sentences]
        assert own[1 : 1 + number] == held


@given(pieces)
def test_words_of_a_page_are_those_that_are_asked_for(text: str) -> None:
    vocabulary = Vocabulary()
    page = page_of([excerpt(1, text, "")], vocabulary)

    found = {term for term in vocabulary.terms(page.keys) if " " not in term}

    assert set(words(text)) <= found


# How they correct rows -------------------------------------------------------


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

    def learn(self, terms: Terms, wanted: np.ndarray) -> np.ndarray:
        self.passages += 1
        counts = {term: count for term, count in terms.counts.items() if self.counted(term)}
        self.noted += len(counts) < len(terms.counts)
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
        for part in terms.sentences:
            own = {term: count for term, count in part.items() if term in counts}
            self.correct(self.weighed(own), wanted, SENTENCES / len(terms.sentences))
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


class Store:
    """What is known from page to page, as a store keeps it."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self.known: dict[str, TermVector] = {}
        self.first: list[list[str]] = []  # the pairs that passages were the first to say
        self.prior, self.passages = Prior(), 0

    def learn(self, every: list[Excerpt], wanted: np.ndarray, words: dict[str, np.ndarray]) -> np.ndarray:
        """Learn from a page; where the rows foretold it."""
        page = page_of(every, self.vocabulary)
        terms, numbers = self.vocabulary.terms(page.keys), self.passages + 1 + np.arange(len(every))
        last = self.first[: -HEARD - 1 : -1]
        once = {pair: TermVector(pair, 1, -n, 0.0, 0.0, b"") for n, own in enumerate(last, 1) for pair in own[::-1]}
        once = {pair: one for pair, one in once.items() if pair not in self.known}
        new = {word: row for word, row in words.items() if word not in self.known}
        lies = wanted.astype(np.float32)

        made = taught(page, terms, once | self.known, lies, numbers, words=new, prior=self.prior)

        self.known |= {one.term: one for one in made.term_vectors}
        self.first += filter(None, made.first)
        self.prior, self.passages = made.prior, self.passages + len(every)
        return made.foretold

    def row(self, term: str) -> np.ndarray:
        return self.known[term].scale * np.frombuffer(self.known[term].code, np.int8).astype(float)


@settings(deadline=None)
@given(st.lists(notes, min_size=1, max_size=3), places, st.booleans())
def test_a_page_corrects_rows_as_passage_after_passage_does(pages, seed: int, begins: bool) -> None:
    dice = np.random.default_rng(seed)
    begin = {word: dice.standard_normal(AXES) for word in ("ant", "bee", "http", "user")} if begins else {}
    one_by_one, store = Filter(begin), Store()
    for every in pages:
        wanted = dice.standard_normal((len(every), AXES))

        made = store.learn(every, wanted, {word: row.astype(np.float32) for word, row in begin.items()})

        for terms, lies, foretold in zip(map(terms_of, every), wanted, made, strict=True):
            assert foretold == pytest.approx(one_by_one.learn(terms, lies), abs=0.05 * len(pages))
        assert store.prior.scale == pytest.approx(one_by_one.prior.scale, rel=0.05, abs=0.02)
        assert store.known.keys() == one_by_one.rows.keys()
        for term, one in store.known.items():
            assert (one.passages, one.met) == (one_by_one.held[term], pytest.approx(one_by_one.met[term], rel=1e-5))
            assert store.row(term) == pytest.approx(one_by_one.rows[term], abs=0.03 * len(pages))


def test_it_is_all_one_how_many_passages_a_page_has() -> None:
    dice = np.random.default_rng(7)
    texts = [" ".join(f"w{n}" for n in dice.zipf(1.3, 12) if n < 500) for _ in range(300)]
    every, wanted = [excerpt(n, text, text) for n, text in enumerate(texts)], dice.standard_normal((300, AXES))

    def learned(each: int) -> Store:
        store = Store()
        for first in range(0, 300, each):
            store.learn(every[first : first + each], wanted[first : first + each], {})
        return store

    one_by_one = learned(1).known
    for each in (3, 64, 2048):
        by_pages = learned(each).known
        assert by_pages.keys() == one_by_one.keys()
        assert all(one[:3] == by_pages[term][:3] for term, one in one_by_one.items())
        same = [one.code == by_pages[term].code for term, one in one_by_one.items()]
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
    store = Store()
    for part in [every] if pages == 1 else [every[:-1], every[-1:]]:
        store.learn(part, np.ones((len(part), AXES)), {})

    assert ("ant bee" in store.known) == (between < HEARD)
    assert store.known["ant"].passages == 2 + between
    assert store.known["ant"].last == len(every)


@given(places, st.integers(1, 20), st.floats(1e-6, 1e6))
def test_what_was_learned_once_is_foretold_better(seed: int, count: int, size: float) -> None:
    wanted, store = np.random.default_rng(seed).uniform(-size, size, (1, AXES)), Store()
    every = [excerpt(1, "", " ".join(f"w{n}" for n in range(count)))]

    first = store.learn(every, wanted, {})
    second = store.learn(every, wanted, {})

    assert not first.any()
    assert np.linalg.norm(wanted - second) < np.linalg.norm(wanted)


def test_codes_are_off_by_half_a_step() -> None:
    matrix = np.array([[0, 0, 0], [1, -2, 127]], np.float32)

    scales, codes = rounded(matrix)

    assert scales[0] > 0
    assert (codes * scales[:, None]) == pytest.approx(matrix, abs=0.5)

"""
The rows of term vectors and how a passage corrects them.

A Kalman filter (Kalman 1960) for vectors = rows of tf-idf times W, whose covariance is taken for diagonal: each term has
a step of its own, which shrinks as the term is met. One pass over the passages is as good as ridge regression.
"""

from __future__ import annotations

import math
from itertools import compress
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memory.search.term_vectors import PAIR, inverse_frequency
from memory.store import HEARD, Prior, TermVector
from memory.store.pairs import pair_sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from memory.schema.space import Vectors

    Places = NDArray[np.int64]

NOISE = 0.3
"""λ: how much what is learned of a term at first is distrusted; as in ridge regression."""

SENTENCES = 0.5
"""What all sentences of a passage weigh together beside it."""


LEAST_SCALE = 1e-12


NONE = Prior()


class Lesson(NamedTuple):
    """
    Attributes:
        counts: How often each term stands in a passage.
        sentences: The same of its sentences.
        wanted: Its vector minus the centre, shape (dimension,), float32.
    """

    counts: Mapping[str, int]
    sentences: Sequence[Mapping[str, int]]
    wanted: Vectors


class Rows:
    """The rows of some terms, rounded as they are stored after each passage: so it is all one how many come at a time."""

    def __init__(
        self,
        known: Mapping[str, TermVector],
        others: Iterable[str],
        axes: int,
        *,
        words: Mapping[str, Vectors] = MappingProxyType({}),
        prior: Prior = NONE,
    ) -> None:
        """
        Args:
            others: Terms that may be among the known ones.
            axes: The length of a row.
            words: What the model makes of some of the others, rows of that length: with these they begin.
            prior: How far word vectors count, as far as it is known.
        """
        self.prior = prior
        names = [*known, *(term for term in others if term not in known)]
        self._places = {term: place for place, term in enumerate(names)}
        self._pairs = np.array([" " in term for term in names], np.bool_)
        more = len(names) - len(known)
        columns = tuple(zip(*known.values(), strict=True)) or ((),) * len(TermVector._fields)
        _, passages, last, met, scales, codes = (list(column) for column in columns)
        self._passages = np.array(passages + [0] * more, np.float64)
        self._last = np.array(last + [0] * more, np.int64)
        self._met = np.array(met + [0.0] * more, np.float32)
        self._scales = np.array(scales + [0.0] * more, np.float32)
        self._coded = np.array([bool(code) for code in codes] + [False] * more, np.bool_)
        self._heard = _Heard(names, self._pairs & ~self._coded, self._last)
        self._known = int(self._coded.sum())
        self._codes = np.zeros((len(names), axes), np.int8)
        self._codes[self._coded] = np.frombuffer(b"".join(codes), np.int8).reshape(-1, axes)
        self._begun = {self._places[term]: row for term, row in words.items() if term not in known}
        self._met[list(self._begun)] = NOISE  # a word vector counts as one meeting

    def correct(self, lesson: Lesson, wanted: Vectors, passages: int) -> Vectors:
        """
        Let a passage correct the rows of its terms, and each of its sentences those of its own.

        Args:
            wanted: Where the passage lies, shape (axes,).
            passages: How many there are with it.

        Returns:
            Where the rows foretold it, shape (axes,).
        """
        terms, places = self._met_again(lesson.counts, passages)
        matrix, met = self._codes[places].astype(np.float32), self._met[places]  # numpy multiplies two kinds slowly
        matrix *= self._scales[places, None]
        rarity = inverse_frequency(self._passages[places], passages)
        rarity[self._pairs[places]] *= PAIR
        weights = _weights(rarity * _times([lesson.counts[term] for term in terms]))
        self._begin(matrix, places, weights=weights, wanted=wanted)
        foretold: Vectors = weights @ matrix
        _correct(matrix, met, weights=weights, missed=wanted - foretold, trust=1.0)
        trust = SENTENCES / max(1, len(lesson.sentences))
        for rows, weights in _sentences(lesson.sentences, {term: row for row, term in enumerate(terms)}, rarity):
            some, met_before = matrix[rows], met[rows]
            _correct(some, met_before, weights=weights, missed=wanted - weights @ some, trust=trust)
            matrix[rows], met[rows] = some, met_before
        self._met[places] = met
        self._round(places, matrix)
        return foretold

    def _met_again(self, counts: Mapping[str, int], passages: int) -> tuple[list[str], Places]:
        """
        Count that a passage holds these terms; those that have a row, and its place.

        A term begins with a row of zeros; a pair only when it is said again: one said once says less than its words.
        """
        own = np.fromiter(map(self._places.__getitem__, counts), np.int64, len(counts))
        once = own[self._pairs[own] & ~self._coded[own]]
        self._passages[once] = self._heard.again(once)
        self._passages[own] += 1
        self._last[own] = passages
        self._coded[own] |= self._passages[own] > self._pairs[own]
        coded = self._coded[own]
        self._heard.note(own[~coded])
        return list(compress(counts, coded.tolist())), own[coded]

    def _begin(self, matrix: Vectors, places: Places, *, weights: Vectors, wanted: Vectors) -> None:
        """
        Let new terms begin with their word vectors instead, in `matrix`, scaled by the least squares of what is left over.

        What is left over is what the other terms do not foretell: only of that do new ones tell anything.
        """
        new = [number for number, place in enumerate(places.tolist()) if place in self._begun] if self._begun else []
        if new:
            vectors = np.stack([self._begun.pop(place) for place in places[new].tolist()])
            foretold, missed = weights[new] @ vectors, wanted - weights @ matrix
            self.prior = self.prior.met(float(foretold @ missed), float(foretold @ foretold))
            matrix[new] = np.float32(self.prior.scale) * vectors

    def _round(self, places: Places, matrix: Vectors) -> None:
        """Keep these rows; `matrix` is worthless afterwards."""
        scales = np.maximum(np.abs(matrix).max(axis=1, initial=0) / 127, LEAST_SCALE)
        self._scales[places] = scales
        matrix /= scales[:, None]
        self._codes[places] = np.rint(matrix, out=matrix)

    @property
    def added(self) -> int:
        """How many terms have a row that had none."""
        return int(self._coded.sum()) - self._known

    def first_said(self, terms: Iterable[str]) -> list[str]:
        """Those that have no row yet: pairs that one passage alone holds."""
        return [term for term in terms if not self._coded[self._places[term]]]

    def term_vectors(self) -> list[TermVector]:
        """All rows, as they are stored."""
        coded = np.flatnonzero(self._coded)
        numbers = (self._passages.astype(np.int64), self._last, self._met, self._scales)
        columns = [column[coded].tolist() for column in numbers]
        terms = compress(self._places, self._coded.tolist())
        rows, width = self._codes[coded].tobytes(), self._codes.shape[1]
        codes = [rows[start : start + width] for start in range(0, len(rows), width)]
        return list(map(TermVector, terms, *columns, codes))

    def turn(self, turn: Vectors) -> None:
        """
        Take all rows along other axes.

        Args:
            turn: Shape (axes, new axes), float32.
        """
        turned = (self._codes * self._scales[:, None]).astype(np.float32, copy=False) @ turn
        self._codes = np.zeros(turned.shape, np.int8)
        self._round(np.arange(len(turned)), turned)


class _Heard:
    """The pairs of words that have no row: which of the last passages said them once."""

    def __init__(self, names: Sequence[str], pairs: NDArray[np.bool_], last: Places) -> None:
        """
        Args:
            pairs: Which of the names they are.
            last: Of those that were said which passage said them, from -1, the last one: else 0.
        """
        places = np.flatnonzero(pairs)
        sums = np.fromiter(pair_sums([names[place] for place in places.tolist()]), np.int64, len(places))
        kept, own = np.unique(sums, return_inverse=True)  # as the store keeps them: some are of two pairs
        self._own = np.zeros(len(names), np.int64)
        self._own[places] = own
        self._said = np.full(len(kept), -HEARD - 1)
        said = places[last[places] < 0]
        self._said[self._own[said]] = last[said]
        self._count = 0  # of passages that said one for the first time

    def again(self, places: Places) -> NDArray[np.bool_]:
        """Whether pairs were said by one of the last `HEARD` passages that were the first to say any."""
        return self._count - self._said[self._own[places]] <= HEARD

    def note(self, places: Places) -> None:
        """A passage is the first to say these."""
        if len(places):
            self._said[self._own[places]] = self._count
            self._count += 1


def _sentences(
    sentences: Sequence[Mapping[str, int]], order: Mapping[str, int], rarity: NDArray[np.float64]
) -> Iterator[tuple[Places, Vectors]]:
    """Which of the terms in order each sentence holds, and their tf-idf: looked up of all sentences at once."""
    held = [[term for term in counts if term in order] for counts in sentences]
    rows = np.array([order[term] for terms in held for term in terms], np.int64)
    times = [counts[term] for counts, terms in zip(sentences, held, strict=True) for term in terms]
    weights = rarity[rows] * _times(times)
    stop = 0
    for terms in held:
        start, stop = stop, stop + len(terms)
        yield rows[start:stop], _weights(weights[start:stop])


def _times(counts: Sequence[int]) -> NDArray[np.float64]:
    """How much more terms weigh that stand so often in a text."""
    times: NDArray[np.float64] = 1 + np.log(counts)
    return times


def _weights(weights: NDArray[np.float64]) -> Vectors:
    """The same of length 1, unless there are none."""
    return (weights / (math.sqrt(float(weights @ weights)) or 1.0)).astype(np.float32)


def _correct(matrix: Vectors, met: Vectors, *, weights: Vectors, missed: Vectors, trust: float) -> None:
    """W += g / (1 / trust + x · g) · (y - x W) with g = x / (λ + S), then S += trust · x²; changes W and S (`met`)."""
    gains = weights / (NOISE + met)
    gains /= np.float32(1 / trust + float(weights @ gains))
    matrix += gains[:, None] * missed
    met += np.float32(trust) * weights**2

"""
The distilled tier: what a store's vectors say about its words, used in place of the model that made them.

Here a text becomes terms, and terms a vector, without a model and without numpy. `learn` makes term vectors of passages,
along axes that it chooses; `filter` counts their terms and is how.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections import Counter
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from operator import add, mul
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema import np
from memory.schema.space import Centre, dot, shrunk
from memory.text.fold import fold
from memory.text.lookup import stems
from memory.text.terms import STOP, unseen

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from memory.schema.query import Term
    from memory.schema.space import Plain
    from memory.store import Asked, Store
    from memory.vectors.words import WordVectors

    Rows = Sequence[tuple[float, bytes]]
    """Each with its weight: an int8 for each number."""

PAIR = 0.7
"""What two adjacent words weigh beside one."""

# The terms that have vectors: stems of words, of parts of names, of pairs of characters, and adjacent stems ---


def words(text: str) -> list[str]:
    """The stems of a text without stop words, in order, then those of the parts of its names, then grams."""
    stop = stop_stems()
    return [stem for stem in stems(" ".join((fold(text), *unseen([text])))) if stem not in stop]


def terms(text: str) -> list[str]:
    """`words`, and each two adjacent ones, with a space between them."""
    found = words(text)
    return [*found, *[f"{a} {b}" for a, b in pairwise(found)]]


@cache
def stop_stems() -> frozenset[str]:
    """What the words of a text that say nothing are stemmed to."""
    return frozenset(stem for word in STOP for stem in stems(word))


# What they weigh -----------------------------------------------------------------


def weight(term: str, count: int) -> float:
    """What a term that stands `count` times in a text weighs, but for how rare it is."""
    times = 1.0 if count == 1 else 1 + math.log(count)
    return times * PAIR if " " in term else times


def word_vectors(store: Store, generation: int) -> WordVectors | None:
    """What the model of a generation makes of single words; None if nobody made it yet, or the generation is gone."""
    from memory.vectors import words

    own = (words.word_vectors(store.path, found) for found in store.generations.every() if found.id == generation)
    return next(own, None)


# Their sum -----------------------------------------------------------------------


class Guess(NamedTuple):
    """
    Attributes:
        vector: Where the query would lie, as far as the term vectors tell: an array of "f", length 1.
        known: Share of the query's weight whose terms have vectors, 0..1.
        passages: How many the term vectors learned from.
        begun: Whether words began with what the model makes of them: else few passages say little of what they mean.
    """

    vector: Plain
    known: float
    passages: int
    begun: bool


class TermEmbedder:
    """Embeds texts with the term vectors of a generation."""

    def __init__(self, store: Store, generation: int) -> None:
        self._store, self._generation = store, generation

    @cached_property
    def asked(self) -> Asked | None:
        return self._store.term_vectors.asked(self._generation)

    @cached_property
    def centre(self) -> Centre:
        return shrunk(*self._store.generations.centre(self._generation))

    def ask(self, text: str, wanted: Sequence[Term]) -> Guess | None:
        """
        A vector for a query, without a model: in the direction of the sum of its terms' vectors, each times its weight.

        Args:
            wanted: The keyword retriever's terms, with their weights.

        Returns:
            None if nothing was learned, or no term is known.
        """
        if self.asked is None:
            return None
        counts = Counter(terms(text))
        known = self._store.term_vectors.of_terms(self._generation, list(counts))
        rows = [(self._weight(term, counts, one.passages) * one.scale, one.code) for term, one in known.items()]
        summed, begun = self._begun(counts, [term for term in counts if " " not in term and term not in known])
        vector = pointed(summed._replace(terms=rows), self.asked, self.centre)
        if vector is None:  # no term is known, or a vector is damaged
            return None
        heard = {*known, *begun}
        held = sum(term.weight for term in wanted if any(stem in heard for stem in stems(term.text)))
        share = held / (sum(term.weight for term in wanted) or 1.0)
        return Guess(vector, share, self.asked.passages, bool(self.asked.scale))

    def _weight(self, term: str, counts: Mapping[str, int], passages: int) -> float:
        """Of a term of the query, which so many passages hold."""
        assert self.asked is not None  # noqa: S101  # checked by the caller
        return weight(term, counts[term]) * math.log1p(self.asked.passages / passages)

    def _begun(self, counts: Mapping[str, int], words: Sequence[str]) -> tuple[Summed, Collection[str]]:
        """With what words would begin that the store does not know, if it began with any; and which they are."""
        assert self.asked is not None  # noqa: S101  # checked by the caller
        found = word_vectors(self._store, self._generation) if words and self.asked.scale else None
        coded = {word: rows for word in words if (rows := found.coded(word))} if found else {}
        if found is None or not coded:
            return Summed(()), ()
        times = {word: self.asked.scale * self._weight(word, counts, 1) for word in coded}
        rows = [(times[word] * scale / len(own), code) for word, own in coded.items() for scale, code in own]
        return Summed((), rows, found.mean, sum(times.values())), coded


# The vector of a question as a sum of rows in 8 bits. To import numpy takes longer than a search of 10,000 passages: only a
# process that has it multiplies with the axes of a store by numpy, which takes .03 ms instead of 3.


class Summed(NamedTuple):
    """
    Attributes:
        terms: Rows along the axes of the store.
        words: Rows as wide as vectors, of words that have no other.
        mean: What is taken from the vector of each word, float32; empty if there is none.
        means: How often.
    """

    terms: Rows
    words: Rows = ()
    mean: bytes = b""
    means: float = 0.0


def pointed(summed: Summed, asked: Asked, centre: Centre) -> Plain | None:
    """
    Where a question lies that points from the centre in the direction of a sum: v = c + sqrt(1 - |c|²) · d.

    Passages lie around the centre of their generation, all at about the same distance. So does the question.

    Returns:
        Of length 1; None if the sum has no direction: nothing is known, or a row is damaged.
    """
    axes = _Axes(asked, len(centre.vector))
    along = _total(summed.terms, len(asked.spread))
    if summed.words:
        words = _total(summed.words, len(centre.vector))
        of_words = [one - summed.means * mean for one, mean in zip(words, array("f", summed.mean), strict=True)]
        along = [*map(add, along, axes.along(of_words))]
    direction = axes.back([*map(mul, along, stretch(asked))])
    length = dot(direction, direction) ** 0.5
    if not 0 < length < math.inf:
        return None
    outward = max(0.0, 1 - centre.square) ** 0.5 / length
    vector = [one + outward * other for one, other in zip(centre.vector, direction, strict=True)]
    length = dot(vector, vector) ** 0.5 or 1.0
    return array("f", [one / length for one in vector])


def stretch(asked: Asked) -> Sequence[float]:
    """
    What a vector along the axes is multiplied with, so that no few axes decide: σ^-1/4.

    σ is how far passages differ along an axis. Axes that are not the store's own are left as they are: σ of few
    passages says little.
    """
    if asked.basis is None:
        return [1.0] * len(asked.spread)
    return _stretch(asked.spread.tobytes(), max(1, asked.passages))


@lru_cache(maxsize=4)  # the next search needs it too, if nothing was learned meanwhile
def _stretch(spread: bytes, passages: int) -> tuple[float, ...]:
    numbers = array("d", spread)
    least = 1e-12 * max(1e-12, *numbers)
    return tuple([max(one / passages, least) ** (-1 / 8) for one in numbers])


def _total(rows: Rows, width: int) -> list[float]:
    total = [0.0] * width
    for weight, code in rows:
        total = [one + weight * step for one, step in zip(total, memoryview(code).cast("b"), strict=True)]
    return total


class _Axes:
    """The axes of a store, or `memory.vectors.term_vectors.learn.folding`."""

    def __init__(self, asked: Asked, dimension: int) -> None:
        self._dimension, self._each = dimension, -(-dimension // max(1, len(asked.spread)))
        self._basis = asked.basis

    def along(self, vector: Sequence[float]) -> Sequence[float]:
        """A vector along the axes."""
        dimension, each = self._dimension, self._each
        if self._basis is None:
            groups = [vector[start : start + each] for start in range(0, dimension, each)]
            return [sum(group) / len(group) ** 0.5 for group in groups]
        if "numpy" in sys.modules:
            return _product(_widened(self._basis, dimension), vector)
        basis = array("f", self._basis)
        return [dot(basis[start : start + dimension], vector) for start in range(0, len(basis), dimension)]

    def back(self, along: Sequence[float]) -> Sequence[float]:
        """The opposite."""
        dimension, each = self._dimension, self._each
        if self._basis is None:
            widths = [min(each, dimension - start) for start in range(0, dimension, each)]
            return [one / width**0.5 for one, width in zip(along, widths, strict=True) for _ in range(width)]
        if "numpy" in sys.modules:
            return _product(along, _widened(self._basis, dimension))
        basis = array("f", self._basis)
        return [dot(along, basis[place::dimension]) for place in range(dimension)]


@lru_cache(maxsize=4)
def _widened(basis: bytes, dimension: int) -> NDArray[np.float64]:
    """Axes as float64, so that not each search has to widen them."""
    return np.frombuffer(basis, "<f4").reshape(-1, dimension).astype(np.float64)


def _product(one: Any, other: Any) -> Sequence[float]:
    """The product of a matrix of numpy's and a vector."""
    with np.errstate(all="ignore"):  # of damaged numbers the length tells
        product: list[float] = (one @ other).tolist()
    return product

"""
The distilled tier: what a store's vectors say about its words, used in place of the model that made them.

Here a text becomes terms, and terms a vector, without a model: `sums` is the arithmetic. `learn` makes term vectors of
what `passages` counts, `filter` is how, `axes` says along which axes they are kept.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.space import Centre, shrunk
from memory.text.lookup import stems
from memory.text.terms import STOP, unseen
from memory.vectors.term_vectors.sums import Summed, pointed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from memory.schema.query import Term
    from memory.schema.space import Plain
    from memory.store import Asked, Store
    from memory.vectors.words import WordVectors

PAIR = 0.7
"""What two adjacent words weigh beside one."""

# The terms that have vectors: stems of words, of parts of names, of pairs of characters, and adjacent stems ---


def words(text: str) -> list[str]:
    """The stems of a text without stop words, in order, then those of the parts of its names, then grams."""
    stop = stop_stems()
    return [stem for stem in stems(f"{text} {unseen(text)}") if stem not in stop]


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
    """

    vector: Plain
    known: float
    passages: int


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
        return Guess(vector, held / (sum(term.weight for term in wanted) or 1.0), self.asked.passages)

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

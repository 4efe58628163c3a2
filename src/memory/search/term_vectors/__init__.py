"""
The distilled tier: what a store's vectors say about its words, used in place of the model that made them.

Here a text becomes terms, and terms a vector, without a model. `learn` makes term vectors, `rows` is the arithmetic,
`axes` says along which axes they are kept.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from memory.rank.fuse import shrunk
from memory.text.lookup import stems
from memory.text.terms import STOP, indexed, parts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memory.embed.words import WordVectors
    from memory.schema.query import Term
    from memory.schema.space import Vectors
    from memory.store import Generation, Learned, Store

PAIR = 0.7
"""What two adjacent words weigh beside one."""

# The terms that have vectors: stems of words, of parts of names, of pairs of characters, and adjacent stems ---


def words(text: str) -> list[str]:
    """The stems of a text without stop words, in order, then those of the parts of its names, then grams."""
    return plain(text) + hidden(text)


def plain(text: str) -> list[str]:
    """The stems of a text without stop words, in order."""
    stop = _stop()
    return [stem for stem in stems(text) if stem not in stop]


def hidden(text: str) -> list[str]:
    """What the stems of a text do not show: those of the parts of its names, and its grams."""
    found = " ".join((*parts(text), indexed(text)))
    return plain(found) if found else []


def terms(text: str) -> list[str]:
    """`words`, and each two adjacent ones, with a space between them."""
    return paired(words(text))


def paired(words: Sequence[str]) -> list[str]:
    """Words, then each two adjacent ones, with a space between them."""
    return [*words, *[f"{a} {b}" for a, b in pairwise(words)]]


@cache
def _stop() -> frozenset[str]:
    return frozenset(stem for word in STOP for stem in stems(word))


# What they weigh -----------------------------------------------------------------


def weight(term: str, count: int) -> float:
    """What a term that stands `count` times in a text weighs, but for how rare it is."""
    times = 1.0 if count == 1 else 1 + math.log(count)
    return times * PAIR if " " in term else times


def inverse_frequency(held: NDArray[np.float64], passages: int) -> NDArray[np.float64]:
    """
    ln(1 + N / n) for terms that n of N passages hold.

    Args:
        held: Shape (terms,), from 1.
    """
    import numpy as np

    rarity: NDArray[np.float64] = np.log1p(passages / held)
    return rarity


def word_vectors(store: Store, generation: int) -> WordVectors | None:
    """What the model of a generation makes of single words; None if nobody made it yet, or the generation is gone."""
    return next((words_of(store, found) for found in store.generations.every() if found.id == generation), None)


def words_of(store: Store, generation: Generation) -> WordVectors | None:
    """The same of a generation that is there."""
    from memory.embed.words import opened, place

    return opened(place(store.path, generation))


# Their sum -----------------------------------------------------------------------


class Guess(NamedTuple):
    """
    Attributes:
        vector: Where the query would lie, as far as the term vectors tell: shape (dimension,), length 1.
        known: Share of the query's weight whose terms have vectors, 0..1.
    """

    vector: Vectors
    known: float


class TermEmbedder:
    """Embeds texts with the term vectors of a generation."""

    def __init__(self, store: Store, generation: int) -> None:
        self._store, self._generation = store, generation

    @cached_property
    def learned(self) -> Learned | None:
        return self._store.term_vectors.learned(self._generation)

    @cached_property
    def centre(self) -> Vectors:
        return shrunk(*self._store.vectors.centre(self._generation))

    def direction(self, mentions: Sequence[str]) -> tuple[Vectors, Collection[str]]:
        """
        The direction of some terms from the centre: the sum of their vectors, each times its weight.

        Returns:
            Shape (dimension,), float32, of any length, zeros if no term is known; and the known terms.
        """
        import numpy as np

        from memory.search.term_vectors.axes import basis, stretch

        assert self.learned is not None  # noqa: S101  # checked by the caller
        counts = Counter(mentions)
        known = self._store.term_vectors.of_terms(self._generation, list(counts))
        codes = np.frombuffer(b"".join([vector.code for vector in known.values()]), np.int8)
        held = np.array([vector.passages for vector in known.values()], np.float64)
        times = np.array([weight(term, counts[term]) * vector.scale for term, vector in known.items()])
        times *= inverse_frequency(held, self.learned.passages)
        along = times.astype(np.float32) @ codes.reshape(-1, len(self.learned.spread)).astype(np.float32)
        axes = basis(self.learned, len(self.centre))
        begun = self._begun([term for term in counts if " " not in term and term not in known])
        for term, vector in begun.items():
            times = weight(term, counts[term]) * np.log1p(self.learned.passages)
            along += np.float32(times * self.learned.prior.scale) * (axes @ vector)
        pointing = (along * stretch(self.learned)) @ axes
        return pointing.astype(np.float32, copy=False), {*known, *begun}

    def _begun(self, words: Sequence[str]) -> Mapping[str, Vectors]:
        """With what words would begin that the store does not know, if it began with any."""
        if not words or not self.learned or not self.learned.prior.scale:
            return {}
        found = word_vectors(self._store, self._generation)
        return found.of(words) if found else {}

    def ask(self, text: str, wanted: Sequence[Term]) -> Guess | None:
        """
        A vector for a query, without a model.

        Passages lie around the centre of their generation, all at about the same distance. So does the query, in the
        direction of its terms: v = c + sqrt(1 - |c|²) · d.

        Args:
            wanted: The keyword retriever's terms, with their weights.

        Returns:
            None if nothing was learned, or no term is known.
        """
        if self.learned is None:
            return None
        direction, known = self.direction(terms(text))
        length = float(direction @ direction) ** 0.5
        if not 0 < length < math.inf:  # no term is known, or a vector is damaged
            return None
        centre = self.centre
        outward = max(0.0, 1 - float(centre @ centre)) ** 0.5
        vector = (centre + outward / length * direction).astype(direction.dtype)
        vector /= float(vector @ vector) ** 0.5 or 1.0
        held = sum(term.weight for term in wanted if any(stem in known for stem in stems(term.text)))
        return Guess(vector, held / (sum(term.weight for term in wanted) or 1.0))

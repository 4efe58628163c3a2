"""Asking a lexicon for the vector of a query."""

from __future__ import annotations

import math
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from memory.rank.fuse import shrunk
from memory.search.term_vectors.words import terms
from memory.store.stems import stems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.query import Term
    from memory.schema.space import Vectors
    from memory.store import Learned, Sense, Store


class Distilled(NamedTuple):
    """
    Attributes:
        vector: Where the query would lie, as far as the lexicon knows: shape (dimension,), length 1.
        known: Share of the query's weight that the lexicon knows, 0..1.
    """

    vector: Vectors
    known: float


class Lexicon:
    """What the vectors of a generation say of the words of a store."""

    def __init__(self, store: Store, generation: int) -> None:
        self._store, self._generation = store, generation

    @cached_property
    def learned(self) -> Learned | None:
        return self._store.lexicon.learned(self._generation)

    @cached_property
    def centre(self) -> Vectors:
        return shrunk(*self._store.centre(self._generation))

    def direction(self, said: Sequence[str]) -> Vectors:
        """
        Where some terms point from the centre: the sum of their vectors, each (1 + ln n) times for n mentions. Shape
        (dimension,), float32, of any length; zeros if none is known.
        """
        counts = Counter(said)
        return self._sum(counts, self._store.lexicon.senses(self._generation, list(counts)))

    def _sum(self, counts: Mapping[str, int], senses: Mapping[str, Sense]) -> Vectors:
        import numpy as np

        assert self.learned is not None  # noqa: S101  # asked for before
        axes = len(self.learned.basis)
        codes = np.frombuffer(b"".join([sense.code for sense in senses.values()]), np.int8).reshape(-1, axes)
        times = [(1 + math.log(counts[term])) * sense.scale for term, sense in senses.items()]
        pointing: Vectors = np.array(times, np.float32) @ codes.astype(np.float32) @ self.learned.basis
        return pointing

    def ask(self, text: str, wanted: Sequence[Term]) -> Distilled | None:
        """
        A vector for a query, without a model.

        Passages lie around the centre of their generation, at about the same distance; so does the query, in the
        direction that its terms point: v = c + sqrt(1 - |c|²) · d.

        Args:
            wanted: What the keyword retriever looks for, with its weight.

        Returns:
            None if there is no lexicon, or it knows none of the terms.
        """
        if self.learned is None:
            return None
        counts = Counter(terms(text))
        senses = self._store.lexicon.senses(self._generation, list(counts))
        direction = self._sum(counts, senses)
        length = float(direction @ direction) ** 0.5
        if not length:
            return None
        centre = self.centre
        outward = max(0.0, 1 - float(centre @ centre)) ** 0.5
        vector = (centre + outward / length * direction).astype(direction.dtype)
        vector /= float(vector @ vector) ** 0.5 or 1.0
        return Distilled(vector, _known(wanted, senses))


def _known(wanted: Sequence[Term], senses: Mapping[str, Sense]) -> float:
    held = sum(term.weight for term in wanted if any(stem in senses for stem in stems(term.text)))
    return held / (sum(term.weight for term in wanted) or 1.0)

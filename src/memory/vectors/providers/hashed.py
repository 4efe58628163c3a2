"""Vectors from hashed words: no model, no network, the same on every machine. For tests and for trying things out."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from hashlib import blake2b
from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.space import Vectors
    from memory.vectors import Role

_WORD = re.compile(r"\w+")
_GRAM = 4  # letters: "encrypt" and "encryption" share most of their parts
_LONGEST = 64  # letters of a word that is divided; a longer one is hardly a word


class HashedEmbedder:
    """
    Feature hashing with signs (Weinberger et al. 2009): texts that share words, or parts of words, are close.

    A word weighs as much as all its 4-letter parts together, times the square root of its count. Synonyms are
    unrelated. Threads may share it.
    """

    provider = "hashed"
    warm = True

    def __init__(self, dimension: int = 256) -> None:
        """
        Args:
            dimension: Width of the vectors, from 1. The smaller it is, the more unrelated words share a place.

        Raises:
            ValueError: The dimension is less than 1.
        """
        if dimension < 1:
            raise ValueError(f"a vector cannot have {dimension} dimensions")
        self._dimension = dimension

    # Properties, because embedders made from this one replace them by their own.

    @property
    def model(self) -> str:
        return f"hashed-{self._dimension}"

    @property
    def dimension(self) -> int:
        return self._dimension

    def windows(self, text: str) -> Sequence[str]:
        """The text itself: there is no length that this cannot read."""
        return [text]

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        One unit vector a text, in order: shape (len(texts), dimension). All texts without words have the same one.

        Args:
            role: Ignored: both sides are hashed in the same way.
        """
        del role
        import numpy as np

        vectors = np.zeros((len(texts), self._dimension), dtype=np.float64)
        for row, text in zip(vectors, texts, strict=True):
            for word, count in Counter(_WORD.findall(text.lower())).items():
                for feature, weight in _features(word):
                    row[feature % self._dimension] += weight * sqrt(count)
        lengths = np.linalg.norm(vectors, axis=1)
        vectors[lengths < 1e-9, 0] = 1.0  # no words, or words that cancel out
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors.astype(np.float32)


@lru_cache(maxsize=16_384)
def _features(word: str) -> tuple[tuple[int, float], ...]:
    """Hash and signed weight of the word and of each of its parts."""
    marked = f"<{word}>"
    places = range(len(marked) - _GRAM + 1) if len(word) <= _LONGEST else ()
    parts = [marked[place : place + _GRAM] for place in places]
    weights = [(word, 1.0), *((part, 1 / sqrt(len(parts))) for part in parts)]
    hashes = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text, _ in weights]
    numbers = zip((int.from_bytes(one, "little") for one in hashes), weights, strict=True)
    return tuple((number >> 1, weight if number & 1 else -weight) for number, (_, weight) in numbers)

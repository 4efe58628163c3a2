"""The terms that have vectors: stems of words, of parts of names, of pairs of characters, and adjacent stems."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from memory.text.lookup import stems
from memory.text.terms import STOP, indexed, parts


def words(text: str) -> list[str]:
    """The stems of a text without stop words, in order, then those of the parts of its names, then grams."""
    return [stem for stem in stems(" ".join((text, *parts(text), indexed(text)))) if stem not in _stop()]


def terms(text: str) -> list[str]:
    """`words`, and each two adjacent ones, with a space between them."""
    found = words(text)
    return [*found, *(f"{a} {b}" for a, b in pairwise(found))]


@cache
def _stop() -> frozenset[str]:
    return frozenset(stem for word in STOP for stem in stems(word))

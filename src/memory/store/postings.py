"""How much of a keyword index one query may read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.schema.query import Term
    from memory.store.stems import Phrased

POSTINGS = 16_000_000
"""
What a query's terms may read together, a word of a phrase at a time: see `cost`. To count the chunks that hold a phrase
and to rank them takes SQLite 15 to 25 ns for each, so 0.4 s. A store of 60,000 chunks of prose has no 64 words that
cost more.
"""

CHUNK = 3
"""What a chunk that holds a word costs beside its occurrences there: a row to be scored."""

COUNTING = 8
"""How many times as many occurrences may be counted as read: to count them takes a fourteenth of the time."""

PREFIX = 8
"""Of each chunk that holds a word which begins so: it may hold several, and each has entries of its own."""


def cost(chunks: int, occurrences: int) -> int:
    """What it takes to read and rank a word: FTS5 goes through the places of a word for a phrase, and for BM25."""
    return CHUNK * chunks + occurrences


class Allowance:
    """What is left to one query. A term that would take more is not looked for: what is to be read is known before."""

    def __init__(self, held: Callable[[str], tuple[int, int]]) -> None:
        """
        Args:
            held: How many chunks hold a token, and how often they do together.
        """
        self._held, self._known, self._taken = held, dict[str, int](), set[tuple[object, ...]]()
        self._left, self._uncounted = POSTINGS, COUNTING * POSTINGS

    def order(self, terms: Sequence[Phrased]) -> list[int]:
        """Places of terms, the cheapest first: where not all fit, the commonest are cut. Beginnings of words last."""
        return sorted(range(len(terms)), key=lambda place: (terms[place].term.prefix, self._needed(terms[place])))

    def take(self, term: Phrased) -> bool:
        """Whether a term may be looked for, in all its forms; then what it reads is taken off, once in a query."""
        key = (term.term.prefix, *(tokens for _, tokens in term.phrases))
        if key in self._taken:
            return True
        needed = self._needed(term)
        if not 0 < self._left >= needed:
            return False
        self._left -= int(needed)
        self._taken.add(key)
        return True

    def took(self, term: Term) -> None:
        """What a beginning of words has read, which is known afterwards only."""
        self._left -= PREFIX * term.rows

    def _needed(self, term: Phrased) -> float:
        """Infinite if it is more than any query may read, or its words cannot be counted any more."""
        needed = 0
        for token in (token for _, tokens in term.phrases for token in tokens):
            if token not in self._known:
                if self._uncounted <= 0:
                    return math.inf
                self._known[token] = cost(*self._held(token))
                self._uncounted -= self._known[token]
            needed += self._known[token]
            if needed > POSTINGS:
                return math.inf
        return needed

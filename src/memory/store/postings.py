"""How much of a keyword index one query may read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.store.forms import forms
from memory.store.stems import stems

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.query import Term

POSTINGS = 4_000_000
"""
Entries of the index that a query's terms may have together: the chunks that hold a word, for each word of each phrase.
Reading them takes SQLite some 60 ms, and ranking with them a few times that. A store of 60,000 chunks or fewer has no
64 words that have more.
"""

PREFIX = 8
"""Entries for each chunk that holds a word which begins so: it may hold several, and each has entries of its own."""


class Allowance:
    """What is left to one query. A term that would take more is not looked for: what is to be read is known before."""

    def __init__(self, held: Callable[[str], int]) -> None:
        """
        Args:
            held: How many chunks hold a token.
        """
        self._held, self._known = held, dict[str, int]()
        self._left = POSTINGS

    def take(self, term: Term) -> bool:
        """Whether a term may be looked for, in all its forms; then what it reads is taken off."""
        needed = 0
        before = set(self._known)
        for token in (token for form in forms([term]) for token in stems(form.text)):
            if needed > self._left or self._left <= 0:
                break
            if token not in self._known:
                self._known[token] = self._held(token)
            needed += self._known[token]
        if fits := 0 < self._left >= needed:
            self._left -= needed
        else:  # to find that out was reading too
            self._left -= sum(self._known[token] for token in self._known.keys() - before)
        return fits

    def took(self, term: Term) -> None:
        """What a beginning of words has read, which is known afterwards only."""
        if term.prefix:
            self._left -= PREFIX * term.rows

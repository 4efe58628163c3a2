"""Postings of what came since a file of them was made."""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import chain, islice, takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Later:
    """Of each token the rows that hold it, ascending, and twice the sum of the weights of the columns where it stands."""

    def __init__(self) -> None:
        self._of: dict[str, list[tuple[int, int]]] = {}
        self._tokens: list[str] = []  # sorted

    def add(self, row: int, halves: Mapping[str, int]) -> None:
        """A row above all others."""
        for token, weight in halves.items():
            if token not in self._of:
                self._of[token] = []
                insort(self._tokens, token)
            self._of[token].append((row, weight))

    def postings(self, token: str, *, prefix: bool) -> Sequence[tuple[int, int]]:
        """Of a token, or of all that begin so, one token after the other."""
        if not prefix:
            return self._of.get(token, ())
        begun = islice(self._tokens, bisect_left(self._tokens, token), None)
        own = takewhile(lambda other: other.startswith(token), begun)
        return [*chain.from_iterable(self._of[other] for other in own)]

"""BM25 of chunks as FTS5 has it, to the last digit, from postings and from what came and went since they were made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from memory.schema.answer import Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from memory.schema.query import Term

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

K1, B = 1.2, 0.75  # fts5_aux.c
LEAST_IDF = 1e-6

ROOM = 20_000
"""Chunks that may come before the columns are copied to where there is more room."""


class Base(Protocol):
    """
    Postings as they were at one moment. Chunks are numbered in the order of their ids: their row.

    Attributes:
        ids, owners, lengths: Of each row: the chunk, its memory, and how many tokens it has.
        number, last: The last removal and the last id of a chunk that are in it.
    """

    @property
    def ids(self) -> NDArray[np.int64]: ...
    @property
    def owners(self) -> NDArray[np.int64]: ...
    @property
    def lengths(self) -> NDArray[np.int32]: ...
    @property
    def number(self) -> int: ...
    @property
    def last(self) -> int: ...

    def postings(self, token: str, *, prefix: bool) -> tuple[NDArray[Any], NDArray[Any]]:
        """
        The rows of a token, ascending, or those of all tokens that begin so, one token after the other; and of each twice
        the sum of the weights of the columns where it stands.
        """


class Listed(NamedTuple):
    """
    Where a form of a term stands, and what that is worth.

    Attributes:
        rows: Of chunks, ascending, each once.
        worth: Its part of the score of each; None where it is to be computed.
        halves: Twice the sum of the weights of the columns where it stands.
        idf: As FTS5 has it.
    """

    rows: Ints
    worth: Floats | None = None
    halves: Floats | None = None
    idf: float = 0.0


_NONE: Ints = np.empty(0, np.int64)  # rows


class Held:
    """Postings, and what came and went since. Not for two threads at once."""

    def __init__(self, base: Base) -> None:
        size = len(base.ids) + ROOM
        self._base, self._count = base, len(base.ids)
        self._ids, self._owners = (_roomy(column, size) for column in (base.ids, base.owners))
        self._lengths = _roomy(base.lengths, size)
        self._alive = np.ones(size, np.bool_)
        self._scores = np.zeros(size)
        self._last: tuple[Sequence[Listed] | None, Ints] = (None, _NONE)
        self._asked: tuple[tuple[object, ...], Sequence[Listed]] | None = None
        self._later: dict[str, list[tuple[int, int]]] = {}
        self._gone, self._tokens = 0, int(base.lengths.sum(dtype=np.int64))
        self.number, self.last = base.number, base.last

    @property
    def totals(self) -> tuple[int, int]:
        """How many chunks there are, and how many tokens they have together."""
        return self._count - self._gone, self._tokens

    def forget(self, chunks: Collection[int], number: int) -> None:
        """Chunks went, up to the removal with this number. Those that are not known went before they were added."""
        rows = self.rows(chunks)
        self._alive[rows] = False
        self._gone += len(rows)
        self._tokens -= int(self._lengths[rows].sum(dtype=np.int64))
        self.number = number

    def add(self, chunk: int, memory: int, halves: Mapping[str, int], length: int) -> None:
        """
        A chunk came, with an id above all others.

        Args:
            halves: Of each of its tokens twice the sum of the weights of its places.
            length: How many tokens it has.
        """
        row = self._count
        if row == len(self._ids):
            self._enlarge()
        self._ids[row], self._owners[row], self._lengths[row] = chunk, memory, length
        for token, weight in halves.items():
            self._later.setdefault(token, []).append((row, weight))
        self._count += 1
        self._tokens += length
        self.last = chunk

    def _enlarge(self) -> None:
        size = 2 * len(self._ids)
        self._ids, self._owners, self._lengths = (
            _roomy(column, size) for column in (self._ids, self._owners, self._lengths)
        )
        self._alive = np.concatenate((self._alive, np.ones(size - len(self._alive), np.bool_)))
        self._scores, self._last = np.zeros(size), (None, _NONE)

    # Scores --------------------------------------------------------------

    def asked(self, terms: Sequence[Term], listed: Callable[[], Sequence[Listed]]) -> Sequence[Listed]:
        """Where the forms of a question stand; it asks twice, and the second time nothing is looked up."""
        key = (*terms, self.number, self.last)
        if self._asked is None or self._asked[0] != key:
            self._asked = (key, listed())
        return self._asked[1]

    def best(self, terms: Sequence[Listed], count: int, among: Ints | Sequence[int] | None = None) -> Ranking:
        """
        The best chunks that hold one of these forms.

        Args:
            among: Only chunks of these memories.
        """
        rows = self._scored(terms)
        if among is not None:
            rows = rows[np.isin(self._owners[rows], among)]
        scores = self._scores[rows]
        if len(rows) > count:
            among = np.flatnonzero(scores >= np.partition(scores, -count)[-count])
            rows, scores = rows[among], scores[among]
        return self._ranked(terms, rows, scores, count)

    def of(self, terms: Sequence[Listed], chunks: Collection[int]) -> Ranking:
        """The same of some chunks; those that hold none are left out."""
        self._scored(terms)
        rows = self.rows(chunks)
        rows = rows[self._scores[rows] > 0]
        return self._ranked(terms, rows, self._scores[rows], len(rows))

    def _scored(self, terms: Sequence[Listed]) -> Ints:
        """
        The rows that hold one of these forms, each once. Their scores are in `_scores`, where all others are 0.

        A search asks twice; the second time, of the same list, they are still there.
        """
        last, rows = self._last
        if last is not terms:
            self._last = (None, _NONE)
            self._scores[rows] = 0
            found = [_NONE]
            try:
                for term in terms:
                    found.append(term.rows[self._scores[term.rows] == 0])  # every score is above 0
                    self._scores[term.rows] += self._worth(term)
            except BaseException:
                self._scores[:] = 0
                raise
            rows = np.concatenate(found)
            self._last = (terms, rows)
        return rows

    def _worth(self, term: Listed) -> Floats:
        """In the order in which FTS5 computes it, so that it is the same to the last digit (fts5_aux.c)."""
        if term.worth is not None:
            return term.worth
        assert term.halves is not None  # noqa: S101  # one of both is there
        chunks, tokens = self.totals
        average = tokens / chunks if tokens else 1.0  # then nothing holds a token
        often, lengths = term.halves / 2, self._lengths[term.rows]
        worth: Floats = term.idf * (often * (K1 + 1) / (often + K1 * (1 - B + B * lengths / average)))
        return worth

    def _ranked(self, terms: Sequence[Listed], rows: Ints, scores: Floats, count: int) -> Ranking:
        order = np.lexsort((rows, -scores))[:count]
        rows, scores = rows[order], scores[order]
        matched = [0] * len(rows)
        for bit, term in enumerate(terms):
            if len(term.rows):
                there = term.rows.take(np.searchsorted(term.rows, rows), mode="clip") == rows
                for place in there.nonzero()[0].tolist():
                    matched[place] |= 1 << bit
        best = scores.tolist()
        return Ranking(self._ids[rows].tolist(), self._owners[rows].tolist(), best, matched, best)

    # Where forms stand -----------------------------------------------------

    def listed(self, token: str, *, prefix: bool) -> Listed:
        """A token, or all that begin so."""
        base_rows, base_halves = self._base.postings(token, prefix=prefix)
        later = [self._later.get(token, [])]
        if prefix:
            later = [postings for other, postings in self._later.items() if other.startswith(token)]
        rows: Ints = base_rows.astype(np.int64)
        halves: Floats = base_halves.astype(np.float64)
        if any(later):
            more = np.array([posting for postings in later for posting in postings], np.int64)
            rows, halves = np.concatenate((rows, more[:, 0])), np.concatenate((halves, more[:, 1]))
        if prefix:
            each, places = np.unique(rows, return_inverse=True)
            rows, halves = each, np.bincount(places, halves, len(each)).astype(np.float64)
        if self._gone:
            alive = self._alive[rows]
            rows, halves = rows[alive], halves[alive]
        total, held = self._count - self._gone, len(rows)
        return Listed(rows, None, halves, max(LEAST_IDF, math.log((total - held + 0.5) / (held + 0.5))))

    def given(self, scores: Iterable[tuple[int, float]]) -> Listed:
        """A form with what it is worth to each chunk that holds it."""
        found = sorted(scores)
        worth = np.array([score for _, score in found], np.float64)
        return Listed(self.rows([chunk for chunk, _ in found]), worth)

    def rows(self, chunks: Collection[int]) -> Ints:
        """Of those that are there, ascending."""
        ids, wanted = self._ids[: self._count], np.array(sorted({*chunks}), np.int64)
        if not len(ids):
            return _NONE
        places = np.searchsorted(ids, wanted)
        found: Ints = places[ids.take(places, mode="clip") == wanted]
        return found[self._alive[found]]


def _roomy(column: NDArray[Any], size: int) -> NDArray[Any]:
    """A copy with room behind it, which takes no memory before it is used."""
    made = np.empty(size, column.dtype)
    made[: len(column)] = column
    return made

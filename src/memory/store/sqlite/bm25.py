"""BM25 of chunks as FTS5 has it, to the last digit, from postings and from what came and went since they were made."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from itertools import accumulate, chain, islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from memory.schema.answer import Ranking
from memory.store.memories import K1, B, ranking_idf
from memory.store.sqlite.held import chosen

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from memory.schema.query import Term
    from memory.store.sqlite.posting_file import Base

    Ints = NDArray[np.int64]
    Rows = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Bounds = Sequence[int | None]
    Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]


ROOM = 20_000
"""Chunks that may come before the columns are copied to where there is more room."""

ROUNDED = 1e-4
"""Sums of float32 differ from exact scores by less than this share."""

FEW_SHARE = 100
"""Fewer rows than one in so many postings are looked up one by one; more are passed through with a mask."""


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


class Listed(NamedTuple):
    """
    Where a form of a term stands, and what that is worth.

    Attributes:
        rows: Of chunks, ascending, each once.
        worth: Its part of the score of each; None where it is to be computed.
        halves: Twice the sum of the weights of the columns where it stands.
        idf: As FTS5 has it.
    """

    rows: Rows
    worth: Floats | None = None
    halves: NDArray[Any] | None = None
    idf: float = 0.0

    @property
    def most(self) -> float:
        """More than it is worth to any chunk: the share of a term in BM25 stays below its idf times k1 + 1."""
        return self.idf * (K1 + 1) if self.worth is None else float(self.worth.max(initial=0.0))

    def among(self, mask: NDArray[np.bool_]) -> Listed:
        """The same of the rows that a mask has."""
        keep = mask[self.rows]
        parts = [None if column is None else column[keep] for column in (self.worth, self.halves)]
        return Listed(self.rows[keep], parts[0], parts[1], self.idf)


_NONE: Rows = np.empty(0, np.int32)


def met(rows: Rows, others: Rows) -> Pairs:
    """Where rows are that both have, in each; both ascending."""
    if len(rows) > len(others):
        there, here = met(others, rows)
        return here, there
    places = np.searchsorted(others, rows)
    here = (others.take(places, mode="clip") == rows).nonzero()[0] if len(others) else places[:0]
    return here, places[here]


class LivePostings:
    """
    Postings, and what came and went since. Not for two threads at once.

    Attributes:
        count: Of all rows, also those of chunks that went.
    """

    def __init__(self, base: Base) -> None:
        size = len(base.ids) + ROOM
        self._base, self.count = base, len(base.ids)
        self._ids, self._owners = (_roomy(column, size) for column in (base.ids, base.owners))
        self._lengths = _roomy(base.lengths, size)
        self._changed, self._happened = (_roomy(column, size) for column in (base.changed, base.happened))
        self._alive = np.ones(size, np.bool_)
        self._dead = _NONE
        self._scores = np.zeros(size, np.float32)
        self._norms: tuple[tuple[int, int] | None, NDArray[np.float32]] = (None, self._scores)
        self._asked: tuple[tuple[object, ...], Sequence[Listed]] | None = None
        self._later = Later()
        self._gone, self._tokens = 0, int(base.lengths.sum(dtype=np.int64))
        self.number, self.last = base.number, base.last

    @property
    def totals(self) -> tuple[int, int]:
        """How many chunks there are, and how many tokens they have together."""
        return self.count - self._gone, self._tokens

    def forget(self, chunks: Collection[int], number: int) -> None:
        """Chunks went, up to the removal with this number. Those that are not known went before they were added."""
        rows = self.rows(chunks)
        self._alive[rows] = False
        self._dead = np.sort(np.concatenate((self._dead, rows)))
        self._gone += len(rows)
        self._tokens -= int(self._lengths[rows].sum(dtype=np.int64))
        self.number = number

    def add(
        self, chunk: int, memory: int, halves: Mapping[str, int], length: int, *, times: tuple[int, int] = (0, 0)
    ) -> int:
        """
        A chunk came, with an id above all others; its row.

        Args:
            halves: Of each of its tokens twice the sum of the weights of its places.
            length: How many tokens it has.
            times: When its memory changed, and when it happened, in microseconds.
        """
        row = self.count
        if row == len(self._ids):
            self._enlarge()
        self._ids[row], self._owners[row], self._lengths[row] = chunk, memory, length
        self._changed[row], self._happened[row] = times
        self._later.add(row, halves)
        self.count += 1
        self._tokens += length
        self.last = chunk
        return row

    def _enlarge(self) -> None:
        size = 2 * len(self._ids)
        self._ids, self._owners, self._lengths, self._changed, self._happened = (
            _roomy(column, size) for column in (self._ids, self._owners, self._lengths, self._changed, self._happened)
        )
        self._alive = np.concatenate((self._alive, np.ones(size - len(self._alive), np.bool_)))
        self._scores = np.zeros(size, np.float32)

    # Scores --------------------------------------------------------------

    def asked(self, terms: Sequence[Term], listed: Callable[[], Sequence[Listed]]) -> Sequence[Listed]:
        """Where the forms of a question stand; it asks twice, and the second time nothing is looked up."""
        key = (*terms, self.number, self.last)
        if self._asked is None or self._asked[0] != key:
            self._asked = (key, listed())
        return self._asked[1]

    def best(self, terms: Sequence[Listed], count: int, among: Rows | None = None) -> Ranking:
        """
        The best chunks that hold one of these forms.

        Args:
            among: Only these rows, ascending.
        """
        if among is not None and len(among) * FEW_SHARE <= sum(len(term.rows) for term in terms):
            return self._ranked(terms, among, count)
        mask = None
        if among is not None:
            mask = np.zeros(self.count, np.bool_)
            mask[among] = True
        return self._ranked(terms, self._promising(terms, count, mask), count)

    def of(self, terms: Sequence[Listed], chunks: Collection[int]) -> Ranking:
        """The same of some chunks; those that hold none are left out."""
        return self.best(terms, len(chunks), self.rows(chunks))

    def _promising(self, terms: Sequence[Listed], count: int, mask: NDArray[np.bool_] | None) -> Rows:
        """
        Rows that the best of those in a mask are among, ascending, without a look at each that holds common forms only.

        If `count` rows score more by rarer forms than the others could together, the best hold a rarer form (MaxScore: Turtle
        and Flood, Information Processing & Management 31, 1995). What is added here is rounded, and in another order.
        """
        rarest = sorted(terms, key=lambda term: -term.most)
        rests = [*accumulate((term.most for term in reversed(rarest)), initial=0.0)][-2::-1]
        left = deque(zip(rarest, rests, strict=True))
        scores, rows, values, rest, least = self._scores, _NONE, np.empty(0, np.float32), 0.0, 0.0
        try:
            while left and least <= rest:
                term, rest = left.popleft()
                term = term if mask is None else term.among(mask)
                rows = np.concatenate((rows, term.rows[scores[term.rows] == 0]))  # every worth is above 0
                scores[term.rows] += self._about(term)
                values = scores[rows]
                least = _least(values, count, rest)
            scores[rows] = 0
        except BaseException:
            scores[:] = 0
            raise
        for term, after in left:
            rows, values = _above(rows, values, least - rest)
            here, there = met(rows, term.rows)
            values[here] += self._about(term, there)
            least, rest = max(least, _least(values, count, 0.0)), after
        return _above(rows, values, least)[0]

    def _about(self, term: Listed, places: NDArray[np.intp] | slice = slice(None)) -> NDArray[np.float32]:
        """What a form is worth to each chunk, or to some, up to `ROUNDED`: in half the time that `_worth` takes."""
        if term.worth is not None:
            return term.worth[places].astype(np.float32)
        assert term.halves is not None  # noqa: S101  # one of both is there
        if self._norms[0] != (state := (self.count, self._gone)):
            self._norms = (state, (K1 * (1 - B + B * self._lengths / self._average)).astype(np.float32))
        often = (term.halves[places] * np.float32(0.5)).astype(np.float32, copy=False)
        below = self._norms[1][term.rows[places]]
        below += often
        often *= np.float32(term.idf * (K1 + 1))
        often /= below
        return often

    @property
    def _average(self) -> float:
        """How many tokens a chunk has."""
        chunks, tokens = self.totals
        return tokens / chunks if tokens else 1.0  # then nothing holds a token

    def _worth(self, term: Listed, places: NDArray[np.intp]) -> Floats:
        """To some of its chunks. In the order in which FTS5 computes it (fts5_aux.c)."""
        if term.worth is not None:
            return term.worth[places]
        assert term.halves is not None  # noqa: S101  # one of both is there
        often, lengths = term.halves[places] / 2, self._lengths[term.rows[places]]
        worth: Floats = term.idf * (often * (K1 + 1) / (often + K1 * (1 - B + B * lengths / self._average)))
        return worth

    def _ranked(self, terms: Sequence[Listed], rows: Rows, count: int) -> Ranking:
        """The best of some rows, by scores that are added in the order in which FTS5 does: the same to the last digit."""
        scores, held = np.zeros(len(rows)), np.zeros((len(terms), len(rows)), np.bool_)
        for number, term in enumerate(terms):
            here, there = met(rows, term.rows)
            scores[here] += self._worth(term, there)
            held[number, here] = True
        least = np.partition(scores, -count)[-count] if len(rows) > count else 0.0
        order = ((scores >= least) & (scores > 0)).nonzero()[0]
        order = order[np.lexsort((-rows[order], -scores[order]))][:count]
        matched = [0] * len(order)
        for number, row in enumerate(held[:, order]):
            for place in row.nonzero()[0].tolist():
                matched[place] |= 1 << number
        rows, found = rows[order], scores[order].tolist()
        return Ranking(self._ids[rows].tolist(), self._owners[rows].tolist(), found, matched, found)

    # Where forms stand -----------------------------------------------------

    def listed(self, token: str, *, prefix: bool) -> Listed:
        """A token, or all that begin so."""
        halves: NDArray[Any]
        rows, halves = self._base.postings(token, prefix=prefix)
        if later := self._later.postings(token, prefix=prefix):
            more = np.array(later, np.int32)
            rows, halves = np.concatenate((rows, more[:, 0])), np.concatenate((halves, more[:, 1]))
        if prefix:
            each, places = np.unique(rows, return_inverse=True)
            rows, halves = each, np.bincount(places, halves, len(each))
        if self._gone:
            rows, halves = self._left(rows, halves)
        return self._listed(rows, halves)

    def _listed(self, rows: Rows, halves: NDArray[Any]) -> Listed:
        total, held = self.count - self._gone, len(rows)
        return Listed(rows, None, halves, ranking_idf(held, total))

    def _left(self, rows: Rows, halves: NDArray[Any]) -> tuple[Rows, NDArray[Any]]:
        """Postings without those of chunks that went."""
        if len(self._dead) * FEW_SHARE > len(rows):
            keep = self._alive[rows]
        elif len(dead := met(self._dead, rows)[1]):
            keep = np.ones(len(rows), np.bool_)
            keep[dead] = False
        else:
            return rows, halves
        return rows[keep], halves[keep]

    def counted(self, often: Mapping[int, float]) -> Listed:
        """A form with the chunks that hold it, which are there, and the sum of the weights of its places in each."""
        chunks = sorted(often)
        return self._listed(self.rows(chunks), np.array([2 * often[chunk] for chunk in chunks], np.float64))

    def given(self, scores: Iterable[tuple[int, float]]) -> Listed:
        """A form with what it is worth to each chunk that holds it."""
        found = sorted(scores)
        worth = np.array([score for _, score in found], np.float64)
        return Listed(self.rows([chunk for chunk, _ in found]), worth)

    def rows(self, chunks: Collection[int]) -> Rows:
        """Of those that are there, ascending."""
        ids, wanted = self._ids[: self.count], np.array(sorted({*chunks}), np.int64)
        places = np.searchsorted(ids, wanted)
        found = places[ids.take(places, mode="clip") == wanted].astype(np.int32) if len(ids) else _NONE
        return found[self._alive[found]]

    def owned(self, memories: Sequence[int] | Ints) -> Rows:
        """Those of some memories, ascending."""
        found: Rows = chosen(self._owners[: self.count], memories).nonzero()[0].astype(np.int32)
        return found[self._alive[found]]

    def between(self, rows: Rows | None, bounds: Bounds) -> Rows | None:
        """Those of memories that changed, and happened, inside some bounds; `rows`, None for all, if there are no bounds."""
        for times, since, until in zip((self._changed, self._happened), bounds[::2], bounds[1::2], strict=True):
            if (since, until) == (None, None):
                continue
            own = times[: self.count] if rows is None else times[rows]
            keep = np.ones(len(own), np.bool_) if since is None else own >= since
            if until is not None:
                keep &= own < until
            rows = keep.nonzero()[0].astype(np.int32) if rows is None else rows[keep]
        return rows

    def outside(self, rows: Rows | None, memories: Sequence[int] | Ints) -> Rows | None:
        """Some rows, None for all, less those of some memories."""
        if not len(memories):
            return rows
        own = self._owners[: self.count] if rows is None else self._owners[rows]
        keep = ~chosen(own, memories)
        return keep.nonzero()[0].astype(np.int32) if rows is None else rows[keep]

    def memories(self, rows: Rows) -> Ints:
        """Whose chunks some rows are, ascending, less those that went."""
        owners = self._owners[rows[self._alive[rows]] if self._gone else rows]
        if not (owners[1:] > owners[:-1]).all():
            owners = np.sort(owners)
            owners = owners[np.flatnonzero(np.diff(owners, prepend=-1))]
        return owners


def _least(values: NDArray[np.float32], count: int, beyond: float) -> float:
    """What at least `count` exact scores reach, if so many go beyond some value; 0 if not."""
    high = values[values > beyond]
    return float(np.partition(high, -count)[-count]) * (1 - ROUNDED) if len(high) >= count else 0.0


def _above(rows: Rows, values: NDArray[np.float32], least: float) -> tuple[Rows, NDArray[np.float32]]:
    """The rows whose value is not less, ascending."""
    keep = (values >= least * (1 - ROUNDED)).nonzero()[0] if least > 0 else np.arange(len(rows))
    keep = keep[np.argsort(rows[keep])]
    return rows[keep], values[keep]


def _roomy(column: NDArray[Any], size: int) -> NDArray[Any]:
    """A copy with room behind it, which takes no memory before it is used."""
    made = np.empty(size, column.dtype)
    made[: len(column)] = column
    return made

"""Term vectors as columns of numbers, as they are held while pages of passages correct them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from memory.search.term_vectors.pages import PAIRS, place_in
from memory.search.term_vectors.rows import LEAST_SCALE
from memory.store import HEARD, TermVector

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from memory.schema.space import Vectors
    from memory.search.term_vectors.pages import Numbers, Vocabulary

    Codes = NDArray[np.int8]


SOME = 256
"""Rows that are read or rounded at once: they stay near the processor."""


class Columns(NamedTuple):
    """The numbers of some terms, as in `TermVector`; codes of shape (terms, axes), int8."""

    passages: Numbers
    last: Numbers
    met: Vectors
    scales: Vectors
    codes: Codes

    def every(self) -> tuple[NDArray[Any], ...]:
        """All columns, for what is done to each."""
        return tuple(self)


class Known(NamedTuple):
    """
    Attributes:
        keys: Of the terms that have a row, ascending; see `memory.search.term_vectors.pages.PAIRS`.
        columns: Their numbers.
        heard: The keys of pairs without a row, ascending, of the last passages that were the first to say any.
        said: Which passage said each last, from -1, the last one.
    """

    keys: Numbers
    columns: Columns
    heard: Numbers
    said: Numbers

    def rows(self, places: Numbers) -> tuple[Vectors, NDArray[np.float64]]:
        """The rows of some terms and how far each was met; zeros where the place is -1."""
        *_, own_met, scales, codes = self.columns
        matrix, met = np.zeros((len(places), codes.shape[1]), np.float32), np.zeros(len(places))
        old = np.flatnonzero(places >= 0)
        for start in range(0, len(old), SOME):
            some = old[start : start + SOME]
            own = codes.take(places[some], axis=0).astype(np.float32)  # numpy multiplies two kinds slowly
            own *= scales[places[some], None]
            matrix[some] = own
        met[old] = own_met[places[old]]
        return matrix, met

    def merged(self, keys: Numbers, columns: Columns) -> tuple[Known, Numbers]:
        """With these rows in place of those of the same keys, or beside the others; and where they are then."""
        new = place_in(self.keys, keys) < 0
        at = np.searchsorted(self.keys, keys[new])
        every = np.insert(self.keys, at, keys[new])
        places = np.searchsorted(every, keys)
        made = []
        for old, own in zip(self.columns.every(), columns.every(), strict=True):
            column = np.insert(old, at, own[new], axis=0)
            column[places] = own
            made.append(column)
        return self._replace(keys=every, columns=Columns._make(made)), places

    def hearing(self, pairs: Numbers, said: Numbers, passages: int) -> Known:
        """
        After so many more passages that were the first to say pairs.

        Args:
            said: Which of them said each, from -1, the last one.
        """
        every, when = np.concatenate([self.heard, pairs]), np.concatenate([self.said - passages, said])
        order = np.lexsort((-when, every))
        every, when = every[order], when[order]
        stay = (np.diff(every, prepend=-1) != 0) & (when >= -HEARD)  # the last mention counts
        return self._replace(heard=every[stay], said=when[stay])

    def some(self, places: Numbers) -> tuple[Numbers, Columns]:
        """The keys and the numbers of some rows."""
        return self.keys[places], Columns._make([column[places] for column in self.columns.every()])

    def term_vectors(self, places: Numbers, vocabulary: Vocabulary) -> list[TermVector]:
        """Some of the rows, as they are stored."""
        return stored(*self.some(places), vocabulary)

    def without_rarest(self, most: int, vocabulary: Vocabulary) -> Known:
        """What a store keeps that may keep so many; see `memory.store.vectors.TermVectors.learn`."""
        if len(self.keys) <= most:
            return self
        gone = len(self.keys) - most * 9 // 10
        rank = np.stack([self.keys < PAIRS, self.columns.passages, self.columns.last])
        order = np.lexsort(rank[::-1])
        alike = np.flatnonzero((rank[:, order] == rank[:, order[gone - 1], None]).all(axis=0))
        names = vocabulary.terms(self.keys[order[alike]])
        order[alike] = order[alike][sorted(range(len(alike)), key=names.__getitem__)]
        stay = np.sort(order[gone:])
        return self._replace(
            keys=self.keys[stay], columns=Columns._make([column[stay] for column in self.columns.every()])
        )


def known(found: Collection[TermVector], axes: int, vocabulary: Vocabulary) -> Known:
    """The same of what a store knows; see `memory.store.vectors.TermVectors.of_terms`."""
    coded, once = [one for one in found if one.code], [one for one in found if not one.code]
    keys, heard = (np.array([vocabulary.key(one.term) for one in some], np.int64) for some in (coded, once))
    order, other = np.argsort(keys), np.argsort(heard)
    columns = Columns(
        np.array([one.passages for one in coded], np.int64)[order],
        np.array([one.last for one in coded], np.int64)[order],
        np.array([one.met for one in coded], np.float32)[order],
        np.array([one.scale for one in coded], np.float32)[order],
        np.frombuffer(b"".join([one.code for one in coded]), np.int8).reshape(-1, axes)[order],
    )
    return Known(keys[order], columns, heard[other], np.array([one.last for one in once], np.int64)[other])


def stored(keys: Numbers, columns: Columns, vocabulary: Vocabulary) -> list[TermVector]:
    """Rows as they are stored."""
    *numbers, code = columns.every()
    codes, width = code.tobytes(), code.shape[1]
    rows = [codes[start : start + width] for start in range(0, len(codes), width)]
    values = zip(vocabulary.terms(keys), *[column.tolist() for column in numbers], rows, strict=True)
    return list(map(partial(tuple.__new__, TermVector), values))  # half the time of `TermVector`


def rounded(matrix: Vectors) -> tuple[Vectors, Codes]:
    """Rows as scales and codes. `matrix` is worthless afterwards."""
    scales, codes = np.empty((len(matrix), 1), np.float32), np.empty(matrix.shape, np.int8)
    room = np.empty((min(SOME, len(matrix)), matrix.shape[1]), np.float32)
    for start in range(0, len(matrix), SOME):
        some = slice(start, start + SOME)
        rows = matrix[some]
        scales[some] = scaled(rows, room[: len(rows)])
        codes[some] = np.rint(rows, out=rows)
    return scales[:, 0], codes


def scaled(rows: Vectors, room: Vectors) -> Vectors:
    """
    Divide each row, so that its numbers go to 127; by how much, shape (rows, 1).

    Args:
        room: Of the same shape; worthless afterwards.
    """
    largest = (
        np.abs(rows, out=room).view(np.int32).max(axis=1, initial=0)
    )  # in the order of such numbers; half the time
    scales: Vectors = np.maximum(largest.view(np.float32)[:, None] / 127, LEAST_SCALE)
    rows /= scales
    return scales

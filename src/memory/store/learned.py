"""What is learned of the terms of a store, as values, and which of it goes with chunks or with other axes."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import permutations
from typing import TYPE_CHECKING, Any, TypeAlias

from memory.schema import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.memory import Excerpt
    from memory.schema.space import Plain, Vectors
    from memory.store.records import Row
    from memory.store.shared import Connection

PendingPassages: TypeAlias = "Sequence[tuple[Excerpt, Vectors]]"

HEARD = 200  # chunks learned from last: what each of them was the first to say is known


class Prior(NamedTuple):
    """
    How far the word vectors of a model count, with which term vectors begin.

    Attributes:
        words: How many word vectors there were when learning began.
        along, square: Sums over passages of a · b and a · a: a is what the word vectors of new terms foretold, b what
            the other terms did not.
    """

    words: int = 0
    along: float = 0.0
    square: float = 0.0

    @property
    def scale(self) -> float:
        """The least squares of all passages so far, from 0."""
        return max(0.0, self.along / self.square) if self.square else 0.0

    def met(self, along: float, square: float) -> Prior:
        """The same after one more passage."""
        return self._replace(along=self.along + along, square=self.square + square)


class Learned(NamedTuple):
    """
    What the term vectors of a generation have in common.

    Attributes:
        passages: Chunks they learned from, each as often as it got a vector, also those that are gone.
        fit: Mean cosine of the last chunks' vectors with what was foretold before learning from each, -1..1.
        spread: How far chunks lie from their centre along each axis: sums of squares, shape (axes,), float64.
        basis: Shape (axes, dimension), float32, rows orthonormal. None while the store has no axes of its own.
        prior: With what the vectors of new terms begin.
    """

    passages: int
    fit: float
    spread: NDArray[np.float64]
    basis: Vectors | None
    prior: Prior = Prior()


class LearningState(NamedTuple):
    """
    How far the term vectors of a generation are.

    Attributes:
        passages: See `Learned`; 0 if nothing was learned.
        terms: How many they are.
        waiting: Chunks with a vector that were not learned from yet.
    """

    passages: int = 0
    terms: int = 0
    waiting: int = 0


class Asked(NamedTuple):
    """
    What a question needs of `Learned`, without numpy.

    Attributes:
        passages: See `Learned`.
        spread: The same, an array of "d".
        basis: The rows of the same, one after the other, float32; None while the store has no axes of its own.
        scale: `Prior.scale`.
    """

    passages: int
    spread: Plain
    basis: bytes | None
    scale: float


class TermVector(NamedTuple):
    """
    The vector of a term: scale · code · basis.

    Attributes:
        term: One stem, or two with a blank between them.
        passages: How many chunks were learned from that hold it.
        last: Which was the last of them, counted by `Learned.passages`. If it has no vector: which of those that are
            known said it, from -1, the last one.
        met: Sum of the squares of its weights, from 0.
        code: An int8 for each axis; empty if it has no vector yet.
    """

    term: str
    passages: int
    last: int
    met: float
    scale: float
    code: bytes


class PendingPage(NamedTuple):
    """
    What is read before a page is learned.

    Attributes:
        learned, pending: See the methods of `TermVectors`.
        total, vectors: See `memory.store.generations.Generations.centre`.
    """

    learned: Learned | None
    pending: PendingPassages
    total: Plain
    vectors: int


COMMON = "passages, fit, axes, basis_sum, spread, words, along, square"
"""What all term vectors of a generation have in common."""

REACH = 8
"""
How far a word may stand behind another, in words. Whoever learns leaves out words such as "of the", in between. (Of prose
and code none was found that stood farther away. Any two words of a chunk would be four to eight times as many terms.)
"""

PARTS = ("lexicon_terms", "lexicon_axes", "lexicon_lessons", "lexicon_pairs")
"""What there is of the term vectors of a generation beside `lexicons`."""


# What chunks teach ---------------------------------------------------------------


@contextmanager
def unlearning(db: Connection, memories: Sequence[int]) -> Generator[None]:
    """Around whatever removes chunks of memories; see `memory.store.term_vectors.TermVectors`."""
    if db.value("select max(generation) from lexicons") is None:
        yield
        return
    words = _unlearn(db, memories)
    yield
    _remove(db, db.vanished(words))


def _unlearn(db: Connection, memories: Sequence[int]) -> set[str]:
    """Take away the vectors of two words that stand together in memories; all words that the index holds of these."""
    from memory.store import WEIGHTS
    from memory.text.lookup import stems_of

    found: set[str] = set()
    indexed = f"select {', '.join(WEIGHTS)} from passages where memory_id {db.IN}"
    for row in db.rows(indexed, (db.ids(memories),), strict=True):
        columns = stems_of([text or "" for text in row])
        found.update(*columns)
        _remove(db, [*neighbours(columns)])
    return found


def _remove(db: Connection, terms: Iterable[str]) -> None:
    known = f"delete from lexicon_terms where generation in (select generation from lexicons) and term {db.IN}"
    db.change(known, (db.texts(terms),))


def forget_terms(db: Connection, generation: int) -> None:
    """Take the term vectors of a generation away."""
    for table in ("lexicons", *PARTS):  # also without foreign keys
        db.change(f"delete from {table} where generation = ?", (generation,))


def replace_lexicon(
    db: Connection, generation: int, values: Sequence[Any], basis: Vectors | None, *, before: Sequence[Row]
) -> None:
    """
    Write what all terms have in common, with other axes than before, or the first of a generation: then every chunk with a
    vector is pending.

    Args:
        values: Of `generation` and the columns of `COMMON`.
        before: The columns of `COMMON`; no row if there is nothing that can be read.
    """
    _, _, _, axes, basis_sum, *_ = values
    if not before:
        forget_terms(db, generation)  # damaged ones
    db.change("delete from lexicon_terms where generation = ? and length(code) <> ?", (generation, axes))
    assigned = ", ".join(f"{name} = excluded.{name}" for name in COMMON.split(", "))
    db.change(
        f"""insert into lexicons (generation, {COMMON}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)
            on conflict (generation) do update set {assigned}""",
        values,
    )
    if not before:
        pending = f"select distinct {generation}, chunk_id from vectors_{abs(generation)}"
        db.change(f"insert into lexicon_lessons (generation, chunk_id) {pending}")
    if basis is None:
        db.change("delete from lexicon_axes where generation = ?", (generation,))
    elif not before or before[0][3] != basis_sum:
        db.change(
            """insert into lexicon_axes (generation, basis) values (?, ?)
               on conflict (generation) do update set basis = excluded.basis""",
            (generation, db.packed(basis)),
        )


def neighbours(columns: Sequence[Sequence[str]]) -> Iterator[str]:
    """
    Any two words that stand within `REACH` of each other, with a blank between them.

    Args:
        columns: The words of each column of the index. Any of them may follow any other.
    """
    texts = [column for column in columns if column]
    for column in texts:
        yield from _following(column)
    for former, latter in permutations(texts, 2):
        yield from (f"{first} {second}" for first in former[-REACH:] for second in latter[:REACH])


def _following(column: Sequence[str]) -> Iterator[str]:
    for place, first in enumerate(column):
        yield from (f"{first} {second}" for second in column[place + 1 : place + 1 + REACH])

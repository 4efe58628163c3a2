"""What is learned of the terms of a store, as values, and what chunks teach: lessons, pairs of words, terms that go."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import permutations
from struct import pack
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from memory.schema.arrays import np
from memory.store.records import lexicon

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from memory.schema.memory import ChunkId
    from memory.schema.space import Plain, Vectors
    from memory.store.shared import Connection

LEAST = 25  # passages: term vectors that learned from fewer are not asked
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


TRIMMED = 16
"""Of so many saves one takes away pairs that are not known any more: that writes two pages."""

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
        db.change(f"delete from {table} where generation = ?", (lexicon(generation),))


# Pairs of words ---------------------------------------------------------------


def remember(db: Connection, generation: int, chunks: Mapping[ChunkId, Sequence[str]], passages: int) -> None:
    """
    Chunks were learned from, and are no lessons: note the pairs that they were the first to say.

    Args:
        passages: From how many the generation has learned now.
    """
    ids = db.ids(chunks)
    for table in ("lexicon_lessons", "lexicon_pairs"):
        db.change(f"delete from {table} where chunk_id {db.IN} and {db.SCANNED}generation = ?", (ids, generation))
    db.each(
        "insert into lexicon_pairs (generation, chunk_id, pairs) values (?, ?, ?)",
        [(generation, id, pack(f"<{len(pairs)}I", *_pair_sums(pairs))) for id, pairs in chunks.items() if pairs],
    )
    if len(chunks) > 1 or passages % TRIMMED == 0:  # only of the last chunks are pairs known
        db.change(
            """delete from lexicon_pairs where generation = ? and id <= (
                   select id from lexicon_pairs where generation = ? order by id desc limit 1 offset ?
               )""",
            (generation, generation, HEARD),
        )


def said_once(db: Connection, generation: int, pairs: Sequence[str]) -> Mapping[str, TermVector]:
    """Of pairs those that one of the last chunks was the first to say."""
    rows = db.rows(
        """select pairs from (
               select pairs from lexicon_pairs where generation = ? order by id desc limit ?
           ) said where length(pairs) / 4 * 4 = length(pairs)""",
        (generation, HEARD),
    )
    return _matching([blob for (blob,) in rows], pairs)


def _pair_sums(pairs: Iterable[str]) -> Iterator[int]:
    """What is kept of pairs of words."""
    return map(crc32, map(str.encode, pairs))


def _matching(kept: Sequence[bytes], pairs: Sequence[str]) -> Mapping[str, TermVector]:
    """
    Of pairs those that are known: whose sums, as unsigned numbers of 32 bits, little-endian, were kept.

    Args:
        kept: Of each chunk, the last one first.
    """
    known = np.frombuffer(b"".join(kept), "<u4")
    last = np.repeat(np.arange(-1, -1 - len(kept), -1), [len(sums) // 4 for sums in kept])
    own = np.fromiter(_pair_sums(pairs), np.uint32, len(pairs))
    alike = np.zeros(1 << 12, bool)  # few pass this look at 12 of 32 bits
    alike[own & 0xFFF] = True
    near = alike[known & 0xFFF]
    said = dict(zip(known[near][::-1].tolist(), last[near][::-1].tolist(), strict=True))
    found = zip(pairs, own.tolist(), strict=True)
    return {pair: TermVector(pair, 1, said[one], 0.0, 0.0, b"") for pair, one in found if one in said}


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

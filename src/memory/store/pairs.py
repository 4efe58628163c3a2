"""What every store works out of term vectors: whether they fit, and which pairs of words were said once."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING
from zlib import crc32

from memory.schema.errors import Invalid
from memory.store.learned import TermVector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from memory.store.learned import Learned


def check(learned: Learned, term_vectors: Sequence[TermVector], generation: int, dimension: int) -> None:
    """
    Raises:
        Invalid: See `TermVectors.learn`.
    """
    axes = len(learned.spread)
    if any(len(one.code) != axes for one in term_vectors):
        raise Invalid(f"a code of a lexicon of {axes} axes is {axes} bytes")
    if learned.basis is not None and learned.basis.shape != (axes, dimension):
        raise Invalid(f"the vectors of generation {generation} have {dimension} numbers, their axes are {axes}")


def pair_sums(pairs: Iterable[str]) -> Iterator[int]:
    """What is kept of pairs of words."""
    return map(crc32, map(str.encode, pairs))


def said_once(kept: Sequence[bytes], pairs: Sequence[str]) -> Mapping[str, TermVector]:
    """
    Of pairs those that are known: whose sums, as unsigned numbers of 32 bits, little-endian, were kept.

    Args:
        kept: Of each chunk, the last one first.
    """
    import numpy as np

    known = np.frombuffer(b"".join(kept), "<u4")
    last = np.repeat(np.arange(-1, -1 - len(kept), -1), [len(sums) // 4 for sums in kept])
    own = np.fromiter(pair_sums(pairs), np.uint32, len(pairs))
    alike = np.zeros(1 << 12, bool)  # few pass this look at 12 of 32 bits
    alike[own & 0xFFF] = True
    near = alike[known & 0xFFF]
    said = dict(zip(known[near][::-1].tolist(), last[near][::-1].tolist(), strict=True))
    found = zip(pairs, own.tolist(), strict=True)
    return {pair: TermVector(pair, 1, said[one], 0.0, 0.0, b"") for pair, one in found if one in said}


REACH = 8
"""
How far a word may stand behind another, in words. Whoever learns leaves out words such as "of the", in between. (Of prose
and code none was found that stood farther away. Any two words of a chunk would be four to eight times as many terms.)
"""


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

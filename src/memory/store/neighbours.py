"""Which words stand together in a chunk: what may have been learned of it as a term of two words."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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

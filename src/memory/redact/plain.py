"""A text as whoever reads it sees it: without colours of a terminal, with one kind of blank, its broken lines joined."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memory.redact.rule import Span

_ESCAPE = r"(?:\x1b|\\x1[bB]|\\0?33|\\e|\\u001[bB]|\^\[)"
_GONE = (
    rf"{_ESCAPE}\[[0-9;:?]{{0,32}}[A-Za-z]|\x9b[0-9;:?]{{0,32}}[A-Za-z]"  # colours, also as they are written in sources
    r"|\\\r?\n[ \t]{0,200}"  # a line that goes on
    "|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"  # of no width
)
_BLANK = "[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]|&nbsp;|&#160;"
_FEW = ("\x1b", "\\", "&", "^[")
"""What ASCII text has that is not plain."""


class Plain(NamedTuple):
    """
    A plain text, and where in the one it was made of its parts stand.

    Attributes:
        starts: Places in `text`, ascending, from 0, from which on what stands there stood `shifts` characters later.
    """

    text: str
    starts: list[int]
    shifts: list[int]

    def span(self, start: int, stop: int) -> Span:
        """Where in the other text a stretch stands; with what is gone inside, without what is gone around it."""
        return self._place(start), self._place(stop - 1) + 1

    def _place(self, at: int) -> int:
        return at + self.shifts[bisect_right(self.starts, at) - 1]


def plain(text: str) -> Plain | None:
    """The text as it is seen; None if it is plain itself."""
    if text.isascii() and not any(sign in text for sign in _FEW):
        return None
    pieces, starts, shifts, length, end = [], [0], [0], 0, 0
    for found in _other().finditer(text):
        kept = text[end : found.start()] + (" " if found["blank"] else "")
        pieces.append(kept)
        length, end = length + len(kept), found.end()
        starts.append(length)
        shifts.append(end - length)
    return Plain("".join((*pieces, text[end:])), starts, shifts) if pieces else None


@cache
def _other() -> re.Pattern[str]:
    return re.compile(rf"{_GONE}|(?P<blank>{_BLANK})")

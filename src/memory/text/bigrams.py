"""
Scripts without spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese), made findable.

FTS5's `unicode61` takes a whole sentence of them as one token. Beside it, such text is indexed as overlapping pairs
of characters, which need no dictionary (Nie, Gao, Zhang and Zhou 2000 found pairs as good as words for Chinese).
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

RANGES = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
"""What their characters are, for a class of a regular expression."""


@cache  # compiling these costs a start more than most searches take
def _run() -> re.Pattern[str]:
    return re.compile(f"[{RANGES}]+")


@cache
def _mixed() -> re.Pattern[str]:
    return re.compile(rf"\w*[{RANGES}][\w{RANGES}]*")


def unspaced(text: str) -> bool:
    """Whether some of it is in a script without spaces."""
    return not text.isascii() and _run().search(text) is not None


def indexed(text: str) -> str:
    """
    What the index holds for a text beside the text itself; empty for scripts with spaces.

    The pairs of each run, its last character alone (so that every character begins a token), and the words of
    other scripts that are glued to it: "Python入門" gives "Python", "入門", "門".
    """
    if not unspaced(text):
        return ""
    return " ".join(gram for mixed in _mixed().findall(text) for gram in _parts(mixed))


def _parts(mixed: str) -> Iterator[str]:
    yield from (word for word in re.findall(r"\w+", _run().sub(" ", mixed)))
    for run in _run().findall(mixed):
        yield from (letters := pairs(run))
        if last := [c for c in run if c.isalnum()][-1:]:
            yield from () if letters == last else last


def pairs(run: str) -> list[str]:
    """The overlapping pairs of letters of a run; the letter itself if there is but one. Marks do not count."""
    letters = [c for c in run if c.isalnum()]  # unicode61 cuts a token at a combining mark
    if len(letters) < 2:
        return letters
    return [a + b for a, b in pairwise(letters)]


def split(word: str) -> tuple[list[str], list[str]]:
    """A word of a query: the runs of scripts without spaces in it, and the words between them."""
    return _run().findall(word), re.findall(r"\w+", _run().sub(" ", word))

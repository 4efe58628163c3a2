"""
Makes scripts without spaces between words searchable (Chinese, Japanese, Thai, Lao, Khmer, Burmese).

FTS5's `unicode61` takes a whole sentence of these as one token. So such text is also indexed as overlapping pairs
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
"""Their characters, for a character class of a regular expression."""


@cache  # compiling these at start-up would take longer than most searches
def _run() -> re.Pattern[str]:
    return re.compile(f"[{RANGES}]+")


@cache
def _mixed() -> re.Pattern[str]:
    return re.compile(rf"\w*[{RANGES}][\w{RANGES}]*")


def unspaced(text: str) -> bool:
    """Whether the text has characters of a script without spaces."""
    return not text.isascii() and _run().search(text) is not None


def indexed(text: str) -> str:
    """
    What is indexed for a text in addition to the text itself; empty if all of it has spaces between words.

    The pairs of each run; its last character alone, so that a token begins at every character;
    and words of other scripts
    that are attached to it: "Python入門" gives "Python", "入門", "門".
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
    """The overlapping pairs of letters in a run, or its only letter. Combining marks do not count."""
    letters = [c for c in run if c.isalnum()]  # unicode61 cuts a token at a combining mark
    if len(letters) < 2:
        return letters
    return [a + b for a, b in pairwise(letters)]


def split(word: str) -> tuple[list[str], list[str]]:
    """The runs of scripts without spaces in a word of a query, and the words between them."""
    return _run().findall(word), re.findall(r"\w+", _run().sub(" ", word))

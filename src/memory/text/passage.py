"""
The passage: the text that is embedded for a chunk.

If its content changes, `memory.schema.space.RECIPE` must be raised.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from memory.schema.memory import ChunkType
from memory.text.bigrams import RANGES
from memory.text.tokens import tokens

if TYPE_CHECKING:
    from memory.schema.memory import Excerpt


def passage(excerpt: Excerpt, overlap: int = 50) -> str:
    """
    What a model reads for a chunk: its place, a little of the text before it, then its text.

    For the head of a note: its title, what, why, impact and tags.

    Args:
        overlap: The most tokens of the text before, by `memory.text.tokens`; 0..400.
    """
    if excerpt.chunk.type is ChunkType.HEAD:
        texts = (excerpt.title, excerpt.what, excerpt.why, excerpt.impact, " ".join(excerpt.tags))
        return "\n".join(text.strip() for text in texts if text.strip())
    place = " › ".join((excerpt.title, *(header.lstrip("# ") for header in excerpt.chunk.header_path)))
    return f"{place}\n{_overlap(excerpt, overlap)}{excerpt.text}".strip()


def _overlap(excerpt: Excerpt, most: int) -> str:
    """The last whole words before a chunk: half a word would be another word."""
    before = excerpt.before
    starts = [found.start() for found in _word().finditer(before)]
    if len(before) < excerpt.chunk.start:
        starts = starts[1:]  # the first may be half a word
    cut = len(before)
    for start in reversed(starts):
        most -= tokens(before[start:cut])
        if most < 0:
            break
        cut = start
    return before[cut:]


@cache
def _word() -> re.Pattern[str]:
    """A word, or a single character of a script without spaces."""
    return re.compile(rf"[{RANGES}]|[^\s{RANGES}]+")

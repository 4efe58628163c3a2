"""
The passage: the text that is embedded for a chunk.

Whoever changes what it says raises `memory.space.RECIPE`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.record import ChunkType

if TYPE_CHECKING:
    from memory.record import Excerpt


def passage(excerpt: Excerpt) -> str:
    """
    What a model reads for a chunk: where it stands, a little of what came before, then what it says.

    For the head of a note: all that is said in short.
    """
    if excerpt.chunk.type is ChunkType.HEAD:
        texts = (excerpt.title, excerpt.what, excerpt.why, excerpt.impact, " ".join(excerpt.tags))
        return "\n".join(text.strip() for text in texts if text.strip())
    place = " › ".join((excerpt.title, *(header.lstrip("# ") for header in excerpt.chunk.header_path)))
    return f"{place}\n{_overlap(excerpt.before)}{excerpt.text}".strip()


def _overlap(before: str) -> str:
    """From the first whole word on: half a word would be another word."""
    if not before or before[0].isspace():
        return before
    _, space, rest = before.partition(" ")
    return rest if space else ""

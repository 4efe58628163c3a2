"""Cuts a chunk at the headings inside it: a short body is one chunk, whatever sections it has."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from memory.schema.memory import Chunk, ChunkType
from memory.text.markdown import LINE, Heading, outline

if TYPE_CHECKING:
    from collections.abc import Sequence

_BLANK = "\ufeff \t\r\n"  # with a byte order mark

# A heading as CommonMark has it: hashes, or a line below it. That no other character follows is also true at the end.
_MARK = re.compile(r"[\r\n] {0,3}(?:#{1,6}(?![^ \t\r\n])|(?:=+|-+)[ \t]*(?![^\r\n]))")


def several(text: str) -> bool:
    """Whether a text may have a heading behind its beginning. Most chunks have none, and need not be parsed."""
    return _MARK.search(text.lstrip(_BLANK)) is not None


def subsections(chunk: Chunk, body: str) -> tuple[Chunk, ...]:
    """
    A chunk cut before each heading in it, each part with the path of its own heading. They tile the chunk.

    As in `memory.text.chunk`, a heading directly above a deeper one shares its part, unless the heading before has the
    same name.

    Args:
        body: That of the chunk's memory.
    """
    if not several(body[chunk.start : chunk.stop]):
        return (chunk,)
    lines = LINE.findall(body)
    starts = list(accumulate(map(len, lines), initial=0))
    cuts = _cuts(chunk, body, starts, outline(lines).headings)
    stops = [start for start, _ in cuts[1:]] + [chunk.stop]
    return tuple(_part(chunk, start, stop, heading) for (start, heading), stop in zip(cuts, stops, strict=True))


def _part(chunk: Chunk, start: int, stop: int, heading: Heading | None) -> Chunk:
    if heading is None:
        return replace(chunk, start=start, stop=stop, type=ChunkType.TEXT, header_path=(), level=0)
    return replace(chunk, start=start, stop=stop, type=ChunkType.SECTION, header_path=heading.path, level=heading.level)


def _cuts(
    chunk: Chunk, body: str, starts: Sequence[int], headings: Sequence[Heading]
) -> list[tuple[int, Heading | None]]:
    """
    Where each part begins, and its heading: before the first one in the chunk that of the text before, if there is one.

    Args:
        starts: The offset of each line, and of the end.
    """
    first = bisect_left(headings, chunk.start, key=lambda heading: starts[heading.line])
    cuts: list[tuple[int, Heading | None]] = [(chunk.start, headings[first - 1] if first else None)]
    said = chunk.start
    for place in range(first, bisect_left(headings, chunk.stop, key=lambda heading: starts[heading.line])):
        heading, start = headings[place], starts[headings[place].line]
        joins = place == first or _joins(headings, place - 1)
        if joins and not body[said:start].strip(_BLANK):
            cuts[-1] = (cuts[-1][0], heading)
        else:
            cuts.append((start, heading))
        said = starts[heading.stop]
    return cuts


def _joins(headings: Sequence[Heading], place: int) -> bool:
    """Whether a heading shares the part of the next one if nothing is between them."""
    heading, before = headings[place], headings[place - 1] if place else None
    again = before is not None and before.path[: len(heading.path)] == heading.path
    return heading.level < headings[place + 1].level and not again

"""
The headings and blocks of a Markdown text, by line.

CommonMark (https://spec.commonmark.org/0.31.2/) with tables, as pulldown-cmark reads it: in linear time, whatever the
text. YAML front matter above it is a block without headings.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cache
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.schema.limits import TITLE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyromark import Markdown

    Tag: TypeAlias = Mapping[str, object] | str
    """What begins or ends: by its name alone, or with what is said of it."""

DEEPEST = 99
"""What has more blocks around it is not looked at."""

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""A line with its end, which is where CommonMark says (0.31, section 2.1), unlike that of `str.splitlines`."""

TITLE_LINES = 200
"""Of a text, in which a title is looked for."""

_BLOCKS = frozenset({"Paragraph", "Heading", "BlockQuote", "List", "Item", "CodeBlock", "HtmlBlock", "Table", "Rule"})
_YAML_KEY = re.compile(r"[^\s#:][^:]*:(?:\s|$)")
_LONE = re.compile(r"\r(?!\n)")


class Heading(NamedTuple):
    """Lines `line` to `stop`, exclusive, from 0; `path` ends with itself."""

    line: int
    stop: int
    level: int
    path: tuple[str, ...]


class Block(NamedTuple):
    """
    Lines `line` to `stop`, exclusive, from 0.

    Attributes:
        depth: How many blocks are around it.
        level: A heading's, 1..6; 0 for all else.
    """

    line: int
    stop: int
    depth: int
    level: int = 0
    fence: bool = False


class Outline(NamedTuple):
    """Both in the order of their first lines; of blocks that begin together the outer is first."""

    headings: tuple[Heading, ...]
    blocks: tuple[Block, ...]


def outline(lines: Sequence[str]) -> Outline:
    """
    All blocks, and the headings that stand in no list or quote, with titles of at most `TITLE_LIMIT` characters.

    Args:
        lines: As `LINE` finds them.
    """
    front = _front(lines)
    blocks = (*([Block(0, front, 0)] if front else []), *_blocks(lines[front:], front))
    headings: list[Heading] = []
    above: list[tuple[int, str]] = []
    for block in blocks:
        if block.level and not block.depth:
            mark = f"{'#' * block.level} {_heading_words(lines[block.line : block.stop], block.level)}".rstrip()
            above = [*(outer for outer in above if outer[0] < block.level), (block.level, mark)]
            headings.append(Heading(block.line, block.stop, block.level, tuple(mark for _, mark in above)))
    return Outline(tuple(headings), blocks)


def title(text: str) -> str:
    """What the first heading of the first level says, at most `TITLE_LIMIT` characters; empty without one."""
    lines = [found[0] for found in islice(LINE.finditer(text), TITLE_LINES)]
    if not any(line.lstrip(" \ufeff").startswith(("#", "=")) for line in lines):
        return ""  # no parser is imported for it
    titles = (heading.path[-1].removeprefix("#").lstrip() for heading in outline(lines).headings if heading.level == 1)
    return next(filter(None, titles), "")


def _front(lines: Sequence[str]) -> int:
    """Lines of YAML front matter: `---`, a key, anything, and `---` or `...`."""
    if not lines[1:] or lines[0].removeprefix("\ufeff").rstrip() != "---" or not _YAML_KEY.match(lines[1]):
        return 0
    return next((n for n, line in enumerate(lines[1:], 2) if line.rstrip() in {"---", "..."}), 0)


def _blocks(lines: Sequence[str], first: int) -> Iterator[Block]:
    """
    The outer before the inner; without what a table consists of.

    Args:
        first: Number of the first line.
    """
    # To the parser a lone \r ends no line of fenced code and no comment. One byte takes the place of one.
    text = _LONE.sub("\n", "".join(lines))
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    sizes = map(len, lines if text.isascii() else (line.encode() for line in lines))
    starts = list(accumulate(sizes, initial=-len(mark.encode())))
    depth = 0
    for event, span in _parser().events_with_range(text.removeprefix(mark)):
        if isinstance(event, str):
            tag: Tag = event
        elif "Start" in event:
            tag = event["Start"]
        else:
            depth -= "End" in event and _name(event["End"]) in _BLOCKS
            continue
        name = _name(tag)
        if name not in _BLOCKS:
            continue
        if depth <= DEEPEST:
            line, stop = bisect_right(starts, span["start"]) - 1, bisect_left(starts, span["end"])
            yield Block(first + line, first + stop, depth, *_said(tag))
        depth += name != "Rule"


def _name(tag: Tag) -> str:
    return tag if isinstance(tag, str) else next(iter(tag))


def _said(tag: Tag) -> tuple[int, bool]:
    """The level of a heading, and whether it is fenced code."""
    match tag:
        case {"Heading": {"level": str(level)}}:
            return int(level[1]), False
        case {"CodeBlock": {"Fenced": _}}:
            return 0, True
    return 0, False


@cache
def _parser() -> Markdown:
    from pyromark import Markdown, Options  # 10 ms that a short text need not spend

    return Markdown(options=Options.ENABLE_TABLES)


def _heading_words(lines: Sequence[str], level: int) -> str:
    """What a heading says: marked by # it has one line, underlined more."""
    if len(lines) > 1:
        said = "".join(lines[:-1]).lstrip("\ufeff")
    else:
        said = lines[0].lstrip(" \ufeff")[level:].strip(" \t\n\r")
        bare = said.rstrip("#")
        said = said if bare[-1:].strip(" \t") else bare
    return " ".join(said.split())[:TITLE_LIMIT].rstrip()

"""
Markdown: the headings and blocks of a text, by line, a chunk cut at the headings in it, and the list that is the body of an
entity.

CommonMark (https://spec.commonmark.org/0.31.2/) with tables, as pulldown-cmark parses it: in linear time, whatever the
text. YAML front matter is a block without headings.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import replace
from functools import cache
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.schema.errors import LINE_LIMIT, TITLE_LIMIT, Invalid, check_text
from memory.schema.memory import Chunk, ChunkType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyromark import Markdown

    Tag: TypeAlias = Mapping[str, object] | str
    """What begins or ends: its name alone, or its name with attributes."""

DEEPEST = 99
"""Blocks nested deeper than this are ignored."""

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""A line with its line end, as CommonMark defines it (0.31, section 2.1), unlike `str.splitlines`."""

TITLE_LINES = 200
"""Lines of a text that are searched for a title."""

_BLOCKS = frozenset({"Paragraph", "Heading", "BlockQuote", "List", "Item", "CodeBlock", "HtmlBlock", "Table", "Rule"})
_YAML_KEY = re.compile(r"[^\s#:][^:]*:(?:\s|$)")
_LONE = re.compile(r"\r(?!\n)")


class Heading(NamedTuple):
    """Lines from `line` to before `stop`, counted from 0; `path` ends with the heading itself."""

    line: int
    stop: int
    level: int
    path: tuple[str, ...]


class Block(NamedTuple):
    """
    Lines from `line` to before `stop`, counted from 0.

    Attributes:
        depth: How many blocks enclose it.
        level: A heading's level, 1..6; 0 for other blocks.
    """

    line: int
    stop: int
    depth: int
    level: int = 0
    fence: bool = False


class Outline(NamedTuple):
    """Both in the order of their first lines; of blocks that begin together, the outer comes first."""

    headings: tuple[Heading, ...]
    blocks: tuple[Block, ...]


def outline(lines: Sequence[str]) -> Outline:
    """
    All blocks, and the headings that are in no list or quote, with titles of at most `TITLE_LIMIT` characters.

    Args:
        lines: As `LINE` splits them.
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
    """The first heading of level 1, at most `TITLE_LIMIT` characters; empty if there is none."""
    lines = [found[0] for found in islice(LINE.finditer(text), TITLE_LINES)]
    if not any(line.lstrip(" \ufeff").startswith(("#", "=")) for line in lines):
        return ""  # spares importing the parser
    titles = (heading.path[-1].removeprefix("#").lstrip() for heading in outline(lines).headings if heading.level == 1)
    return next(filter(None, titles), "")


def _front(lines: Sequence[str]) -> int:
    """How many lines YAML front matter takes: `---`, a key, anything, and `---` or `...`."""
    if not lines[1:] or lines[0].removeprefix("\ufeff").rstrip() != "---" or not _YAML_KEY.match(lines[1]):
        return 0
    return next((n for n, line in enumerate(lines[1:], 2) if line.rstrip() in {"---", "..."}), 0)


def _blocks(lines: Sequence[str], first: int) -> Iterator[Block]:
    """
    Outer blocks before inner ones, without the parts of tables.

    Args:
        first: Number of the first line.
    """
    # The parser does not end a line of fenced code or a comment at a lone \r. \n takes one byte too, so offsets stay.
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
    """The level of a heading (0 for other blocks), and whether the block is fenced code."""
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
    """The text of a heading: one line if marked by #, one or more if underlined."""
    if len(lines) > 1:
        said = "".join(lines[:-1]).lstrip("\ufeff")
    else:
        said = lines[0].lstrip(" \ufeff")[level:].strip(" \t\n\r")
        bare = said.rstrip("#")
        said = said if bare[-1:].strip(" \t") else bare
    return " ".join(said.split())[:TITLE_LIMIT].rstrip()


# The body of an entity: a Markdown list with an item for each observation ---------

# Any text can be an observation: its further lines are indented by two spaces, as in Markdown.
MARK, INDENT = "- ", "  "


def listed(observations: Iterable[str]) -> str:
    """The body with these observations; `observations` is the inverse."""
    return "\n".join(MARK + text.replace("\n", f"\n{INDENT}") for text in observations)


def observations(body: str) -> tuple[str, ...]:
    """
    The observations of a body, in order and without white space around them, so each can be named for removal.

    In a body written by hand, a line that is neither an item nor its continuation is an observation of its own.
    Blank items are skipped.
    """
    found: list[list[str]] = []
    for line in body.split("\n") if body else ():
        if line.startswith(MARK):
            found.append([line.removeprefix(MARK)])
        elif found and line.startswith(INDENT):
            found[-1].append(line.removeprefix(INDENT))
        elif line.strip():
            found.append([line])
    return tuple(filter(None, ("\n".join(lines).strip() for lines in found)))


def checked(texts: Iterable[str]) -> list[str]:
    """
    Observations as they are stored: without white space around them.

    Raises:
        Invalid: One is blank, too long or not a text; or a single text is given in place of a list.
    """
    if isinstance(texts, str):
        raise Invalid("observations are a list of texts, not one text", hint="Put it in brackets.")
    found = list(texts)
    for text in found:
        check_text("an observation", text, LINE_LIMIT)
        if not text.strip():
            raise Invalid("an observation is blank")
    return [text.strip() for text in found]


def together(texts: tuple[str, ...]) -> tuple[str, ...]:
    """
    These observations, each free of secrets, if they can share a body.

    Raises:
        Invalid: One opens a `<redacted>` and another closes one: in one body, everything between would be redacted.
    """
    said = "\n".join(texts).lower()
    if "<redacted" in said and "</redacted" in said:
        hint = "What is between them would be removed: put both into one observation."
        raise Invalid("one observation opens <redacted> and another closes it", hint=hint)
    return texts


# A short body is one chunk, whatever sections it has -------------------------------

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

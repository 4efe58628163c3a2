"""
Cuts a body into the chunks that are indexed: before headings, then between blocks, lines, sentences, words.

Headings are those of CommonMark (https://spec.commonmark.org/0.31.2/), in no list or quote and not in YAML front
matter; their titles are shortened to `TITLE_LIMIT` characters. Lists, quotes, tables and underlined headings go
unseen in text that would take markdown-it too long, all structure in one of more than `LINES_LIMIT` lines. So 500,000
characters of any kind take about two seconds at most, usual ones 0.3 (measured with Python 3.11 on one core).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, TypeAlias

from memory.errors import Invalid
from memory.limits import TITLE_LIMIT
from memory.record import Chunk, ChunkType
from memory.text.tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

SIZE_LEAST = 2  # tokens; the most that one character is counted as

# All of these only keep hostile text from taking minutes: see `_parsed`.
LINES_LIMIT = 40_000  # a text of 500,000 characters with more has under 13 a line: no Markdown
STEPS_LIMIT = 60_000  # the largest of 161 real documents of up to 500,000 characters took 18,000
BARS_LIMIT = 100_000  # the same documents: 800
NESTING_LIMIT = 40  # 20 lists inside one another; at its limit markdown-it drops the rest of the document

# Where to cut: the depth of the block that begins there (0, 1, ...), or one of these. Lower is better.
_LINE, _SENTENCE, _WORD, _ANYWHERE = range(NESTING_LIMIT + 1, NESTING_LIMIT + 5)
_STRIDE = 16  # characters between two cuts of a word; at most `size` tokens

# A line ends where CommonMark says (0.31, section 2.1), unlike `str.splitlines`.
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_YAML_KEY = re.compile(r"[^\s#:][^:]*:(?:\s|$)")
_MARK_FIRST = re.compile(r"[\s\ufeff]*(?:#|```|~~~)")
_UNDERLINE = re.compile(r"[\r\n] {0,3}(?:=+|-+)[ \t]*(?![^\r\n])")
_ENDS = {
    _SENTENCE: re.compile(r"(?<=[.!?\u2026])\s+|(?<=[.!?\u2026][\"')\]\u201d\u2019])\s+|(?<=[\u3002\uff01\uff1f])"),
    _WORD: re.compile(r"\s+|(?<=[,;\u3001\uff0c\uff1b\uff1a])(?=\S)"),
}

# These have lines, but no line of their own to cut at.
_INNER = frozenset({"inline", "thead_open", "tbody_open", "tr_open", "th_open", "td_open"})

_Path: TypeAlias = tuple[str, ...]


def chunk(body: str, *, size: int = 450) -> tuple[Chunk, ...]:
    """
    The chunks of a Markdown or plain body, in order; () for white space.

    They tile it: `"".join(body[c.start:c.stop] for c in chunks) == body`. A body of at most `size` tokens is one
    chunk. In a longer one each heading begins a chunk; a section too long is cut where its outermost blocks meet,
    but not before half of `size` is used; a block (a paragraph, a list item, a table, fenced code) is only cut if it
    alone exceeds `size`, then between its inner blocks or lines, a line between sentences, then words, a word
    anywhere. White space stays with what precedes it; at the beginning, with what follows.

    Args:
        size: The most tokens of a chunk, as `tokens` counts them; from 2.

    Raises:
        Invalid: The size is less.
    """
    if size < SIZE_LEAST:
        raise Invalid(f"a chunk has room for at least {SIZE_LEAST} tokens, not {size}")
    if (total := tokens(body)) == 0:
        return ()
    if total <= size and not (_MARK_FIRST.match(body) or _UNDERLINE.search(body)):
        return (Chunk(0, 0, len(body), ChunkType.TEXT, token_count=total),)
    text = _Text.of(body)
    outline = _outline(text.lines)
    slices = [_whole(text, outline)] if total <= size else _slices(text, outline, size)
    fences = [(text.starts[block.line], text.starts[block.stop]) for block in outline.blocks if block.fence]
    return tuple(_labelled(index, part, body, fences) for index, part in enumerate(slices))


@dataclass(frozen=True, slots=True)
class _Heading:
    """`line` is its first, from 0; `path` ends with itself."""

    line: int
    level: int
    path: _Path


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines `line` to `stop`, exclusive, from 0. `depth` counts the blocks around it."""

    line: int
    stop: int
    depth: int
    fence: bool = False


@dataclass(frozen=True, slots=True)
class _Outline:
    """Both in the order of their first lines; of blocks that begin together the outer is first."""

    headings: tuple[_Heading, ...] = ()
    blocks: tuple[_Block, ...] = ()


@dataclass(frozen=True, slots=True)
class _Text:
    """
    A body and its lines.

    Attributes:
        lines: With their ends.
        starts: Offset of each line, and of the end.
        totals: Tokens before each line, and of all.
    """

    body: str
    lines: tuple[str, ...]
    starts: tuple[int, ...]
    totals: tuple[int, ...]

    @classmethod
    def of(cls, body: str) -> _Text:
        lines = tuple(_LINES.findall(body))
        starts = tuple(accumulate(map(len, lines), initial=0))
        return cls(body, lines, starts, tuple(accumulate(map(tokens, lines), initial=0)))

    def size(self, line: int, stop: int) -> int:
        """Tokens of some lines, exactly: no token spans two."""
        return self.totals[stop] - self.totals[line]


@dataclass(frozen=True, slots=True)
class _Atom:
    """What is not cut further: from `start` to the next one's. `rank` says how good a place to cut `start` is."""

    start: int
    rank: int
    tokens: int


@dataclass(frozen=True, slots=True)
class _Slice:
    """`begins` if the heading stands at its start rather than in a slice before."""

    start: int
    stop: int
    heading: _Heading | None
    begins: bool


def _labelled(index: int, part: _Slice, body: str, fences: Sequence[tuple[int, int]]) -> Chunk:
    text = body[part.start : part.stop]
    kind = ChunkType.TEXT
    if part.heading and part.begins:
        kind = ChunkType.SECTION
    elif fences:
        start = part.start + len(text) - len(text.lstrip())
        fence = fences[bisect_right(fences, (start, len(body))) - 1]
        if fence[0] <= start and part.start + len(text.rstrip()) <= fence[1]:
            kind = ChunkType.CODE_BLOCK
    path, level = (part.heading.path, part.heading.level) if part.heading else ((), 0)
    return Chunk(index, part.start, part.stop, kind, path, level, tokens(text))


def _whole(text: _Text, outline: _Outline) -> _Slice:
    first = next((heading for heading in outline.headings if text.totals[heading.line] == 0), None)
    return _Slice(0, len(text.body), first, begins=True)


def _slices(text: _Text, outline: _Outline, size: int) -> Iterator[_Slice]:
    atoms = list(_atoms(text, outline, size))
    starts = [atom.start for atom in atoms]
    sections: list[tuple[int, _Heading | None]] = [
        (bisect_right(starts, text.starts[heading.line]) - 1, heading) for heading in outline.headings
    ]
    if not sections or sections[0][0] > 0:
        sections.insert(0, (0, None))
    for (first, heading), (stop, _) in pairwise([*sections, (len(atoms), None)]):
        end = atoms[stop].start if stop < len(atoms) else text.starts[-1]
        cuts = [atoms[first + n].start for n in _cuts(atoms[first:stop], size)]
        for start, after in pairwise([*cuts, end]):
            yield _Slice(start if start > atoms[0].start else 0, after, heading, begins=start == cuts[0])


def _cuts(atoms: Sequence[_Atom], size: int) -> list[int]:
    """Which atoms begin a chunk. Each takes as many as it can, or over half of that for a better place to cut."""
    totals = list(accumulate((atom.tokens for atom in atoms), initial=0))
    cuts = [0]
    while (full := bisect_right(totals, totals[cuts[-1]] + size) - 1) < len(atoms):
        half = bisect_left(totals, totals[cuts[-1]] + size / 2, cuts[-1] + 1, full + 1)
        cuts.append(min(range(half, full + 1), key=lambda n: (atoms[n].rank, -n), default=full))
    return cuts


def _atoms(text: _Text, outline: _Outline, size: int) -> Iterator[_Atom]:
    """Blocks that fit, lines of those that do not, and parts of lines; from the first line that is not blank."""
    ranks = _ranks(text, outline, size)
    heads = {heading.line for heading in outline.headings}
    lines = [n for n, rank in enumerate(ranks) if n in heads or (rank is not None and text.size(n, n + 1))]
    for line, after in pairwise([*lines, len(ranks)]):
        start = text.starts[line]
        yield from _parts(text.body[start : text.starts[after]], start, ranks[line] or 0, size=size)


def _ranks(text: _Text, outline: _Outline, size: int) -> list[int | None]:
    """How good a place to cut each line's start is; None inside a block that fits."""
    ranks: list[int | None] = [_LINE] * len(text.lines)
    for block in outline.blocks:
        # CommonMark knows fewer blanks than `tokens`: a block may begin with a line that has none.
        line = bisect_right(text.totals, text.totals[block.line]) - 1
        if line >= block.stop or (before := ranks[line]) is None:
            continue
        ranks[line] = min(before, block.depth)
        if text.size(line, block.stop) <= size:
            ranks[line + 1 : block.stop] = [None] * (block.stop - line - 1)
    return ranks


def _parts(text: str, start: int, rank: int, *, size: int, finer: int = _SENTENCE) -> Iterator[_Atom]:
    """One atom if the text fits, else its sentences, their words, or parts of those."""
    count = tokens(text)
    if count <= size:
        yield _Atom(start, rank, count)
        return
    if ends := _ENDS.get(finer):
        stops = [match.end() for match in ends.finditer(text)]
    else:
        stride = min(_STRIDE, size // SIZE_LEAST)
        stops = list(range(stride, len(text), stride))
    for a, b in pairwise([0, *stops, len(text)]):
        if a < b:
            yield from _parts(text[a:b], start + a, finer if a else rank, size=size, finer=finer + 1)


def _outline(lines: Sequence[str]) -> _Outline:
    if len(lines) > LINES_LIMIT:
        return _Outline()
    front = _front(lines)
    parsed = _parsed("".join(lines[front:]).removeprefix("\ufeff"))
    blocks = (
        _Block(front + token.map[0], front + token.map[1], token.level, token.type == "fence")
        for token in parsed
        if token.map and token.type not in _INNER
    )
    yaml = (_Block(0, front, 0),) if front else ()
    return _Outline(tuple(_headings(parsed, front)), (*yaml, *blocks))


def _headings(parsed: Sequence[Token], front: int) -> Iterator[_Heading]:
    above: list[tuple[int, str]] = []
    for token, inline in pairwise(parsed):
        if token.type == "heading_open" and token.level == 0 and token.map:
            level = int(token.tag[1])
            title = " ".join(inline.content.split())[:TITLE_LIMIT].rstrip()
            above = [*(outer for outer in above if outer[0] < level), (level, f"{'#' * level} {title}".rstrip())]
            yield _Heading(front + token.map[0], level, tuple(mark for _, mark in above))


def _front(lines: Sequence[str]) -> int:
    """Lines of YAML front matter: `---`, a key, anything, and `---` or `...`."""
    if not lines[1:] or lines[0].removeprefix("\ufeff").rstrip() != "---" or not _YAML_KEY.match(lines[1]):
        return 0
    return next((n for n, line in enumerate(lines[1:], 2) if line.rstrip() in {"---", "..."}), 0)


class _Tangled(Exception):
    """A text takes the parser too many steps."""


def _parsed(text: str) -> Sequence[Token]:
    """
    The blocks of a Markdown text.

    Some text takes markdown-it (4.3) quadratic time, such as lines `> # a` and `b` in turn, and deep nesting loses
    it the rest of the text. Such text is read again without what can nest or take long.
    """
    if text.count("|") <= BARS_LIMIT:
        try:
            parsed = _parser(nested=True).parse(text)
        except _Tangled:
            parsed = None
        if parsed and max(token.level for token in parsed) < NESTING_LIMIT - 1:
            return parsed
    return _parser(nested=False).parse(text)


def _parser(*, nested: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import fence

    parser = MarkdownIt("commonmark", {"maxNesting": NESTING_LIMIT})
    parser.core.ruler.enableOnly(["normalize", "block"])
    if not nested:
        return parser.disable(["blockquote", "list", "reference", "lheading"])
    steps = iter(range(STEPS_LIMIT))

    def counted(state: StateBlock, line: int, stop: int, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's
        if next(steps, None) is None:
            raise _Tangled
        return fence(state, line, stop, silent)

    # Whatever looks at a line, also ahead, asks first whether a fence begins there.
    parser.block.ruler.at("fence", counted, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    return parser.enable("table")

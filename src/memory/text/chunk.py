"""Cuts a body into the chunks that are indexed: before headings, then between blocks, lines, sentences, words."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.errors import Invalid
from memory.schema.memory import Chunk, ChunkType
from memory.text.outline import DEEPEST, LINE, outline
from memory.text.tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memory.text.outline import Heading, Outline

SIZE_LEAST = 4  # tokens; the most that one character is counted as

MANY = 4_000
"""Chunks of one body, beyond which neighbours share one: the index reads the body anew for each of them."""

# Where to cut: the depth of the block that begins there (0, 1, ...), or one of these. Lower is better.
_LINE, _SENTENCE, _WORD, _ANYWHERE = range(DEEPEST + 1, DEEPEST + 5)
_STRIDE = 16  # characters between two cuts of a line, at least

_MARK_FIRST = re.compile(r"[\s\ufeff]*(?:#|```|~~~)")
_UNDERLINE = re.compile(r"[\r\n] {0,3}(?:=+|-+)[ \t]*(?![^\r\n])")

# What is blank to every tokenizer: BERT's drops \v, \f, \x85 and so joins what they stand between.
_BLANK = r" \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_ENDS = {
    _SENTENCE: re.compile(
        rf"(?<=[.!?\u2026])[{_BLANK}]+|(?<=[.!?\u2026][\"')\]\u201d\u2019])[{_BLANK}]+|(?<=[\u3002\uff01\uff1f])"
    ),
    _WORD: re.compile(rf"[{_BLANK}]+|(?<=[,;\u3001\uff0c\uff1b\uff1a])(?![{_BLANK}])"),
}


def chunk(body: str, *, size: int = 450, count: Callable[[str], int] = tokens) -> tuple[Chunk, ...]:
    """
    The chunks of a Markdown or plain body, in order; () for white space.

    They tile it: `"".join(body[c.start:c.stop] for c in chunks) == body`. A body of at most `size` tokens is one
    chunk. In a longer one each heading begins a chunk, but for one directly above a deeper one: it joins the chunk of
    that if there is room, unless the heading before has its name, for two sections of a name stay two. A section too
    long is cut where its outermost blocks meet, but not before half of `size` is used; a block (a paragraph, a list
    item, a table, fenced code) is only cut if it alone exceeds `size`, then between its inner blocks or lines, a line
    between sentences, then words, a word anywhere. White space stays with what precedes it; at the beginning, with
    what follows. In a body of more than `MANY` chunks, neighbours share one as long as there is room: a heading for every
    hundred characters is a list, and 125,000 of them took a minute to index.

    The path of a chunk ends with the last heading in it, or before it. That of a body in one chunk ends with the
    deepest heading that all of its text stands below.

    Linear in the body, whatever it holds.

    Args:
        size: The most tokens of a chunk; from 4.
        count: Says how many tokens a text has: those of two parts together, if they meet at white space or after one
            of `,;` or a stop or comma of Chinese; at most one for each letter (see `memory.text.tokens.letters`);
            none for what adds none to the text around it.

    Raises:
        Invalid: The size is less.
    """
    if size < SIZE_LEAST:
        raise Invalid(f"a chunk has room for at least {SIZE_LEAST} tokens, not {size}")
    text = _Text.of(body, count)
    total = text.totals[-1]
    if total == 0:
        return ()
    if total <= size and not (_MARK_FIRST.match(body) or _UNDERLINE.search(body)):
        return (Chunk(0, 0, len(body), ChunkType.TEXT, token_count=total),)
    found = outline(text.lines)
    slices = [_whole(text, found)] if total <= size else _joined(list(_slices(text, found, size)), text, size)
    fences = [(text.starts[block.line], text.starts[block.stop]) for block in found.blocks if block.fence]
    return tuple(_labelled(index, part, text, fences) for index, part in enumerate(slices))


class _Text(NamedTuple):
    """
    A body and its lines.

    Attributes:
        lines: With their ends.
        starts: Offset of each line, and of the end.
        totals: Tokens before each line, and of all.
        counter: Counts the tokens of a text.
    """

    body: str
    lines: tuple[str, ...]
    starts: tuple[int, ...]
    totals: tuple[int, ...]
    counter: Callable[[str], int]

    @classmethod
    def of(cls, body: str, counter: Callable[[str], int]) -> _Text:
        lines = tuple(LINE.findall(body))
        starts = tuple(accumulate(map(len, lines), initial=0))
        return cls(body, lines, starts, tuple(accumulate(map(counter, lines), initial=0)), counter)

    def size(self, line: int, stop: int) -> int:
        """Tokens of some lines, exactly: no token spans two."""
        return self.totals[stop] - self.totals[line]

    def tokens(self, start: int, stop: int) -> int:
        """Those of a slice."""
        line, after = bisect_left(self.starts, start), bisect_left(self.starts, stop)
        if (self.starts[line], self.starts[after]) == (start, stop):
            return self.size(line, after)
        return self.counter(self.body[start:stop])


class _Atom(NamedTuple):
    """
    What is not cut further: from `start` to the next one's.

    Attributes:
        rank: How good a place to cut `start` is.
        tokens: As many as a chunk may have, if it is to be a chunk of its own.
    """

    start: int
    rank: int
    tokens: int


class _Slice(NamedTuple):
    """`begins` if the heading stands at its start, below bare ones at most, rather than in a slice before."""

    start: int
    stop: int
    heading: Heading | None
    begins: bool


def _labelled(index: int, part: _Slice, text: _Text, fences: Sequence[tuple[int, int]]) -> Chunk:
    kind = ChunkType.TEXT
    if part.heading and part.begins:
        kind = ChunkType.SECTION
    elif fences:
        said = text.body[part.start : part.stop]
        start = part.start + len(said) - len(said.lstrip())
        fence = fences[bisect_right(fences, (start, len(text.body))) - 1]
        if fence[0] <= start and part.start + len(said.rstrip()) <= fence[1]:
            kind = ChunkType.CODE_BLOCK
    path, level = (part.heading.path, part.heading.level) if part.heading else ((), 0)
    return Chunk(index, part.start, part.stop, kind, path, level, text.tokens(part.start, part.stop))


def _whole(text: _Text, outline: Outline) -> _Slice:
    """With the deepest heading that all of its text stands below."""
    above, said = None, 0
    for n, heading in enumerate(outline.headings, 1):
        if text.totals[heading.line] > said or any(one.level <= heading.level for one in outline.headings[n:]):
            break
        above, said = heading, text.totals[heading.stop]
    return _Slice(0, len(text.body), above, begins=True)


def _joined(slices: list[_Slice], text: _Text, size: int) -> list[_Slice]:
    """Of more than `MANY`, neighbours as one, as long as they have at most `size` tokens together."""
    if len(slices) <= MANY:
        return slices
    joined = [slices[0]]
    for part in slices[1:]:
        before = joined[-1]
        if text.tokens(before.start, part.stop) <= size:
            joined[-1] = _Slice(before.start, part.stop, part.heading or before.heading, begins=False)
        else:
            joined.append(part)
    return joined


class _Section(NamedTuple):
    """
    A heading and the atoms `first` to `stop`, exclusive, from it to the next one.

    Attributes:
        bare: Whether the next one is directly below it, so that both may be in one chunk.
    """

    first: int
    stop: int
    heading: Heading | None
    bare: bool


def _slices(text: _Text, outline: Outline, size: int) -> Iterator[_Slice]:
    atoms = list(_atoms(text, outline, size))
    totals = list(accumulate((atom.tokens for atom in atoms), initial=0))
    ends = [0, *(atom.start for atom in atoms[1:]), text.starts[-1]]
    waiting: _Section | None = None
    for section in _sections(text, outline, [atom.start for atom in atoms]):
        first, stop, heading, bare = section
        cuts = [*_cuts(atoms, totals, first, stop, size=size), stop]
        if waiting:
            joined = [*_cuts(atoms, totals, waiting.first, stop, size=size), stop]
            if totals[cuts[1]] - totals[waiting.first] <= size:
                cuts[0] = waiting.first
            elif cuts[2:] and joined[1] > first + 1:  # it is cut in any case, and not from the text below its heading
                cuts = joined
            else:
                yield _Slice(ends[waiting.first], ends[first], waiting.heading, begins=True)
        waiting = section._replace(first=cuts[0]) if bare and not cuts[2:] else None
        if not waiting:
            for cut, after in pairwise(cuts):
                yield _Slice(ends[cut], ends[after], heading, begins=cut == cuts[0])


def _sections(text: _Text, outline: Outline, starts: Sequence[int]) -> Iterator[_Section]:
    """
    In order; the first may have no heading.

    Args:
        starts: Those of the atoms.
    """
    found: list[tuple[int, Heading | None]] = [
        (bisect_right(starts, text.starts[heading.line]) - 1, heading) for heading in outline.headings
    ]
    if not found or found[0][0] > 0:
        found.insert(0, (0, None))
    before: Heading | None = None
    for (first, heading), (stop, below) in pairwise([*found, (len(starts), None)]):
        bare = (
            heading is not None
            and below is not None
            and heading.level < below.level
            and text.totals[heading.stop] == text.totals[below.line]
            and (before is None or before.path[: len(heading.path)] != heading.path)
        )
        yield _Section(first, stop, heading, bare)
        before = heading


def _cuts(atoms: Sequence[_Atom], totals: Sequence[int], first: int, stop: int, *, size: int) -> Iterator[int]:
    """
    Which atoms of a section begin a chunk. Each takes as many as it can, or over half of that for a better place to cut.

    Args:
        totals: Tokens before each atom, and of all.
    """
    cut = first
    yield cut
    while cut + 1 < stop and totals[stop] - totals[cut] > size:
        full = bisect_right(totals, totals[cut] + size, cut + 2, stop) - 1
        half = bisect_left(totals, totals[cut] + size / 2, cut + 1, full + 1)
        cut = min(range(half, full + 1), key=lambda n: (atoms[n].rank, -n), default=full)
        yield cut


def _atoms(text: _Text, outline: Outline, size: int) -> Iterator[_Atom]:
    """Blocks that fit, lines of those that do not, and parts of lines; from the first line that is not blank."""
    ranks = _ranks(text, outline, size)
    heads = {heading.line for heading in outline.headings}
    before = text.totals
    lines = [n for n, rank in enumerate(ranks) if (rank is not None and before[n] < before[n + 1]) or n in heads]
    for line, after in pairwise([*lines, len(ranks)]):
        atom = _Atom(text.starts[line], ranks[line] or 0, text.size(line, after))
        if atom.tokens <= size:
            yield atom
        else:
            said = text.body[atom.start : text.starts[after]]
            yield from _parts(said, atom, size=size, count=text.counter)


def _ranks(text: _Text, outline: Outline, size: int) -> list[int | None]:
    """How good a place to cut each line's start is; None inside a block that fits."""
    ranks: list[int | None] = [_LINE] * len(text.lines)
    done = 0
    for block in outline.blocks:
        # CommonMark knows fewer blanks than `tokens`: a block may begin with a line that has none.
        line = bisect_right(text.totals, text.totals[block.line]) - 1
        if not done <= line < block.stop:
            continue
        ranks[line] = min(ranks[line] or 0, block.depth)
        if text.size(line, block.stop) <= size:
            ranks[line + 1 : block.stop] = [None] * (block.stop - line - 1)
            done = block.stop
    return ranks


def _parts(
    text: str, whole: _Atom, *, size: int, count: Callable[[str], int], finer: int = _SENTENCE
) -> Iterator[_Atom]:
    """The sentences of a text that does not fit, their words, or parts of those."""
    if finer == _ANYWHERE:
        yield from _fragments(text, whole, size=size, count=count)
        return
    stops = [0]
    for match in _ENDS[finer].finditer(text):
        if match.end() - stops[-1] >= min(_STRIDE, size // SIZE_LEAST):
            stops.append(match.end())
    for a, b in pairwise([*stops, len(text)]):
        if a == b:
            continue
        part = text[a:b]
        found = whole.tokens if len(part) == len(text) else count(part)
        atom = _Atom(whole.start + a, finer if a else whole.rank, found)
        if found <= size:
            yield atom
        else:
            yield from _parts(part, atom, size=size, count=count, finer=finer + 1)


def _fragments(word: str, whole: _Atom, *, size: int, count: Callable[[str], int]) -> Iterator[_Atom]:
    """
    Parts of a word that each fill a chunk, about, and the rest of it.

    Nobody knows how many tokens two of them have together: what is counted of each is not what it has in the word.
    """
    least = size // SIZE_LEAST
    start, length = 0, SIZE_LEAST * size
    while start < len(word):
        stop = min(start + length, len(word))
        while (found := count(word[start:stop])) > size and stop - start > least:
            stop = start + max(least, (stop - start) * size // found * 15 // 16)
        rest = stop == len(word)
        yield _Atom(whole.start + start, _ANYWHERE if start else whole.rank, size if found and not rest else found)
        start, length = stop, (stop - start) * 17 // 16 + 1

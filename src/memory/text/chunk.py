"""Cuts a body into chunks for the index: before headings, then between blocks, lines, sentences and words."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.errors import Invalid
from memory.schema.memory import Chunk, ChunkType
from memory.text.markdown import DEEPEST, LINE, Heading, Outline, outline
from memory.text.tokens import running_totals, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


SIZE_LEAST = 4  # tokens: one character counts as at most this many

MANY = 4_000
"""Above this many chunks in a body, neighbours are merged: the index reads the whole body for each chunk."""

# Ranks of places to cut: the depth of the block that begins there (0, 1, ...), or one of these. Lower is better.
_LINE, _SENTENCE, _WORD, _ANYWHERE = range(DEEPEST + 1, DEEPEST + 5)
_STRIDE = 16  # characters between two cuts of a line, at least

_MARK_FIRST = re.compile(r"[\s\ufeff]*(?:#|```|~~~)")
_UNDERLINE = re.compile(r"[\r\n] {0,3}(?:=+|-+)[ \t]*(?![^\r\n])")

# White space for every tokenizer. BERT's drops \v, \f and \x85 and so joins the text on both sides.
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

    They tile it: `"".join(body[c.start:c.stop] for c in chunks) == body`.
    A body of at most `size` tokens is one chunk.

    In a longer body each heading begins a chunk. A heading directly above a deeper one shares that one's chunk if
    there is room, unless the heading before has the same name: two sections of one name stay two.
    A section that is too long is cut between its outermost blocks, but not before half of `size` is used.
    A block (a paragraph, a list item, a table, fenced code) is cut only if it alone exceeds `size`:
    between its inner blocks or lines, then sentences, then words, then anywhere.
    White space stays with what precedes it; at the beginning, with what follows.
    Above `MANY` chunks, neighbours share one as long as there is room: a body with a heading for every hundred
    characters is a list, and 125,000 of them took a minute to index.

    The path of a chunk ends with the last heading in it, or else before it; that of a body in one chunk ends with the
    deepest heading that has all of the text below it. Linear in the body, whatever it contains.

    Args:
        size: The most tokens of a chunk; from 4.
        count: Gives the number of tokens of a text. It must add up when a text is split at white space or after one of
            `,;`, a Chinese comma or a Chinese stop; be at most one for each letter (see `memory.text.tokens.letters`);
            and be 0 for what adds none to the text around it.

    Raises:
        Invalid: The size is below 4.
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
        lines: Including their line ends.
        starts: Offset of each line, and of the end.
        totals: Tokens before each line, and in all.
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
        return cls(body, lines, starts, running_totals(lines, counter), counter)

    def size(self, line: int, stop: int) -> int:
        """Tokens of some lines, exactly: no token spans two lines."""
        return self.totals[stop] - self.totals[line]

    def tokens(self, start: int, stop: int) -> int:
        """Tokens of a slice."""
        line, after = bisect_left(self.starts, start), bisect_left(self.starts, stop)
        if (self.starts[line], self.starts[after]) == (start, stop):
            return self.size(line, after)
        return self.counter(self.body[start:stop])


class _Atom(NamedTuple):
    """
    A piece that is not cut further: from `start` to the start of the next one.

    Attributes:
        rank: How good a place to cut `start` is; lower is better.
        tokens: How many it has; `size` for a fragment that must be a chunk of its own.
    """

    start: int
    rank: int
    tokens: int


class _Slice(NamedTuple):
    """`begins`: the heading is at its start, with nothing but bare headings above, and not in an earlier slice."""

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
    """The whole body, with the deepest heading that has all of its text below it."""
    above, said = None, 0
    for n, heading in enumerate(outline.headings, 1):
        if text.totals[heading.line] > said or any(one.level <= heading.level for one in outline.headings[n:]):
            break
        above, said = heading, text.totals[heading.stop]
    return _Slice(0, len(text.body), above, begins=True)


def _joined(slices: list[_Slice], text: _Text, size: int) -> list[_Slice]:
    """If there are more than `MANY` slices, merges neighbours that have at most `size` tokens together."""
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
    A heading and its atoms, from `first` to before `stop`, where the next heading begins.

    Attributes:
        bare: Whether a deeper heading follows directly, so that both may share a chunk.
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
        # A bare heading waits for the section below it: only with that one's size is it known whether both fit.
        if waiting:
            joined = [*_cuts(atoms, totals, waiting.first, stop, size=size), stop]
            if totals[cuts[1]] - totals[waiting.first] <= size:
                cuts[0] = waiting.first
            elif cuts[2:] and joined[1] > first + 1:  # it is cut anyway, and not right below its heading
                cuts = joined
            else:
                yield _Slice(ends[waiting.first], ends[first], waiting.heading, begins=True)
        waiting = section._replace(first=cuts[0]) if bare and not cuts[2:] else None
        if not waiting:
            for cut, after in pairwise(cuts):
                yield _Slice(ends[cut], ends[after], heading, begins=cut == cuts[0])


def _sections(text: _Text, outline: Outline, starts: Sequence[int]) -> Iterator[_Section]:
    """
    The sections in order; the first may have no heading.

    Args:
        starts: Offset of each atom.
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
    The atoms that begin a chunk. Each chunk takes as many as fit, or at least half of that to end at a better place.

    Args:
        totals: Tokens before each atom, and in all.
    """
    cut = first
    yield cut
    while cut + 1 < stop and totals[stop] - totals[cut] > size:
        full = bisect_right(totals, totals[cut] + size, cut + 2, stop) - 1
        half = bisect_left(totals, totals[cut] + size / 2, cut + 1, full + 1)
        cut = min(range(half, full + 1), key=lambda n: (atoms[n].rank, -n), default=full)
        yield cut


def _atoms(text: _Text, outline: Outline, size: int) -> Iterator[_Atom]:
    """Blocks that fit, lines of those that do not, and parts of lines; begins at the first line that is not blank."""
    ranks = _ranks(text, outline, size)
    heads = {heading.line for heading in outline.headings}
    before = text.totals
    lines = [n for n, rank in enumerate(ranks) if (rank is not None and before[n] < before[n + 1]) or n in heads]
    for line, after in pairwise([*lines, len(ranks)]):
        atom = _Atom(text.starts[line], ranks[line] or 0, text.size(line, after))
        if atom.tokens <= size:
            yield atom
        else:
            yield from _parts(text.body[atom.start : text.starts[after]], atom, size=size, count=text.counter)


def _ranks(text: _Text, outline: Outline, size: int) -> list[int | None]:
    """The rank of each line's start as a place to cut; None inside a block that fits."""
    ranks: list[int | None] = [_LINE] * len(text.lines)
    done = 0
    for block in outline.blocks:
        # CommonMark knows less white space than `tokens`: a block may begin with a line of no tokens.
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
    """The sentences of a text that does not fit, or their words, or parts of those."""
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
    Parts of a word that each about fill a chunk, and the rest of it.

    The tokens of two parts together are unknown: counted apart they differ from what they are inside the word.
    """
    least = size // SIZE_LEAST
    start, length = 0, SIZE_LEAST * size
    while start < len(word):
        stop = min(start + length, len(word))
        while (found := count(word[start:stop])) > size and stop - start > least:
            stop = start + max(least, (stop - start) * size // found * 15 // 16)
        alone = size if found and stop < len(word) else found
        yield _Atom(whole.start + start, _ANYWHERE if start else whole.rank, alone)
        start, length = stop, (stop - start) * 17 // 16 + 1

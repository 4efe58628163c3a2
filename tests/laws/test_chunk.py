"""Laws of chunks and tokens, for any text and for Markdown of known structure, whoever counts the tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, TypeAlias

from counters import pieces, signs
from hypothesis import example, given, strategies as st
from profiles import examples

from memory.keep.entry import chunked
from memory.schema.draft import Draft
from memory.schema.kinds import Kind
from memory.schema.memory import ChunkType
from memory.text.chunk import chunk
from memory.text.markdown import subsections
from memory.text.tokens import letters, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Counter: TypeAlias = Callable[[str], int]


# Whatever has ever been mistaken for a line end, a blank, or a mark.
NASTY = [*"\n\r\t\f\v \x1c\x85\u2028\u2029\ufeff\u00a0\u200d", "\r\n", "\n\n", *"ab.!?,\u4e2d\u3002\ud55c\U0001f600"]
MARKS = ["# ", "## ", "```\n", "~~~\n", "===\n", "---\n", "- ", "  - ", "> ", "|", "a|b\n-|-\n", "<!--", "-->", "    "]
# What a tokenizer drops, takes apart, takes as one, or knows nothing of.
ODD = [
    "\u200b",
    "e\u0301",
    "\u1f82",
    "[SEP]",
    "[SE",
    "P]",
    "\u0e01",
    "qzx" * 9,
    "7" * 130,
    "Donaudampfschiff",
    "\u2060",
]
SIZES = st.sampled_from([4, 7, 16, 20, 60, 450])
COUNTERS = st.sampled_from([tokens, pieces, signs])

texts = st.lists(st.sampled_from([*NASTY, *MARKS, *ODD]), max_size=120).map("".join) | st.text(max_size=200).map(
    lambda text: text.replace("\0", "")
)


@dataclass(frozen=True, slots=True)
class Part:
    """One block of a Markdown text, and what it is."""

    text: str
    level: int = 0
    title: str = ""
    whole: bool = False
    number: int = 0


words = st.lists(
    st.sampled_from(["red", "Queen's", "100 %", "a > b", "\u7d05\u8272", "Stra\u00dfe"]), min_size=1, max_size=9
).map(" ".join)
lines = st.lists(words, min_size=1, max_size=9)


def atx(level: int, title: str) -> Part:
    return Part(f"{'#' * level} {title}", level=level, title=title)


def setext(level: int, title: str) -> Part:
    return Part(f"{title}\n{'=-'[level - 1] * 3}", level=level, title=title)


def fence(mark: str, code: list[str]) -> Part:
    return Part("\n".join([mark, "# not a heading", *code, mark]), whole=True)


def table(cells: list[str]) -> Part:
    return Part("\n".join(["|a|b|", "|-|-|", *(f"|{cell}|1|" for cell in cells)]), whole=True)


parts = st.one_of(
    st.builds(atx, st.integers(1, 6), words),
    st.builds(setext, st.integers(1, 2), words),
    st.builds(fence, st.sampled_from(["```", "~~~~"]), lines),
    st.builds(table, lines),
    lines.map(lambda some: Part("\n".join(some))),
    lines.map(lambda some: Part("\n".join(f"- {line}\n  1. # not at the top" for line in some))),
    lines.map(lambda some: Part("\n".join(f"> # {line}" for line in some))),
    lines.map(lambda some: Part("<!--\n# not a heading\n\n" + "\n".join(some) + "\n-->")),
)
documents = st.lists(parts, min_size=1, max_size=20)


def joined(document: list[Part], end: str) -> tuple[str, list[int]]:
    """The text of a document and where each part begins."""
    body, starts = "", []
    for part in document:
        starts.append(len(body))
        body += (part.text + "\n\n").replace("\n", end)
    return body, starts


@given(texts, SIZES, COUNTERS)
@example("\n\n# " + "a " * 30, 20, tokens)
@example("\ufeff# a\n\nb", 4, tokens)
@example("\f\n\u200d\na|b\n-|-\n", 4, tokens)
@example("\u00a0\n===\n" + "a " * 30, 20, tokens)
@example("\u200b" * 900 + "a" * 900 + "\u200b" * 900 + " b", 20, pieces)
@example("unaffable" * 9 + "\f" + "\u1f82" * 9, 7, pieces)
@example("sienablocclad", 4, pieces)  # parts of it have fewer pieces together than it has
@example("wreck\fsnooker", 4, pieces)
@examples(3)
def test_chunks_tile_the_body_within_the_size_and_none_is_blank(body: str, size: int, count: Counter) -> None:
    chunks = chunk(body, size=size, count=count)

    assert "".join(body[c.start : c.stop] for c in chunks) == (body if count(body) else "")
    assert [c.index for c in chunks] == list(range(len(chunks)))
    assert all(one.stop == other.start for one, other in pairwise(chunks))
    assert all(0 < c.token_count <= size for c in chunks)
    assert all(c.token_count == count(body[c.start : c.stop]) for c in chunks)
    assert all(c.level == (len(c.header_path[-1].split(" ")[0]) if c.header_path else 0) for c in chunks)


@given(texts, st.sampled_from([Kind.NOTE, Kind.REPORT, Kind.DISCOVERY]))
def test_what_is_kept_of_a_body_is_all_of_it(body: str, kind: Kind) -> None:
    names = {"query_id": "q"} if kind is Kind.DISCOVERY else {"session_id": "s", "agent_id": "a"}
    draft = Draft(kind=kind, title="t", body=body if kind is Kind.NOTE else f"a{body}", **names)

    kept = chunked(draft)

    assert "".join(draft.body[c.start : c.stop] for c in kept) == draft.body
    assert [c.index for c in kept] == list(range(len(kept)))


@given(texts, SIZES, COUNTERS)
def test_cutting_again_gives_the_same(body: str, size: int, count: Counter) -> None:
    assert chunk(body, size=size, count=count) == chunk(body, size=size, count=count)


def headings(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Line and mark of each heading outside fences, slowly and obviously."""
    fence = ""
    for number, line in enumerate(lines):
        mark = re.match(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$", line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        elif heading := re.match(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$", line):
            title = re.sub(r"(^|[ \t])#+[ \t]*$", "", heading[2] or "").strip()
            yield number, f"{heading[1]} {title}".strip()


LINES = st.sampled_from(
    "# a|## b ##|### c#| ## d \u00df|#e|####### f|\\# g|#|###### \u7d05 # #|**b** #|\tx|```|```` sh|~~~|   ~~~~"
    "|``` a`b|~~~ a`b|Queen's 100 %|red fox, blue||".split("|")
)


@given(st.lists(LINES, max_size=60), SIZES, COUNTERS, st.sampled_from(["\n", "\r\n", "\r"]))
@examples(3)
def test_headings_are_those_that_a_slow_reader_finds(lines: list[str], size: int, count: Counter, end: str) -> None:
    body = end.join(lines)
    chunks = chunk(body, size=size, count=count)
    starts = [sum(len(line) + len(end) for line in lines[:n]) for n in range(len(lines))]

    if len(chunks) > 1:
        found = [(starts[number], mark) for number, mark in headings(lines)]
        for c in chunks:
            path: list[str] = []
            for start, mark in found:
                if start < c.stop:
                    path = [*(above for above in path if len(above.split()[0]) < len(mark.split()[0])), mark]
            assert list(c.header_path) == path
            begun = [mark for start, mark in found if c.start <= start < c.stop]
            assert begun == list(c.header_path[len(path) - len(begun) :])
            assert bool(begun) == (c.type is ChunkType.SECTION)


@given(documents, SIZES, st.sampled_from(["\n", "\r\n", "\r"]), COUNTERS)
@examples(1.5)
def test_headings_above_are_those_a_reader_finds(document: list[Part], size: int, end: str, count: Counter) -> None:
    body, starts = joined(document, end)
    chunks = chunk(body, size=size, count=count)

    if len(chunks) > 1:
        for c in chunks:
            path: dict[int, str] = {}
            for part, start in zip(document, starts, strict=True):
                if part.level and start < c.stop:
                    path = {level: mark for level, mark in path.items() if level < part.level}
                    path[part.level] = f"{'#' * part.level} {part.title}"
            assert c.header_path == tuple(path.values())
            assert c.level == max(path, default=0)
            assert c.section == c.header_path[: 1 if min(path, default=0) == 2 else 2]


@given(documents, SIZES, COUNTERS)
@example([atx(1, "red"), Part("red"), atx(2, "red"), Part("red"), atx(1, "red"), Part("red " * 15)], 20, tokens)
@examples(1.5)
def test_a_heading_begins_a_chunk_and_only_it_makes_a_section(document: list[Part], size: int, count: Counter) -> None:
    body, starts = joined(document, "\n")
    chunks = chunk(body, size=size, count=count)

    if len(chunks) > 1:
        for c in chunks:
            inside = [part for part, start in zip(document, starts, strict=True) if c.start <= start < c.stop]
            heads = list(takewhile(lambda part: part.level, inside))
            assert bool(heads) == (c.type is ChunkType.SECTION)
            assert not heads or c.start in starts
            assert not any(part.level for part in inside[len(heads) :])
            assert all(one.level < other.level for one, other in pairwise(heads))


@given(documents, SIZES, COUNTERS)
@example([atx(1, "red"), atx(2, "red"), Part("red " * 30)], 20, tokens)
@example([atx(2, "red"), atx(3, "red"), Part("red"), atx(2, "red"), atx(3, "red"), Part("red " * 9)], 20, tokens)
@examples(3)
def test_a_heading_joins_a_deeper_one_directly_below_it_if_there_is_room(
    document: list[Part], size: int, count: Counter
) -> None:
    body, starts = joined(document, "\n")
    chunks = chunk(body, size=size, count=count)
    levels = {start: part.level for part, start in zip(document, starts, strict=True)}

    for n, c in enumerate(chunks):
        inside = [level for start, level in levels.items() if c.start <= start < c.stop]
        heads = list(takewhile(bool, inside))
        first = c.header_path[: len(c.header_path) + 1 - len(heads)]  # that of the first heading in it
        named = n > 0 and first == chunks[n - 1].header_path[: len(first)]  # like what is before it
        assert len(chunks) == 1 or len(heads) < 2 or not named
        if c.type is ChunkType.SECTION and heads == inside and levels.get(c.stop, 0) > c.level:
            assert named or c.token_count + chunks[n + 1].token_count > size


def leaves(document: list[Part]) -> Iterator[tuple[Part, ...]]:
    """The headings above each text, and each heading without anything below it with those above."""
    path: tuple[Part, ...] = ()
    for part, after in pairwise([*document, Part("", level=1)]):
        if part.level:
            path = (*(above for above in path if above.level < part.level), part)
        if not part.level or 0 < after.level <= part.level:
            yield path


@given(documents, COUNTERS)
@examples(1.5)
def test_the_path_of_a_short_body_is_what_all_of_it_stands_below(document: list[Part], count: Counter) -> None:
    document = [replace(part, number=n) for n, part in enumerate(document)]
    chunks = chunk(joined(document, "\n")[0], size=10_000, count=count)

    same = takewhile(lambda column: len(set(column)) == 1, zip(*leaves(document), strict=False))
    path = [column[0] for column in same]
    assert [c.header_path for c in chunks] == [tuple(f"{'#' * part.level} {part.title}" for part in path)]
    assert (chunks[0].type is ChunkType.SECTION) == bool(path)


@given(documents, SIZES, COUNTERS)
@examples(1.5)
def test_a_fence_or_a_table_that_fits_is_whole(document: list[Part], size: int, count: Counter) -> None:
    body, starts = joined(document, "\n")
    chunks = chunk(body, size=size, count=count)

    for part, start in zip(document, starts, strict=True):
        if part.whole and count(part.text) <= size:
            assert not [c for c in chunks if start < c.start < start + len(part.text)]


@given(documents, SIZES)
def test_a_chunk_is_a_code_block_if_it_lies_in_a_fence(document: list[Part], size: int) -> None:
    body, starts = joined(document, "\n")
    fences = [(s, s + len(p.text)) for p, s in zip(document, starts, strict=True) if p.text[0] in "`~"]

    for c in chunk(body, size=size):
        inside = any(
            start <= c.start and c.start + len(body[c.start : c.stop].rstrip()) <= stop for start, stop in fences
        )
        assert (c.type is ChunkType.CODE_BLOCK) == inside


@given(documents, SIZES, COUNTERS)
@examples(1.5)
def test_a_fence_or_a_table_that_does_not_fit_is_cut_at_lines(document: list[Part], size: int, count: Counter) -> None:
    body, starts = joined(document, "\n")
    chunks = chunk(body, size=size, count=count)

    for part, start in zip(document, starts, strict=True):
        if part.whole and all(count(line) <= size for line in part.text.splitlines()):
            assert all(body[c.start - 1] == "\n" for c in chunks if start < c.start < start + len(part.text))


@given(texts, texts)
def test_tokens_of_a_whole_are_at_most_those_of_its_parts(one: str, other: str) -> None:
    assert tokens(one + other) <= tokens(one) + tokens(other)


@given(texts, texts, COUNTERS, st.sampled_from(" \t\n\r\u00a0\u2003\u2028\u3000"))
def test_tokens_that_meet_at_a_blank_add_up(one: str, other: str, count: Counter, blank: str) -> None:
    assert count(f"{one}{blank}{other}") == count(one) + count(blank) + count(other)


@given(texts, texts, COUNTERS, st.sampled_from(",;\u3001\uff0c\uff1b\uff1a\u3002\uff01\uff1f"))
def test_tokens_that_meet_after_a_mark_of_punctuation_add_up(one: str, other: str, count: Counter, mark: str) -> None:
    assert count(f"{one}{mark}{other}") == count(f"{one}{mark}") + count(other)


@given(texts, COUNTERS)
def test_there_are_at_most_as_many_tokens_as_letters(text: str, count: Counter) -> None:
    assert count(text) <= letters(text) <= 4 * len(text)


@given(texts, texts, COUNTERS)
def test_what_has_no_tokens_adds_none(one: str, other: str, count: Counter) -> None:
    none = "".join(c for c in one if not count(c))

    assert count(none) == 0
    assert count(other + none) == count(other)


@given(texts)
def test_only_white_space_and_byte_order_marks_have_no_tokens(text: str) -> None:
    assert (tokens(text) == 0) == (not text.replace("\ufeff", "").strip())


@given(documents, st.sampled_from(["\n", "\r\n", "\r"]), COUNTERS)
@example([atx(1, "red"), atx(2, "red"), Part("red"), atx(2, "red"), atx(3, "red"), Part("red")], "\n", tokens)
@example([Part("red"), atx(1, "red"), Part("red")], "\n", tokens)
@examples(1.5)
def test_a_chunk_has_the_parts_that_would_be_chunks_of_a_body_too_long_for_one(
    document: list[Part], end: str, count: Counter
) -> None:
    body, _ = joined(document, end)
    (whole,) = chunk(body, size=1_000_000, count=count)

    parts = subsections(whole, body)

    assert "".join(body[part.start : part.stop] for part in parts) == body
    if len(parts) > 1 and whole.token_count > 4:
        cut = chunk(body, size=whole.token_count - 1, count=count)
        assert [(c.start, c.header_path, c.level) for c in cut if c.type is ChunkType.SECTION] == [
            (part.start, part.header_path, part.level) for part in parts if part.type is ChunkType.SECTION
        ]

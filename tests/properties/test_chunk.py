"""Laws of chunks and tokens, for any text and for Markdown of known structure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import example, given, settings, strategies as st

from memory.record import ChunkType
from memory.text.chunk import chunk
from memory.text.tokens import tokens

# Whatever has ever been mistaken for a line end, a blank, or a mark.
NASTY = [*"\n\r\t\f\v \x1c\x85\u2028\u2029\ufeff\u00a0\u200d", "\r\n", "\n\n", *"ab.!?,\u4e2d\u3002\ud55c\U0001f600"]
MARKS = ["# ", "## ", "```\n", "~~~\n", "===\n", "---\n", "- ", "  - ", "> ", "|", "a|b\n-|-\n", "<!--", "-->", "    "]
SIZES = st.sampled_from([2, 3, 7, 20, 60, 450])

texts = st.lists(st.sampled_from([*NASTY, *MARKS]), max_size=120).map("".join) | st.text(max_size=200).map(
    lambda text: text.replace("\0", "")
)


@dataclass(frozen=True, slots=True)
class Part:
    """One block of a Markdown text, and what it is."""

    text: str
    level: int = 0
    title: str = ""
    whole: bool = False


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


@given(texts, SIZES)
@example("\n\n# " + "a " * 30, 20)
@example("\ufeff# a\n\nb", 2)
@example("\f\n\u200d\na|b\n-|-\n", 2)
@example("\u00a0\n===\n" + "a " * 30, 20)
@settings(deadline=None, max_examples=300)
def test_chunks_tile_the_body_within_the_size_and_none_is_blank(body: str, size: int) -> None:
    chunks = chunk(body, size=size)

    assert "".join(body[c.start : c.stop] for c in chunks) == (body if tokens(body) else "")
    assert [c.index for c in chunks] == list(range(len(chunks)))
    assert all(one.stop == other.start for one, other in pairwise(chunks))
    assert all(0 < c.token_count <= size for c in chunks)
    assert all(c.token_count == tokens(body[c.start : c.stop]) for c in chunks)
    assert all(c.level == (len(c.header_path[-1].split(" ")[0]) if c.header_path else 0) for c in chunks)


@given(texts, SIZES)
@settings(deadline=None)
def test_cutting_again_gives_the_same(body: str, size: int) -> None:
    assert chunk(body, size=size) == chunk(body, size=size)


@given(documents, SIZES, st.sampled_from(["\n", "\r\n", "\r"]))
@settings(deadline=None, max_examples=150)
def test_headings_above_are_those_a_reader_finds(document: list[Part], size: int, end: str) -> None:
    body, starts = joined(document, end)
    chunks = chunk(body, size=size)

    if len(chunks) > 1:
        for c in chunks:
            path: dict[int, str] = {}
            for part, start in zip(document, starts, strict=True):
                if part.level and start <= c.start:
                    path = {level: mark for level, mark in path.items() if level < part.level}
                    path[part.level] = f"{'#' * part.level} {part.title}"
            assert c.header_path == tuple(path.values())
            assert c.level == max(path, default=0)
            assert c.section == c.header_path[:2]


@given(documents, SIZES)
@settings(deadline=None, max_examples=150)
def test_a_heading_begins_a_chunk_and_only_it_makes_a_section(document: list[Part], size: int) -> None:
    body, starts = joined(document, "\n")
    chunks = chunk(body, size=size)

    if len(chunks) > 1:
        headings = {start for part, start in zip(document, starts, strict=True) if part.level}
        assert headings == {c.start for c in chunks if c.type is ChunkType.SECTION}


@given(documents, SIZES)
@settings(deadline=None, max_examples=150)
def test_a_fence_or_a_table_that_fits_is_whole(document: list[Part], size: int) -> None:
    body, starts = joined(document, "\n")
    chunks = chunk(body, size=size)

    for part, start in zip(document, starts, strict=True):
        if part.whole and tokens(part.text) <= size:
            assert not [c for c in chunks if start < c.start < start + len(part.text)]


@given(documents, SIZES)
@settings(deadline=None)
def test_a_chunk_is_a_code_block_if_it_lies_in_a_fence(document: list[Part], size: int) -> None:
    body, starts = joined(document, "\n")
    fences = [(s, s + len(p.text)) for p, s in zip(document, starts, strict=True) if p.text[0] in "`~"]

    for c in chunk(body, size=size):
        inside = any(
            start <= c.start and c.start + len(body[c.start : c.stop].rstrip()) <= stop for start, stop in fences
        )
        assert (c.type is ChunkType.CODE_BLOCK) == inside


@given(texts, texts)
def test_tokens_of_a_whole_are_at_most_those_of_its_parts(one: str, other: str) -> None:
    assert tokens(one + other) <= tokens(one) + tokens(other)
    assert tokens(one + "\n" + other) == tokens(one) + tokens(other)


@given(texts)
def test_only_white_space_and_byte_order_marks_have_no_tokens(text: str) -> None:
    assert (tokens(text) == 0) == (not text.replace("\ufeff", "").strip())

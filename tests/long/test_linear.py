"""What is done with a body costs so much for each of its characters, whatever it says over and over."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, strategies as st
from profiles import examples
from work import guarded, is_linear, over_and_over

from memory.schema.errors import BODY_LIMIT
from memory.schema.memory import Chunk, ChunkId, ChunkType, Excerpt, MemoryId
from memory.text import chunk as cutting, markdown as outlining, tokens as counting
from memory.text.chunk import MANY, SIZE_LEAST, chunk
from memory.text.markdown import LINE, outline
from memory.text.terms import indexed, parts
from memory.text.tokens import passage, tokens

PIECES = ["# a\n", "#\n", "###### b\n", "a\n===\n", "---\n", "- ", "1. ", "> ", "```\n", "~~~", "    x\n", "|a|b|\n"]
PIECES += [
    "word ",
    "a_b",
    "aB1",
    ". ",
    "。",
    "入門",
    "é\u0301",
    "\n",
    "\r",
    "\t",
    "<!-- ",
    "[x](",
    "`",
    "*",
    "\\",
    "\u2028",
]

repeated = st.lists(st.sampled_from(PIECES) | st.text(min_size=1, max_size=2), min_size=1, max_size=4).map("".join)
FEW = examples(0.4)  # each is cut at three lengths, line by line


@given(repeated)
@example("# a\n")
@example("#\n")
@example("## b\n# a\n")
@example("a\n===\n")
@example("a")
@example(" ")
@FEW
def test_cutting_is_linear(part: str) -> None:
    with guarded():  # a small chunk, so that the shortest text is cut too
        is_linear(lambda text: chunk(text, size=50), part, cutting, outlining, counting)


@given(repeated)
@FEW
def test_an_outline_is_linear(part: str) -> None:
    with guarded():
        is_linear(lambda text: outline(LINE.findall(text)), part, outlining)


@given(repeated)
@FEW
def test_counting_and_what_is_indexed_beside_are_linear(part: str) -> None:
    with guarded():
        is_linear(tokens, part, counting)
        is_linear(indexed, part)
        is_linear(parts, part)


@given(repeated, st.integers(0, 400))
@FEW
def test_a_passage_is_linear_in_its_chunk(part: str, overlap: int) -> None:
    def act(text: str) -> str:
        whole = Chunk(0, 0, len(text), ChunkType.TEXT)
        return passage(Excerpt(ChunkId(1), MemoryId(1), whole, text, text[:2000], "t", "", "", "", ()), overlap)

    with guarded():
        is_linear(act, part, counting)


@pytest.mark.parametrize("part", ["# a\n", "## b\n# a\n", "a\n===\n", "- # a\n", "aB1_", "a. "])
def test_a_body_of_the_longest_has_so_many_chunks_at_most(part: str) -> None:
    body = over_and_over(part, BODY_LIMIT)

    with guarded():
        chunks = chunk(body)

    assert len(chunks) <= max(MANY, 2 * tokens(body) // 450 + 1)
    assert chunks[0].start == 0
    assert chunks[-1].stop == len(body)
    assert all(one.stop == after.start for one, after in pairwise(chunks))
    assert all(one.token_count <= 450 for one in chunks)


@given(st.integers(1, 40), st.integers(SIZE_LEAST, 60))
def test_neighbours_share_a_chunk_where_there_are_many_and_not_before(many: int, size: int) -> None:
    body = "".join(f"# {number}\n\nword\n\n" for number in range(40))
    apart = chunk(body, size=size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "MANY", many)
        found = chunk(body, size=size)

    if len(apart) <= many:
        assert found == apart
    else:
        assert all(one.token_count + after.token_count > size for one, after in pairwise(found))
        assert "".join(body[one.start : one.stop] for one in found) == body
        assert [one.header_path[-1] for one in found] == [f"# {body[: one.stop].count('# ') - 1}" for one in found], (
            "its path ends with the last heading in it"
        )

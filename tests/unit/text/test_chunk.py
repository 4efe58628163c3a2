"""Chunks of Markdown that people write, and of text that breaks parsers."""

from __future__ import annotations

import pytest
from counters import pieces

from memory.schema.errors import BODY_LIMIT, Invalid
from memory.schema.memory import Chunk, ChunkType
from memory.text.chunk import chunk
from memory.text.tokens import tokens

WORDS = "The quick brown fox jumps over the lazy dog. "


def cut(body: str, size: int = 20) -> list[tuple[str, Chunk]]:
    """Each chunk with its text, after checking that they tile the body."""
    chunks = chunk(body, size=size)
    slices = [body[c.start : c.stop] for c in chunks]
    assert "".join(slices) == body
    assert max(c.token_count for c in chunks) <= size
    return list(zip(slices, chunks, strict=True))


def paths(body: str, size: int = 20) -> list[tuple[str, ...]]:
    return [c.header_path for _, c in cut(body, size)]


@pytest.mark.parametrize("body", ["", " ", "\n\r\n\t\f\u2028", "\ufeff", "\ufeff \n"])
def test_a_blank_body_has_no_chunks(body: str) -> None:
    assert chunk(body) == ()


def test_a_size_below_one_character_is_refused() -> None:
    with pytest.raises(Invalid, match="at least 4 tokens, not 3"):
        chunk("a", size=3)


def test_a_short_body_is_one_text() -> None:
    assert chunk("a fact\n\n# not first\n") == (Chunk(0, 0, 20, ChunkType.TEXT, (), 0, 6),)


@pytest.mark.parametrize(
    "body",
    [
        "# Guide #\n\ntext\n\n## Setup\n",
        "# Guide\n## Setup\n## Use\ntext",
        "Guide\n=====\ntext",
        "\ufeff\n\n # Guide",
        "#\tGuide\r\ra",
    ],
)
def test_a_short_body_that_starts_with_a_heading_is_one_section(body: str) -> None:
    [(_, only)] = cut(body, 450)

    assert (only.type, only.header_path, only.level) == (ChunkType.SECTION, ("# Guide",), 1)


def test_a_short_body_stands_below_the_deepest_heading_that_is_above_all_of_it() -> None:
    found = {
        "# T\n## A\ntext": ("# T", "## A"),
        "# T\n\nA\n---\n\n### B\ntext\n### C": ("# T", "## A"),
        "# T\n## A\ntext\n## B": ("# T",),
        "# T\n## A\n## A\ntext": ("# T",),
        "## Alpha\nfox\n## Beta\nzebra": (),
        "## Alpha\nfox\n# Beta\nzebra": (),
        "text\n# T": (),
    }

    assert {body: paths(body, 450)[0] for body in found} == found
    assert [chunk(body)[0].level for body in found] == [len(path) for path in found.values()]
    assert chunk("## Alpha\nfox\n## Beta\nzebra")[0].type is ChunkType.TEXT


@pytest.mark.parametrize(
    "body", ["#Guide", "    # Guide", "####### Guide", "a\n\n---\nb", "<!--\n# Guide\n-->", "- # Guide"]
)
def test_what_only_looks_like_a_heading_is_text(body: str) -> None:
    assert chunk(body)[0].type is ChunkType.TEXT


def test_a_short_body_that_is_only_code_is_a_code_block() -> None:
    assert [chunk(body)[0].type for body in ("```\n# a\n```\n", "\n~~~py\na\n")] == [ChunkType.CODE_BLOCK] * 2
    assert chunk("```\na\n```\nb")[0].type is ChunkType.TEXT


def test_a_deeper_heading_belongs_to_the_one_above() -> None:
    body = f"# Guide\n\n{WORDS}\n\n## Setup\n\n{WORDS}\n\n### Linux\n\n{WORDS}\n\n## Use\n{WORDS}"

    assert paths(body) == [
        ("# Guide",),
        ("# Guide", "## Setup"),
        ("# Guide", "## Setup", "### Linux"),
        ("# Guide", "## Use"),
    ]
    assert [c.section for _, c in cut(body)][2:] == [("# Guide", "## Setup"), ("# Guide", "## Use")]
    assert [c.level for _, c in cut(body)] == [1, 2, 3, 2]


def test_a_section_is_below_two_headings_or_below_one_of_the_second_level() -> None:
    body = f"## Setup\n{WORDS}\n### Linux\n{WORDS}\n# Guide\n{WORDS}\n### Use\n{WORDS}\n#### Fast\n{WORDS}"

    assert [c.section for _, c in cut(body)] == [
        ("## Setup",),
        ("## Setup",),
        ("# Guide",),
        ("# Guide", "### Use"),
        ("# Guide", "### Use"),
    ]


def test_headings_with_nothing_between_them_begin_one_chunk() -> None:
    parts = cut(f"# T\n\nA\n  long\n---\n### B\n{WORDS}\n## C\n{WORDS}", size=25)

    assert [text.split("The")[0] for text, _ in parts] == ["# T\n\nA\n  long\n---\n### B\n", "## C\n"]
    assert [c.header_path for _, c in parts] == [("# T", "## A long", "### B"), ("# T", "## C")]
    assert [(c.type, c.level) for _, c in parts] == [(ChunkType.SECTION, 3), (ChunkType.SECTION, 2)]


@pytest.mark.parametrize("below", ["## B", "# B", "<!-- text -->\n### B", "***\n### B", "> quote\n\n### B"])
def test_a_heading_with_text_or_without_a_deeper_one_below_is_a_chunk(below: str) -> None:
    texts = [text for text, _ in cut(f"{WORDS}\n## A\n{below}\n{WORDS}", size=30)]

    assert texts[1] == f"## A\n{below.rpartition('#' * below.count('#'))[0]}"
    assert len(texts) == 3


def test_a_bare_heading_at_the_end_is_a_chunk() -> None:
    assert [text for text, _ in cut(f"{WORDS * 2}\n# A\n## B\n")][-1] == "# A\n## B\n"


def test_a_bare_heading_without_room_below_is_a_chunk() -> None:
    parts = cut(f"# {WORDS}\n## A\n{WORDS}\n## B\n{WORDS}")

    assert [c.header_path[1:] for _, c in parts] == [(), ("## A",), ("## B",)]


def test_a_bare_heading_joins_a_section_that_is_cut_anyway() -> None:
    size = tokens(f"## A\n{WORDS * 3}")
    parts = cut(f"# T\n## A\n{WORDS * 9}", size)

    assert parts[0][0] == f"# T\n## A\n{WORDS * 2}"
    assert {c.header_path for _, c in parts} == {("# T", "## A")}


def test_a_bare_heading_parts_no_heading_from_its_text() -> None:
    table = "|a|b|\n|-|-|\n" + "|1|2|\n" * 3
    size = tokens(f"## A\n{table}")

    assert [text for text, _ in cut(f"# T\n## A\n{table}\n{WORDS * 2}", size)][:2] == ["# T\n", f"## A\n{table}\n"]


def test_a_bare_heading_named_like_the_one_before_begins_a_section_of_its_own() -> None:
    assert paths(f"## A\n### B\n{WORDS}\n## A\n### B\n{WORDS}") == [
        ("## A", "### B"),
        ("## A",),
        ("## A", "### B"),
    ]


def test_a_level_may_be_left_out() -> None:
    assert paths(f"### a\n{WORDS}\n# b\n{WORDS}\n### c\n{WORDS}\n## d\n{WORDS}") == [
        ("### a",),
        ("# b",),
        ("# b", "### c"),
        ("# b", "## d"),
    ]


def test_underlined_headings_are_headings_also_of_two_lines() -> None:
    assert paths(f"Guide\n===\n{WORDS}\n\nSet\n  up\n---\n{WORDS}") == [("# Guide",), ("# Guide", "## Set up")]


def test_titles_keep_their_signs() -> None:
    assert paths(f"# 100 % > 99 \u203a `C#`\n\n## #\n{WORDS}") == [
        ("# 100 % > 99 \u203a `C#`",),
        ("# 100 % > 99 \u203a `C#`", "##"),
    ]


def test_headings_of_one_name_are_sections_of_their_own() -> None:
    parts = cut(f"# Fixed\n- a\n# Fixed\n- b\n{WORDS * 2}")

    assert next(text for text, c in parts if c.type is ChunkType.SECTION) == "# Fixed\n- a\n"
    assert {c.header_path for _, c in parts} == {("# Fixed",)}


def test_a_long_title_is_shortened_in_the_path() -> None:
    assert len(paths(f"# {'long ' * 200}\n{WORDS}")[0][0]) <= 202


@pytest.mark.parametrize("mark", ["```", "~~~", "````"])
def test_a_heading_in_a_fence_is_code(mark: str) -> None:
    parts = cut(f"# a\n{WORDS}\n\n{mark}sh\n# comment\n\n# another\necho 1\n{mark}\n\n{WORDS}")

    assert {c.header_path for _, c in parts} == {("# a",)}
    assert [c.type for _, c in parts] == [ChunkType.SECTION, ChunkType.CODE_BLOCK, ChunkType.TEXT]


def test_a_fence_that_does_not_fit_is_cut_at_lines() -> None:
    parts = cut("```\n" + "one = two\n" * 30 + "```\n")

    assert all(text.endswith("\n") and c.type is ChunkType.CODE_BLOCK for text, c in parts)
    assert len(parts) > 4


def test_a_fence_in_a_list_is_whole() -> None:
    code = "  ```\n" + "  a = b\n" * 4 + "  ```\n"

    parts = cut(f"- {WORDS}\n\n{code}\n- {WORDS}\n" * 3, size=26)

    assert sum(code in text for text, _ in parts) == 3


def test_a_table_that_fits_is_whole_and_one_that_does_not_is_cut_at_rows() -> None:
    table = "|a|b|\n|-|-|\n" + "|1|2|\n" * 3
    parts = cut(f"{WORDS}\n\n{table}\n{WORDS}\n\n{table}" + "|3|4|\n" * 30, size=40)

    assert any(table in text for text, _ in parts)
    assert all(text.startswith("|") and text.endswith("|\n") for text, _ in parts[-3:])


def test_a_list_is_cut_between_its_outermost_items_that_fit() -> None:
    item = "- Rome\n  - Forum\n    - Arch of Titus\n"

    assert [text for text, _ in cut(item * 6, 15)] == [item] * 6


def test_a_heading_stays_with_the_text_below_it_even_if_that_is_long() -> None:
    parts = cut(f"# Guide\n\n{WORDS * 9}", size=40)

    assert parts[0][0].startswith("# Guide\n\nThe quick")
    assert all(text.endswith("dog. ") for text, _ in parts)


def test_a_long_list_is_cut_before_it_rather_than_in_it_once_half_is_used() -> None:
    parts = cut(f"{WORDS}\n\n" + "- a\n" * 30, size=20)

    assert parts[0][0] == f"{WORDS}\n\n"


def test_a_block_that_fits_is_whole_even_if_little_is_used_before_it() -> None:
    block = "```\n" + "a b c\n" * 4 + "```\n"

    assert [text for text, _ in cut(f"Why is it so\n\n{block}\n{WORDS}")] == ["Why is it so\n\n", f"{block}\n", WORDS]


def test_small_paragraphs_are_packed_together() -> None:
    assert len(cut("a fact\n\n" * 40)) == 4


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_line_end_is_one(end: str) -> None:
    body = f"# a\n{WORDS}\n\n## b\n\n```\n# c\n\n```\n{WORDS}".replace("\n", end)

    assert [text for text, c in cut(body) if c.type is ChunkType.SECTION][1].startswith(f"## b{end}")
    assert {c.header_path for _, c in cut(body)} == {("# a",), ("# a", "## b")}


@pytest.mark.parametrize("no_end", ["\u2028", "\u2029", "\x85", "\v", "\f", "\x1c"])
def test_what_python_calls_a_line_end_is_none(no_end: str) -> None:
    parts = cut(f"{WORDS}{no_end}# a{no_end}{WORDS}\n# b\n{WORDS}")

    assert {c.header_path for _, c in parts} == {(), ("# b",)}
    assert [text for text, c in parts if c.header_path] == [f"# b\n{WORDS}"]


def test_a_byte_order_mark_hides_no_heading() -> None:
    assert paths(f"\ufeff# a\n{WORDS}\n# b\n{WORDS}") == [("# a",), ("# b",)]


@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_front_matter_has_no_headings(bom: str) -> None:
    parts = cut(f"{bom}---\ntitle: a\n# comment\nlist:\n- b\n---\n# c\n{WORDS}\n# d\n{WORDS}")

    assert [c.header_path for _, c in parts] == [(), ("# c",), ("# d",)]
    assert parts[0][1].type is ChunkType.TEXT


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    assert paths(f"---\n\n# a\n{WORDS}\n\n---\n# b\n{WORDS}") == [(), ("# a",), ("# b",)]


def test_comments_and_indented_code_have_no_headings() -> None:
    assert {c.header_path for _, c in cut(f"<!--\n# a\n\n# b\n-->\n\n    # c\n\n{WORDS * 3}")} == {()}


def test_blank_lines_at_the_top_go_with_the_first_heading() -> None:
    assert cut(f"\n \n# a\n{WORDS}\n# b\n{WORDS}")[0][0].startswith("\n \n# a")
    assert cut(f"\n \n# {WORDS * 3}")[0][0].startswith("\n \n# The")


def test_one_line_without_spaces_is_cut_anywhere() -> None:
    parts = cut("x" * BODY_LIMIT, 450)

    assert len(parts) <= BODY_LIMIT / 4 / 420


KINDS = {
    "prose": f"{WORDS * 9}\n\n",
    "one line": WORDS,
    "chinese": "\u4eca\u5929\u5929\u6c14\u5f88\u597d",
    "korean": "\ud55c\uad6d\uc5b4",
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "lists": "- a\n  - b\n    1. c\n",
    "quotes": "> > # a\nb\n",
    "tables": "|a|b|\n|-|-|\n|1|2|\n\n",
    "lines": "a\n",
    "marks": ",",
    "base64": "qZ7xK2pLw9VbRt4mNc8YhJ5sDf6gTe3uXo1iAz0Bv+/QEkPHyWrGCaOlIUjMnSdF\n",
    "json": '{"id":17,"name":"user17","tags":["a","b"]},',
    "sections": "# a\n\nb\n\n## c\n",
}


@pytest.mark.parametrize("counter", ["tokens", "pieces"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_long_body_of_any_kind_is_cut_within_the_size(kind: str, counter: str) -> None:
    count = tokens if counter == "tokens" else pieces
    body = (KINDS[kind] * BODY_LIMIT)[: BODY_LIMIT // 4]

    chunks = chunk(body, count=count)

    assert "".join(body[c.start : c.stop] for c in chunks) == body
    assert max(count(body[c.start : c.stop]) for c in chunks) <= 450
    assert kind == "sections" or len(chunks) < BODY_LIMIT / 4 / 100


def test_a_sentence_over_the_size_is_cut_between_words() -> None:
    body = " ".join(f"word{n}" for n in range(200))

    assert all(text.endswith(" ") for text, _ in cut(body)[:-1])


def test_short_sentences_are_cut_after_sentences_also_where_chunks_are_small() -> None:
    assert {text for text, _ in cut("Go on. " * 20, 8)} == {"Go on. Go on. "}


def test_chinese_is_cut_after_sentences() -> None:
    parts = cut("\u4eca\u5929\u5929\u6c14\u5f88\u597d\u3002\u6211\u4eec\u53bb\u516c\u56ed\uff01" * 20)

    assert all(text[-1] in "\u3002\uff01" for text, _ in parts)


def test_chinese_without_any_sentence_end_is_cut_all_the_same() -> None:
    assert all(c.token_count > 400 for _, c in cut("\u4eca" * 5000, 450)[:-1])


@pytest.mark.parametrize(
    "line", [">", "> # a\nb\n", "- ", "> - a\n", "[", "[a]: /u '\n", "- a\n\n\n", "|a", "> " * 90 + "a\nb\n", "<a \n"]
)
def test_what_confuses_the_parser_is_cut_all_the_same(line: str) -> None:
    body = "# a\n\n" + line * (20_000 // len(line)) + "\n\n# b\n" + WORDS

    assert paths(body, 450)[0] == ("# a",)
    assert paths(body, 450)[-1] == ("# b",)


def test_headings_below_the_deepest_list_are_found() -> None:
    body = "\n".join("  " * depth + "- a" for depth in range(100)) + f"\n\n# b\n\n{WORDS}"

    assert paths(body)[-1] == ("# b",)


def test_text_of_very_many_lines_keeps_its_headings() -> None:
    parts = cut("# a\n" + "b\n" * (BODY_LIMIT // 2 - 10) + "# c\nd", 450)

    assert [c.header_path for _, c in parts[-2:]] == [("# a",), ("# c",)]
    assert all(text.endswith("\n") for text, _ in parts[:-1])


@pytest.mark.parametrize("depth", [30, 300])
def test_a_deep_list_that_fits_is_whole_beside_one_that_does_not(depth: int) -> None:
    deep = "\n".join("  " * n + "- a" for n in range(depth))

    parts = cut(f"{deep}\n\n{WORDS}\n\n- b\n  - c\n", 100)

    assert any("- b\n  - c\n" in text for text, _ in parts)


def test_a_word_over_the_size_is_cut_anywhere_and_its_rest_goes_on() -> None:
    sevens = [text for text, _ in cut(f"{WORDS}{'7' * 45} {WORDS}") if "7" in text]

    assert len(sevens) == 3
    assert "7 The quick" in sevens[-1]


def test_blanks_after_a_word_over_the_size_stay_with_it() -> None:
    parts = cut("7" * 45 + " " * 5000)

    assert parts[-1][0].endswith("7" + " " * 5000)
    assert all(text.strip() for text, _ in parts)


def test_what_a_model_does_not_read_is_no_chunk_of_its_own() -> None:
    body = "\u200b" * 3000 + "7" * 100 + "\u200b" * 3000

    chunks = chunk(body, size=20, count=lambda text: len(text) - text.count("\u200b") - text.count(" "))

    assert "".join(body[c.start : c.stop] for c in chunks) == body
    assert all(0 < c.token_count <= 20 for c in chunks)


@pytest.mark.parametrize("said", [-3, 0, 1, 2_000_000])
def test_a_counter_that_lies_costs_no_text_and_no_time(said: int) -> None:
    body = f"# a\n\n{WORDS * 9}\n\n# b\n{'7' * 900}"

    chunks = chunk(body, count=lambda _: said)

    assert "".join(body[c.start : c.stop] for c in chunks) in {body, ""}


def test_a_model_that_needs_more_tokens_gets_smaller_chunks() -> None:
    body = f"{WORDS * 40}\n\n" * 3

    assert len(chunk(body, count=len)) > 3 * len(chunk(body))

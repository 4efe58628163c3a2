"""When two texts are one memory, and two tags one: narrower than what a search finds alike."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import assume, example, given, strategies as st
from profiles import examples

from memory import Draft, Kind
from memory.schema.draft import composed, content_hash, identical, tag_key

texts = st.text(st.sampled_from("aAbBё\u0308eéÉ12²\u0301ßsS ()_\u200b\u00adﬁfi"), min_size=1, max_size=8)


def hashed(text: str, **fields: object) -> str:
    return content_hash(Draft(title="t", what="w", body=text, **fields))  # type: ignore[arg-type]


@given(texts, texts)
@example("Foo()", "foo()")
@example("10²", "102")
@example("ﬁ", "fi")
@example("е", "ё")
@examples(5)
def test_texts_that_differ_in_a_letter_a_case_or_a_digit_are_two(one: str, other: str) -> None:
    assume(normalize("NFC", one.strip()) != normalize("NFC", other.strip()))

    assert hashed(one) != hashed(other)
    prompts = [Draft(kind=Kind.INPUT_PROMPT, session_id="s", session_iter=1, body=f"x{text}") for text in (one, other)]
    assert len({*map(content_hash, prompts)}) == 2


@given(texts, st.sampled_from(["NFC", "NFD"]), st.sampled_from(["", " ", "\n", "\r\n", " \t\n"]))
@examples(3)
def test_texts_that_differ_in_unicode_form_line_ends_or_outer_blanks_are_one(text: str, form: str, blank: str) -> None:
    lines = f"{text}\nand\n\nmore"

    for other in (
        normalize(form, lines),
        f"{blank}{lines}{blank}",
        lines.replace("\n", "\r\n"),
        lines.replace("\n", "\r"),
    ):
        assert hashed(other) == hashed(lines)
        assert identical(other) == identical(lines)


@given(texts)
def test_blanks_inside_count(text: str) -> None:
    assert hashed(f"{text} x") != hashed(f"{text}  x")


@pytest.mark.parametrize(
    ("tags", "kept"),
    [
        (("Auth", "auth", " AUTH "), ("Auth",)),
        (("größe", "GRÖSSE", "GRÖßE", "gro\u0308ße"), ("größe", "GRÖSSE")),
        (("Ёлка", "ёлка", "елка"), ("Ёлка", "елка")),
        (("a b", "a  b", "a-b"), ("a b", "a  b", "a-b")),
    ],
)
def test_tags_are_one_whatever_their_case_and_form_and_stay_as_they_were_first_spelled(tags, kept) -> None:
    assert Draft(title="t", what="w", tags=tags).tags == kept


@given(texts, st.sampled_from(["NFC", "NFD"]))
def test_the_key_of_a_tag_is_its_own_key(tag: str, form: str) -> None:
    assert tag_key(tag_key(tag)) == tag_key(tag)
    assert tag_key(normalize(form, tag)) == tag_key(tag)
    assert tag_key(composed(tag)) == tag_key(tag)


def test_two_files_are_two_and_so_are_two_projects() -> None:
    draft = Draft(title="t", what="w", related_files=("A.md", "a.md"), project="P")

    assert draft.related_files == ("A.md", "a.md")
    assert content_hash(draft) != content_hash(Draft(title="t", what="w", related_files=("A.md",), project="P"))

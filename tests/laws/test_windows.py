"""Laws of the estimate of tokens and of windows by it, for any text, and what they are for some real sentences."""

from __future__ import annotations

import re
from itertools import pairwise
from sys import maxsize

import pytest
from hypothesis import assume, example, given, strategies as st
from pieces import ids
from work import guarded, is_linear

from memory.text import tokens as cutting
from memory.text.tokens import estimated, windows

# Words, names, blanks of all kinds, and characters that are more than one token.
SNIPPETS = st.sampled_from(
    [*" \n\t\x1c\x85\u3000\ufeff\u200d_.-(aZé語한🦊\ud800", "The ", "memory", " vectors", "getHTTPResponse", "x" * 40]
)
TEXTS = (
    st.text()
    | st.text("aB \n_", max_size=60)
    | st.lists(SNIPPETS, max_size=60).map("".join)
    | st.builds(str.__mul__, SNIPPETS, st.integers(0, 300))
)
LIMITS = st.integers(1, 40)

REAL = [
    "An experimental study of a wing in a propeller slipstream was made to determine the distribution of the lift.",
    "Caroline: Hey Mel! Good to see you! I'm swamped with the kids & work. What's up with you? Anything new?",
    "Alterations of the architecture of cerebral white matter in the developing brain can affect cortical development.",
    "def from_dict(cls, values, *, strict=False):\n    return cls(**{key: values[key] for key in cls.__slots__})",
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "機械学習モデルは文章をベクトルに変換します。",
    "数据库在一个文件里保存所有的记忆。",
    "Мы храним воспоминания в одном файле.",
    "기억은 하나의 파일에 저장됩니다.",
    "Ship it 🚀🚀 👩‍👧 ✨",
]


@given(TEXTS, TEXTS)
@example("The", "ory")
@example(" vec", "tors")
def test_two_texts_have_no_more_tokens_together_than_apart(one: str, other: str) -> None:
    assert estimated(one + other) <= estimated(one) + estimated(other)


@given(TEXTS, TEXTS)
def test_a_blank_between_two_texts_makes_them_add_up(one: str, other: str) -> None:
    assert estimated(one + "\n" + other) == estimated(one) + estimated("\n" + other)


@given(TEXTS, TEXTS)
def test_a_longer_text_has_no_fewer_tokens(one: str, other: str) -> None:
    assert estimated(one + other) >= estimated(one)


@given(TEXTS)
def test_a_token_is_at_least_half_a_character(text: str) -> None:
    assert estimated(text) <= 2 * len(text)


@pytest.mark.parametrize("text", REAL)
def test_the_estimate_is_high_but_not_twice_as_high(text: str) -> None:
    real = len(ids(text, maxsize))

    assert real <= estimated(text) < 2 * real + 10  # a few emoji together are one [UNK]


def test_names_that_no_vocabulary_has_may_be_a_sixth_more_than_estimated() -> None:
    text = "git clone https://github.com/asg017/sqlite-vec.git && cd sqlite-vec && make loadable"

    assert len(ids(text, maxsize)) * 6 <= estimated(text) * 7


@pytest.mark.parametrize("character", "語あ한🦊𠀀é")
def test_a_character_that_is_no_ascii_is_a_token_or_two(character: str) -> None:
    assert 100 <= estimated(character * 100) <= 200


@given(TEXTS, LIMITS)
@example("", 1)
@example("한" * 9, 1)
def test_windows_concatenate_to_the_text(text: str, tokens: int) -> None:
    assert "".join(windows(text, tokens)) == text


@given(TEXTS, LIMITS)
@example("한\n", 1)
def test_a_text_that_fits_is_its_own_window(text: str, tokens: int) -> None:
    assert (windows(text, tokens) == (text,)) == (estimated(text) <= tokens or len(text.strip()) == 1)


@given(TEXTS, LIMITS)
@example("한a", 2)
@example(" a" * 9, 2)
def test_every_window_fits_or_cannot_be_divided(text: str, tokens: int) -> None:
    assert all(estimated(window) <= tokens or len(window.strip()) == 1 for window in windows(text, tokens))


@given(TEXTS, LIMITS)
def test_no_window_is_empty_or_blank_unless_the_text_is(text: str, tokens: int) -> None:
    assume(text.strip())

    assert all(window.strip() for window in windows(text, tokens))


@given(TEXTS, LIMITS)
@example("Aaaaa", 2)
@example("one two", 3)
def test_a_word_of_half_a_window_is_not_divided(text: str, tokens: int) -> None:
    cuts = [0]
    for window in windows(text, tokens):
        cuts.append(cuts[-1] + len(window))

    for word in re.finditer(r"\s?\S+", text):
        if estimated(word.group()) * 2 <= tokens:
            assert not any(word.start() < cut < word.end() for cut in cuts)


@given(TEXTS, LIMITS)
@example("a b한", 2)
def test_two_windows_together_would_be_too_long(text: str, tokens: int) -> None:
    parts = windows(text, tokens)

    assert all(estimated(one + other) > tokens for one, other in pairwise(parts))


LONG = ["word ", "x", "한", " ", "a" + " " * 499, "wordsandmorewords" * 30 + " "]


@pytest.mark.parametrize("part", LONG, ids=["words", "one word", "hangul", "blanks", "gaps", "long words"])
def test_cutting_a_longer_text_costs_a_character_the_same(part: str) -> None:
    is_linear(lambda text: cutting.windows(text, 100), part, cutting)


@pytest.mark.parametrize("text", [part * (500_000 // len(part)) for part in LONG] + [" " * 499_999 + "x"])
def test_half_a_million_characters_are_cut(text: str) -> None:
    with guarded():
        parts = windows(text, 500)

    assert "".join(parts) == text

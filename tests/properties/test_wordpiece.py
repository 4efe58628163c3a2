from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given, strategies as st

from memory.embed.local import PIECES, LocalEmbedder

WORDPIECE = LocalEmbedder()._tokenizer  # its vocabulary, without a second way to find it

# Plain text, and what the tokenizer has a rule for: blanks, controls, marks, ideographs, specials, long words.
CHARACTERS = st.sampled_from("a \n\u3000\x00\x85\u200b\ufffd\ud800é\u0301İ한中が豈ﬁ½_-.$€🦊")
WORDS = st.sampled_from(["The ", "memory", "e\u0301", "語文", "...", "👩‍👧", "[SEP]", "[CLS", "MASK]", "qz" * 49])
SNIPPETS = CHARACTERS | WORDS
TEXTS = (
    st.text() | st.lists(SNIPPETS, max_size=400).map("".join) | st.builds(str.__mul__, SNIPPETS, st.integers(0, 900))
)


@given(TEXTS)
@example("한" * 64 + " " + "한" * 64)
def test_offsets_lie_in_order_inside_the_text(text: str) -> None:
    pieces = WORDPIECE.pieces(text)

    assert len(pieces.ids) == len(pieces.starts) == len(pieces.stops)
    assert all(0 <= start < stop <= len(text) for start, stop in zip(pieces.starts, pieces.stops, strict=True))
    assert all(before <= after for before, after in pairwise(pieces.starts))
    assert all(before <= after for before, after in pairwise(pieces.stops))


@given(TEXTS)
def test_windows_concatenate_to_the_text(text: str) -> None:
    windows = WORDPIECE.windows(text, PIECES)

    assert "".join(windows) == text


@given(TEXTS)
@example(("한" * 63 + " ") * 9)
@example("a[SEP]" * 300)
def test_no_window_holds_more_than_the_model_reads(text: str) -> None:
    assert all(len(WORDPIECE.pieces(window).ids) <= PIECES for window in WORDPIECE.windows(text, PIECES))


@given(TEXTS)
def test_windows_have_the_pieces_of_the_text(text: str) -> None:
    windows = WORDPIECE.windows(text, PIECES)

    assert tuple(number for window in windows for number in WORDPIECE.pieces(window).ids) == WORDPIECE.pieces(text).ids


@given(TEXTS, st.integers(0, 300))
def test_the_first_ids_are_those_of_the_whole(text: str, limit: int) -> None:
    assert tuple(WORDPIECE.ids(text, limit)) == WORDPIECE.pieces(text).ids[:limit]

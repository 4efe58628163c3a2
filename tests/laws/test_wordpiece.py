from __future__ import annotations

from itertools import pairwise
from sys import maxsize

from hypothesis import example, given, strategies as st
from pieces import LOCAL, WORDPIECE, ids

from memory.vectors.local.embedder import PIECES
from memory.vectors.local.wordpiece import _RUN, _SIGNS, COUNTS_KEPT, LONGEST_WORD, _words

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
    starts = [start for start, ids in WORDPIECE._units(text) if ids]

    assert all(0 <= start < len(text) for start in starts)
    assert all(before <= after for before, after in pairwise(starts))


@given(TEXTS)
def test_windows_concatenate_to_the_text(text: str) -> None:
    windows = WORDPIECE.windows(text, PIECES)

    assert "".join(windows) == text


@given(TEXTS)
@example(("한" * 63 + " ") * 9)
@example("a[SEP]" * 300)
def test_no_window_holds_more_than_the_model_reads(text: str) -> None:
    assert all(len(ids(window, maxsize)) <= PIECES for window in WORDPIECE.windows(text, PIECES))


@given(TEXTS)
@example("a" * PIECES)
@example("a," * PIECES)
@example("한 " * (PIECES // 2))
def test_the_model_has_the_windows_of_its_tokenizer(text: str) -> None:
    assert LOCAL.windows(text) == WORDPIECE.windows(text, PIECES)


@given(TEXTS)
def test_windows_have_the_pieces_of_the_text(text: str) -> None:
    windows = WORDPIECE.windows(text, PIECES)

    assert [number for window in windows for number in ids(window, maxsize)] == ids(text, maxsize)


@given(TEXTS)
@example("x" * 101)
@example("x" * 100)
@example("0" * 100 + "\x850")
@example("[SEP][CLS] [sep] [UNK]")
@example("\u037e\u1fef\u2000a\x85b")
def test_a_text_counts_as_many_tokens_as_it_has_pieces_but_for_long_words(text: str) -> None:
    own = ids(text, maxsize)
    words = [letters for run in _RUN.findall(text) for _, letters in _words(run)]
    long = [len(letters) for letters in words if len(letters) > LONGEST_WORD]

    assert WORDPIECE.count(text) == len(own) - len(long) + sum(long)


@given(st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=60))
@example("internationalizations")
@example("unaffable")
def test_each_piece_is_the_longest_that_fits(word: str) -> None:
    cuts = [0, *WORDPIECE._cuts(word)]
    pieces = [("##" if start else "") + word[start:stop] for start, stop in pairwise(cuts)]

    for start, stop in pairwise(cuts):
        mark = "##" if start else ""
        fitting = [end for end in range(start + 1, len(word) + 1) if mark + word[start:end] in WORDPIECE._ids]
        assert stop == max(fitting)
    assert ids(word, maxsize) == ([WORDPIECE._ids[piece] for piece in pieces] or [WORDPIECE._unknown])


def test_counting_forgets_words_and_characters_without_getting_them_wrong() -> None:
    words = [f"q{number}z" for number in range(COUNTS_KEPT + 9)]
    signs = "".join(chr(code) for code in (*range(0x3400, 0x4DC0), *range(0x4E00, 0xA000), *range(0x20000, 0x2A6E0)))

    assert len(signs) > COUNTS_KEPT
    for text in (" ".join(words), signs):
        assert WORDPIECE.count(text) == len(ids(text, maxsize))
        assert WORDPIECE.count(text[:900]) == len(ids(text[:900], maxsize))
    assert len(WORDPIECE._counts) <= COUNTS_KEPT
    assert len(_SIGNS) <= COUNTS_KEPT


@given(TEXTS, st.integers(0, 300))
def test_the_first_ids_are_those_of_the_whole(text: str, limit: int) -> None:
    assert ids(text, limit) == ids(text, maxsize)[:limit]

"""Laws of stems: they are the tokens of FTS5, whatever the text and the Unicode of Python."""

from __future__ import annotations

from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, cast

import apsw
import pytest
from hypothesis import example, given, strategies as st

from hostile import hostile
from memory.text.lookup import REMEMBERED, Letters, stem, stems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

HERE = Path(__file__).parents[2]
PAGES = [page for folder in ("docs", "src", "tests") for page in sorted((HERE / folder).rglob("*.[mp][dy]"))]
PLANE = 0x10000
ASSIGNED = (0, 1, 2, 3, 14)
"""The planes of Unicode in which characters are assigned; `tests/long` has the others."""
BLOCK = 0x800
ENDINGS = """
    ational tional enci anci izer logi bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti
    iviti biliti icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent ion sion tion ou
    ism ate iti ous ive ize s es sses ies eed ed ing at bl iz y e l ll ss
""".split()
"""All that Porter's rules look for."""

_fts5 = cast(
    "Callable[..., Iterable[Sequence[str]]]",
    apsw.Connection(":memory:").fts5_tokenizer(
        "porter", ["unicode61", "remove_diacritics", "2", "categories", "L* N* Co M*"]
    ),
)


def tokens(text: str) -> tuple[str, ...]:
    """What FTS5 itself makes of a text; without the empty words that it makes of lone diacritics, which are never indexed."""
    found = _fts5(text.encode("utf-8", "surrogatepass"), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
    return tuple(filter(None, chain.from_iterable(found)))


@pytest.mark.parametrize("plane", ASSIGNED)
def test_every_character_counts_as_in_fts5_alone_and_between_letters(plane: int) -> None:
    check_plane(plane)


def check_plane(plane: int) -> None:
    for first in range(plane * PLANE, (plane + 1) * PLANE, BLOCK):
        block = [chr(code) for code in range(first, first + BLOCK)]
        text = " ".join([*block, "a".join(block)])

        assert stems(text) == tokens(text)


@given(st.text() | hostile)
@example("a\u3041ed")  # two equal bytes end the stem, and FTS5 takes one of them
@example("\u0301a \u0301b\u0301")
@example("a\0b")
def test_any_text_has_the_tokens_of_fts5(text: str) -> None:
    assert stems(text) == tokens(text)


def test_every_short_word_has_the_stem_of_fts5() -> None:
    words = ["".join(letters) for length in range(1, 5) for letters in product("aeiouybdglnstz", repeat=length)]

    assert tuple(map(stem, words)) == tokens(" ".join(words))


def made(beginnings: Sequence[str]) -> Iterator[str]:
    """Words of a beginning and one or two endings."""
    yield from map("".join, product(beginnings, ENDINGS))
    yield from map("".join, product(beginnings, ENDINGS, ENDINGS))


@pytest.mark.parametrize("beginnings", [("", "r", "fa", "hop"), ("troubl", "ay", "yy", "й"), ("x" * 58, "ぁ", "aぁ")])
def test_words_of_all_endings_have_the_stem_of_fts5(beginnings: Sequence[str]) -> None:
    text = " ".join(made(beginnings))

    assert stems(text) == tokens(text)


@pytest.mark.parametrize("kind", [".md", ".py"])
def test_pages_have_the_tokens_of_fts5(kind: str) -> None:
    pages = [page for page in PAGES if page.suffix == kind]
    assert len(pages) > 20

    for page in pages:
        text = page.read_text("utf-8")
        assert stems(text) == tokens(text), page.name


def test_a_text_of_every_character_is_remembered_in_part() -> None:
    text = "".join(map(chr, range(0x80, 0x30000)))

    letters = Letters()
    found = text.translate(letters)

    assert len(letters) == REMEMBERED
    assert text.translate(letters) == found

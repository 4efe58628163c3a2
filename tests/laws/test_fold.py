"""Laws of the one form in which texts are indexed and looked for."""

from __future__ import annotations

from unicodedata import category, combining, decomposition, normalize

import pytest
from hypothesis import example, given, strategies as st
from profiles import examples
from work import guarded, is_linear, over_and_over

from memory.text import fold as folding
from memory.text.fold import beside, digraphs, fold, signs
from memory.text.lookup import spelled
from memory.text.terms import grams, terms

SAMPLE = (
    "aZ1 éßæøłıİÞйёїўΆσςאָבשׁ\u064e\u0640أىۀक\u093fか\u3099ﾃﾞ가각①½²𝐁™\u00ad\u200b\u200c\u200d\u0301\u0306\ufe0f✅€→❤👩٣९"
)

texts = st.text(st.sampled_from(SAMPLE), max_size=20) | st.text(max_size=20)


@given(texts)
@example("и\u200b\u0306")
@example("か\u200b\u3099")
@examples(3)
def test_a_folded_text_stays_as_it_is(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(texts, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
@examples(3)
def test_texts_that_are_canonically_equivalent_have_one_form(text: str, form: str) -> None:
    if form in {"NFC", "NFD"}:
        assert fold(normalize(form, text)) == fold(text)
        assert terms(normalize(form, text)) == terms(text)
        assert grams([normalize(form, text)]) == grams([text])


@given(st.text(st.characters(max_codepoint=127)))
def test_a_text_in_ascii_is_folded_already(text: str) -> None:
    assert fold(text) is text
    assert digraphs(text) == {}


def test_whatever_becomes_an_umlaut_has_its_pair() -> None:
    """Letters with marks, also where the mark is a character of its own, and characters that stand for either."""
    composing = [chr(code) for code in range(0xA0, 0x110000) if decomposition(chr(code)) or combining(chr(code))]
    texts = [
        f"{before}{character}{after}"
        for character in composing
        for before in ("", "a", "o")
        for after in ("", "\u0301")
    ]

    assert [text for text in texts if set("äöüøåÄÖÜØÅ") & set(normalize("NFC", text)) and not digraphs(text)] == []


def test_every_character_stays_folded_and_no_mark_of_the_five_scripts_is_left() -> None:
    for code in (*range(0x3400), *range(0xA000, 0xAC00), *range(0xD700, 0x20000), *range(0xE0000, 0xE0200)):
        letter = chr(code)
        if category(letter) == "Cs":
            continue
        once = fold(letter)
        assert fold(once) == once, hex(code)
        if code < 0x530 or 0x1E00 <= code < 0x2000 or 0x590 <= code < 0x700:
            assert not any(category(part) in {"Mn", "Me"} for part in once), hex(code)
        assert all(category(part) != "Cf" for part in once), hex(code)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Hauptstraße HAUPTSTRAẞE", "Hauptstrasse HAUPTSTRASSE"),
        ("Ærøskøbing œuvre łódź þing đến", "Aeroskobing oeuvre lodz thing den"),
        ("İstanbul ısı", "Istanbul isi"),
        ("ещё Ёлка йод май", "еще Елка йод май"),
        ("βάση ΐ ᾳ ς", "βαση ι α σ"),
        ("שָׁלוֹם", "שלום"),
        ("الطَّالِبُ أإآٱ كتـــاب", "الطالب اااا كتاب"),
        ("می\u200cخواهم", "ميخواهم"),
        ("so\u00adft da\u200bta \ufeffx \u202ey", "soft data x y"),
        ("ﾃﾞｰﾀ Ｗｉｄｅ ① ½ 10² 𝐁𝐨𝐥𝐝 ﬁ", "データ Wide 1 1/2 102 Bold fi"),
        ("٣ ۴ ९", "3 4 9"),
        ("Acme™ 5 €", "Acme 5 €"),
        ("हिन्दी ガ が", "हिन्दी ガ が"),
        ("ʼOb’єкт", "'Ob’єкт"),
    ],
)
def test_a_text_is_folded_to(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_vowels_short_i_and_voicing_are_letters() -> None:
    for one, other in (("कि", "कु"), ("мой", "мои"), ("が", "か"), ("ガ", "カ"), ("ไม่", "ไม")):
        assert fold(one) != fold(other)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("deployed ✅ → done", ["whiteheavycheckmark", "rightwardsarrow"]),
        ("5 € or £4", ["eurosign", "poundsign"]),
        ("❤️ and ❤", ["heavyblackheart", "heavyblackheart"]),
        ("C++ and c++11, C#, F#", ["cplusplus", "cplusplus", "csharp", "fsharp"]),
        (".NET, ASP.NET", ["dotnet", "dotnet"]),
        ("i++ #12 a.net A# ├── 3 × 4 © ", ["asharp"]),
    ],
)
def test_signs_that_carry_meaning_are_words(text: str, words: list[str]) -> None:
    assert signs(text) == words


@given(texts)
def test_what_stands_beside_a_text_is_made_of_words(text: str) -> None:
    for word in beside(text):
        assert "".join(spelled(word)) or not any(c.isalnum() for c in word)


@pytest.mark.parametrize("part", ["ü", "é\u0301", "a\u200cb", "c++", "✅", "1,000", "1 000 ", "e-", "5 gb "])
def test_a_longer_text_costs_a_character_the_same(part: str) -> None:
    is_linear(lambda text: grams([text]), part, folding)
    with guarded():
        terms(over_and_over(part, 10_000))

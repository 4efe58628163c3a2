"""Text of others is shown, not obeyed."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from memory.text.display import _invisible, escape_controls, escape_invisible, escape_json, one_line

HOSTILE = "a\x1b]0;owned\x07b\x7fc\x9b31md\re"
SHOWN = "a\ufffd]0;owned\ufffdb\ufffdc\ufffd31md\ufffde"


def test_a_control_character_is_shown_and_not_obeyed():
    assert escape_controls(HOSTILE) == SHOWN
    assert escape_controls("one\r\ntwo\tthree\n") == "one\ntwo\tthree\n"
    assert escape_controls("".join(map(chr, range(256)))).count("\ufffd") == 31 - 1 + 33 + 1


@given(st.text())
def test_one_line_is_one_line(text):
    assert len(one_line(text).splitlines()) <= 1
    assert one_line(one_line(text)) == one_line(text)


@given(st.text())
def test_to_show_twice_is_to_show_once_and_takes_no_place(text):
    assert escape_invisible(escape_invisible(text)) == escape_invisible(text)
    assert len(escape_invisible(text)) == len(text)


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",
        "👩\u200d👩\u200d👧",
        "❤\ufe0f\u200d🔥",
        "1\ufe0f\u20e3",
        "שלום\u200f!",
        "שלום!\u200f WAL\u200e שלום",
        "مرحبا؟\u061c",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "a 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f b",
        "plain\ttext\r\nand lines",
        "Zürich, 東京",
    ],
)
def test_what_belongs_to_a_script_or_a_sign_stays(text):
    assert escape_invisible(text) == text


@pytest.mark.parametrize(
    "code", [0x1B, 0x9B, 0x7F, 0xAD, 0x061C, 0x180E, 0x200B, 0x202E, 0x206A, 0x3164, 0xFEFF, 0xE0041, 0xE0101]
)
def test_what_nobody_sees_is_shown(code):
    assert escape_invisible(f"a{chr(code)}b") == "a\ufffdb"


def test_what_nobody_sees_is_shown_whether_or_not_python_calls_it_printable():
    found = [chr(code) for code in range(0x110000) if _invisible().search(f"\u00e9{chr(code)}b")]

    assert len(found) > 4096
    assert [code for code in found if escape_invisible(f"\u00e9{code}b") != "\u00e9\ufffdb"] == []
    assert [code for code in found if code in escape_json(f"\u00e9{code}b")] == []


def test_the_command_shows_what_nobody_sees():
    for code in [*range(0xE0000, 0xE0080), *range(0xFFF9, 0xFFFC), *range(0x202A, 0x202F), 0x200B, 0x9B]:
        assert escape_controls(f"a{chr(code)}b") == "a\ufffdb"
        assert escape_controls(f"🏴{chr(code)}b") == "🏴\ufffdb"


def test_tags_after_a_flag_spell_nothing_else():
    spelt = "🏴" + "".join(chr(0xE0000 + ord(letter)) for letter in "obey") + "\U000e007f"

    assert escape_controls(spelt) == "🏴" + "\ufffd" * 5


def test_variants_cannot_spell_a_text():
    spelt = "x" + "".join(chr(0xFE00 + ord(letter) % 16) for letter in "obey me")

    assert escape_invisible(spelt).count("\ufffd") >= 5

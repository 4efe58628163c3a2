"""Recalled text can be told from everything else."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from memory.text.fence import WIDEST, fenced, seen
from memory.text.tokens import tokens


@given(st.text().filter(str.strip))
def test_only_the_last_line_closes_the_fence(text):
    lines = fenced(text).split("\n")
    boundary = lines[1].removeprefix("<<< memories ")

    assert lines[1] == f"<<< memories {boundary}"
    assert lines[-2:] == [f">>> end of memories {boundary}", ""]
    assert not any(boundary in line for line in lines[2:-2])


def test_each_fence_has_its_own_boundary():
    assert len({fenced("the same") for _ in range(100)}) == 100


def test_nothing_needs_no_fence():
    assert fenced("") == fenced(" \n") == ""


def test_what_a_person_does_not_see_is_shown():
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")

    assert hidden not in fenced(f"a{hidden}b\u202ec\u200bd")
    assert "a\ufffd\ufffd\ufffd\ufffdb\ufffdc\ufffdd" in fenced(f"a{hidden}b\u202ec\u200bd")


@given(st.text().filter(str.strip))
def test_a_fence_costs_what_it_is_said_to_cost(text):
    assert tokens(fenced(text)) <= tokens(seen(text)) + tokens(WIDEST)


@given(st.text())
def test_to_show_twice_is_to_show_once_and_takes_no_place(text):
    assert seen(seen(text)) == seen(text)
    assert len(seen(text)) == len(text)


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",
        "👩\u200d👩\u200d👧",
        "❤\ufe0f\u200d🔥",
        "1\ufe0f\u20e3",
        "שלום\u200f!",
        "plain\ttext\r\nand lines",
        "Zürich, 東京",
    ],
)
def test_what_belongs_to_a_script_or_a_sign_stays(text):
    assert seen(text) == text


@pytest.mark.parametrize(
    "code", [0x1B, 0x9B, 0x7F, 0xAD, 0x061C, 0x180E, 0x200B, 0x202E, 0x206A, 0x3164, 0xFEFF, 0xE0041, 0xE0101]
)
def test_what_nobody_sees_is_shown(code):
    assert seen(f"a{chr(code)}b") == "a\ufffdb"


def test_variants_cannot_spell_a_text():
    spelt = "x" + "".join(chr(0xFE00 + ord(letter) % 16) for letter in "obey me")

    assert seen(spelt).count("\ufffd") >= 5

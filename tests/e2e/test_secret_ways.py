"""No secret of any form reaches a file, whatever way it comes in and whatever field it stands in."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from secret_forms import FORMS, NAMED
from secret_ways import FIELDS, WAYS, left
from secrets_made import SHAPES, Made, made

if TYPE_CHECKING:
    from pathlib import Path


PAIRS = [
    *(("library", field) for field in FIELDS),
    *(("import", field) for field in ("what", "metadata")),
    *(("sessions", field) for field in FIELDS),
    *(("pages", field) for field in FIELDS),
    *(("command", field) for field in ("what", "body")),
    *(("update", field) for field in ("what", "body")),
    *(("tools", field) for field in ("what", "metadata")),
    ("form", "body"),
]
"""Each way, with as many fields as take other paths; `bench/leaks.py --ways` tries all."""


def one_of_each() -> list[Made]:
    dice = random.Random(15)
    named = (f"any {form.replace('{}', 'x9{r10}')}" for form in NAMED)
    return [made(shape, dice) for shape in (*SHAPES, *named, *(f"any {form}" for form in FORMS))]


@pytest.mark.parametrize(("way", "field"), PAIRS)
def test_no_form_of_a_secret_reaches_a_file(way: str, field: str, tmp_path: Path) -> None:
    several = one_of_each()

    assert {way for way, _ in PAIRS} == set(WAYS)
    WAYS[way](tmp_path / "home", field, [one.text for one in several])

    assert (tmp_path / "home" / "memory.db").exists()
    assert left(tmp_path / "home", several) == []


def test_what_reaches_a_file_is_told(tmp_path: Path) -> None:
    plain = Made("any", "the word is x9q2Zk7Lm4", "x9q2Zk7Lm4")

    WAYS["library"](tmp_path / "home", "body", [plain.text])

    assert left(tmp_path / "home", [plain]) == [plain.text]

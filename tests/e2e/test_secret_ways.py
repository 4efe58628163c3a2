"""No secret of any form reaches a file, whatever way it comes in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from secret_ways import WAYS, left, one_of_each
from secrets_made import Made

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("way", WAYS)
def test_no_form_of_a_secret_reaches_a_file(way: str, tmp_path: Path) -> None:
    """The other fields are tried by `tests/long/test_secret_fields.py`."""
    several = one_of_each()

    WAYS[way](tmp_path / "home", "body", [one.text for one in several])

    assert (tmp_path / "home" / "memory.db").exists()
    assert left(tmp_path / "home", several) == []


def test_what_reaches_a_file_is_told(tmp_path: Path) -> None:
    plain = Made("any", "the word is x9q2Zk7Lm4", "x9q2Zk7Lm4")

    WAYS["library"](tmp_path / "home", "body", [plain.text])

    assert left(tmp_path / "home", [plain]) == [plain.text]

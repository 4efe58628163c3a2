"""No secret of any form reaches a file, whatever field it stands in; `tests/e2e/test_secret_ways.py` tries each way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from secret_ways import WAYS, left, one_of_each

if TYPE_CHECKING:
    from pathlib import Path

PAIRS = [
    *((way, field) for way in ("library", "sessions", "pages") for field in ("what", "metadata")),
    ("import", "what"),
    ("import", "metadata"),
    ("command", "what"),
    ("update", "what"),
    ("tools", "what"),
    ("tools", "metadata"),
]
"""Each way, with as many fields as take other paths; `bench/leaks.py --ways` tries all."""


@pytest.mark.parametrize(("way", "field"), PAIRS)
def test_no_form_of_a_secret_reaches_a_file(way: str, field: str, tmp_path: Path) -> None:
    several = one_of_each()

    WAYS[way](tmp_path / "home", field, [one.text for one in several])

    assert (tmp_path / "home" / "memory.db").exists()
    assert left(tmp_path / "home", several) == []

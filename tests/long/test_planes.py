"""A character that nobody has assigned counts as in FTS5, too; `laws/test_stems.py` has all others."""

from __future__ import annotations

import pytest

from laws.test_stems import ASSIGNED, check_plane


@pytest.mark.parametrize("plane", sorted({*range(17)} - {*ASSIGNED}))
def test_it_counts_alone_and_between_letters(plane: int) -> None:
    check_plane(plane)

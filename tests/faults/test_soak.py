"""Many processes on one database: nothing is lost, doubled, resurrected or damaged. Minutes of it: tests/long/test_soak.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from soaking import soak

if TYPE_CHECKING:
    from pathlib import Path


def test_four_processes_lose_nothing(tmp_path: Path) -> None:
    soaked = soak(tmp_path / "home", turns=50, processes=4)

    assert soaked.wrong == []
    assert soaked.acknowledged > 2 * 50

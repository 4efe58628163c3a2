"""The same as tests/faults/test_soak.py, for minutes, and where processes are killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from soaking import soak

if TYPE_CHECKING:
    from pathlib import Path


def test_eight_processes_lose_nothing_in_three_minutes(tmp_path: Path) -> None:
    soaked = soak(tmp_path / "home", seconds=180, processes=8)

    assert soaked.wrong == []
    assert soaked.acknowledged > 0


def test_processes_that_are_killed_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    soaked = soak(tmp_path / "home", seconds=120, processes=6, kills=30)

    assert soaked.wrong == []
    assert soaked.acknowledged > 0

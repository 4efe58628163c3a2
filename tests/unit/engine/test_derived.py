"""Programs that stay make what stands beside the database once they search; commands do not."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from memory import Config, Draft, Engine
from memory.config.settings import EmbeddingSettings
from memory.engine import background
from memory.store import sqlite

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def small(monkeypatch) -> None:
    monkeypatch.setattr(sqlite, "FILED", 1)


def opened(folder: Path, *, lasting: bool = True) -> Engine:
    hashed = EmbeddingSettings(provider="hashed", model="hashed-64")
    return Engine.open(Config(home=str(folder), embedding=hashed), lasting=lasting)


def searched(folder: Path, times: int, *, lasting: bool = True) -> int:
    """How many chunks are in the file after so many searches."""
    with opened(folder, lasting=lasting) as engine:
        for _ in range(times):
            engine.search("alpha")
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and thread.name == "memory-fill":
                thread.join(60)
    with opened(folder, lasting=False) as engine:
        return engine.status().counts.postings


@pytest.fixture
def home(tmp_path) -> Path:
    with opened(tmp_path, lasting=False) as engine:
        engine.save_all([Draft(title=f"note {n}", what="alpha beta") for n in range(5)])
    return tmp_path


def test_a_program_that_stays_makes_it_after_some_searches(home) -> None:
    assert searched(home, background.FIRST - 1) == 0
    assert searched(home, background.FIRST) == 5


def test_a_command_makes_none(home) -> None:
    assert searched(home, background.FIRST, lasting=False) == 0


def test_the_doctor_makes_anew_what_is_damaged(home) -> None:
    searched(home, background.FIRST)
    [file] = home.glob("memory.db-postings-*")
    file.write_bytes(file.read_bytes()[:-1])
    with opened(home, lasting=False) as engine:
        assert not all(one.well for one in engine.doctor() if one.name == "database")
        assert all(one.well for one in engine.doctor(fix=True) if one.name == "database")
        assert engine.status().counts.postings == 5
    [new] = home.glob("memory.db-postings-*")

    assert new != file

"""A memory of each test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from adapters import Clock, opened

from memory import Engine, KeyedStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(tmp_path: Path, clock: Clock) -> Iterator[Engine]:
    with opened(tmp_path / "home", clock) as engine:
        yield engine


@pytest.fixture
def items(engine: Engine) -> KeyedStore:
    return KeyedStore(engine)

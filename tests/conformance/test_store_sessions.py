"""Both stores keep every promise of `memory.store.sessions.Sessions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sessions_suite import SessionsSuite
from sound import sound

from memory.store.ram import RamStore
from memory.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory.store import Store


class TestRamStore(SessionsSuite):
    @pytest.fixture
    def store(self) -> Store:
        return RamStore()


class TestSqliteStore(SessionsSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(tmp_path / "memory.db")
        yield store
        store.close()
        sound(tmp_path / "memory.db")

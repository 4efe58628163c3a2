"""Both stores keep every promise of `memory.store.Store`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sound import sound
from store_suite import StoreSuite

from memory.store.ram import RamStore
from memory.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory.store import Store


class TestRamStore(StoreSuite):
    @pytest.fixture
    def store(self) -> Store:
        return RamStore()


class TestSqliteStore(StoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        path = tmp_path / "memory.db"
        store = SqliteStore(path)
        yield store
        sound(path)  # while it is open, as another process would see it
        store.close()
        sound(path)

"""Both stores keep what `memory.store.Store` promises of memories of which there is one, and of those never embedded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from one_suite import OneSuite
from sound import sound

from memory.store.ram import RamStore
from memory.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory.store import Store


class TestRamStore(OneSuite):
    @pytest.fixture
    def store(self) -> Store:
        return RamStore()


class TestSqliteStore(OneSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(tmp_path / "memory.db")
        yield store
        store.close()
        sound(tmp_path / "memory.db")

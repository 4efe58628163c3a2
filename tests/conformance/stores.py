"""The two stores that every suite runs against: a base of each class of tests beside its suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sound import sound

from memory.store.sqlite.store import SqliteStore
from oracle.ram import RamStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory.store import Store


class OnRam:
    @pytest.fixture
    def store(self) -> Store:
        return RamStore()


class OnSqlite:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        path = tmp_path / "memory.db"
        store = SqliteStore(path)
        yield store
        sound(path)  # while it is open, as another process would see it
        store.close()
        sound(path)

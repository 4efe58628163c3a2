"""Both stores keep every promise of `memory.store.Store`."""

from __future__ import annotations

from store_suite import StoreSuite
from stores import OnRam, OnSqlite


class TestRamStore(OnRam, StoreSuite):
    pass


class TestSqliteStore(OnSqlite, StoreSuite):
    pass

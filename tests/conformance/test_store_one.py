"""Both stores keep what `memory.store.Store` promises of memories of which there is one, and of those never embedded."""

from __future__ import annotations

from one_suite import OneSuite
from stores import OnRam, OnSqlite


class TestRamStore(OnRam, OneSuite):
    pass


class TestSqliteStore(OnSqlite, OneSuite):
    pass

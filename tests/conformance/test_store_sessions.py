"""Both stores keep every promise of `memory.store.sessions.Sessions`."""

from __future__ import annotations

from sessions_suite import SessionsSuite
from stores import OnRam, OnSqlite


class TestRamStore(OnRam, SessionsSuite):
    pass


class TestSqliteStore(OnSqlite, SessionsSuite):
    pass

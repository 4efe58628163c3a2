"""Both stores keep every promise of `memory.store.queue.Queue` about chunks that are begun."""

from __future__ import annotations

from begun_suite import (
    BegunSuite,
    chunk as chunk,  # noqa: PLC0414  # a fixture
)
from stores import OnRam, OnSqlite


class TestRamStore(OnRam, BegunSuite):
    pass


class TestSqliteStore(OnSqlite, BegunSuite):
    pass

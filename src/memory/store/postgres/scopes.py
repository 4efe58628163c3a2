"""Which memories are in a scope: asked once in each snapshot, and again only when somebody has written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.query import ACTIVE, EVERYTHING
from memory.store.postgres.database import many, one
from memory.store.postgres.posting_lists import Facts, facts
from memory.store.postgres.rows import BROAD, where

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from memory.schema.memory import MemoryId
    from memory.schema.query import Scope
    from memory.store.postgres.database import Database
    from memory.store.postgres.opening import Db

    T = TypeVar("T")

NARROW = 5_000
"""Memories of a scope that is looked up, to be compared and ranked by itself; a wider one is passed through."""

REMEMBERED = 64  # scopes


class Scopes:
    """The scopes of one database, for all threads of a process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: tuple[int, dict[object, object]] = (-1, {})

    def facts(self, db: Db) -> Facts:
        """How far the snapshot is."""
        return self._database.once("facts", lambda: facts(db))

    def members(self, db: Db, scope: Scope) -> Sequence[MemoryId] | None:
        """The memories in a narrow scope; None if it is wide."""
        if scope in BROAD:
            return None
        return self._remembered(db, ("members", scope), lambda: _members(db, scope))

    def outside(self, db: Db, scope: Scope) -> frozenset[MemoryId] | None:
        """The few memories that are not in a scope that nearly all are in; None if they are not few."""
        if scope == EVERYTHING:
            return frozenset()
        return self._remembered(db, "superseded", lambda: _superseded(db)) if scope == ACTIVE else None

    def count(self, db: Db, scope: Scope, most: int | None) -> int:
        """How many memories are in scope, `most` at most."""
        return self._remembered(db, (most, scope), lambda: _count(db, scope, most))

    def _remembered(self, db: Db, name: object, read: Callable[[], T]) -> T:
        """What is read, as long as nobody writes what a rule looks at."""
        if self._database.writing:
            return read()
        writes, known = self.facts(db).writes, self._known
        if known[0] != writes or len(known[1]) > REMEMBERED:
            known = self._known = (writes, {})
        if name not in known[1]:
            known[1][name] = read()
        return known[1][name]  # type: ignore[return-value]  # as it was read under this name


def _members(db: Db, scope: Scope) -> Sequence[MemoryId] | None:
    condition, values = where(scope)
    rows = many(db, f"select m.id from memories m where {condition} limit %s", [*values, NARROW + 1])
    return None if len(rows) > NARROW else [id for (id,) in rows]


def _superseded(db: Db) -> frozenset[MemoryId] | None:
    rows = many(db, f"select id from memories where status <> 'active' limit {NARROW + 1}")
    return None if len(rows) > NARROW else frozenset([id for (id,) in rows])


def _count(db: Db, scope: Scope, most: int | None) -> int:
    condition, values = where(scope)
    return int(
        one(db, f"select count(*) from (select 1 from memories m where {condition} limit %s) counted", [*values, most])
    )

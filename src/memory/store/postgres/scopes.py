"""Which memories are in a scope: asked once in each snapshot, and again only when somebody has written."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

from memory.schema.query import ACTIVE, EVERYTHING
from memory.store.postgres.database import narrowed, one
from memory.store.postgres.opening import Ids
from memory.store.postgres.posting_lists import Facts, facts
from memory.store.postgres.rows import BROAD, where

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from memory.schema.memory import MemoryId
    from memory.schema.query import Scope
    from memory.store.postgres.database import Database
    from memory.store.postgres.opening import Db

    T = TypeVar("T")

LOOKED_UP = 7_500
"""
Memories of a scope that is looked up, to be compared and ranked by itself, squared, for each chunk that there is: 12,000 in a
store of 20,000, 87,000 in one of a million. To compare m signatures takes .5 µs · m. In the index of all n vectors some 140
are looked for, each of which takes 27 µs, and n / m as many are met on the way: less from m² = 7,500 n on (trial runs).
"""

FEW = 5_000
"""Superseded memories that are remembered."""

REMEMBERED = 64  # scopes


class Scopes:
    """The scopes of one database, for all threads of a process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: tuple[int, dict[object, object]] = (-1, {})

    def facts(self, db: Db) -> Facts:
        """How far the snapshot is."""
        return self._database.once("facts", lambda: facts(db))

    def members(self, db: Db, scope: Scope) -> Ids | None:
        """The memories in a narrow scope; None if it is wide."""
        if scope in BROAD:
            return None
        most = isqrt(LOOKED_UP * self.facts(db).chunks)
        return self._remembered(db, ("members", scope), lambda: _members(db, scope, most))

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


def _members(db: Db, scope: Scope, most: int) -> Ids | None:
    condition, values = where(scope)
    # In their order: the server sorts an array before it looks for what is in it.
    found = f"select array_send(array(select m.id from memories m where {condition} order by m.id limit %s))"
    members = Ids(one(db, found, [*values, most + 1]))
    return None if len(members) > most else members


def _superseded(db: Db) -> frozenset[MemoryId] | None:
    rows = narrowed(db, f"select id from memories where status <> 'active' limit {FEW + 1}")
    return None if len(rows) > FEW else frozenset([id for (id,) in rows])


def _count(db: Db, scope: Scope, most: int | None) -> int:
    condition, values = where(scope)
    return int(
        one(db, f"select count(*) from (select 1 from memories m where {condition} limit %s) counted", [*values, most])
    )

"""What a store promises of what embedding costs, each as one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.store.sqlite import ledger

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.schema.usage import Budget, Call, Outage
    from memory.store.sqlite.database import Database


class SqliteAccounts:
    """See `memory.schema.usage_store.Accounts`: the base of `SqliteStore` that keeps it."""

    _db: Database

    def book(self, call: Call, budget: Budget | None = None) -> int | None:
        with self._db.write(durable=False) as db:
            return ledger.book(db, call, budget)

    def settle(self, id: int, *, tokens: int, seconds: float, cost: float, error: str = "") -> None:
        with self._db.write(durable=False) as db:
            ledger.settle(db, id, tokens=tokens, seconds=seconds, cost=cost, error=error)

    def note(self, calls: Sequence[Call]) -> None:
        with self._db.write(durable=False, patience=0.1) as db:
            for call in calls:
                ledger.note(db, call)

    def ledger(self, since: datetime | None = None, limit: int = 10_000) -> Sequence[Call]:
        with self._db.read() as db:
            return ledger.lines(db, since, limit)

    def spent(self, since: datetime | None = None) -> Sequence[Call]:
        with self._db.read() as db:
            return ledger.spent(db, since)

    def outage(self, host: str) -> Outage | None:
        with self._db.read() as db:
            return ledger.outage(db, host)

    def suspend(self, outage: Outage) -> None:
        with self._db.write(durable=False) as db:
            ledger.suspend(db, outage)

    def resume(self, host: str) -> None:
        with self._db.write(durable=False) as db:
            ledger.resume(db, host)

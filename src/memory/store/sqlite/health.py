"""What a store promises of damage, each as one transaction; what it takes is imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.memory import MemoryId
    from memory.store import Salvaged
    from memory.store.sqlite.database import Database


class SqliteHealth:
    """The base of `SqliteStore` that looks after its file; see `memory.store.Store`."""

    _db: Database

    def ids(self, after: MemoryId, limit: int) -> Sequence[MemoryId]:
        from memory.store.sqlite import damage

        with self._db.read() as db:
            return damage.ids(db, after, limit)

    def salvaged(self, id: MemoryId) -> Salvaged | None:
        from memory.store.sqlite import damage

        with self._db.read() as db:
            return damage.salvaged(db, id)

    def check(self) -> Sequence[str]:
        from memory.store.sqlite import care

        return care.check(self._db)

    def lacking(self) -> int:
        from memory.store.sqlite.length import missing

        with self._db.read() as db:
            return missing(db, self._db.path)

    def repair(self) -> None:
        from memory.store.sqlite import care

        with self._db.write() as db:
            care.repair(db, self._db.path)

"""`PostgresStore`: the store in a PostgreSQL database, made of its parts."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from memory.schema.memory import MemoryId
from memory.store.postgres import care
from memory.store.postgres.database import ServerPool
from memory.store.postgres.keywords import PostgresKeywords
from memory.store.postgres.memories import PostgresMemories
from memory.store.postgres.opening import Clock
from memory.store.postgres.term_vectors import PostgresTermVectors
from memory.store.postgres.vectors import PostgresVectors
from memory.store.shared import Shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.store import Counts, Salvaged
    from memory.store.postgres.tables import PostgresTables


class PostgresStore(Shared):
    """
    The store in the schema `memory` of a database. Every method's promise stands in `memory.store.Store`, those of its
    parts beside it.

    Attributes:
        name: What it is called where people read it, without user and password.
    """

    _db: ServerPool
    user = ""
    shared = True

    def __init__(
        self,
        url: str,
        *,
        folder: str = "",
        busy_seconds: float = 30.0,
        exact: bool = False,
        clock: Clock | None = None,
    ) -> None:
        """
        Open the database, which must be there; its tables are made if they are missing.

        Args:
            folder: Where files are kept that stand for this process's machine: word vectors, the log of searches.
            exact: Compare with every vector, however many there are; indexes of them are neither asked nor made.
            clock: This machine's, which learns the server's.

        Raises:
            ConfigError: The URL is none.
            StoreTooNew, StoreError: It cannot be used; it was not touched.
        """
        super().__init__(ServerPool(url, busy_seconds, clock or Clock()))
        self.name = self._db.name
        self.path = str(Path(folder, f"postgres-{sha256(self.name.encode()).hexdigest()[:16]}")) if folder else ""
        self.transaction, self.snapshot, self.now = self._db.write, self._db.read, self._db.clock.now
        self.memories = PostgresMemories(self._db)
        self.keywords = PostgresKeywords(self._db)
        self.vectors = PostgresVectors(self._db, exact=exact)
        self.term_vectors = PostgresTermVectors(self._db)

    @property
    def tables(self) -> PostgresTables:
        """Its rows, for a move."""
        from memory.store.postgres.tables import PostgresTables

        return PostgresTables(self._db)

    # Care ----------------------------------------------------------------

    def counts(self) -> Counts:
        with self._db.read() as db:
            return care.counts(db)

    def highest(self) -> MemoryId:
        with self._db.read() as db:
            return MemoryId(db.value("select pg_sequence_last_value(pg_get_serial_sequence('memories', 'id'))") or 0)

    def check(self, *, quick: bool = False) -> Sequence[str]:
        return () if quick else self._check()  # a server finds a file that was cut when it starts

    def _check(self) -> Sequence[str]:
        with self._db.read() as db:
            return tuple(care.check(db))

    def repair(self) -> None:
        with self._db.write() as db:
            care.repair(db)

    def outdated(self) -> bool:
        return False  # nothing stands beside the database

    def derive(self) -> bool:
        return False

    def wipe(self) -> bool:
        from memory.store.postgres.care import wipe

        return wipe(self._db)

    def salvaged(self, after: MemoryId, limit: int) -> Sequence[Salvaged]:
        with self._db.read() as db:
            return care.salvaged(db, after, limit)

    def close(self) -> None:
        self._db.close()

"""`SqliteStore`: the store in one SQLite file, made of its parts."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from memory.store.sqlite.database import Database, Part, reading, writing
from memory.store.sqlite.generations import SqliteGenerations
from memory.store.sqlite.keywords import SqliteKeywords
from memory.store.sqlite.memories import SqliteMemories
from memory.store.sqlite.term_vectors import SqliteTermVectors
from memory.store.sqlite.usage import SqliteUsage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import apsw

    from memory.schema.memory import MemoryId
    from memory.store import Counts, Salvaged
    from memory.store.sqlite.graph import SqliteGraph
    from memory.store.sqlite.queue import SqliteQueue
    from memory.store.sqlite.sessions import SqliteRuns, SqliteSessions
    from memory.store.sqlite.tables import SqliteTables
    from memory.store.sqlite.trash import SqliteSteps, SqliteTrash
    from memory.store.sqlite.vectors import SqliteVectors


class SqliteStore(Part):
    """
    The store in one SQLite file. Every method's promise stands in `memory.store.Store`, those of its parts beside it.

    The parts that a keyword search does without are imported when they are asked for.
    """

    handover = None
    user = ""
    shared = False

    def __init__(
        self,
        path: str | Path,
        *,
        busy_seconds: float = 30.0,
        damaged: bool = False,
        older: bool = False,
        exact: bool = False,
    ) -> None:
        """
        Open the file, made if it is missing; its folder must be there.

        Args:
            damaged: Open what SQLite refuses as well, to read what can be read.
            older: Open a file of an older format as well, of which nothing but `tables` can be read.
            exact: Compare with every vector, however many there are; signatures are neither asked nor made.

        Raises:
            StoreDamaged, StoreTooNew, StoreTooOld, StoreError: It cannot be used; it was not touched.
        """
        super().__init__(Database(str(path), busy_seconds, first_fault=_first_fault, damaged=damaged, older=older))
        self.path, self._exact = str(path), exact
        self.transaction, self.snapshot = self._db.write, self._db.read
        self.keywords = SqliteKeywords(self._db)
        self.memories = SqliteMemories(self._db, filtered=self.keywords.filtered)
        self.generations = SqliteGenerations(self._db)
        self.term_vectors = SqliteTermVectors(self._db)
        self.usage = SqliteUsage(self._db)

    @cached_property
    def sessions(self) -> SqliteSessions:
        from memory.store.sqlite.sessions import SqliteSessions

        return SqliteSessions(self._db)

    @cached_property
    def vectors(self) -> SqliteVectors:
        from memory.store.sqlite.vectors import SqliteVectors

        return SqliteVectors(self._db, exact=self._exact, filtered=self.keywords.filtered)

    @cached_property
    def queue(self) -> SqliteQueue:
        from memory.store.sqlite.queue import SqliteQueue

        return SqliteQueue(self._db)

    @cached_property
    def graph(self) -> SqliteGraph:
        from memory.store.sqlite.graph import SqliteGraph

        return SqliteGraph(self._db)

    @cached_property
    def runs(self) -> SqliteRuns:
        from memory.store.sqlite.sessions import SqliteRuns

        return SqliteRuns(self._db)

    @cached_property
    def trash(self) -> SqliteTrash:
        from memory.store.sqlite.trash import SqliteTrash

        return SqliteTrash(self._db)

    @cached_property
    def steps(self) -> SqliteSteps:
        from memory.store.sqlite.trash import SqliteSteps

        return SqliteSteps(self._db)

    @property
    def tables(self) -> SqliteTables:
        """Its rows, for a move."""
        from memory.store.sqlite.tables import SqliteTables

        return SqliteTables(self._db)

    def now(self) -> datetime:
        return datetime.now(UTC)

    # Care ----------------------------------------------------------------

    @reading
    def counts(self, db: apsw.Connection) -> Counts:
        from memory.store.sqlite import care

        return care.counts(db, self.path)

    @reading
    def highest(self, db: apsw.Connection) -> MemoryId:
        found: MemoryId = db.execute("select ifnull(max(seq), 0) from sqlite_sequence where name = 'memories'").get
        return found

    def check(self, *, quick: bool = False) -> Sequence[str]:
        from memory.store.sqlite import care

        return care.cut(self._db) if quick else care.check(self._db)

    def outdated(self) -> bool:
        from memory.store.sqlite import posting_file

        return posting_file.due(self._db)

    def derive(self) -> bool:
        from memory.store.sqlite import posting_file

        return posting_file.due(self._db) and posting_file.build(self._db)

    @writing()
    def repair(self, db: apsw.Connection) -> None:
        from memory.store.sqlite import care

        care.repair(db, self.path)

    def wipe(self) -> bool:
        from memory.store.sqlite import care

        return care.wipe(self._db)

    @reading
    def salvaged(self, db: apsw.Connection, after: MemoryId, limit: int) -> Sequence[Salvaged]:
        from memory.store.sqlite import damage

        return damage.salvaged(db, self.path, after, limit)

    def close(self) -> None:
        self._db.close()


def _first_fault(db: apsw.Connection) -> str:
    from memory.store.sqlite.care import first_fault

    return first_fault(db)

"""`SqliteStore`: the store in one SQLite file, made of its parts: FTS5 for words, sqlite-vec for distances."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING

from memory.store.shared import Shared
from memory.store.sqlite.database import Database
from memory.store.sqlite.keywords import SqliteKeywords
from memory.store.sqlite.memories import SqliteMemories
from memory.store.sqlite.rows import chunks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memory.schema.memory import MemoryId
    from memory.store import Counts, Salvaged
    from memory.store.sqlite.rows import SqliteConnection
    from memory.store.sqlite.tables import SqliteTables
    from memory.store.sqlite.term_vectors import SqliteTermVectors
    from memory.store.sqlite.vectors import SqliteVectors


FILED = 1_000
"""Chunks from which a file of postings pays: it saves a millisecond a search, and takes a tenth of a second to make."""


class SqliteStore(Shared):
    """
    The store in one SQLite file. Every method's promise stands in `memory.store.Store`, those of its parts beside it.

    The parts that a keyword search does without are imported when they are asked for.
    """

    _db: Database
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
        self.transaction, self.snapshot, self.now = self._db.write, self._db.read, partial(datetime.now, UTC)
        self.keywords = SqliteKeywords(self._db)
        self.memories = SqliteMemories(self._db, members=self.keywords.members)

    @cached_property
    def vectors(self) -> SqliteVectors:
        from memory.store.sqlite.vectors import SqliteVectors

        return SqliteVectors(self._db, exact=self._exact, members=self.keywords.members)

    @cached_property
    def term_vectors(self) -> SqliteTermVectors:
        from memory.store.sqlite.term_vectors import SqliteTermVectors

        return SqliteTermVectors(self._db)

    @property
    def tables(self) -> SqliteTables:
        """Its rows, for a move."""
        from memory.store.sqlite.tables import SqliteTables

        return SqliteTables(self._db)

    # Care ----------------------------------------------------------------

    def counts(self) -> Counts:
        with self._db.read() as db:
            from memory.store.sqlite import care

            return care.counts(db, self.path)

    def highest(self) -> MemoryId:
        with self._db.read() as db:
            found: MemoryId = db.execute("select ifnull(max(seq), 0) from sqlite_sequence where name = 'memories'").get
            return found

    def check(self, *, quick: bool = False) -> Sequence[str]:
        from memory.store.sqlite import care

        return care.cut(self._db) if quick else care.check(self._db)

    def outdated(self) -> bool:
        if self._db.ask(chunks) < FILED:  # as in most stores, which never need that code
            return False
        from memory.store.sqlite import posting_file

        return posting_file.due(self._db)

    def derive(self) -> bool:
        from memory.store.sqlite import posting_file

        return self.outdated() and posting_file.build(self._db)

    def repair(self) -> None:
        with self._db.write() as db:
            from memory.store.sqlite import care

            care.repair(db, self.path)

    def wipe(self) -> bool:
        from memory.store.sqlite import care

        return care.wipe(self._db)

    def salvaged(self, after: MemoryId, limit: int) -> Sequence[Salvaged]:
        with self._db.read() as db:
            from memory.store.sqlite import damage

            return damage.salvaged(db, self.path, after, limit)

    def close(self) -> None:
        self._db.close()


def _first_fault(db: SqliteConnection) -> str:
    from memory.store.sqlite.care import first_fault

    return first_fault(db)

"""The store in a PostgreSQL database: many machines, one memory."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from memory.schema.memory import MemoryId
from memory.store import TermVector
from memory.store.postgres import care
from memory.store.postgres.database import ServerPool
from memory.store.postgres.keywords import PostgresKeywords
from memory.store.postgres.memories import PostgresMemories
from memory.store.postgres.opening import Clock
from memory.store.postgres.rows import cut
from memory.store.postgres.vectors import PostgresVectors
from memory.store.shared import Shared
from memory.store.term_vectors import TermVectors

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memory.store import Counts, Salvaged
    from memory.store.postgres.care import PostgresTables
    from memory.store.postgres.rows import Db
    from memory.store.records import Values


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
        from memory.store.postgres.care import PostgresTables

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
        with self._db.read() as db:
            return care.unknown(db)

    def derive(self) -> bool:
        with self._db.alone() as db:
            return care.look(db)

    def wipe(self) -> bool:
        from memory.store.postgres.care import wipe

        return wipe(self._db)

    def salvaged(self, after: MemoryId, limit: int) -> Sequence[Salvaged]:
        with self._db.read() as db:
            return care.salvaged(db, after, limit)

    def close(self) -> None:
        self._db.close()


# Term vectors --------------------------------------------------------------------


_KEEP = """
    insert into lexicon_terms (generation, term, passages, last, met, scale, code)
    select %s, * from unnest(%s::text[], %s::bigint[], %s::bigint[], %s::float8[], %s::float8[], %s::bytea[])
    on conflict (generation, term) do update set passages = excluded.passages, last = excluded.last,
        met = excluded.met, scale = excluded.scale, code = excluded.code
"""


class PostgresTermVectors(TermVectors):
    """See `memory.store.term_vectors.TermVectors`."""

    _db: ServerPool

    def _keep(self, db: Db, generation: int, term_vectors: Sequence[TermVector], *, of: int) -> None:
        own = {one.term: one for one in term_vectors}.values()
        if own:
            db.execute(_KEEP, (generation, *(list(column) for column in zip(*own, strict=True))))

    def _drop_rarest(self, db: Db, generation: int, count: int) -> None:
        db.execute(
            """delete from lexicon_terms where generation = %s and term in (
                   select term from lexicon_terms where generation = %s
                   order by strpos(term, ' ') > 0 desc, passages, last, term limit %s
               )""",
            (generation, generation, count),
        )

    def _known(self, db: Db, generation: int, terms: Sequence[str] | None, *, once: bool) -> dict[str, TermVector]:
        wanted = "generation = %s"
        values: Values = [generation]
        if terms is not None:
            wanted += " and term = any(%s)"
            values.append(list(terms))
        rows = db.rows(f"select term, passages, last, met, scale, code from lexicon_terms where {wanted}", values)
        return {row[0]: TermVector._make(row) for row in rows}


# Of words the terms that hold them: alone, as the first of two, as the second. '!' follows ' '.
_HOLDING = """
    with gone as materialized (select * from unnest(%s::text[]) w (word))
    select t.term from gone cross join lexicons l
    join lexicon_terms t on t.generation = l.generation and t.term = word
    union
    select t.term from gone cross join lexicons l
    join lexicon_terms t on t.generation = l.generation
        and t.term > (word || ' ') collate "C" and t.term < (word || '!') collate "C"
    union
    select t.term from gone cross join lexicons l
    join lexicon_terms t on t.generation = l.generation
        and split_part(t.term, ' ', 2) = word and strpos(t.term, ' ') > 0
"""


def vanished(db: Db, words: Collection[str]) -> list[str]:
    """See `memory.store.shared.Connection`."""
    rows = db.rows("select term from vocabulary where term = any(%s)", ([cut(word) for word in words],))
    held = {term for (term,) in rows}
    return [term for (term,) in db.rows(_HOLDING, (sorted(word for word in words if cut(word) not in held),))]


def outlived(db: Db) -> list[int]:
    """See `memory.store.shared.Connection`."""
    # A word that is too long is kept otherwise among the words.
    held = {term for (term,) in db.rows("select term from vocabulary")}
    terms = db.rows("select generation, term from lexicon_terms")
    return sorted({generation for generation, term in terms if not held.issuperset(map(cut, term.split(" ")))})

"""
Postings as the server keeps them: of each word the chunks that hold it, made by one process for all.

A process reads those of the words it is asked for, once, and ranks by itself: see `memory.store.postgres.postings`.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.store.postgres.database import many, one
from memory.store.postgres.opening import POSTINGS

if TYPE_CHECKING:
    from collections.abc import Collection, Generator

    import numpy as np
    from numpy.typing import NDArray

    from memory.store.postgres.database import Database
    from memory.store.postgres.opening import Db

LEAST = 1_000
"""Chunks from which postings pay; fewer are read as they are indexed, in some 50 ms a process."""

STALE, SHARE = 1_000, 8
"""So many chunks that came or went since, and one of so many that are in the postings, make them old."""

MOST = 16_000_000
"""Entries that a process remembers, 12 bytes each."""


class Facts(NamedTuple):
    """
    How far a snapshot of the database is.

    Attributes:
        chunks, words: How many are indexed.
        last: The highest id that a chunk ever had.
        removals: How often a chunk went.
        writes: How often the store was written.
        base: The id of the postings; None if there are none.
    """

    chunks: int
    words: int
    last: int
    removals: int
    writes: int
    base: int | None


def facts(db: Db) -> Facts:
    found = dict(
        many(
            db,
            """select name, value from counters union all select 'base', max(id) from posting_base
               union all select 'writes', writes from state where name = 'store'""",
        )
    )
    return Facts(*(found[name] for name in Facts._fields))


class Lists:
    """See `memory.store.bm25.Base`. It never changes: what is read of it in one snapshot holds in all that have it."""

    def __init__(self, db: Db, now: Facts) -> None:
        import numpy as np

        columns: tuple[Any, ...] = (now.removals, 0, b"", b"", b"")  # all chunks came since nothing
        if now.base is not None:
            [columns] = many(
                db, "select number, last, ids, owners, lengths from posting_base where id = %s", (now.base,)
            )
        self.number, self.last = columns[:2]
        self.ids, self.owners = (np.frombuffer(column, ">i8").astype(np.int64) for column in columns[2:4])
        self.lengths = np.frombuffer(columns[4], ">i8").astype(np.int32)
        self._lists: dict[tuple[str, bool], tuple[NDArray[np.int32], NDArray[np.float64]]] = {}
        self._entries = 0

    def load(self, db: Db, wanted: Collection[tuple[str, bool]]) -> None:
        """Read the postings of words, or of all words that begin so, that are not known yet."""
        if self._entries > MOST:
            self._lists, self._entries = {}, 0
        words = [word for word, prefix in wanted if not prefix and (word, prefix) not in self._lists]
        found = dict.fromkeys(words, (b"", b""))
        if words and len(self.ids):
            rows = many(db, "select word, rows, often from posting_lists where word = any(%s)", (words,))
            found |= {word: (places, often) for word, places, often in rows}
        for word, (places, often) in found.items():
            self._keep((word, False), places, often)
        for word in (word for word, prefix in wanted if prefix and (word, prefix) not in self._lists):
            begun = "select rows, often from posting_lists where word >= %s and word < %s"
            lists = many(db, begun, (word, word + LAST)) if len(self.ids) else []
            self._keep((word, True), *(b"".join(parts) for parts in zip((b"", b""), *lists, strict=True)))

    def _keep(self, key: tuple[str, bool], places: bytes, often: bytes) -> None:
        import numpy as np

        rows = np.frombuffer(places, ">i4").astype(np.int32)
        halves = 2 * np.frombuffer(often, ">f4").astype(np.float64)
        order = np.argsort(rows, kind="stable")
        self._lists[key] = (rows[order], halves[order])
        self._entries += len(rows)

    def postings(self, token: str, *, prefix: bool) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        return self._lists[token, prefix]


LAST = chr(0x10FFFF)
"""Behind all that begins with a word, in the order of code points."""


# How they are made ----------------------------------------------------------------


def due(db: Db) -> bool:
    """Whether postings should be made: there are none, or too much came or went since; and it pays."""
    now = facts(db)
    if now.base is None or now.chunks < LEAST:
        return now.chunks >= LEAST
    [(number, last, chunks)] = many(db, "select number, last, chunks from posting_base where id = %s", (now.base,))
    came = int(one(db, "select count(*) from keywords where chunk_id > %s", (last,)))
    return came + now.removals - int(number) > STALE + chunks // SHARE


def size(db: Db) -> int:
    """How many chunks are in the postings; 0 if there are none."""
    return int(one(db, "select max(chunks) from posting_base") or 0)


def build(database: Database) -> bool:
    """Make them anew, from one snapshot, while others read and write; False if another process is at it."""
    with database.alone() as db:
        if not one(db, "select pg_try_advisory_lock(%s)", (POSTINGS,)):
            return False
        try:
            with db.transaction():
                db.execute("set transaction isolation level repeatable read; set local work_mem = '256MB'")
                if not due(db):
                    return False
                forget(db)
                db.execute(_BASE)
                db.execute(_LISTS)
        finally:
            one(db, "select pg_advisory_unlock(%s)", (POSTINGS,))
    return True


@contextmanager
def unmade(db: Db) -> Generator[None]:
    """
    There are none, and nobody makes any. Whoever is at it is waited for: they may have read words of what was removed since.

    Args:
        db: See `Database.alone`.
    """
    one(db, "select pg_advisory_lock(%s)", (POSTINGS,))
    try:
        forget(db)
        yield
    finally:
        one(db, "select pg_advisory_unlock(%s)", (POSTINGS,))


def forget(db: Db) -> None:
    db.execute("delete from posting_lists; delete from posting_base")


_BASE = """
    insert into posting_base (number, last, chunks, ids, owners, lengths)
    select (select value from counters where name = 'removals'), (select value from counters where name = 'last'), count(*),
        string_agg(int8send(chunk_id), '' order by chunk_id), string_agg(int8send(memory_id), '' order by chunk_id),
        string_agg(int8send(size), '' order by chunk_id)
    from keywords
"""

# What a word's places are put together from is in no order where the server needs its disk for it.
_LISTS = """
    insert into posting_lists (word, rows, often)
    select u.word, string_agg(int4send(k.place::integer), ''), string_agg(float4send(u.often), '')
    from (select words, often, row_number() over (order by chunk_id) - 1 as place from keywords) k
    cross join unnest(k.words, k.often) u (word, often) group by u.word
"""

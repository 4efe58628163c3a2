"""How much there is in a database, what is wrong with it, and how it is made anew, so that nothing of what went is left."""

from __future__ import annotations

import re
from contextlib import contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING

from psycopg.errors import Diagnostic, LockNotAvailable

from memory.schema.errors import StoreDamaged
from memory.store import Counts, Salvaged, care, sessions
from memory.store.memories import details
from memory.store.postgres import index, vectors
from memory.store.postgres.opening import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from memory.schema.memory import MemoryId
    from memory.store.postgres.database import ServerPool
    from memory.store.postgres.rows import Db


def counts(db: Db) -> Counts:
    """See `Store.counts`."""
    size = "select sum(pg_total_relation_size(oid))::bigint from pg_class where relkind = 'r' and relnamespace = to_regnamespace(%s)"
    return sessions.counts(
        db,
        chunks=index.totals(db).chunks,
        bytes=db.value(size, (SCHEMA,)),
    )


def check(db: Db) -> Iterator[str]:
    """See `Store.check`. The server looks after its own files: `amcheck` and its checksums tell of those."""
    if missing := vectors.missing(db):
        yield from (f"the table vectors_{id} is missing, in which generation {id} has its vectors" for id in missing)
        return  # all else is compared with these
    yield from care.faults(db)
    if index.drifted(db):
        yield "the keyword index differs from the memories it should hold"


def repair(db: Db) -> None:
    """See `Store.repair`."""
    index.anew(db)
    care.mend(db)


def salvaged(db: Db, after: MemoryId, limit: int) -> list[Salvaged]:
    """See `Store.salvaged`."""
    ids = db.rows("select id from memories where id > %s order by id limit %s", (after, limit))
    return [_salvaged(db, id) for (id,) in ids]


def _salvaged(db: Db, id: MemoryId) -> Salvaged:
    try:
        return Salvaged(id, details(db, id))
    except StoreDamaged as error:
        return Salvaged(id, None, fault=error)


# No byte is left of what was removed for good ------------------------------------

BEHIND = 2.0
"""Seconds that others wait, at most, behind a table that is to be written anew while somebody reads it for long."""

_TABLES = "select oid::regclass::text from pg_class where relkind = 'r' and relnamespace = to_regnamespace(%s)"


def wipe(database: ServerPool) -> bool:
    """
    See `Store.wipe`: every table is written anew, without the rows that nobody can see any more. Whoever reads waits
    meanwhile. The server's log, its standbys and its backups are not ours to clear.
    """
    with database.alone() as db:
        if (mark := _mark(db)) is None:
            with db.transaction():
                db.owe()
            mark = _mark(db)
        try:
            with _patient(db, BEHIND):
                if not _past(db, database.busy_seconds):
                    return False
            with _patient(db, BEHIND):
                vectors.sweep(db, patient=True)
                tables = [table for (table,) in db.rows(_TABLES, (SCHEMA,))]
                if any(_rewritten(db, table) is None for table in tables):
                    return False
        except LockNotAvailable:
            return False
    with database.write(durable=False) as db:
        # Whoever took something for good meanwhile has made another row.
        db.execute("delete from unwiped where xmin::text = %s", (mark,))
        return not db.value("select count(*) from unwiped")


def _mark(db: Db) -> str | None:
    """Who was the last to take something for good."""
    found: str | None = db.value("select xmin::text from unwiped")
    return found


@contextmanager
def _patient(db: Db, seconds: float) -> Generator[None]:
    """A lock is waited for so long."""
    [(before,)] = db.execute("select current_setting('lock_timeout')")
    db.execute("select set_config('lock_timeout', %s, false)", (str(max(1, round(1000 * seconds))),))
    try:
        yield
    finally:
        db.execute("select set_config('lock_timeout', %s, false)", (before,))


def _past(db: Db, seconds: float) -> bool:
    """
    Whether nobody reads any more what was there before the mark; they are waited for.

    The server is asked what it could leave out of the table of the mark: `pg_stat_activity` shows a role only what its own
    connections read, and neither standbys nor prepared transactions.
    """
    until, wait = monotonic() + seconds, 0.01
    while _rewritten(db, "unwiped"):
        if monotonic() > until:
            return False
        sleep(wait)
        wait = min(2 * wait, 0.5)
    return True


def _rewritten(db: Db, table: str) -> int | None:
    """
    Write a table anew.

    Returns:
        How many rows had to stay although they are removed; None if this role may not write it anew.
    """
    counts: list[int] = []

    def told(notice: Diagnostic) -> None:
        # "3 dead row versions cannot be removed yet", in the server's language
        if found := re.search(r"\d+", notice.message_detail or ""):
            counts.append(int(found[0]))

    db.add_notice_handler(told)
    try:
        db.execute(f"vacuum (full, verbose) {table}")
    finally:
        db.remove_notice_handler(told)
    return counts[0] if counts else None

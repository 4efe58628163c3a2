"""How no byte is left in the tables of what was removed for good."""

from __future__ import annotations

import re
from contextlib import contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING

from psycopg.errors import Diagnostic, LockNotAvailable

from memory.store.postgres import generations
from memory.store.postgres.opening import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Generator

    from memory.store.postgres.database import ServerPool
    from memory.store.postgres.rows import Db

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
                generations.sweep(db, patient=True)
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

"""Writers who wait hand over what they would write: a table of it, and the one statement that takes the row and it."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from secrets import randbits
from typing import TYPE_CHECKING, Any, TypeAlias

import psycopg
from psycopg.pq import TransactionStatus

from memory.schema.errors import StoreError, iso
from memory.store.handover import Handed, Turn
from memory.store.postgres import chunks
from memory.store.postgres.clock import ASKED
from memory.store.postgres.database import STORE, SYNC, Part, beginning, one, patience, writing
from memory.store.postgres.translate import translated

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence
    from datetime import datetime

    from memory.store.postgres.opening import Db
    from memory.store.values import Entry

    Made: TypeAlias = Callable[[], tuple[str, bytes]]
    Rows: TypeAlias = list[tuple[Any, ...]]

MOST = 32
"""What is taken of others at once: whoever takes it lets its own caller wait for it."""

_LATER = f"set local synchronous_commit = off; commit; {SYNC}"

_PLANNED = "set local plan_cache_mode = force_generic_plan"
"""Statements that write are planned once, not for each of the first values: others wait meanwhile."""

_HAND = "call hand_over(%s, %s, %s, %s, %s, null, null, null, null)"

GIVING_UP = 2.0
"""Seconds that somebody who gives up waits for whoever has begun to write what it handed over."""


class PostgresHandover(Part):
    """See `memory.store.handover.Handover`."""

    _taken = False  # whether another had the row when it was last asked for

    def prepared(self, entry: Entry) -> Entry:
        return entry._replace(said=chunks.said(entry))

    @contextmanager
    def turn(self, form: int, moment: datetime, made: Made | None = None) -> Generator[Turn]:
        database = self._db
        if database.current is not None:
            with database.write():
                yield Turn()
            return
        with translated(database.name):
            db, rows = database.first(lambda db: self._turn(db, form, moment, made))
            [(own, *_, outcome, free, over, queued, followed), *others] = rows
            self._taken = not free
            if outcome is None:
                handed = [Handed(id, entry, vectors) for id, entry, vectors, *_ in others]
                # Who waits need not wait for the disk, each by itself, if it is done for all.
                ending = "commit" if others else _LATER
                with self._given_up(own), database.begun(db, STORE, ending, piped=bool(others)), _prepared(db):
                    yield Turn(None, handed, over=over, queued=queued)
                return
            try:  # whoever committed it waited for the disk; for a standby perhaps in vain
                if db.info.transaction_status != TransactionStatus.IDLE:
                    db.execute(_LATER if followed else "commit")
                elif followed:
                    db.execute(SYNC)
            finally:
                database.give_back(db)
        yield Turn(outcome, queued=queued)

    def _turn(self, db: Db, form: int, moment: datetime, made: Made | None) -> Rows:
        """Rows of the function `turn`: in a transaction, but for an outcome that came without one."""
        begin, asked = beginning(self._db.busy_seconds, later=False), self._db.clock.local()
        turn = f"{begin}; {_PLANNED}; {ASKED}; select * from turn(%s, {int(form)}, {MOST}, '{iso(moment)}', %s)"
        if made is None or not self._taken:  # whoever is likely to wait hands over at once
            [(seconds,)], rows = _answers(db.execute(turn % ("null", "null")))
            self._db.clock.heard(seconds, asked)
            if rows:
                return rows
            db.execute("rollback")
        if made is None:
            return _answers(db.execute(turn % (0, "null")))[-1]
        own, (entry, vectors) = randbits(62) + 1, made()
        try:
            handed = db.execute(_HAND, (own, form, entry, vectors, patience(self._db.busy_seconds)), binary=True)
            [(outcome, held, queued, followed)] = handed
            if outcome is None:
                return _answers(db.execute(turn % (own, held)))[-1]
        except BaseException as error:
            outcome, queued, followed = self._withdrawn(db, own), True, True
            if outcome is None or not isinstance(error, psycopg.Error):
                raise
        return [(own, None, None, outcome, False, False, queued, followed)]

    @contextmanager
    def _given_up(self, own: int | None) -> Generator[None]:
        """A turn, with which it is undone too, if that fails, that what was handed over is taken away."""
        try:
            yield
        except BaseException:
            if own:
                with suppress(StoreError), self._db.alone() as db:
                    self._withdrawn(db, own)
            raise

    def _withdrawn(self, db: Db, own: int) -> str | None:
        """Take back what was handed over; what came of it, in a transaction, if it is written already."""
        if db.closed:
            return None
        try:
            db.execute("rollback")
            db.execute("select pg_advisory_unlock_all()")  # where it was interrupted it may have had one
            db.execute(beginning(GIVING_UP, later=True))
            outcome: str | None = one(db, "delete from handed where id = %s returning outcome", (own,))
            if outcome is None:
                db.execute("commit")
        except psycopg.Error:  # whoever writes it takes long: nobody knows
            return None
        return outcome

    @writing()
    def expect(self, db: Db, entries: Sequence[Entry]) -> None:
        self._db.ahead(chunks.Ahead(db, entries))

    @writing()
    def answer(self, db: Db, outcomes: Mapping[int, str]) -> None:
        db.execute(
            """update handed h set outcome = w.outcome, entry = null, vectors = null
               from unnest(%b::bigint[], %b::text[]) w (id, outcome) where h.id = w.id""",
            (list(outcomes), list(outcomes.values())),
        )

    @writing()
    def leave(self, db: Db, ids: Collection[int]) -> None:
        db.execute("update handed set alone = true where id = any(%s)", (list(ids),))


def _answers(cursor: psycopg.Cursor[tuple[Any, ...]]) -> list[Rows]:
    """The rows of each statement of a message that has some."""
    found = []
    while True:
        if cursor.pgresult is not None and cursor.pgresult.nfields:
            found.append(cursor.fetchall())
        if not cursor.nextset():
            return found


@contextmanager
def _prepared(db: Db) -> Generator[None]:
    """Statements are prepared when they are asked for the first time, not the sixth."""
    former, db.prepare_threshold = db.prepare_threshold, 0
    try:
        yield
    finally:
        db.prepare_threshold = former

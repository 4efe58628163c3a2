"""A pool of connections, and transactions that wait instead of failing."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolTimeout

from memory.schema.errors import StoreError
from memory.store.postgres.opening import ASKED, CONNECTING, Clock, Ready
from memory.store.postgres.rows import Db
from memory.store.postgres.translate import place, translated
from memory.store.shared import STORE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable
    from contextlib import AbstractContextManager

CONNECTIONS = 8
"""Of one process, at most: more threads than that wait for each other."""

_IDLE = "idle_in_transaction_session_timeout"
SLEEPING = f"select set_config('{_IDLE}', '1min', true) where current_setting('{_IDLE}') = '0'"
"""
Ends a transaction whose client says nothing for a minute, where the server has no limit of its own: others wait for it.
Not right after a pipeline: psycopg ends that with a flush, at which the server stops counting until the next statement.
"""

DURABLE = "select pg_logical_emit_message(true, 'memory', '')"
"""
Commits an empty transaction. The server answers it only when all earlier commits are on disk, and on the standby that it waits
for.

A writer's own commit does not wait for that, so it gives its lock back early, and one flush then serves all writers that wait.
A save is acknowledged only after it.
"""

RECONNECT = 2.0
"""Seconds for which the pool keeps reconnecting, with growing pauses."""

R = TypeVar("R")

_HOLD = "select pg_advisory_xact_lock({})"
"""The lock of writers, held until the transaction ends; PostgreSQL grants it in the order of requests."""

_ASKED = f"{ASKED}, current_setting('transaction_read_only')::boolean"


def milliseconds(seconds: float) -> str:
    """Seconds as the value of a time limit; at least one millisecond, since 0 is no limit."""
    return str(max(1, round(1000 * seconds)))


class _OfThread(threading.local):
    """
    What a thread has of a database.

    Attributes:
        open: The connection, while a transaction is open.
        writing: Whether that writes.
        held: The locks that it holds.
        failed: Whether something in it failed, so that nothing of it may be kept.
        known: What was asked of the snapshot that it reads; None if it writes.
    """

    open: Db | None = None
    writing = failed = False
    held: frozenset[int] = frozenset()
    known: dict[object, Any] | None = None


class ServerPool:
    """A server, and connections to it that threads take in turns."""

    def __init__(self, url: str, busy_seconds: float, clock: Clock) -> None:
        """
        Args:
            clock: Is kept right with every transaction.

        Raises:
            ConfigError: The URL is none.
            StoreTooNew: A newer version wrote it.
            StoreError: It cannot be reached, or not used.
        """
        self.name = place(url)
        self._url, self.busy_seconds = url, busy_seconds
        self.local = _OfThread()
        self._process = os.getpid()
        self.clock = clock
        ready = Ready(url, self.name, clock)
        self._pool: ConnectionPool[Db] = ConnectionPool(
            url,
            connection_class=Db,
            kwargs=CONNECTING,
            min_size=1,
            max_size=CONNECTIONS,
            timeout=max(1.0, busy_seconds),
            reconnect_timeout=RECONNECT,
            configure=ready,
            open=False,
        )
        with translated(self.name):
            try:
                self._pool.open(wait=True, timeout=max(1.0, busy_seconds))
            except BaseException:
                self._pool.close()
                raise

    @property
    def writing(self) -> bool:
        """Whether this thread has a transaction open that writes: what it reads may be undone."""
        return self.local.open is not None and self.local.writing

    def once(self, name: object, read: Callable[[], R]) -> R:
        """What is read, once in each snapshot."""
        if (known := self.local.known) is None:
            return read()
        if name not in known:
            known[name] = read()
        found: R = known[name]
        return found

    @contextmanager
    def write(
        self, *, durable: bool = True, patience: float | None = None, lock: int | None = STORE, frees: bool = False
    ) -> Generator[Db]:
        """
        A transaction that holds a lock from its beginning; inside another of this thread, a part of that.

        Each statement sees what is committed when it begins (`read committed`): behind the lock, that is all there is.

        Args:
            durable: Survive a power cut too, at the price of a sync to disk; with a standby that the server waits for,
                its loss too. Without, what is acknowledged still survives the end of this and of the server's processes.
            patience: Seconds to wait for a lock, if not as long as configured.
            lock: Which one; None waits only for the rows that are written.
            frees: Is nothing here: a server looks after its own room.
        """
        del frees
        if self.local.writing and self.local.open is not None:
            try:
                self._hold(self.local.open, lock)
                yield self.local.open
            except BaseException:
                self.local.failed = True  # what it wrote until then stays in the transaction
                raise
            return
        waits = milliseconds(self.busy_seconds if patience is None else patience)
        begin = [f"begin; set local lock_timeout = {waits}", SLEEPING, "set local synchronous_commit = off"]
        if lock is not None:
            begin.append(_HOLD.format(lock))
        with translated(self.name):
            db = self._begun("; ".join(begin), writing=True)
            with self._within(db, writing=True):
                self.local.held = frozenset() if lock is None else frozenset({lock})
                db.lasting = True
                yield db
                self._check_whole(db)
                with db.pipelined():  # with what is on its way: the server frees the lock before the client hears of it
                    db.execute("commit")
                    if durable:
                        db.execute(DURABLE)
                db.settle()

    def read(self) -> AbstractContextManager[Db]:
        """
        A snapshot: every statement inside sees the same data; inside another of this thread, a part of that. In a
        transaction that writes, what that has written too.
        """
        return self._snapshot() if self.local.open is None else nullcontext(self.local.open)

    @contextmanager
    def _snapshot(self) -> Generator[Db]:
        with translated(self.name):
            db = self._begun("begin isolation level repeatable read read only")
            with self._within(db, writing=False):
                yield db

    def ask(self, question: Callable[[Db], R], *, once: Hashable = None) -> R:
        """
        What one statement answers: a snapshot by itself; in a transaction of this thread, a part of that. It may be asked
        again, as `first` says.

        Args:
            once: See `once`.
        """
        if (open := self.local.open) is not None:
            return question(open) if once is None else self.once(once, lambda: question(open))
        with translated(self.name):
            db, found = self.first(question)
            self.give_back(db)
        return found

    @contextmanager
    def alone(self) -> Generator[Db]:
        """A connection for statements that are no part of a transaction, each of them one by itself."""
        with translated(self.name):
            db = self._begun("select")
            try:
                yield db
            finally:
                self.give_back(db)

    @contextmanager
    def _within(self, db: Db, *, writing: bool) -> Generator[None]:
        local = self.local
        local.open, local.writing, local.failed, local.held = db, writing, False, frozenset()
        local.known = None if writing else {}
        try:
            yield
        finally:
            local.open, local.writing, local.known = None, False, None
            self.give_back(db)

    def _begun(self, begin: str, *, writing: bool = False) -> Db:
        """A connection with a transaction."""
        return self.first(lambda db: self._begin(db, begin, writing=writing))[0]

    def _begin(self, db: Db, begin: str, *, writing: bool) -> None:
        asked = self.clock.local()
        answers = db.execute(f"{begin}; {_ASKED}")
        while answers.nextset():
            pass
        [(seconds, read_only)] = answers
        self.clock.heard(seconds, asked)
        if writing and read_only:  # a standby gives the lock too
            raise psycopg.errors.ReadOnlySqlTransaction

    def first(self, question: Callable[[Db], R]) -> tuple[Db, R]:
        """A connection, and what it answers first. One that broke while nobody used it is replaced, and asked again."""
        if self._process != os.getpid():  # two processes would talk over one connection
            raise StoreError(f"{self.name} was opened before this process was forked", hint="Open it in the child.")
        broken = 0
        while True:
            db = self._connection()
            try:
                return db, question(db)
            except BaseException as error:
                self.give_back(db)
                broken += 1
                if not (db.closed and isinstance(error, psycopg.OperationalError) and broken <= CONNECTIONS):
                    raise

    def _connection(self) -> Db:
        try:
            return self._pool.getconn()
        except PoolTimeout:
            psycopg.connect(self._url, **CONNECTING).close()  # says why, where the server is the reason
            raise

    def give_back(self, db: Db) -> None:
        """Let others have a connection; a transaction that did not end is undone."""
        db.lasting = False
        if db.info.transaction_status != TransactionStatus.IDLE and not db.closed:
            with suppress(psycopg.Error):  # a connection that is lost has rolled back; the pool makes another
                db.execute("rollback")
        self._pool.putconn(db)

    def _hold(self, db: Db, lock: int | None) -> None:
        if lock is not None and lock not in self.local.held:
            db.execute(_HOLD.format(lock))
            self.local.held |= {lock}

    def _check_whole(self, db: Db) -> None:
        """
        Raises:
            StoreError: A part of the transaction failed, and whoever called it went on.
        """
        if self.local.failed or db.info.transaction_status == TransactionStatus.INERROR:
            raise StoreError("a part of this transaction failed: nothing of it was saved")

    def close(self) -> None:
        if self._process == os.getpid():
            self._pool.close()

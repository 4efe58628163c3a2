"""The connections to a database file, and transactions that wait instead of failing."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

import apsw

from memory.schema.databases import OpenDatabase
from memory.schema.errors import StoreDamaged, StoreError, StoreReadOnly
from memory.store.records import ODD
from memory.store.sqlite.opening import LATEST, create, lay_out, load_vectors, logged, missing, version
from memory.store.sqlite.rows import STATEMENTS, SqliteConnection, prepared
from memory.store.sqlite.translate import (
    FORBIDDEN,
    RAISED,
    SALVAGE,
    begin_log,
    commit,
    cut_log,
    make_room,
    no_room,
    no_room_beside,
    ours,
    rights,
    tight,
    translated,
    unmerged,
    without_room,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable
    from contextlib import AbstractContextManager

    from memory.store.sqlite.frozen import Frozen


R = TypeVar("R")


class _OfThread(threading.local):
    """
    What a thread has of a database.

    Attributes:
        frozen: What the connection reads, if the file may not be written.
        vectors: Whether the connection knows sqlite-vec's functions.
        open: The connection, while a transaction is open.
        writing: Whether that writes.
        failed: Whether something in it failed, so that nothing of it may be kept.
        state: Which state of the file the connection saw last; None before it read any.
    """

    connection: SqliteConnection | None = None
    frozen: Frozen | None = None
    open: SqliteConnection | None = None
    vectors = writing = failed = False
    state: int | None = None


class Remembered(threading.local):
    """For each thread its own, as each has its own connection."""

    def __init__(self) -> None:
        self._state: tuple[apsw.Connection | None, int] = (None, 0)
        self._read: dict[Hashable, Any] = {}

    def once(self, db: apsw.Connection, name: Hashable, read: Callable[[], R]) -> R:
        """
        What is read, once as long as nobody writes: a search asks for the same few numbers again and again.

        Args:
            db: In a transaction. In one that writes, nothing is remembered.
            name: Of what is read; of few things only.
        """
        if (begun := db.txn_state("main")) == apsw.SQLITE_TXN_WRITE:
            return read()
        if begun == apsw.SQLITE_TXN_NONE:
            db.execute("pragma data_version").fetchall()  # so that there is a state
        state = (db, db.data_version())  # what others commit, and what this connection does, is another one
        if self._state != state:
            self._state, self._read = state, {}
        if name not in self._read:
            self._read[name] = read()
        found: R = self._read[name]
        return found


class Database:
    """A file and its connections: one for each thread, made when first needed."""

    def __init__(
        self,
        path: str,
        busy_seconds: float,
        *,
        first_fault: Callable[[SqliteConnection], str],
        damaged: bool = False,
        older: bool = False,
    ) -> None:
        """
        Args:
            first_fault: Says what is wrong with the file; empty if nothing is.
            damaged: Open what SQLite refuses as well, to read what can be read of it; then nothing is written.
            older: Open what an older version wrote as well, to read its tables; then nothing is written.

        Raises:
            StoreDamaged: The file is not a database, or not one of ours.
            StoreTooNew: A newer version wrote it.
            StoreTooOld: An older version wrote it.
            StoreError: It cannot be opened, e.g. for lack of rights.
        """
        self.path = path
        self._busy_seconds, self._first_fault = busy_seconds, first_fault
        self.older: int = older  # from `_lay_out` on the format, if it is older than ours; 0 if not
        self.local = _OfThread()
        self.remembered = Remembered()
        # A thread that ends closes its own. No WeakSet: what a weak reference calls may start the garbage collector, and apsw
        # 3.54 lets it find a connection that is being freed, which is then freed twice.
        self._opened: list[ref[SqliteConnection]] = []
        self._opening = threading.Lock()
        self._closed = self._damaged = self._cut = self._measured = self._full = False
        self.frozen: Frozen | None = None  # another one, once a file that may not be written has changed
        self._thawing = threading.Lock()
        self._process = os.getpid()
        self._guard = OpenDatabase(path)  # nobody but SQLite opens the file from here on
        try:
            with translated(path):
                create(path)
                self._file = os.stat(path)
                self._begin()
        except StoreDamaged as error:
            if not damaged or not isinstance(error.__cause__, apsw.CorruptError):
                raise
            self._damaged = True
        except StoreError as error:
            self._full = no_room_beside(error.__cause__)
            if not (self._full or isinstance(error.__cause__, FORBIDDEN)) or not os.path.isfile(path):
                raise
            self._freeze()

    def _begin(self) -> None:
        first = self._connected(careful=logged(self.path))
        try:
            self._lay_out(first)
            self._cut = logged(self.path) and missing(first, self.path) > 0
        except BaseException:
            first.close()
            self.local.connection = None
            raise
        if not (self._cut or self.older):  # else it is read as it is; closing it writes nothing into it
            first.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)

    def _lay_out(self, connection: SqliteConnection) -> None:
        """Make sure that the file has our tables; where those of an older format will do, that it is only read."""
        if self.older and 0 < (format := version(connection, self.path)) < LATEST:
            self.older = format
            connection.pragma("query_only", 1)
            return
        self.older = 0
        lay_out(connection, self.path, self._busy_seconds, self._measure)

    def _freeze(self) -> None:
        """Open what may not be written as it is now, or a copy."""
        from memory.store.sqlite.frozen import Frozen

        with translated(self.path):
            former, self.frozen = self.frozen, Frozen(self.path)
            try:
                self._lay_out(self._connected(careful=True))
            except BaseException:
                self.close()
                raise
        if former is not None:
            former.close()

    @property
    def connection(self) -> SqliteConnection:
        if self._closed:
            raise StoreError(f"{self.path} was closed")
        if self._process != os.getpid():  # SQLite's locks are not inherited: what a child writes could be lost
            raise StoreError(f"{self.path} was opened before this process was forked", hint="Open it in the child.")
        if self.frozen is not None:
            with self._thawing:
                if not self.frozen.current:
                    self._freeze()
        connection = self.local.connection
        if connection is None or self.local.frozen is not self.frozen:
            return self._connected(careful=self._cut)
        return connection

    def _connected(self, *, careful: bool) -> SqliteConnection:
        opened = (
            SqliteConnection(self.path, statementcachesize=STATEMENTS) if self.frozen is None else self.frozen.open()
        )
        prepared(opened, self._busy_seconds, careful=careful, damaged=self._damaged)
        self.local.connection = opened
        self.local.frozen, self.local.vectors, self.local.state = self.frozen, False, None
        with self._opening:
            self._opened = [*(one for one in self._opened if one() is not None), ref(opened)]
        return opened

    @contextmanager
    def write(
        self, *, durable: bool = True, patience: float | None = None, lock: int | None = None, frees: bool = False
    ) -> Generator[SqliteConnection]:
        """
        A transaction that takes the write lock at once; inside another of this thread, a part of that.

        Not `with connection`: that begins DEFERRED, where a reader that turns writer fails whatever the busy
        timeout, and apsw waits in it without letting go of the GIL (docs/decisions/sqlite-file.md).

        Args:
            durable: Survive a power cut too, at the price of a sync to disk. Without, an acknowledged
                transaction still survives the end of the process.
            patience: Seconds to wait for the lock, if not as long as configured.
            lock: Is nothing here: see `memory.store.shared.STORE`.
            frees: Afterwards there is more room than before, so take what is kept for that: `memory.store.sqlite.translate`.
        """
        if self.local.writing:
            try:
                yield self.connection
            except BaseException:
                self.local.failed = True  # what it wrote until then stays in the transaction
                raise
            return
        try:
            connection = self.writable()
            if not self._cut:  # else the log holds what is missing of the file
                make_room(connection, self.path)
            connection.execute(f"pragma synchronous = {'full' if durable else 'normal'}")
            connection.set_busy_timeout(round(1000 * (self._busy_seconds if patience is None else patience)))
            connection.execute("begin immediate")
            self.local.open, self.local.writing, self.local.failed = connection, True, False
            try:
                self._measure(connection)
                with unmerged(connection) if frees and (self._full or tight(self.path)) else nullcontext():
                    yield connection
                self._check_whole()
                commit(connection, self.path, frees=frees)
                self._full = False
            except BaseException as error:
                if connection.in_transaction:  # a full disk has rolled back by itself
                    connection.execute("rollback")
                if isinstance(error, ODD):
                    self._blame(connection, error)
                if without_room(connection, error):
                    self._full = True
                    cut_log(connection) if frees else begin_log(connection)  # for the next try
                    raise no_room(self.path) from error
                raise
            finally:
                self.local.open, self.local.writing, self.local.state = None, False, connection.data_version()
        except RAISED as error:
            raise ours(error, self.path) from error

    def writable(self) -> SqliteConnection:
        """
        Raises:
            StoreError: The file may not be written, is damaged, or was replaced by another.
            StoreFull: The disk was full when it was opened.
        """
        connection = self.connection
        if self.frozen is not None and self._full:
            raise no_room(self.path)
        if self.frozen is not None:
            raise StoreReadOnly(f"{self.path} may only be read", hint=rights(self.path))
        if self.older:
            raise StoreReadOnly(f"{self.path} has an older format: it is only read")
        if self._damaged:
            raise StoreDamaged(f"{self.path} is damaged: nothing is written to it", hint=SALVAGE)
        if self._replaced():
            raise StoreError(
                f"{self.path} is not the file that was opened: it was removed or replaced meanwhile",
                hint="Nothing was saved. Start this program again; before a copy takes the place of a database, end "
                "what uses it and remove the -wal and -shm files beside it.",
            )
        return connection

    def _replaced(self) -> bool:
        """Whether the file that was opened is there no more, or another one is in its place."""
        try:
            return not os.path.samestat(os.stat(self.path), self._file)
        except OSError:
            return True

    def _check_whole(self) -> None:
        """
        Raises:
            StoreError: A part of the transaction failed, and whoever called it went on.
        """
        if self.local.failed:
            raise StoreError("a part of this transaction failed: nothing of it was saved")

    def _measure(self, connection: apsw.Connection) -> None:
        """
        Look before the first write whether the file was cut: SQLite takes what is missing of its last page for zeros.

        Raises:
            StoreDamaged: It was.
        """
        if self._measured or self.frozen is not None:
            return
        if lacking := missing(connection, self.path):
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            raise StoreDamaged(f"{self.path} is truncated: its last {lacking:,} bytes are missing", hint=SALVAGE)
        self._measured = True

    def _blame(self, connection: SqliteConnection, error: Exception) -> None:
        """
        Say that a file is damaged if it is and something odd was read from it. Else it is a fault of ours.

        Raises:
            StoreDamaged: It is.
        """
        if isinstance(error, UnicodeError):
            return  # said by `translated`
        if fault := self._first_fault(connection):
            raise StoreDamaged(f"{self.path} is damaged: {fault}", hint=SALVAGE) from error

    def read(self, *, vectors: bool = False) -> AbstractContextManager[SqliteConnection]:
        """
        A snapshot: every statement inside sees the same data; inside another of this thread, a part of that. In a
        transaction that writes, what that has written too.

        Args:
            vectors: On a connection that knows sqlite-vec's functions.
        """
        if self.local.open is None:
            return self._snapshot(vectors=vectors)
        if vectors:
            self._know_vectors(self.local.open)
        return nullcontext(self.local.open)

    def _know_vectors(self, connection: SqliteConnection) -> None:
        if not self.local.vectors:
            load_vectors(connection)
            self.local.vectors = True

    @contextmanager
    def _snapshot(self, *, vectors: bool) -> Generator[SqliteConnection]:
        try:
            connection = self.connection
            connection.execute("begin")
            self.local.open = connection
            try:
                if vectors:
                    self._know_vectors(connection)
                yield connection
            except ODD as error:
                self._blame(connection, error)
                raise
            finally:
                self.local.open = None
                if connection.in_transaction:
                    connection.execute("rollback")  # as good, and possible after a damaged page was read
                self._look_for_others(connection)
        except RAISED as error:
            raise ours(error, self.path) from error

    def _look_for_others(self, connection: SqliteConnection) -> None:
        """Where others write, the file is not mapped any longer."""
        before, self.local.state = self.local.state, connection.data_version()
        if before not in {None, self.local.state}:
            connection.unmap()

    def ask(self, question: Callable[[SqliteConnection], R], *, once: Hashable = None) -> R:
        """What one statement answers: in a snapshot, which costs nothing to begin; with a name, see `Remembered.once`."""
        with self.read() as db:
            return question(db) if once is None else self.remembered.once(db, once, lambda: question(db))

    def close(self) -> None:
        self._closed = True
        replaced = self._replaced()
        at_work = False
        with self._opening:
            opened = [connection for one in self._opened if (connection := one()) is not None]
        for connection in opened:
            try:
                # Else the last one would remove a log that is another file's by now.
                if replaced and self.frozen is None:
                    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                connection.close()
            except apsw.ThreadingViolationError:  # at work in another thread, which finds out that we closed
                at_work = True
        if not at_work:
            self._guard.close()
        if self.frozen is not None and self._process == os.getpid():
            self.frozen.close()

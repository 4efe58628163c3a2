"""Opening a database file, and transactions that wait instead of failing."""

from __future__ import annotations

import os
import re
import threading
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING
from weakref import WeakSet

import apsw

from memory.schema.errors import StoreDamaged, StoreError, StoreReadOnly, StoreTooNew
from memory.store.sqlite.keywords import matched
from memory.store.sqlite.rows import ODD
from memory.store.sqlite.translate import FORBIDDEN, RAISED, SALVAGE, ours, rights, translated

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from memory.store.sqlite.frozen import Frozen

APPLICATION = 0x6D656D6F  # "memo": tells our files from those of other programs
PAGE_SIZE = 8192  # five vectors of 384 dimensions a page instead of two
MAP_BYTES = 1 << 30


class Database:
    """A file and its connections: one for each thread, made when first needed."""

    def __init__(self, path: str, busy_seconds: float = 30.0, *, damaged: bool = False) -> None:
        """
        Args:
            damaged: Open what SQLite refuses as well, to read what can be read of it; then nothing is written.

        Raises:
            StoreDamaged: The file is not a database, or not one of ours.
            StoreTooNew: A newer version wrote it.
            StoreError: It cannot be opened, e.g. for lack of rights.
        """
        self.path = path
        self._busy_seconds = busy_seconds
        self._local = threading.local()
        self._opened: WeakSet[apsw.Connection] = WeakSet()  # a thread that ends closes its own
        self._closed = self._damaged = self._cut = self._measured = False
        self._frozen: Frozen | None = None
        self._thawing = threading.Lock()
        self._process = os.getpid()
        try:
            with translated(path):
                _create(path)
                self._identity = _identity(path)
                self._begin()
        except StoreDamaged as error:
            if not damaged or not isinstance(error.__cause__, apsw.CorruptError):
                raise
            self._damaged = True
        except StoreError as error:
            if not isinstance(error.__cause__, FORBIDDEN) or not os.path.isfile(path):
                raise
            self._freeze()

    def _begin(self) -> None:
        first = self._connected(careful=_logged(self.path))
        try:
            _migrate(first, self.path, self._busy_seconds, self._measure)
            self._cut = _logged(self.path) and _missing(first, self.path) > 0
        except BaseException:
            first.close()
            self._local.connection = None
            raise
        if not self._cut:  # else it is read as it is; closing it writes nothing into it
            first.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)

    def _freeze(self) -> None:
        """Open what may not be written as it is now, or a copy; what a former version wrote is brought up to date there."""
        from memory.store.sqlite.frozen import Frozen

        with translated(self.path):
            former, self._frozen = self._frozen, Frozen(self.path, copied=False)
            try:
                if not self._frozen.copied and _version(self._connected(careful=True), self.path) != LATEST:
                    self._frozen = Frozen(self.path, copied=True)
                if self._frozen.copied:
                    _migrate(self._connected(careful=True), self.path, self._busy_seconds, self._measure)
            except BaseException:
                self.close()
                raise
        if former is not None:
            former.close()

    @property
    def connection(self) -> apsw.Connection:
        if self._closed:
            raise StoreError(f"{self.path} was closed")
        if self._process != os.getpid():  # SQLite's locks are not inherited: what a child writes could be lost
            raise StoreError(f"{self.path} was opened before this process was forked", hint="Open it in the child.")
        if self._frozen is not None:
            with self._thawing:
                if not self._frozen.current:
                    self._freeze()
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None or self._local.frozen is not self._frozen:
            return self._connected(careful=self._cut)
        return connection

    def _connected(self, *, careful: bool) -> apsw.Connection:
        opened = apsw.Connection(self.path) if self._frozen is None else self._frozen.open()
        self._local.connection = _prepared(opened, self._busy_seconds, careful=careful, damaged=self._damaged)
        self._local.frozen, self._local.vectors = self._frozen, False
        self._opened.add(opened)
        return opened

    @contextmanager
    def write(self, *, durable: bool = True, patience: float | None = None) -> Generator[apsw.Connection]:
        """
        A transaction that takes the write lock at once.

        Not `with connection`: that begins DEFERRED, where a reader that turns writer fails whatever the busy
        timeout, and apsw waits in it without letting go of the GIL (docs/decisions/0002).

        Args:
            durable: Survive a power cut too, at the price of a sync to disk. Without, an acknowledged
                transaction still survives the end of the process.
            patience: Seconds to wait for the lock, if not as long as configured.
        """
        try:
            connection = self.connection
            if self._frozen is not None:
                raise StoreReadOnly(f"{self.path} may only be read", hint=rights(self.path))
            if self._damaged:
                raise StoreDamaged(f"{self.path} is damaged: nothing is written to it", hint=SALVAGE)
            if _identity(self.path) != self._identity:
                raise StoreError(
                    f"{self.path} is not the file that was opened: it was removed or replaced meanwhile",
                    hint="Nothing was kept. Start this program again; before a copy takes the place of a database, end "
                    "what uses it and remove the -wal and -shm files beside it.",
                )
            connection.execute(f"pragma synchronous = {'full' if durable else 'normal'}")
            connection.set_busy_timeout(round(1000 * (self._busy_seconds if patience is None else patience)))
            connection.execute("begin immediate")
            try:
                self._measure(connection)
                yield connection
                connection.execute("commit")
            except BaseException as error:
                if connection.in_transaction:  # a full disk has rolled back by itself
                    connection.execute("rollback")
                if isinstance(error, ODD):
                    self._blame(connection, error)
                raise
        except RAISED as error:
            raise ours(error, self.path) from error

    def _measure(self, connection: apsw.Connection) -> None:
        """
        Look before the first write whether the file was cut: SQLite takes what is missing of its last page for zeros.

        Raises:
            StoreDamaged: It was.
        """
        if self._measured or self._frozen is not None:
            return
        if lacking := _missing(connection, self.path):
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            raise StoreDamaged(f"{self.path} is cut: its last {lacking:,} bytes are missing", hint=SALVAGE)
        self._measured = True

    def _blame(self, connection: apsw.Connection, error: Exception) -> None:
        """
        Say that a file is damaged if it is and something odd was read from it. Else it is a fault of ours.

        Raises:
            StoreDamaged: It is.
        """
        if isinstance(error, UnicodeError):
            return  # said by `translated`
        from memory.store.sqlite.care import first_fault

        if fault := first_fault(connection):
            raise StoreDamaged(f"{self.path} is damaged: {fault}", hint=SALVAGE) from error

    @contextmanager
    def read(self) -> Generator[apsw.Connection]:
        """A snapshot: every statement inside sees the same data."""
        try:
            connection = self.connection
            connection.execute("begin")
            try:
                yield connection
            except ODD as error:
                self._blame(connection, error)
                raise
            finally:
                if connection.in_transaction:
                    connection.execute("rollback")  # as good, and possible after a damaged page was read
        except RAISED as error:
            raise ours(error, self.path) from error

    @contextmanager
    def read_vectors(self) -> Generator[apsw.Connection]:
        """A snapshot on a connection that knows sqlite-vec's functions."""
        with self.read() as connection:
            if not self._local.vectors:
                from memory.store.sqlite.extension import load

                load(connection)
                self._local.vectors = True
            yield connection

    def close(self) -> None:
        self._closed = True
        replaced = _identity(self.path) != self._identity
        for connection in list(self._opened):
            with suppress(apsw.ThreadingViolationError):  # at work in another thread, which finds out that we closed
                # Else the last one would remove a log that is another file's by now.
                if replaced and self._frozen is None:
                    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                connection.close()
        if self._frozen is not None and self._process == os.getpid():
            self._frozen.close()


def _missing(connection: apsw.Connection, path: str) -> int:
    from memory.store.sqlite.length import missing  # a search does without

    return missing(connection, path)


def _create(path: str) -> None:
    """An empty file that only its owner reads; SQLite gives its companions the same rights."""
    try:
        if not os.path.exists(path):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError as error:
        raise StoreError(f"cannot make {path}: {error.strerror}", hint=rights(path)) from error


def _identity(path: str) -> tuple[int, int] | None:
    """Which file has a name; None if none has."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _prepared(connection: apsw.Connection, busy_seconds: float, *, careful: bool, damaged: bool) -> apsw.Connection:
    """
    Args:
        careful: Not to write the log into the file on closing, as whoever closes a file last does: we may yet find
            that it is not ours.
        damaged: Take a file for what it is, not for what it says it is; nothing is written to it.
    """
    try:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(careful or damaged))
        if damaged:  # SQLite then opens a file that is too short; nothing is written for all that
            connection.pragma("writable_schema", 1)
            connection.pragma("query_only", 1)
        _set_up(connection, busy_seconds)
    except BaseException:
        connection.close()  # or its log would stay beside a file that we were to leave as it is
        raise
    return connection


def _set_up(connection: apsw.Connection, busy_seconds: float) -> None:
    connection.set_busy_timeout(round(busy_seconds * 1000))
    for setting, value in (("foreign_keys", 1), ("temp_store", 2), ("mmap_size", MAP_BYTES), ("cache_size", -16000)):
        connection.pragma(setting, value)  # one by one: apsw stops a script at the first pragma that answers
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)  # "x" is a column, never a text
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    connection.register_fts5_function("matched", matched)


def _logged(path: str) -> bool:
    """Whether a write-ahead log with something in it stands beside the file, as after a crash."""
    return os.path.exists(log := f"{path}-wal") and os.path.getsize(log) > 0


def migrations() -> list[tuple[int, str]]:
    """The numbered scripts, oldest first."""
    from importlib.resources import files  # brings tempfile and archive formats along

    folder = files(__package__).joinpath("migrations")
    names = sorted(item.name for item in folder.iterdir() if re.fullmatch(r"\d{4}_\w+\.sql", item.name))
    return [(int(name[:4]), folder.joinpath(name).read_text("utf-8")) for name in names]


LATEST = 8
"""Number of the last script; a test compares it with the folder, which a start need not read."""


def _migrate(
    connection: apsw.Connection, path: str, busy_seconds: float, measure: Callable[[apsw.Connection], None]
) -> None:
    version = _version(connection, path)
    if version == LATEST:
        return
    if version == 0:
        connection.pragma("page_size", PAGE_SIZE)
        _log_ahead(connection, busy_seconds)
    connection.execute("begin immediate")
    try:
        measure(connection)
        version = _version(connection, path)  # another process may have been faster
        for number, script in migrations():
            if number > version:
                connection.execute(script)
        connection.execute(f"pragma application_id = {APPLICATION}; pragma user_version = {LATEST}; commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def _log_ahead(connection: apsw.Connection, busy_seconds: float) -> None:
    """
    Turn WAL mode on. SQLite does not wait for others that do the same to a new file, whatever its busy timeout: it fails
    at once (https://sqlite.org/wal.html, "Sometimes Queries Return SQLITE_BUSY In WAL Mode").
    """
    until = monotonic() + busy_seconds
    while True:
        try:
            connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if monotonic() >= until:
                raise
            sleep(0.01)
        else:
            return


def _version(connection: apsw.Connection, path: str) -> int:
    version = int(connection.pragma("user_version"))
    application = int(connection.pragma("application_id"))
    if application != APPLICATION:
        if version or application or connection.execute("select 1 from sqlite_schema limit 1").get is not None:
            raise StoreDamaged(
                f"{path} is a database of another program", hint="Choose another place with MEMORY_HOME or `home`."
            )
        return 0
    if version > LATEST:
        raise StoreTooNew(
            f"{path} has format {version}; this version of memory knows up to {LATEST}",
            hint="Install the newer version here too.",
        )
    return version

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

from memory.errors import Invalid, StoreBusy, StoreDamaged, StoreError, StoreFull, StoreTooNew
from memory.store.sqlite.match import matched

if TYPE_CHECKING:
    from collections.abc import Generator

APPLICATION = 0x6D656D6F  # "memo": tells our files from those of other programs
PAGE_SIZE = 8192  # five vectors of 384 dimensions a page instead of two
MAP_BYTES = 1 << 30


class Database:
    """A file and its connections: one for each thread, made when first needed."""

    def __init__(self, path: str, busy_seconds: float = 30.0) -> None:
        """
        Raises:
            StoreDamaged: The file is not a database, or not one of ours.
            StoreTooNew: A newer version wrote it.
            StoreError: It cannot be opened, e.g. for lack of rights.
        """
        self.path = path
        self._busy_seconds = busy_seconds
        self._local = threading.local()
        self._opened: WeakSet[apsw.Connection] = WeakSet()  # a thread that ends closes its own
        self._closed = False
        self._process = os.getpid()
        with translated(path):
            _create(path)
            self._identity = _identity(path)
            first = self._connected(careful=_logged(path))
            try:
                _migrate(first, path, busy_seconds)
            except BaseException:
                self.close()
                raise
        first.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)

    @property
    def connection(self) -> apsw.Connection:
        if self._closed:
            raise StoreError(f"{self.path} was closed")
        if self._process != os.getpid():  # SQLite's locks are not inherited: what a child writes could be lost
            raise StoreError(f"{self.path} was opened before this process was forked", hint="Open it in the child.")
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        return connection or self._connected(careful=False)

    def _connected(self, *, careful: bool) -> apsw.Connection:
        connection = self._local.connection = _connect(self.path, self._busy_seconds, careful=careful)
        self._opened.add(connection)
        return connection

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
        with translated(self.path):
            connection = self.connection
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
                yield connection
                connection.execute("commit")
            except BaseException:
                if connection.in_transaction:  # a full disk has rolled back by itself
                    connection.execute("rollback")
                raise

    @contextmanager
    def read(self) -> Generator[apsw.Connection]:
        """A snapshot: every statement inside sees the same data."""
        with translated(self.path):
            connection = self.connection
            connection.execute("begin")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("commit")

    @contextmanager
    def read_vectors(self) -> Generator[apsw.Connection]:
        """A snapshot on a connection that knows sqlite-vec's functions."""
        with translated(self.path):
            if not getattr(self._local, "vectors", False):
                _load_vectors(self.connection)
                self._local.vectors = True
        with self.read() as connection:
            yield connection

    def close(self) -> None:
        self._closed = True
        replaced = _identity(self.path) != self._identity
        for connection in list(self._opened):
            with suppress(apsw.ThreadingViolationError):  # at work in another thread, which finds out that we closed
                if replaced:  # or the last one would remove a log that is another file's by now
                    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                connection.close()


def _create(path: str) -> None:
    """An empty file that only its owner reads; SQLite gives its companions the same rights."""
    try:
        if not os.path.exists(path):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError as error:
        raise StoreError(f"cannot make {path}: {error.strerror}", hint=_rights(path)) from error


def _identity(path: str) -> tuple[int, int] | None:
    """Which file has a name; None if none has."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _connect(path: str, busy_seconds: float, *, careful: bool) -> apsw.Connection:
    """
    Args:
        careful: Not to write the log into the file on closing, as whoever closes a file last does: we may yet find
            that it is not ours.
    """
    connection = apsw.Connection(path)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(careful))
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
    log = f"{path}-wal"
    return os.path.exists(log) and os.path.getsize(log) > 0


def _load_vectors(connection: apsw.Connection) -> None:
    from importlib.util import find_spec

    # Found, not imported: `import sqlite_vec` imports numpy.
    package = find_spec("sqlite_vec")
    if package is None or package.origin is None:
        raise StoreError("sqlite-vec is not installed", hint="pip install sqlite-vec")
    connection.enable_load_extension(True)
    try:
        connection.load_extension(os.path.join(os.path.dirname(package.origin), "vec0"))
    finally:
        connection.enable_load_extension(False)


def migrations() -> list[tuple[int, str]]:
    """The numbered scripts, oldest first."""
    from importlib.resources import files  # brings tempfile and archive formats along

    folder = files(__package__).joinpath("migrations")
    names = sorted(item.name for item in folder.iterdir() if re.fullmatch(r"\d{4}_\w+\.sql", item.name))
    return [(int(name[:4]), folder.joinpath(name).read_text("utf-8")) for name in names]


LATEST = 8
"""Number of the last script; a test compares it with the folder, which a start need not read."""


def _migrate(connection: apsw.Connection, path: str, busy_seconds: float) -> None:
    version = _version(connection, path)
    if version == LATEST:
        return
    if version == 0:
        connection.pragma("page_size", PAGE_SIZE)
        _log_ahead(connection, busy_seconds)
    connection.execute("begin immediate")
    try:
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


@contextmanager
def translated(path: str) -> Generator[None]:
    """Errors of apsw as ours, the original as the cause."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(f"another process is writing to {path}", hint="Try again.") from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamaged(
            f"{path} is not a readable database ({error})",
            hint="It was left as it is. Restore it from a copy, without the -wal and -shm files beside it, or an export.",
        ) from error
    except apsw.FullError as error:
        raise StoreFull(f"no room left to write {path}", hint="Nothing of this was kept. Free some space.") from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreError(f"cannot write {path}: {error}", hint=_rights(path)) from error
    except apsw.IOError as error:
        raise StoreError(f"reading or writing {path} failed: {error}") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}") from error
    except UnicodeEncodeError as error:  # a name that nothing can have
        raise Invalid(f"{error.object[error.start : error.end]!r} is not valid Unicode") from error


def _rights(path: str) -> str:
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        return f"There is no folder {folder}."
    if not os.access(folder, os.W_OK):
        return f"The folder {folder} is read-only for you; SQLite needs to write beside the database too."
    return "Check the rights of the file."

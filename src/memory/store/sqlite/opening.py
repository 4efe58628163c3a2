"""Making the file of a database; which formats of it are opened."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING

import apsw

from memory.schema.errors import StoreDamaged, StoreError, StoreTooNew, StoreTooOld
from memory.store.narrow import raised
from memory.store.sqlite.translate import rights

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

APPLICATION = 0x6D656D6F  # "memo": tells our files from those of other programs
PAGE_SIZE = 4096  # an empty table takes a page, and there are many

_creating = threading.Lock()


def create(path: str) -> None:
    """
    An empty file that only its owner reads; SQLite gives its companions the same rights.

    One that is there is not opened, since closing it would drop SQLite's locks (`memory.schema.databases`). Another thread
    cannot have opened the new one before it is closed here: it comes through here first, and waits.
    """
    try:
        with _creating:
            if not os.path.exists(path):
                # At the end of a link that leads nowhere yet, as SQLite would make it.
                os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:  # another process was faster
        return
    except OSError as error:
        raise StoreError(f"cannot make {path}: {error.strerror}", hint=rights(path)) from error


def logged(path: str) -> bool:
    """Whether a write-ahead log with something in it stands beside the file, as after a crash."""
    try:
        return os.path.getsize(f"{path}-wal") > 0
    except FileNotFoundError:  # or another process, the last that used the file, took it away just now
        return False


def schema() -> str:
    """The script that makes all of a database."""
    with open(os.path.join(os.path.dirname(__file__), "schema.sql"), encoding="utf-8") as file:
        return file.read()


LATEST = 29
"""
The format that `schema.sql` makes. Who changes that script counts on, and first keeps a file of the former format: see
tests/support/formats_made.py.
"""


def lay_out(
    connection: apsw.Connection, path: str, busy_seconds: float, measure: Callable[[apsw.Connection], None]
) -> None:
    """
    Give an empty file its tables; one that has them is only looked at.

    Raises:
        StoreTooOld: An older version wrote it.
    """
    if _current(connection, path):
        return
    connection.pragma("page_size", PAGE_SIZE)
    _log_ahead(connection, busy_seconds)
    connection.execute("begin immediate")
    try:
        measure(connection)
        if not _current(connection, path):  # another process may have been faster
            connection.execute(schema())
            connection.execute(f"pragma application_id = {APPLICATION}; pragma user_version = {LATEST}")
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def _current(connection: apsw.Connection, path: str) -> bool:
    """Whether a file has our format; if not, it is empty."""
    if 0 < (format := version(connection, path)) < LATEST:
        import shlex

        raise StoreTooOld(
            f"{path} has format {format}, which this version of memory does not open; it was not touched",
            hint=f"`memory migrate {shlex.quote(path)}` brings it to format {LATEST} and keeps the old file beside it.",
        )
    return format == LATEST


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


def version(connection: apsw.Connection, path: str) -> int:
    """
    The format of a file, of one moment: another process may be making it. 0 of an empty one.

    Raises:
        StoreDamaged: It is another program's.
        StoreTooNew: A newer version wrote it.
    """
    with _one_moment(connection):
        format = int(connection.pragma("user_version"))
        application = int(connection.pragma("application_id"))
        empty = not (format or application or connection.execute("select 1 from sqlite_schema limit 1").get)
    if application != APPLICATION and not empty:
        raise StoreDamaged(
            f"{path} is a database of another program", hint="Choose another place with MEMORY_HOME or `home`."
        )
    if format > LATEST:
        raise StoreTooNew(
            f"{path} has format {format}; this version of memory knows up to {LATEST}",
            hint="Install the newer version here too.",
        )
    return format


@contextmanager
def _one_moment(connection: apsw.Connection) -> Generator[None]:
    """What is read inside is of one moment, also in a transaction that is open already."""
    if connection.in_transaction:
        yield
        return
    connection.execute("begin")
    try:
        yield
    finally:
        if connection.in_transaction:  # an error may have ended it
            connection.execute("rollback")


# Whether a file is as long as it says: one that was cut is not written to -----

_HEADER, _FRAME = 32, 24  # bytes of the log's header, and of that before each page (https://sqlite.org/fileformat.html)
_LOG = 1  # what apsw calls the journal or the log that a connection has open


def missing(db: apsw.Connection, path: str) -> int:
    """
    How many bytes the file lacks, as SQLite sees it after it has recovered its log. A page that stands in the log need not
    be in the file yet.
    """
    with _one_moment(db):  # keeps the log from being begun anew meanwhile
        size, pages = int(db.pragma("page_size")), int(db.pragma("page_count"))
        there = os.path.getsize(path)
        if there >= pages * size:
            return 0
        logged = _logged(db, size)
    lacking = [page for page in range(there // size + 1, pages + 1) if page not in logged]
    return max(lacking) * size - there if lacking else 0


def _logged(db: apsw.Connection, size: int) -> set[int]:
    """
    The pages that stand in the log, read through SQLite: to open the log would cost a connection its locks. Frames with
    other salts than the header's are of a former round of it.
    """
    found: set[int] = set()
    try:
        salts = db.read("main", _LOG, 0, _HEADER)[1][16:24]
        at = _HEADER
        while True:
            whole, frame = db.read("main", _LOG, at, _FRAME)
            if not whole or frame[8:16] != salts:
                return found
            found.add(int.from_bytes(frame[:4], "big"))
            at += _FRAME + size
    except apsw.SQLError:  # it has no log
        return found


def load_vectors(connection: apsw.Connection) -> None:
    """Give a connection sqlite-vec's functions."""
    from importlib.util import find_spec

    # Found, not imported: `import sqlite_vec` imports numpy.
    package = find_spec("sqlite_vec")
    if package is None or package.origin is None:
        raise StoreError("sqlite-vec is not installed", hint="Install memory again: that installs it.")
    connection.enable_load_extension(True)
    try:
        connection.load_extension(os.path.join(os.path.dirname(package.origin), "vec0"))
    finally:
        connection.enable_load_extension(False)
    connection.create_scalar_function("raised", raised, 1, deterministic=True)

"""Errors of apsw as ours; and room for later writes on a nearly full disk, so that few fail for lack of it."""

from __future__ import annotations

import errno
import os
import sys
from array import array
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import apsw

from memory.schema.errors import (
    NO_ROOM,
    Error,
    Invalid,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

SALVAGE = (
    "`memory export -o FILE` writes what can still be read. Restore it from a copy, without the -wal and -shm files beside "
    "it, or import that."
)

COPY = (
    "The list of its tables is gone, without which nothing can be read: restore it from a copy, without the -wal and -shm "
    "files beside it."
)

FORBIDDEN = (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError)
"""What SQLite says of a file that may not be written."""


RAISED = (apsw.Error, UnicodeDecodeError, UnicodeEncodeError)
"""What is raised while a database is read or written, and `ours` has a word for."""


@contextmanager
def translated(path: str) -> Generator[None]:
    """Errors of apsw as ours, the original as the cause."""
    try:
        yield
    except RAISED as error:
        raise ours(error, path) from error


def ours(error: Exception, path: str) -> Error:
    """One of `RAISED` as one of ours."""
    found: Error
    match error:
        case apsw.BusyError() | apsw.LockedError():
            found = StoreBusy(f"another process is writing to {path}", hint="Try again.")
        case apsw.NotADBError() | apsw.CorruptError():
            hint = f"It was left as it is. {COPY if _listless(path) else SALVAGE}"
            found = StoreDamaged(f"{path} is not a readable database ({error})", hint=hint)
        case apsw.FullError():
            found = no_room(path)
        case apsw.ReadOnlyError():
            found = StoreReadOnly(f"{path} may only be read", hint=rights(path))
        case apsw.CantOpenError() | apsw.PermissionsError():
            found = StoreError(f"cannot write {path}: {error}", hint=rights(path))
        case apsw.IOError():
            found = StoreError(f"reading or writing {path} failed: {error}")
        case UnicodeDecodeError():
            found = StoreDamaged(f"{path} is damaged: {error.object[:40]!r} is not text", hint=SALVAGE)
        case UnicodeEncodeError():  # a name that nothing can have
            found = Invalid(f"{error.object[error.start : error.end]!r} is not valid Unicode")
        case _ if str(error) == "no such table: memories":
            found = StoreDamaged(f"{path} is damaged: {error}", hint=COPY)
        case _:
            found = StoreError(f"{path}: {error}")
    return found


def no_room(path: str) -> StoreFull:
    """The error of one write that found no room; who has made several before says what became of those."""
    return StoreFull(f"no room left to write {path}", hint=NO_ROOM)


def _listless(path: str) -> bool:
    """Whether nothing can be read of a damaged file, since its list of tables is gone."""
    from urllib.parse import quote

    try:
        # Immutable: another reader would leave an empty log beside it.
        place = f"file:{quote(os.path.abspath(path))}?immutable=1"
        db = apsw.Connection(place, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        try:
            db.pragma("writable_schema", 1)  # SQLite then opens a file that is too short
            return not db.execute("select count(*) from sqlite_schema where name = 'memories'").get
        finally:
            db.close()
    except apsw.CorruptError:
        return True
    except apsw.Error:
        return False


def rights(path: str) -> str:
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        return f"There is no folder {folder}."
    if not os.access(folder, os.W_OK):
        return f"The folder {folder} is read-only for you; SQLite needs to write beside the database too."
    return "Check the rights of the file."


# Room: what the log takes of the disk, and what is left to delete with ----------

ROOM = 128 << 20
"""Bytes left on the disk below which it has little room, and writes look after the log and the reserve."""

RESERVE = 4 << 20
"""Bytes of the disk and of the log together that only a change which frees room may take."""

MERGING = {"automerge": 4, "crisismerge": 16}
"""FTS5's own values: https://www.sqlite.org/fts5.html#the_automerge_configuration_option"""

CUTTING_MILLISECONDS = 500
"""How long cutting the log waits for others who read or write."""


def make_room(connection: apsw.Connection, path: str) -> None:
    """
    Where the disk has little room, see to it that the log holds nothing that the file lacks. Then the next write begins
    the log anew, and the bytes that the log has already are room for it.
    """
    if (free := _free(path)) < ROOM and (log := _size(f"{path}-wal")) and (free < 4 * RESERVE or log >= RESERVE):
        begin_log(connection)


def begin_log(connection: apsw.Connection) -> None:
    """Let the next write begin the log anew, as far as others let us. It stays as long as it is."""
    _checkpoint(connection, "passive")


def cut_log(connection: apsw.Connection) -> None:
    """
    Give the disk back what the log takes, as far as others let us: as long as any process has the file open, SQLite leaves
    the log as long as it ever was, although it begins it anew.
    """
    _checkpoint(connection, "truncate")


def commit(connection: apsw.Connection, path: str, *, frees: bool) -> None:
    """
    Commit once the file has room for the transaction, then make room for the next write.

    Args:
        frees: The transaction frees room, so it may take the reserve.

    Raises:
        FullError: The file cannot grow, by a quota or a limit of files for instance, or only into the reserve.
    """
    _grow(connection, path, frees=frees)
    connection.execute("commit")
    make_room(connection, path)


def _grow(connection: apsw.Connection, path: str, *, frees: bool) -> None:
    """
    Let the file grow to what it will be once the log is written into it. Else the log could hold what the file never has
    room for: it could not begin anew, and nothing could be deleted.
    """
    connection.execute("savepoint merged; release merged")  # FTS5 writes and merges here what it would at the commit
    size, pages = (connection.execute(f"pragma page_{what}").get for what in ("size", "count"))
    if (lacking := pages * size - _size(path)) <= 0:
        return
    if not frees and (free := _free(path)) < ROOM and free + _size(f"{path}-wal") < lacking + RESERVE:
        raise apsw.FullError("only the reserve is left")
    chunk, whole = array("i", [size]), array("q", [pages * size])
    connection.file_control(
        "main", apsw.SQLITE_FCNTL_CHUNK_SIZE, chunk.buffer_info()[0]
    )  # without, the hint does nothing
    try:
        connection.file_control("main", apsw.SQLITE_FCNTL_SIZE_HINT, whole.buffer_info()[0])
    except apsw.IOError as error:
        raise apsw.FullError("the file cannot grow") from error


@contextmanager
def unmerged(connection: apsw.Connection) -> Generator[None]:
    """Let FTS5 merge nothing in this part of a transaction: a merge can take several times the log of what is deleted."""
    _set_merging(connection, {"automerge": 0, "crisismerge": 1000})
    yield
    _set_merging(connection, MERGING)  # after an error, the transaction's end does it


def _set_merging(connection: apsw.Connection, values: Mapping[str, int]) -> None:
    connection.executemany("insert into passages_fts (passages_fts, rank) values (?, ?)", values.items())


def tight(path: str) -> bool:
    """Whether the disk has little room."""
    return _free(path) < ROOM


def without_room(connection: apsw.Connection, error: BaseException) -> bool:
    """Whether a write failed for lack of room: on the disk, or by a quota or a limit of files, which SQLite calls an I/O error."""
    if isinstance(error, apsw.IOError):
        return connection.system_errno in {errno.EDQUOT, errno.EFBIG, errno.ENOSPC}
    return isinstance(error, apsw.FullError)


def no_room_beside(error: BaseException | None) -> bool:
    """Whether a database could not be opened since the disk has no room for the shared memory beside it."""
    return getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_SHMSIZE


def _checkpoint(connection: apsw.Connection, how: str) -> None:
    connection.set_busy_timeout(CUTTING_MILLISECONDS)
    with suppress(apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.IOError):
        connection.execute(f"pragma wal_checkpoint({how})").fetchall()


def _free(path: str) -> int:
    """Bytes that are left on the disk of a file; where that cannot be told, as if there were many."""
    if sys.platform == "win32":
        return ROOM
    try:
        disk = os.statvfs(os.path.dirname(path) or ".")  # a start does without pathlib
    except FileNotFoundError:  # somebody took the folder away
        return ROOM
    return disk.f_bavail * disk.f_frsize


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0

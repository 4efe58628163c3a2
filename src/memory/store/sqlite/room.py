"""Room for later writes: what the log of a database takes of a disk that is nearly full."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress

import apsw

ROOM = 128 << 20
"""Bytes left on the disk below which each write looks after the log, for the sake of later ones on a full disk."""

RESERVE = 4 << 20
"""Bytes of log that are kept as room for later writes, once they stand in the file too."""

CUTTING_MILLISECONDS = 500
"""How long cutting the log waits for others who read or write."""


def make_room(connection: apsw.Connection, path: str) -> None:
    """
    Where the disk has little room, see to it that the log holds nothing that the file lacks: later it could not grow by
    that, and the log could not begin anew. Where there is hardly any, cut the log too.
    """
    if (free := _free(path)) < ROOM and (log := _size(f"{path}-wal")):
        if free < RESERVE:
            cut_log(connection)
        elif free < 4 * RESERVE or log >= RESERVE:
            _checkpoint(connection, "passive")


def cut_log(connection: apsw.Connection) -> None:
    """
    Give the disk back what the log takes, as far as others let us: as long as any process has the file open, SQLite leaves
    the log as long as it ever was, although it begins it anew.
    """
    _checkpoint(connection, "truncate")


def check_growth(connection: apsw.Connection, path: str) -> None:
    """
    Called before a commit.

    Raises:
        FullError: Once this is in the log, the file could not grow by what it lacks: the log could never begin anew, and
            there would be no room to delete anything.
    """
    if _free(path) < ROOM:
        connection.cache_flush()
        pages, size = connection.execute("select * from pragma_page_count(), pragma_page_size()").get
        if pages * size - _size(path) > _free(path):
            raise apsw.FullError("the file could not grow")


def without_room(connection: apsw.Connection, error: BaseException) -> bool:
    """Whether a write failed for lack of room: on the disk, or by a quota or a limit of files, which SQLite calls an I/O error."""
    if isinstance(error, apsw.IOError):
        return connection.system_errno in {errno.EDQUOT, errno.EFBIG, errno.ENOSPC}
    return isinstance(error, apsw.FullError)


def _checkpoint(connection: apsw.Connection, how: str) -> None:
    connection.set_busy_timeout(CUTTING_MILLISECONDS)
    with suppress(apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.IOError):
        connection.execute(f"pragma wal_checkpoint({how})").fetchall()


def _free(path: str) -> int:
    """Bytes that are left on the disk of a file; where that cannot be told, as if there were many."""
    if sys.platform == "win32":
        return ROOM
    disk = os.statvfs(os.path.dirname(path) or ".")  # noqa: PTH120  # a start does without pathlib
    return disk.f_bavail * disk.f_frsize


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except FileNotFoundError:
        return 0

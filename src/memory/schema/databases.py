"""
Which database files SQLite has open in this process. Nothing but SQLite may open these files here.

POSIX drops all locks that a process holds on a file as soon as the process closes any descriptor of it. SQLite would go on
without its locks, and others would write over what it writes (https://sqlite.org/howtocorrupt.html, section 2.2).
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from _typeshed import StrPath

COMPANIONS = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps beside a database (https://sqlite.org/tempfiles.html)."""


_open: WeakSet[OpenDatabase] = WeakSet()
_changing = threading.Lock()


class OpenDatabase:
    """A database that this process has open, until `close`, or until nothing refers to this object any more."""

    def __init__(self, path: str) -> None:
        self.names = {_name(path + ending) for ending in ("", *COMPANIONS)}
        with _changing:
            _open.add(self)

    def close(self) -> None:
        with _changing:
            _open.discard(self)


def is_open(path: StrPath) -> bool:
    """
    Whether a path is that of a database that this process has open, or of its log, shared memory or journal, or a link to
    one of them, of either kind. Opens nothing.
    """
    with _changing:
        names = {name for database in _open for name in database.names}
    if not names:
        return False
    file = identity(path)
    return _name(path) in names or (file is not None and file in map(identity, names))


def identity(path: StrPath) -> tuple[int, int] | None:
    """Device and inode of the file that a path leads to; None if there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _name(path: StrPath) -> str:
    """An absolute path; links among its folders are followed, a link at its end is not."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)

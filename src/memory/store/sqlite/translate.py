"""Errors of apsw as ours."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import apsw

from memory.schema.errors import NO_ROOM, Error, Invalid, StoreBusy, StoreDamaged, StoreError, StoreFull, StoreReadOnly

if TYPE_CHECKING:
    from collections.abc import Generator

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
            found = StoreDamaged(f"{path} is damaged: {error.object[:40]!r} is no text", hint=SALVAGE)
        case UnicodeEncodeError():  # a name that nothing can have
            found = Invalid(f"{error.object[error.start : error.end]!r} is not valid Unicode")
        case _:
            found = _other(path, error)
    return found


def no_room(path: str) -> StoreFull:
    """The error of one write that found no room; who has made several before says what became of those."""
    return StoreFull(f"no room left to write {path}", hint=NO_ROOM)


def _other(path: str, error: Exception) -> StoreError:
    if str(error) == "no such table: memories":
        return StoreDamaged(f"{path} is damaged: {error}", hint=COPY)
    return StoreError(f"{path}: {error}")


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

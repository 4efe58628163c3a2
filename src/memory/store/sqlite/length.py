"""Whether a file is as long as it says: one that was cut is not written to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

_HEADER, _FRAME = 32, 24  # bytes of the log's header, and of that before each page (https://sqlite.org/fileformat.html)


def missing(db: apsw.Connection, path: str) -> int:
    """
    How many bytes the file lacks, as SQLite sees it after it has recovered its log. A page that stands in the log need not
    be in the file yet.
    """
    if db.in_transaction:
        return _missing(db, path)
    db.execute("begin")  # keeps the log from being begun anew meanwhile
    try:
        return _missing(db, path)
    finally:
        db.execute("commit")


def _missing(db: apsw.Connection, path: str) -> int:
    size, pages = int(db.pragma("page_size")), int(db.pragma("page_count"))
    there = os.path.getsize(path)
    if there >= pages * size:
        return 0
    logged = _logged(f"{path}-wal", size)
    lacking = [page for page in range(there // size + 1, pages + 1) if page not in logged]
    return max(lacking) * size - there if lacking else 0


def _logged(log: str, size: int) -> set[int]:
    """The pages that stand in the log. Frames with other salts than the header's are of a former round of it."""
    found: set[int] = set()
    try:
        with open(log, "rb") as file:
            salts = file.read(_HEADER)[16:24]
            while len(frame := file.read(_FRAME)) == _FRAME and frame[8:16] == salts:
                found.add(int.from_bytes(frame[:4], "big"))
                file.seek(size, os.SEEK_CUR)
    except FileNotFoundError:
        return set()
    return found

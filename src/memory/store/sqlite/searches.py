"""
What is remembered of searches: lines in a file beside the database.

Not in a table of it: one row more cost a search in a process of its own 1.8 ms of 68, for a transaction and, by whoever
closes the database last, a checkpoint with its syncs; and a sync took 0.1 ms there, where many disks take ten. A short
append takes 0.03 ms, 0.5 with the loading of its code, and waits for no lock. Nothing but statistics depends on the
file; it may be removed at any time.

It has two halves: one that has grown to `HALF` takes the place of the former one. Of processes that find it grown at the
same moment one moves it; only should another begin the next half within those microseconds, the former is lost early.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memory.schema.answer import Searched
from memory.schema.errors import StoreError
from memory.schema.times import iso
from memory.store import SEARCHES
from memory.store.sqlite.rows import moment

if TYPE_CHECKING:
    from datetime import datetime


HALF = 400_000  # bytes, some 5,000 lines


def enter(database: str, one: Searched) -> None:
    """Add a line in one write, which those of other processes do not mix with."""
    path = _path(database)
    line = "\t".join([iso(one.moment), *map(str, one[1:-1]), " ".join(one.filters)]) + "\n"
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line.encode())
            mine = os.fstat(file)
        finally:
            os.close(file)
        if mine.st_size >= HALF and os.path.samestat(mine, os.stat(path)):
            os.replace(path, _former(path))
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error


def entered(database: str, since: datetime | None) -> list[Searched]:
    """See `Store.searches`. A line that was cut short, as by a full disk, is left out."""
    path = _path(database)
    lines: list[str] = []
    try:
        for name in (_former(path), path):
            with suppress(FileNotFoundError), open(name, encoding="utf-8", errors="replace") as file:
                lines += file
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    found = [one for line in lines if (one := _parsed(line)) is not None and (since is None or one.moment >= since)]
    return sorted(found, key=lambda one: one.moment)[-SEARCHES:]


def _path(database: str) -> str:
    return f"{database}-searches"


def _former(path: str) -> str:
    return f"{path}-old"


def _parsed(line: str) -> Searched | None:
    try:
        at, type, tier, seconds, limit, results, filters = line.rstrip("\n").split("\t")
        found = Searched(moment(at), type, tier, float(seconds), int(limit), int(results), tuple(filters.split()))
    except ValueError:
        return None
    return found if found.moment.tzinfo is not None and 0 <= found.seconds < float("inf") else None

"""A database that may not be written: read where it is, or from a copy of it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

import apsw

from memory.schema.errors import StoreBusy, StoreError, explained
from memory.store import scratch
from memory.store.sqlite.rows import SqliteConnection

if TYPE_CHECKING:
    from collections.abc import Sequence

State: TypeAlias = "tuple[int, int, int]"

MOST_BYTES = 1 << 30
"""Of a database and its log that are copied."""

TRIES = 5  # to copy what somebody else is writing

_COPY = """
import os, shutil, sys
for part, copy in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        with open(part, "rb") as file, os.fdopen(os.open(copy, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as made:
            shutil.copyfileobj(file, made)
    except FileNotFoundError:
        pass
    except OSError as error:
        sys.exit(error.errno)
"""
"""
Copies files that are there, each as one that only its owner may open. In a process of its own: another connection of this
process may have them open, and closing them here would drop its locks (`memory.schema.databases`).
"""

_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_WRITABLE = apsw.SQLITE_OPEN_READWRITE


class Frozen:
    """
    What is opened in place of a file that may not be written, as the file is now.

    SQLite reads a database in WAL mode only where it may write beside it. With `immutable=1` it does without, but then it
    looks at no log: what stands there alone would not be found, and nobody would know
    (https://sqlite.org/uri.html#uriimmutable). So it is used only where no log stands beside the file, or an empty one. Else
    both are copied, for their owner alone, until they are closed.
    """

    def __init__(self, path: str) -> None:
        """
        Raises:
            StoreError: It cannot be read, or is too large to be copied.
            StoreBusy: Somebody else was writing to it all the time.
        """
        self._parts = (path, f"{path}-wal")
        self._folder = ""
        self._seen = states(self._parts)
        if (self._seen[1] or (0, 0, 0))[1]:
            self._copy()

    @property
    def current(self) -> bool:
        """Whether nobody has written to the file meanwhile."""
        return states(self._parts) == self._seen

    def open(self) -> SqliteConnection:
        if self._folder:
            return SqliteConnection(self._copies[0], flags=_WRITABLE)
        return SqliteConnection(f"file:{quote(str(Path(self._parts[0]).absolute()))}?immutable=1", flags=_READ_ONLY)

    def close(self) -> None:
        """Take the copy away."""
        if self._folder:
            scratch.removed(self._folder)

    @property
    def _copies(self) -> Sequence[str]:
        return [str(Path(self._folder, Path(part).name)) for part in self._parts]

    def _copy(self) -> None:
        size = sum(state[1] for state in self._seen if state)
        if size > MOST_BYTES:
            raise StoreError(
                f"{self._parts[0]} may not be written, and of {size:,} bytes no copy is made to read what stands in its log",
                hint="Open it once where it can be written, or copy it there with its -wal file.",
            )
        try:
            self._folder = scratch.made()
            whole = any(self._copied_whole() for _ in range(TRIES))
        except BaseException:
            self.close()
            raise
        if not whole:
            self.close()
            raise StoreBusy(f"another process is writing to {self._parts[0]}", hint="Try again.")

    def _copied_whole(self) -> bool:
        """Copy both; whether nobody wrote to one of them meanwhile, which would be older than the other."""
        self._seen = states(self._parts)
        with explained(StoreError, f"cannot copy {self._parts[0]}"):
            done = subprocess.run(  # noqa: S603  # our own interpreter
                [sys.executable, "-I", "-S", "-c", _COPY, *chain(*zip(self._parts, self._copies, strict=True))],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
            if done.returncode:
                raise OSError(done.returncode, os.strerror(done.returncode), self._parts[0])
        return self.current


def states(parts: Sequence[str]) -> tuple[State | None, ...]:
    """When each was changed last, its size, and which file it is; None if it is not there."""
    return tuple(_state(part) for part in parts)


def _state(part: str) -> State | None:
    with explained(StoreError, f"cannot read {part}"), suppress(FileNotFoundError):
        found = Path(part).stat()
        return found.st_mtime_ns, found.st_size, found.st_ino
    return None

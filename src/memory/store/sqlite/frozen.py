"""
Databases that stay as they are: one that may only be read, where it is or from a copy, and one of an older format, which is
kept beside the new file that takes its place.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

import apsw

from memory.schema.errors import Invalid, StoreBusy, StoreError, explained
from memory.schema.holder import new_folder, remove_folder
from memory.store.sqlite import derived
from memory.store.sqlite.opening import LATEST, logged, version
from memory.store.sqlite.rows import SqliteConnection, prepared
from memory.store.sqlite.translate import translated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

State: TypeAlias = "tuple[int, int, int]"

MOST_BYTES = 1 << 30
"""Of a database and its log that are copied."""

TRIES = 5  # to copy what somebody else is writing

BUSY_SECONDS = 5.0

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
            remove_folder(self._folder)

    @property
    def _copies(self) -> Sequence[str]:
        return [str(Path(self._folder, Path(part).name)) for part in self._parts]

    def _copy(self) -> None:
        size = sum(state[1] for state in self._seen if state)
        if size > MOST_BYTES:
            raise StoreError(
                f"{self._parts[0]} is read-only, and its {size:,} bytes are too many to copy for reading its log",
                hint="Open it once where it can be written, or copy it there with its -wal file.",
            )
        try:
            self._folder = new_folder()
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


# A new file in the place of one of an older format ------------------------------------------


class Predecessor:
    """
    A file of an older format, as it is now.

    Attributes:
        path: Where a link that stands for it leads.
        new: The file that is to take its place, in a folder of its own.
        kept: Its name once another file is in its place.
        replaced: Whether one is, and an interruption has left no more to do than to clear that folder.
    """

    def __init__(self, path: str, new: Path, format: int, *, replaced: bool) -> None:
        self.path, self.new, self.kept, self.replaced = path, new, f"{path}.format{format}", replaced
        self._seen = self._states()

    @classmethod
    def at(cls, path: str, name: str) -> Self:
        """
        Args:
            name: Of the new file.

        Raises:
            Invalid: The file has our format, or is empty; or the folder of the new file holds something else.
            StoreDamaged, StoreTooNew, StoreError: It cannot be used.
        """
        path = os.path.realpath(path)
        with translated(path):
            connection = prepared(apsw.Connection(path), BUSY_SECONDS, careful=logged(path), damaged=False)
            with closing(connection):
                format = version(connection, path)
        former = [one for one in range(1, LATEST) if Path(f"{path}.format{one}").exists()]
        new = Path(f"{path}.new", name)
        replaced = format == LATEST and bool(former) and new.parent.is_dir() and not new.exists()
        if not (replaced or 0 < format < LATEST):
            raise Invalid(f"{path} has the format of this version", hint="Name TO, where it is to be moved.")
        found = cls(path, new, former[-1] if replaced else format, replaced=replaced)
        ours = found.beside_new()
        if foreign := [file for file in (new.parent.iterdir() if new.parent.is_dir() else ()) if file not in ours]:
            raise Invalid(f"{foreign[0]} is in the way of the new file", hint="Move it away, or name TO.")
        return found

    def replace(self) -> None:
        """
        Put the new file in its place, unless it is there. At every moment one of the two is there, with all that its log held.

        Raises:
            StoreBusy: A program has one of them open, or has written to this one since `at`.
            StoreError: The file system does not allow it.
        """
        if self.replaced:
            return
        self._look()
        for path in (self.path, str(self.new)):
            _closed(path)
        if self._seen[1] is not None:  # the file holds by now what its log held
            self._seen = self._states()
        old, kept = Path(self.path), Path(self.kept)
        with explained(StoreError, f"cannot rename {old} to {kept}", "Name TO instead, or move that file away."):
            if not (kept.exists() and kept.samefile(old)):  # as after an interruption
                os.link(old, kept)
        with explained(StoreError, f"cannot replace {old} with {self.new}"):
            shutil.copymode(old, self.new)
            for file in derived.files(self.path):  # made from the old one
                file.unlink()
            self._look()
            self.new.replace(old)
        self.replaced = True

    def clear(self) -> None:
        """Take away the folder of the new file; what came into it from elsewhere stays."""
        with suppress(OSError):
            for file in self.beside_new():
                file.unlink()
            self.new.parent.rmdir()

    def beside_new(self) -> list[Path]:
        """The new file and what SQLite and we put beside one."""
        there = [self.new, *self.new.parent.glob(f"{self.new.name}-*")]
        return [file for file in there if file.is_file()]

    def _look(self) -> None:
        """
        Raises:
            StoreBusy: A program has the file open, or has written to it since `at`.
        """
        if self._states() != self._seen:
            raise StoreBusy(f"{self.path} was changed meanwhile", hint="End the programs that use it.")

    def _states(self) -> tuple[State | None, ...]:
        return states((self.path, f"{self.path}-wal"))


def _closed(path: str) -> None:
    """
    Let a database take in its log: SQLite would take one that stays behind for that of the file that comes after.

    Raises:
        StoreBusy: A program has it open.
    """
    with translated(path), closing(apsw.Connection(path)) as db:
        db.pragma("user_version")  # whoever has read, and closes a file last, takes in the log and removes it
    if Path(f"{path}-wal").exists():
        raise StoreBusy(f"another program has {path} open", hint="End the agents that use it, and `memory ui`.")

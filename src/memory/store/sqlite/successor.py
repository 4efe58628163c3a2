"""A new file takes the place of one of an older format, which is kept beside it."""

from __future__ import annotations

import os
import shutil
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from memory.schema.errors import Invalid, StoreBusy, StoreError, explained
from memory.store.sqlite import derived
from memory.store.sqlite.frozen import State, states
from memory.store.sqlite.opening import LATEST, logged, version
from memory.store.sqlite.rows import prepared, translated

if TYPE_CHECKING:
    from typing import Self


BUSY_SECONDS = 5.0


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
            raise Invalid(f"{foreign[0]} is in the way: the new file is made there", hint="Move it away, or name TO.")
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
        with explained(StoreError, f"cannot keep {old} as {kept}", "Name TO instead, or move that file away."):
            if not (kept.exists() and kept.samefile(old)):  # as after an interruption
                os.link(old, kept)
        with explained(StoreError, f"cannot put {self.new} in the place of {old}"):
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
            raise StoreBusy(f"{self.path} was written to meanwhile", hint="End the programs that use it.")

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

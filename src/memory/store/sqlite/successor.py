"""A new file takes the place of one of an older format, which is kept beside it."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from memory.schema.errors import Invalid, StoreBusy, StoreError, explained
from memory.store.sqlite import derived
from memory.store.sqlite.frozen import states
from memory.store.sqlite.opening import LATEST, logged, prepared, version
from memory.store.sqlite.translate import translated

if TYPE_CHECKING:
    from typing import Self

    from memory.store.sqlite.frozen import State

BUSY_SECONDS = 5.0


class Predecessor:
    """
    A file of an older format, as it is now.

    Attributes:
        path: Where a link that stands for it leads.
        kept: Its name once another file is in its place.
    """

    def __init__(self, path: str, format: int) -> None:
        self.path, self.kept = path, f"{path}.format{format}"
        self._seen = self._states()

    @classmethod
    def at(cls, path: str) -> Self:
        """
        Raises:
            Invalid: The file has our format, or is empty.
            StoreDamaged, StoreTooNew, StoreError: It cannot be used.
        """
        path = os.path.realpath(path)
        with translated(path):
            connection = prepared(apsw.Connection(path), BUSY_SECONDS, careful=logged(path), damaged=False)
            with closing(connection):
                format = version(connection, path)
        if not 0 < format < LATEST:
            raise Invalid(f"{path} has the format of this version", hint="Name TO, where it is to be moved.")
        return cls(path, format)

    def replace(self, new: str) -> None:
        """
        Put another file in its place. At every moment one of the two is there, with all that its log held.

        Raises:
            StoreBusy: A program has one of them open, or has written to this one since `at`.
            StoreError: The file system does not allow it.
        """
        if self._states() != self._seen:
            raise StoreBusy(f"{self.path} was written to meanwhile", hint="End the programs that use it.")
        for path in (self.path, new):
            _closed(path)
        old, kept = Path(self.path), Path(self.kept)
        with explained(StoreError, f"cannot keep {old} as {kept}", "Name TO instead, or move that file away."):
            if not (kept.exists() and kept.samefile(old)):  # as after an interruption
                os.link(old, kept)
        with explained(StoreError, f"cannot put {new} in the place of {old}"):
            shutil.copymode(old, new)
            Path(new).replace(old)
            for file in derived.files(self.path):  # made from the old one
                file.unlink()

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

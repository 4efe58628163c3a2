"""What was read of a database, for as long as that is what it says."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar

import apsw

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

R = TypeVar("R")


class Remembered(threading.local):
    """For each thread its own, as each has its own connection."""

    def __init__(self) -> None:
        self._state: tuple[apsw.Connection | None, int] = (None, 0)
        self._read: dict[Hashable, Any] = {}

    def once(self, db: apsw.Connection, name: Hashable, read: Callable[[], R]) -> R:
        """
        What is read, once as long as nobody writes: a search asks for the same few numbers again and again.

        Args:
            db: In a transaction. In one that writes, nothing is remembered.
            name: Of what is read; of few things only.
        """
        if (begun := db.txn_state("main")) == apsw.SQLITE_TXN_WRITE:
            return read()
        if begun == apsw.SQLITE_TXN_NONE:
            db.execute("pragma data_version").fetchall()  # so that there is a state
        state = (db, db.data_version())  # what others commit, and what this connection does, is another one
        if self._state != state:
            self._state, self._read = state, {}
        if name not in self._read:
            self._read[name] = read()
        found: R = self._read[name]
        return found

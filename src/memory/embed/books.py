"""Where embedding is accounted for: the parts of a store that embedders need, and notes about this process."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from memory.schema.errors import StoreError
from memory.schema.usage_store import Accounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.space import Space, Vectors
    from memory.schema.usage import Call


class Stored(Protocol):
    """A generation of vectors, as far as embedders need to know it."""

    @property
    def id(self) -> int: ...

    @property
    def space(self) -> Space: ...

    @property
    def state(self) -> str: ...


class Books(Accounts, Protocol):
    """What embedders read and write; see `memory.store.Store`, which has all of it."""

    def generations(self) -> Sequence[Stored]: ...

    def fingerprint(self, generation: int) -> Vectors | None: ...

    def mark(self, generation: int, fingerprint: Vectors) -> None: ...


NOTES = 64  # lines a process keeps to itself until it writes them down


class Notes:
    """
    Calls inside this process, added up until they are written: a search need not wait for the ledger.

    What was not written when a process is killed is lost; nothing of it left the machine.
    """

    def __init__(self, books: Books) -> None:
        self._books = books
        self._calls: list[Call] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    def add(self, call: Call) -> None:
        with self._lock:
            self._calls.append(call)
            full = len(self._calls) >= NOTES
        if full:
            self.write()

    def write(self) -> None:
        """Write them down; if somebody else is writing at the moment, they wait for the next time."""
        with self._lock:
            calls, self._calls = self._calls, []
        if not calls:
            return
        if self._process != os.getpid():
            return  # the parent's, who writes them down
        try:
            self._books.note(calls)
        except StoreError:
            with self._lock:
                self._calls = [*calls, *self._calls][-10 * NOTES :]


def now() -> datetime:
    return datetime.now(UTC)

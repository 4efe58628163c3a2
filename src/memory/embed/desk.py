"""What is written down around a request to one host: its line in the ledger, and whether the host is to be left alone."""

from __future__ import annotations

import os
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from memory.embed.books import now
from memory.embed.hosts import resting
from memory.embed.purpose import current
from memory.schema.errors import EmbedError, OverBudget, StoreError
from memory.schema.limits import plain
from memory.schema.usage import Outage

if TYPE_CHECKING:
    from memory.embed.books import Books
    from memory.schema.errors import Unreachable
    from memory.schema.usage import Budget, Call

LONGEST_PAUSE = 900.0  # seconds, whatever a server asks for


class _Settled(NamedTuple):
    id: int
    tokens: int
    seconds: float
    cost: float
    error: str


class Desk:
    """
    Keeps the books of requests to one host.

    Nothing is sent that is not entered. What becomes of a request afterwards must not cost its answer: if that cannot
    be written at the moment, it is written with the next request, or when the desk closes.
    """

    def __init__(self, host: str, books: Books, *, budget: Budget | None, pause_seconds: float) -> None:
        self._host, self._books, self._budget, self._pause_seconds = host, books, budget, pause_seconds
        self._owed: list[_Settled] = []
        self._outage: Outage | None = None
        self._lock = threading.Lock()
        self._process = os.getpid()

    def let(self) -> None:
        """
        Raises:
            Unreachable: The host gave no answer a moment ago, and nobody waits for just this.
        """
        try:
            self._outage = self._books.outage(self._host)
        except StoreError as error:
            raise EmbedError(f"nothing was sent, for the ledger cannot be read: {error}") from error
        rest = None if self._outage is None or current().asked else resting(self._outage, now())
        if rest is not None:
            raise rest

    def book(self, call: Call) -> int:
        """
        Enter a request that is about to be made.

        Raises:
            OverBudget: The day's budget would not take it.
            EmbedError: It cannot be entered.
        """
        self.close()
        try:
            id = self._books.book(call, self._budget)
        except StoreError as error:
            raise EmbedError(f"nothing was sent, for it could not be entered in the ledger: {error}") from error
        if id is None:
            hint = "Raise `embedding.daily_budget`, set `embedding.fallback`, or wait for the next day (UTC)."
            raise OverBudget(f"the budget of {self._budget} a day for {self._host} is spent", hint=hint)
        return id

    def settle(self, id: int, *, tokens: int, seconds: float, cost: float, error: str) -> None:
        """Say what became of a request."""
        with self._lock:
            self._owed.append(_Settled(id, tokens, seconds, cost, plain(error)))
        self.close()

    def answered(self) -> None:
        """The host gave an answer: everybody may ask it again."""
        if self._outage is None:
            return
        try:
            self._books.resume(self._host)
        except StoreError:
            return  # it is found out by the next answer
        self._outage = None

    def give_up(self, error: Unreachable) -> None:
        """Leave the host alone for a while, in all processes."""
        if not self._pause_seconds:
            return
        pause = min(LONGEST_PAUSE, max(self._pause_seconds, error.after or 0))
        self._outage = Outage(self._host, now() + timedelta(seconds=pause), plain(str(error)))
        try:
            self._books.suspend(self._outage)
        except StoreError:
            return  # then the next one finds out for itself

    def close(self) -> None:
        """Write what is owed, if it can be written."""
        with self._lock:
            owed, self._owed = self._owed, []
        if self._process != os.getpid():
            return  # the parent's
        for place, line in enumerate(owed):
            try:
                self._books.settle(line.id, tokens=line.tokens, seconds=line.seconds, cost=line.cost, error=line.error)
            except StoreError:
                with self._lock:
                    self._owed = [*owed[place:], *self._owed]
                return

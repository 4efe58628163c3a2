"""The meter of an embedder allows, counts and records its calls, and knows what they are made for."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.errors import EmbedError, Error, OverBudget, StoreError, Unreachable, printable
from memory.schema.space import Budget, OpenCircuit, UsageEntry
from memory.text.tokens import estimated_sum
from memory.vectors import Names, check_circuit, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from memory.store.usage import UsageLog

UNWRITTEN = 64  # calls inside this process that are collected before they are written
LONGEST_PAUSE = 900.0  # seconds, even if a server asks for more


class Purpose(NamedTuple):
    """
    What a text is embedded for: recorded in the log, and deciding how long to wait.

    Attributes:
        name: Its name in the log.
        patience: Seconds of waiting between tries, in all.
        asked: Whether a person is waiting for just this: then even a server that was down a moment ago is asked again.
    """

    name: str
    patience: float = 1.0
    asked: bool = False


SEARCH = Purpose("search")
SAVE = Purpose("save")
BACKFILL = Purpose("fill")
EMBED = Purpose("fill", patience=120.0, asked=True)
REINDEX = Purpose("reindex", patience=120.0, asked=True)
PROBE = Purpose("probe", asked=True)
WORDS = Purpose("words")

CURRENT: ContextVar[Purpose] = ContextVar("purpose", default=SEARCH)
"""The purpose in this thread."""


@contextmanager
def purpose(of: Purpose) -> Generator[None]:
    """Everything embedded inside is for this purpose."""
    token = CURRENT.set(of)
    try:
        yield
    finally:
        CURRENT.reset(token)


class RequestResult:
    """
    The result of a call.

    Attributes:
        tokens: Our estimate, until replaced by the server's count.
        sent: Whether anything may have left the process.
    """

    __slots__ = ("error", "sent", "tokens")

    def __init__(self, tokens: int) -> None:
        self.tokens, self.error, self.sent = tokens, "interrupted", True


class Meter:
    """
    The calls of one embedder: its circuit breaker, its budget and its lines in the usage log.

    Nothing is sent to a host before it is reserved. Recording the result must not cost the answer:
    if the store is busy, it is recorded with the next call, or by `write`.
    Calls inside this process have no circuit breaker and no budget. They are collected and written together, so that a
    search need not wait for the log. If the process is killed first, they are lost; nothing of them left the machine.
    The circuit is open while a host that did not answer is left alone, by every process with the same store.
    Nygard, Release It! (2007), chapter 5.
    """

    def __init__(
        self,
        names: Names,
        host: str,
        log: UsageLog,
        *,
        budget: Budget | None = None,
        price: float = 0.0,
        pause_seconds: float = 0.0,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """
        Args:
            host: Empty for an embedder in this process.
            budget: For a day (UTC).
            price: US dollars for a million tokens.
            pause_seconds: How long to leave a host alone that does not answer; 0 always asks it.
        """
        self._names, self._host, self._log, self._now = names, host, log, now
        self._budget, self._price, self._pause_seconds = budget, price, pause_seconds
        self._circuit: OpenCircuit | None = None
        self._unwritten: list[UsageEntry] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    def inside(self, texts: Sequence[str], seconds: float) -> None:
        """Record a call inside this process, which was answered."""
        self._keep(self._entry(texts)._replace(seconds=seconds))

    def _entry(self, texts: Sequence[str]) -> UsageEntry:
        names, purpose, tokens = self._names[:2], CURRENT.get().name, estimated_sum(texts)
        entry = UsageEntry(self._now(), *names, purpose, self._host, texts=len(texts), tokens=tokens)
        return entry._replace(cost=self._cost(tokens))

    @contextmanager
    def call(self, texts: Sequence[str]) -> Generator[RequestResult]:
        """
        Make a request with these texts inside: reserved before, recorded after; an answer closes the circuit. Of one that
        was not sent, no tokens and no bytes are recorded.

        Raises:
            OverBudget: The day's budget does not allow it.
            EmbedError: It cannot be reserved.
        """
        call = self._entry(texts)
        call = self._reserved(call._replace(bytes_out=sum(len(text.encode()) for text in texts)))
        outcome = RequestResult(call.tokens)
        begin = time.perf_counter()
        try:
            yield outcome
            outcome.error = ""
        except Error as error:
            outcome.error, outcome.sent = printable(str(error)), getattr(error, "sent", True)
            raise
        finally:
            seconds, tokens = time.perf_counter() - begin, outcome.tokens if outcome.sent else 0
            call = call if outcome.sent else call._replace(bytes_out=0)
            self._keep(call._replace(tokens=tokens, seconds=seconds, cost=self._cost(tokens), error=outcome.error))
        if self._circuit is not None:  # the host has answered: everyone may ask it again
            with suppress(StoreError):  # else the next answer tries again
                self._log.set_circuit(self._host, None)
                self._circuit = None

    def _reserved(self, call: UsageEntry) -> UsageEntry:
        """The call with its id in the log."""
        self.write()
        call = call._replace(error="no answer yet")
        try:
            id = self._log.reserve_call(call, self._budget)
        except StoreError as error:
            raise EmbedError(f"nothing was sent, because it could not be entered in the usage log: {error}") from error
        if id is None:
            hint = "Raise `embedding.daily_budget`, name a second server in `embedding.base_url`, or wait for the next day (UTC)."
            raise OverBudget(f"the budget of {self._budget} a day for {self._host} is spent", hint=hint)
        return call._replace(id=id)

    def _cost(self, tokens: int) -> float:
        return tokens * self._price / 1_000_000

    def _keep(self, call: UsageEntry) -> None:
        """Write a call: at once if it left this process, otherwise together with later ones."""
        with self._lock:
            self._unwritten.append(call)
            count = len(self._unwritten)
        if self._host or count >= UNWRITTEN:
            self.write()

    def write(self) -> None:
        """Write what is not in the log yet; what cannot be written now waits for the next time."""
        with self._lock:
            calls, self._unwritten = self._unwritten, []
        if not calls or self._process != os.getpid():
            return  # nothing to write, or the calls of the parent process, which writes them itself
        left = self._recorded(calls) if self._host else self._added(calls)
        if left:
            with self._lock:
                self._unwritten = [*left, *self._unwritten]

    def _recorded(self, calls: list[UsageEntry]) -> list[UsageEntry]:
        """Record the results of reserved calls; returns those that could not be recorded."""
        for number, one in enumerate(calls):
            try:
                self._log.record_call(
                    one.id,
                    tokens=one.tokens,
                    seconds=one.seconds,
                    cost=one.cost,
                    error=one.error,
                    sent=one.bytes_out > 0,
                )
            except StoreError:
                return calls[number:]
        return []

    def _added(self, calls: list[UsageEntry]) -> list[UsageEntry]:
        """Add calls inside this process to the log, those of a day together; returns those that could not be added."""
        lines: dict[tuple[object, ...], UsageEntry] = {}
        for one in calls:
            line = (one.moment.date(), one.purpose)
            lines[line] = one.after(lines[line]) if line in lines else one
        try:
            self._log.add_calls([*lines.values()])
        except StoreError:
            return [*lines.values()]
        return []

    def check(self) -> None:
        """
        Raise if the host should be left alone.

        Raises:
            Unreachable: The circuit is open, and no person is waiting for just this.
            EmbedError: The state of the circuit cannot be read.
        """
        try:
            self._circuit = self._log.circuit(self._host)
        except StoreError as error:
            raise EmbedError(f"nothing was sent, because the usage log cannot be read: {error}") from error
        if not CURRENT.get().asked:
            check_circuit(self._circuit, self._now())

    def open(self, error: Unreachable) -> None:
        """Leave the host alone for a while, in all processes."""
        if not self._host or not self._pause_seconds:
            return
        pause = min(LONGEST_PAUSE, max(self._pause_seconds, error.after or 0))
        self._circuit = OpenCircuit(self._host, self._now() + timedelta(seconds=pause), printable(str(error)))
        with suppress(StoreError):  # other processes then find out for themselves
            self._log.set_circuit(self._host, self._circuit)

"""The cost of embedding: what a text is embedded for, and the meter that allows, counts and records calls."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.errors import EmbedError, Error, NotFound, OverBudget, StoreError, Unreachable
from memory.schema.limits import printable
from memory.schema.usage import Budget, Call, OpenCircuit
from memory.text.tokens import estimated_sum

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from datetime import date

    from memory.embed import Names
    from memory.store import Generation
    from memory.store.usage import UsageLog

UNWRITTEN = 64  # calls inside this process that are collected before they are written
LONGEST_PAUSE = 900.0  # seconds, even if a server asks for more


# Purposes ---------------------------------------------------------------------


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

_CURRENT: ContextVar[Purpose] = ContextVar("purpose", default=SEARCH)


def current() -> Purpose:
    """The current purpose in this thread."""
    return _CURRENT.get()


@contextmanager
def purpose(of: Purpose) -> Generator[None]:
    """Everything embedded inside is for this purpose."""
    token = _CURRENT.set(of)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def utc_now() -> datetime:
    """The machine's clock, for use outside an engine; an engine has its own."""
    return datetime.now(UTC)


# The calls of an embedder -----------------------------------------------------


@dataclass(slots=True)
class Outcome:
    """
    The result of a call.

    Attributes:
        tokens: Our estimate, until replaced by the server's count.
    """

    tokens: int
    error: str = "interrupted"


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
        self._unwritten: list[Call] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    @contextmanager
    def call(self, texts: Sequence[str]) -> Generator[Outcome]:
        """
        Make a call with these texts inside: reserved before, recorded after; an answer closes the circuit.

        A call inside this process that fails is not recorded.

        Raises:
            OverBudget: The day's budget does not allow it.
            EmbedError: It cannot be reserved.
        """
        tokens = estimated_sum(texts)
        call = Call(self._now(), *self._names[:2], current().name, self._host, texts=len(texts), tokens=tokens)
        outcome = Outcome(tokens)
        if not self._host:
            begin = time.perf_counter()
            yield outcome
            self._keep(call._replace(seconds=time.perf_counter() - begin))
            return
        call = self._reserved(call._replace(bytes_out=sum(len(text.encode()) for text in texts)))
        begin = time.perf_counter()
        try:
            yield outcome
            outcome.error = ""
        except Error as error:
            outcome.error = printable(str(error))
            raise
        finally:
            seconds = time.perf_counter() - begin
            tokens, error_text = outcome.tokens, outcome.error
            self._keep(call._replace(tokens=tokens, seconds=seconds, cost=self._cost(tokens), error=error_text))
        self._close()

    def _reserved(self, call: Call) -> Call:
        """The call with its id in the log."""
        self.write()
        call = call._replace(cost=self._cost(call.tokens), error="no answer yet")
        try:
            id = self._log.reserve_call(call, self._budget)
        except StoreError as error:
            raise EmbedError(f"nothing was sent, for it could not be entered in the ledger: {error}") from error
        if id is None:
            hint = "Raise `embedding.daily_budget`, set `embedding.fallback`, or wait for the next day (UTC)."
            raise OverBudget(f"the budget of {self._budget} a day for {self._host} is spent", hint=hint)
        return call._replace(id=id)

    def _cost(self, tokens: int) -> float:
        return tokens * self._price / 1_000_000

    def _keep(self, call: Call) -> None:
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

    def _recorded(self, calls: list[Call]) -> list[Call]:
        """Record the results of reserved calls; returns those that could not be recorded."""
        for number, one in enumerate(calls):
            try:
                self._log.record_call(one.id, tokens=one.tokens, seconds=one.seconds, cost=one.cost, error=one.error)
            except StoreError:
                return calls[number:]
        return []

    def _added(self, calls: list[Call]) -> list[Call]:
        """Add calls inside this process to the log; returns those that could not be added, of very many the latest."""
        try:
            self._log.add_calls(calls)
        except StoreError:
            return calls[-10 * UNWRITTEN :]
        return []

    # The host's circuit breaker -----------------------------------------------------

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
            raise EmbedError(f"nothing was sent, for the ledger cannot be read: {error}") from error
        if not current().asked:
            check_circuit(self._circuit, self._now())

    def open(self, error: Unreachable) -> None:
        """Leave the host alone for a while, in all processes."""
        if not self._host or not self._pause_seconds:
            return
        pause = min(LONGEST_PAUSE, max(self._pause_seconds, error.after or 0))
        self._circuit = OpenCircuit(self._host, self._now() + timedelta(seconds=pause), printable(str(error)))
        try:
            self._log.set_circuit(self._host, self._circuit)
        except StoreError:
            return  # other processes then find out for themselves

    def _close(self) -> None:
        """After an answer, let everyone ask the host again."""
        if self._circuit is None:
            return
        try:
            self._log.set_circuit(self._host, None)
        except StoreError:
            return  # the next answer tries again
        self._circuit = None


def check_circuit(circuit: OpenCircuit | None, moment: datetime) -> None:
    """
    Raise if a circuit is still open.

    Raises:
        Unreachable: It is open at this moment.
    """
    if circuit is None:
        return
    seconds = (circuit.until - moment).total_seconds()
    if seconds > 0:
        raise Unreachable(circuit.error, hint=f"It is asked again in {seconds:.0f} s, or by `memory embed`.")


# Without a store ------------------------------------------------------------


class ProcessStore:
    """
    What embedders need where there is no store: budgets and circuits hold until this process ends.

    The log cannot be read and no vector is stored. See `memory.embed.fingerprint.EmbedderStore`.
    """

    def __init__(self) -> None:
        self._requests: list[Call] = []  # the call with id n is the n-th
        self._circuits: dict[str, OpenCircuit | None] = {}
        self._lock = threading.Lock()

    @property
    def usage(self) -> ProcessStore:
        return self

    generations = usage

    def reserve_call(self, call: Call, budget: Budget | None = None) -> int | None:
        limits = budget or Budget()
        with self._lock:
            today = [one for one in (*self._requests, call) if one.host == call.host and _day(one) == _day(call)]
            spent = ((limits.calls, len(today)), (limits.tokens, sum(one.tokens for one in today)))
            if any(limit is not None and total > limit for limit, total in spent):
                return None
            self._requests.append(call)
            return len(self._requests)

    def record_call(self, id: int, *, tokens: int, seconds: float, cost: float, error: str = "") -> None:
        with self._lock:
            call = self._requests[id - 1]
            self._requests[id - 1] = call._replace(tokens=tokens, seconds=seconds, cost=cost, error=error)

    def add_calls(self, calls: Sequence[Call]) -> None:
        """Calls inside this process have no budget, so nothing is recorded."""

    def circuit(self, host: str) -> OpenCircuit | None:
        return self._circuits.get(host)

    def set_circuit(self, host: str, circuit: OpenCircuit | None) -> None:
        self._circuits[host] = circuit

    def every(self) -> Sequence[Generation]:
        return ()

    def mark(self, generation: int, fingerprint: bytes) -> None:
        raise NotFound(f"no generation {generation}")


def _day(call: Call) -> date:
    return call.moment.astimezone(UTC).date()

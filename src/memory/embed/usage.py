"""What embedding costs: what a text is embedded for, and the meter that lets calls through, counts and records them."""

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
    from memory.schema.space import Vectors
    from memory.store import Generation
    from memory.store.usage import UsageLog

UNWRITTEN = 64  # calls inside this process that are kept back until they are written together
LONGEST_PAUSE = 900.0  # seconds, whatever a server asks for


# What for -------------------------------------------------------------------


class Purpose(NamedTuple):
    """
    What a text is embedded for: it stands in the log, and says how long it is worth waiting.

    Attributes:
        name: As the log has it.
        patience: Seconds that may be spent between tries, in all.
        asked: Whether a person waits for just this: then a server that was down a moment ago is asked again.
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
    """What is embedded for at the moment, in this thread."""
    return _CURRENT.get()


@contextmanager
def purpose(of: Purpose) -> Generator[None]:
    """What is embedded inside is for this."""
    token = _CURRENT.set(of)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def utc_now() -> datetime:
    """The machine's clock, for what is asked beside any engine: that has its own."""
    return datetime.now(UTC)


# The calls of an embedder -----------------------------------------------------


@dataclass(slots=True)
class Outcome:
    """
    What became of a call.

    Attributes:
        tokens: As estimated, until they are set to what the server counted.
    """

    tokens: int
    error: str = "interrupted"


class Meter:
    """
    The calls of one embedder: its circuit breaker, its budget and its lines in the usage log.

    Nothing is sent to a host that is not reserved. What becomes of a call afterwards must not cost its answer: if that
    cannot be recorded at the moment, it is recorded with the next call, or by `write`.

    Calls inside this process have no circuit and no budget, and are added up until they are written: a search need not
    wait for the log. What was not written when a process is killed is lost; nothing of it left the machine.

    The circuit is open while a host that gave no answer is left alone, by every process that has the same store.
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
            host: Empty for what stays in this process.
            budget: Of a day (UTC).
            price: US dollars for a million tokens.
            pause_seconds: How long a host that gives no answer is left alone; 0 asks it every time.
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
        Have a call with these texts made inside: reserved before, recorded after, its circuit closed by an answer. One
        that fails inside this process is not recorded.

        Raises:
            OverBudget: The day's budget would not take it.
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
        """Have a call written: one that left this process at once, others with the next ones."""
        with self._lock:
            self._unwritten.append(call)
            count = len(self._unwritten)
        if self._host or count >= UNWRITTEN:
            self.write()

    def write(self) -> None:
        """Record what is not recorded yet, if that can be; if somebody else writes at the moment, it waits."""
        with self._lock:
            calls, self._unwritten = self._unwritten, []
        if not calls or self._process != os.getpid():
            return  # nothing, or the parent's, who writes it down
        left = self._recorded(calls) if self._host else self._added(calls)
        if left:
            with self._lock:
                self._unwritten = [*left, *self._unwritten]

    def _recorded(self, calls: list[Call]) -> list[Call]:
        """What could not be recorded of calls that were reserved."""
        for number, one in enumerate(calls):
            try:
                self._log.record_call(one.id, tokens=one.tokens, seconds=one.seconds, cost=one.cost, error=one.error)
            except StoreError:
                return calls[number:]
        return []

    def _added(self, calls: list[Call]) -> list[Call]:
        """What could not be added up of calls inside this process; of very many the latest."""
        try:
            self._log.add_calls(calls)
        except StoreError:
            return calls[-10 * UNWRITTEN :]
        return []

    # The circuit of its host ----------------------------------------------

    def check(self) -> None:
        """
        Raises:
            Unreachable: The circuit is open, and nobody waits for just this.
            EmbedError: It cannot be read whether it is.
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
            self._log.open_circuit(self._circuit)
        except StoreError:
            return  # then the next one finds out for itself

    def _close(self) -> None:
        """The host gave an answer: everybody may ask it again."""
        if self._circuit is None:
            return
        try:
            self._log.close_circuit(self._host)
        except StoreError:
            return  # it is found out by the next answer
        self._circuit = None


def check_circuit(circuit: OpenCircuit | None, moment: datetime) -> None:
    """
    Raises:
        Unreachable: The time is not over for which the host of a circuit is left alone.
    """
    if circuit is None:
        return
    seconds = (circuit.until - moment).total_seconds()
    if seconds > 0:
        raise Unreachable(circuit.error, hint=f"It is asked again in {seconds:.0f} s, or by `memory embed`.")


# Without a store ------------------------------------------------------------


class ProcessStore:
    """
    What embedders read and write where there is no store: budgets hold and circuits open, until this process ends.

    Nobody is shown what was embedded, and no vector is kept. See `memory.embed.fingerprint.EmbedderStore`.
    """

    def __init__(self) -> None:
        self._requests: list[Call] = []  # that with the id n is the n-th
        self._circuits: dict[str, OpenCircuit] = {}
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
        """What stays in this process has no budget: nothing is kept of it."""

    def circuit(self, host: str) -> OpenCircuit | None:
        return self._circuits.get(host)

    def open_circuit(self, circuit: OpenCircuit) -> None:
        self._circuits[circuit.host] = circuit

    def close_circuit(self, host: str) -> None:
        self._circuits.pop(host, None)

    def every(self) -> Sequence[Generation]:
        return ()

    def fingerprint(self, generation: int) -> Vectors | None:
        raise NotFound(f"no generation {generation}")

    def mark(self, generation: int, fingerprint: Vectors) -> None:
        raise NotFound(f"no generation {generation}")


def _day(call: Call) -> date:
    return call.moment.astimezone(UTC).date()

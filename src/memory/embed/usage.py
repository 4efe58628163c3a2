"""What embedding costs: what a text is embedded for, the calls of a host and of this process, and a log without a store."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, time as time_of_day
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.errors import EmbedError, Error, Invalid, NotFound, OverBudget, StoreError
from memory.schema.limits import printable
from memory.schema.usage import Call

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from memory.schema.space import Vectors
    from memory.schema.usage import Budget, OpenCircuit
    from memory.store import Generation
    from memory.store.usage import UsageLog

UNWRITTEN = 64  # calls of this process that are kept back until they are written together


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


# Who calls ------------------------------------------------------------------


class ProcessCalls:
    """
    Calls inside this process, added up until they are written: a search need not wait for the log.

    What was not written when a process is killed is lost; nothing of it left the machine.
    """

    def __init__(self, log: UsageLog) -> None:
        self._log = log
        self._calls: list[Call] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    def add(self, call: Call) -> None:
        with self._lock:
            self._calls.append(call)
            full = len(self._calls) >= UNWRITTEN
        if full:
            self.write()

    def write(self) -> None:
        """Write them down; if somebody else is writing at the moment, they wait for the next time."""
        with self._lock:
            calls, self._calls = self._calls, []
        if not calls or self._process != os.getpid():
            return  # nothing, or the parent's, who writes it down
        try:
            self._log.add_calls(calls)
        except StoreError:
            with self._lock:
                self._calls = [*calls, *self._calls][-10 * UNWRITTEN :]


@dataclass(slots=True)
class Outcome:
    """
    What became of a call.

    Attributes:
        tokens: As estimated, until they are set to what the server counted.
    """

    id: int
    tokens: int
    seconds: float = 0.0
    error: str = "interrupted"


class HostCalls:
    """
    Calls of one host, within the day's budget.

    Nothing is sent that is not reserved. What becomes of a call afterwards must not cost its answer: if that cannot
    be recorded at the moment, it is recorded with the next call, or by `write`.
    """

    def __init__(self, host: str, log: UsageLog, *, budget: Budget | None, price: float = 0.0) -> None:
        """
        Args:
            price: US dollars for a million tokens.
        """
        self._host, self._log, self._budget, self._price = host, log, budget, price
        self._unwritten: list[Outcome] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    @contextmanager
    def reserved(self, call: Call) -> Generator[Outcome]:
        """
        Reserve a call, have it made inside, and record what became of it.

        Raises:
            OverBudget: The day's budget would not take it.
            EmbedError: It cannot be reserved.
        """
        outcome = Outcome(self._reserve(call), call.tokens)
        begin = time.perf_counter()
        try:
            yield outcome
            outcome.error = ""
        except Error as error:
            outcome.error = printable(str(error))
            raise
        finally:
            outcome.seconds = time.perf_counter() - begin
            with self._lock:
                self._unwritten.append(outcome)
            self.write()

    def _reserve(self, call: Call) -> int:
        self.write()
        call = call._replace(host=self._host, cost=self._cost(call.tokens), error="no answer yet")
        try:
            id = self._log.reserve_call(call, self._budget)
        except StoreError as error:
            raise EmbedError(f"nothing was sent, for it could not be entered in the ledger: {error}") from error
        if id is None:
            hint = "Raise `embedding.daily_budget`, set `embedding.fallback`, or wait for the next day (UTC)."
            raise OverBudget(f"the budget of {self._budget} a day for {self._host} is spent", hint=hint)
        return id

    def _cost(self, tokens: int) -> float:
        return tokens * self._price / 1_000_000

    def write(self) -> None:
        """Record what is not recorded yet, if that can be."""
        with self._lock:
            outcomes, self._unwritten = self._unwritten, []
        if self._process != os.getpid():
            return  # the parent's
        for number, one in enumerate(outcomes):
            try:
                self._log.record_call(
                    one.id, tokens=one.tokens, seconds=one.seconds, cost=self._cost(one.tokens), error=one.error
                )
            except StoreError:
                with self._lock:
                    self._unwritten = [*outcomes[number:], *self._unwritten]
                return


# Without a store ------------------------------------------------------------


class ProcessUsageLog:
    """A usage log that ends with this process. See `memory.store.usage.UsageLog`, `memory.embed.fingerprint.Generations`."""

    def __init__(self) -> None:
        self._calls: list[Call] = []  # the call with id n is the n-th
        self._circuits: dict[str, OpenCircuit] = {}
        self._lock = threading.RLock()

    def reserve_call(self, call: Call, budget: Budget | None = None) -> int | None:
        if not call.host:
            raise Invalid("only a request to a host is booked; what stays in the process is noted")
        with self._lock:
            today = [one for one in (*self._calls, call) if one.host == call.host and _day(one) == _day(call)]
            for limit, total in (
                (budget and budget.calls, sum(one.calls for one in today)),
                (budget and budget.tokens, sum(one.tokens for one in today)),
            ):
                if limit is not None and total > limit:
                    return None
            return self._enter(call)

    def _enter(self, call: Call) -> int:
        id = len(self._calls) + 1
        self._calls.append(call._replace(id=id))
        return id

    def record_call(self, id: int, *, tokens: int, seconds: float, cost: float, error: str = "") -> None:
        with self._lock:
            if 0 < id <= len(self._calls):
                call = self._calls[id - 1]
                self._calls[id - 1] = call._replace(tokens=tokens, seconds=seconds, cost=cost, error=error)

    def add_calls(self, calls: Sequence[Call]) -> None:
        with self._lock:
            for call in (one._replace(host="") for one in calls):
                line = next((one for one in self._calls if _group(one) == _group(call)), None)
                if line is None:
                    self._enter(call)
                else:
                    self._calls[line.id - 1] = _sum([line, call])._replace(
                        moment=min(line.moment, call.moment), error=call.error or line.error, id=line.id
                    )

    def usage(self, since: datetime | None = None, limit: int = 10_000) -> Sequence[Call]:
        with self._lock:
            calls = [call for call in self._calls if since is None or call.moment >= since]
        return sorted(calls, key=lambda call: (call.moment, call.id), reverse=True)[:limit]

    def daily_usage(self, since: datetime | None = None) -> Sequence[Call]:
        calls = self.usage(since, len(self._calls))
        by_name = sorted({_group(call) for call in calls}, key=lambda group: group[1:])
        groups = sorted(by_name, key=lambda group: group[0], reverse=True)
        return [_sum([call for call in calls if _group(call) == group]) for group in groups]

    def circuit(self, host: str) -> OpenCircuit | None:
        with self._lock:
            return self._circuits.get(host)

    def open_circuit(self, circuit: OpenCircuit) -> None:
        with self._lock:
            self._circuits[circuit.host] = circuit

    def close_circuit(self, host: str) -> None:
        with self._lock:
            self._circuits.pop(host, None)

    def generations(self) -> Sequence[Generation]:
        """None: no vector is kept here."""
        return ()

    def fingerprint(self, generation: int) -> Vectors | None:
        raise NotFound(f"no generation {generation}")

    def mark(self, generation: int, fingerprint: Vectors) -> None:
        raise NotFound(f"no generation {generation}")


def _day(call: Call) -> datetime:
    return datetime.combine(call.moment.astimezone(UTC), time_of_day(), UTC)


def _group(call: Call) -> tuple[datetime, str, str, str, str]:
    return (_day(call), call.provider, call.model, call.host, call.purpose)


def _sum(calls: Sequence[Call]) -> Call:
    """Calls of one group as one."""
    day, provider, model, host, purpose = _group(calls[0])
    failures = sum(call.error != "" for call in calls)
    return Call(
        moment=day,
        provider=provider,
        model=model,
        purpose=purpose,
        host=host,
        calls=sum(call.calls for call in calls),
        texts=sum(call.texts for call in calls),
        tokens=sum(call.tokens for call in calls),
        bytes_out=sum(call.bytes_out for call in calls),
        seconds=fsum(call.seconds for call in calls),
        cost=fsum(call.cost for call in calls),
        error=f"{failures} failed" if failures else "",
    )

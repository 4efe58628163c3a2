"""What a text is embedded for; and budgets, circuits and calls where there is no store to keep them."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.errors import NotFound, Unreachable
from memory.schema.usage import Budget

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from datetime import date

    from memory.schema.usage import Call, OpenCircuit
    from memory.store.values import Generation


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


def utc_now() -> datetime:
    """The machine's clock, for use outside an engine; an engine has its own."""
    return datetime.now(UTC)


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


class ProcessStore:
    """
    What embedders need where there is no store: budgets and circuits hold until this process ends.

    The log cannot be read and no vector is stored. See `memory.store.Store`.
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

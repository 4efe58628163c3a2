"""
What surrounds each call of an embedder: a meter allows, counts and records it; errors and values of code that is not ours
(plug-ins, passed embedders, providers' clients) are made ours.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from memory.schema.errors import (
    EmbedError,
    Error,
    Garbled,
    OverBudget,
    Raised,
    Refused,
    StoreError,
    Unfit,
    Unreachable,
    printable,
)
from memory.schema.space import Budget, OpenCircuit, UsageEntry
from memory.schema.step import PURPOSE
from memory.text.tokens import estimated_sum
from memory.vectors import FINGERPRINT_TEXT, RECHECK_SECONDS, Embedder, Names, Role, check_circuit, names, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from memory.schema.space import Vectors
    from memory.store.usage import UsageLog
    from memory.vectors.registry import MeteredEmbedder


UNWRITTEN = 64  # calls inside this process that are collected before they are written
LONGEST_PAUSE = 900.0  # seconds, even if a server asks for more


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
        names, purpose, tokens = self._names[:2], PURPOSE.get().name, estimated_sum(texts)
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
            raise EmbedError(f"nothing was sent, because the usage log could not be written: {error}") from error
        if id is None:
            hint = "Raise `embedding.daily_budget`, name a second server in `embedding.base_url`, or wait for the next day (UTC)."
            raise OverBudget(f"the budget of {self._budget} a day for {self._host} is used up", hint=hint)
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
        if not PURPOSE.get().asked:
            check_circuit(self._circuit, self._now())

    def open(self, error: Unreachable) -> None:
        """Leave the host alone for a while, in all processes."""
        if not self._host or not self._pause_seconds:
            return
        pause = min(LONGEST_PAUSE, max(self._pause_seconds, error.after or 0))
        self._circuit = OpenCircuit(self._host, self._now() + timedelta(seconds=pause), printable(str(error)))
        with suppress(StoreError):  # other processes then find out for themselves
            self._log.set_circuit(self._host, self._circuit)


# Code that is not ours: its errors and its values --------------------------------


Check: TypeAlias = "Callable[[MeteredEmbedder, Vectors], None]"
"""Gets an embedder and its fingerprint; raises `SpaceMismatch` if the model changed."""


@contextmanager
def third_party(whose: str, mask: Callable[[str], str] = lambda text: text) -> Generator[None]:
    """
    Turn whatever third-party code raises inside into an error of ours, so that no save and no search crashes.

    This is the only place that catches every Exception, because the exceptions of others cannot be listed.

    Args:
        mask: Removes keys from the message.

    Raises:
        Raised: Something other than one of our errors was raised.
    """
    try:
        yield
    except Error:
        raise
    except Exception as error:
        cause = printable(mask(f"{type(error).__name__}: {error}"))[:300]
        raise Raised(f"{whose} failed: {cause}") from error


def unit_rows(rows: object, count: int, whose: str, dimension: int | None = None) -> Vectors:
    """
    Vectors from third-party code as unit rows, shape (count, width), C order, float32.

    Args:
        rows: Whatever the code returned.
        dimension: The width that rows must have; None accepts any common width.

    Raises:
        Garbled: These are not `count` vectors of that width, finite and longer than 0.
    """
    import numpy as np

    if not count:
        return np.empty((0, dimension or 0), dtype=np.float32)
    try:
        with np.errstate(over="ignore"):
            vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise Garbled(f"{whose} gave vectors of several widths, or something other than numbers") from error
    rows_count = vectors.shape[0] if vectors.ndim else 0
    if rows_count != count:
        raise Garbled(f"{whose} gave {rows_count} vectors for {count} texts")
    if vectors.ndim != 2 or not vectors.shape[1]:
        raise Garbled(f"{whose} returned something other than vectors")
    if dimension is not None and vectors.shape[1] != dimension:
        raise Garbled(f"{whose} gave vectors of {vectors.shape[1]} dimensions, and said {dimension}")
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise Garbled(f"{whose} gave a vector that is not finite or is all zeros")
    unit: Vectors = np.ascontiguousarray((vectors / lengths).astype(np.float32))
    return unit


def of_text(error: EmbedError) -> bool:
    """
    Whether an error may be of the texts that were embedded, whatever it says of its reason: if they were sent, and it is
    not said when others will be taken. Who is in a hurry has waited enough for one that did not come in time.
    """
    if isinstance(error, Unreachable):
        return error.sent and not (error.limited or error.after) and (PURPOSE.get().asked or not error.late)
    return isinstance(error, Refused | Garbled) and error.sent and not error.limited


class Metered:
    """
    Any embedder that is not a `Client`: its exceptions become errors of ours, and its vectors are checked.

    Calls that stay in this process are logged afterwards and cost a search nothing; calls that leave it,
    as a plug-in's may, are reserved first, within the day's budget.
    """

    fallback = ""

    def __init__(
        self,
        embedder: Embedder,
        log: UsageLog,
        *,
        budget: Budget | None = None,
        pause_seconds: float = 60.0,
        check: Check | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """
        Args:
            budget, pause_seconds: For an embedder that sends texts; see the settings of these names.
            check: Gets the model's fingerprint from time to time, before vectors are returned;
                None for models that cannot change under their name.
        """
        self._embedder, self._check = embedder, check
        self._checked_at = -RECHECK_SECONDS
        with third_party("the embedder"):
            self.provider, self.model = embedder.provider, embedder.model
            self.host = str(getattr(embedder, "host", ""))
            self.passage_prefix = str(getattr(embedder, "passage_prefix", ""))
            self.names = names(embedder)
        self._name = str(self.names)
        self.meter = Meter(self.names, self.host, log, budget=budget, pause_seconds=pause_seconds, now=now)
        self.fingerprint: Vectors | None = None

    @property
    def dimension(self) -> int:
        with third_party(self._name):  # read each time: a user's own embedder may change while it lives
            return int(self._embedder.dimension)

    @property
    def warm(self) -> bool:
        with third_party(self._name):
            return bool(self._embedder.warm)

    @property
    def loaded(self) -> bool:
        """Whether a query is embedded without loading anything, as far as the embedder tells."""
        with third_party(self._name):
            return bool(getattr(self._embedder, "loaded", self._embedder.warm))

    def windows(self, text: str) -> Sequence[str]:
        with third_party(self._name):
            return self._embedder.windows(text)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        See `Embedder.embed`.

        Raises:
            Refused, Garbled: It raised something, or did not return vectors of its dimension.
        """
        if self._check is not None and time.monotonic() - self._checked_at >= RECHECK_SECONDS:
            self.fingerprint = self._vectors([FINGERPRINT_TEXT], "passage")[0]
            self._check(self, self.fingerprint)
            self._checked_at = time.monotonic()
        return self._vectors(texts, role)

    def _vectors(self, texts: Sequence[str], role: Role) -> Vectors:
        """The vectors of one call, which is recorded in the usage log: reserved before, if texts leave the process."""
        if self.host:
            self.meter.check()
        try:
            with self.meter.call(texts) if self.host else nullcontext():
                return self._called(texts, role)
        except (Unreachable, Refused) as error:
            other = list(texts) != [FINGERPRINT_TEXT] and not isinstance(error, Unfit | Raised)
            if other and of_text(error) and self._takes_another():
                raise Unfit(str(error), hint=error.hint) from error
            if isinstance(error, Unreachable):
                self.meter.open(error)
            raise

    def _called(self, texts: Sequence[str], role: Role) -> Vectors:
        begin = time.perf_counter()
        with third_party(self._name):
            rows = self._embedder.embed(texts, role)
            dimension = int(self._embedder.dimension)
        vectors = unit_rows(rows, len(texts), self._name, dimension)
        if not self.host:
            self.meter.inside(texts, time.perf_counter() - begin)
        return vectors

    def _takes_another(self) -> bool:
        try:
            self._vectors([FINGERPRINT_TEXT], "passage")
        except EmbedError:
            return False
        return True

    def close(self) -> None:
        """Write pending usage entries."""
        self.meter.write()

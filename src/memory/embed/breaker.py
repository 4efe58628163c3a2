"""A circuit breaker: a server that gave no answer is left alone for a while, by every process that has the same store."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from memory.embed.usage import current, utc_now
from memory.schema.errors import EmbedError, StoreError, Unreachable
from memory.schema.limits import printable
from memory.schema.usage import OpenCircuit

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from memory.store.usage import UsageLog

LONGEST_PAUSE = 900.0  # seconds, whatever a server asks for


class CircuitBreaker:
    """The circuit of one host: open while it is left alone. Nygard, Release It! (2007), chapter 5."""

    def __init__(self, host: str, log: UsageLog, pause_seconds: float, now: Callable[[], datetime] = utc_now) -> None:
        self._host, self._log, self._pause_seconds, self._now = host, log, pause_seconds, now
        self._circuit: OpenCircuit | None = None

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
            check(self._circuit, self._now())

    def open(self, error: Unreachable) -> None:
        """Leave the host alone for a while, in all processes."""
        if not self._pause_seconds:
            return
        pause = min(LONGEST_PAUSE, max(self._pause_seconds, error.after or 0))
        self._circuit = OpenCircuit(self._host, self._now() + timedelta(seconds=pause), printable(str(error)))
        try:
            self._log.open_circuit(self._circuit)
        except StoreError:
            return  # then the next one finds out for itself

    def close(self) -> None:
        """The host gave an answer: everybody may ask it again."""
        if self._circuit is None:
            return
        try:
            self._log.close_circuit(self._host)
        except StoreError:
            return  # it is found out by the next answer
        self._circuit = None


def check(circuit: OpenCircuit | None, moment: datetime) -> None:
    """
    Raises:
        Unreachable: The time is not over for which the host of a circuit is left alone.
    """
    if circuit is None:
        return
    seconds = (circuit.until - moment).total_seconds()
    if seconds > 0:
        raise Unreachable(circuit.error, hint=f"It is asked again in {seconds:.0f} s, or by `memory embed`.")

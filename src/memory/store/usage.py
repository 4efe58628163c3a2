"""What was embedded, and which hosts are left alone: a part of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.schema.space import Budget, Call, OpenCircuit


class UsageLog(Protocol):
    """
    What embedders write of what they embed, and which hosts they leave alone.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def reserve_call(self, call: Call, budget: Budget | None = None) -> int | None:
        """
        Enter a request before it is made, so that no crash hides it; its id.

        Args:
            budget: If the requests to the call's host on the same day (UTC), with this one, come to more calls or
                tokens, nothing is entered and the answer is None. Those not recorded yet count as they were reserved.

        Raises:
            Invalid: The call has no host: see `add_calls`.
        """

    def record_call(
        self, id: int, *, tokens: int, seconds: float, cost: float, error: str = "", sent: bool = True
    ) -> None:
        """
        Write down what became of a request that was reserved. Does nothing if it no longer exists.

        Args:
            sent: False if it turned out that nothing left the process: then no bytes did.
        """

    def add_calls(self, calls: Sequence[Call]) -> None:
        """
        Add what was embedded inside this process (`host` is empty) to the line of its day, provider, model and
        purpose, whose error is the latest there was. Not worth waiting for:

        Raises:
            StoreBusy: Somebody else is writing at the moment.
        """

    def circuit(self, host: str) -> OpenCircuit | None:
        """Until when a host is left alone, by the latest word on it; also if that time is over."""

    def set_circuit(self, host: str, circuit: OpenCircuit | None) -> None:
        """Leave a host alone, in place of what was known of it; None leaves it alone no longer."""


class Usage(UsageLog, Protocol):
    """
    The same, and as `memory ledger` shows it.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def lines(self, since: datetime | None = None, *, daily: bool = False) -> Sequence[Call]:
        """
        Lines whose moment is `since` or later: latest first; ties by id, highest first; the latest `LINES` at most.

        Args:
            daily: All such lines summed over each day (UTC), provider, model, host and purpose; latest day first, then
                in the order of these names. `moment` is the day's beginning, `error` says how many failed
                ("3 failed"), `id` is 0.
        """

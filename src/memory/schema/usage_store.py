"""Where embedding is accounted for. Apart from `memory.schema.usage`, whose values most searches do without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.schema.usage import Budget, Call, Outage


class Accounts(Protocol):
    """
    Where embedding is accounted for: a part of every store.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def book(self, call: Call, budget: Budget | None = None) -> int | None:
        """
        Enter a request before it is made, so that no crash hides it; its id.

        Args:
            budget: If the requests to the call's host on the same day (UTC), with this one, come to more calls or
                tokens, nothing is entered and the answer is None. Those not settled yet count as they were booked.

        Raises:
            Invalid: The call has no host: `note` it.
        """
        ...

    def settle(self, id: int, *, tokens: int, seconds: float, cost: float, error: str = "") -> None:
        """Write down what became of a request that was booked; one that is gone is no matter."""
        ...

    def note(self, calls: Sequence[Call]) -> None:
        """
        Add what was embedded inside this process (`host` is empty) to the line of its day, provider, model and
        purpose, whose error is the latest there was. Not worth waiting for:

        Raises:
            StoreBusy: Somebody else is writing at the moment.
        """
        ...

    def ledger(self, since: datetime | None = None, limit: int = 10_000) -> Sequence[Call]:
        """Lines whose moment is `since` or later, latest first, of those at one moment the highest id."""
        ...

    def spent(self, since: datetime | None = None) -> Sequence[Call]:
        """
        The same lines summed over each day (UTC), provider, model, host and purpose; latest day first, then in the
        order of these names. `moment` is the day's beginning, `error` says how many failed ("3 failed"), `id` is 0.
        """
        ...

    def outage(self, host: str) -> Outage | None:
        """Whether a host is not to be asked for a while, by the latest word on it; also if that time is over."""
        ...

    def suspend(self, outage: Outage) -> None:
        """Remember that a host gave no answer, in place of what was known of it."""
        ...

    def resume(self, host: str) -> None:
        """Forget that it gave none."""
        ...

"""The clock of a server, told by that of this machine: all machines that share a store date, claim and expire by one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ASKED = "select extract(epoch from clock_timestamp())::float8"
"""The moment at the server, in seconds since 1970: the same text whatever its time zone and its style of dates."""

TOLERANCE = timedelta(seconds=1)
"""Clocks that are kept right differ by less. What is less is left alone, so that moments of one process keep their order."""


class Clock:
    """By how much a server's clock differs from this machine's is learned from each answer that tells its time."""

    def __init__(self, local: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        """
        Args:
            local: This machine's clock.
        """
        self.local = local
        self._ahead = timedelta()

    def now(self) -> datetime:
        """The moment at the server, when it was last heard of."""
        return self.local() + self._ahead

    def heard(self, seconds: float, asked: datetime) -> None:
        """
        Learn from an answer to `ASKED`, however long it was on its way.

        Args:
            asked: When it was asked, by this machine's clock.
        """
        there = datetime.fromtimestamp(seconds, UTC)
        least, most = there - self.local(), there - asked
        if not least - TOLERANCE <= self._ahead <= most + TOLERANCE:
            self._ahead = (least + most) / 2

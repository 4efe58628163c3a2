"""Where memories are read by session and age: a part of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.schema.memory import Memory, MemoryId
    from memory.schema.query import Scope
    from memory.store.values import Session


class Sessions(Protocol):
    """
    Where memories are read by session and age.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def by_iteration(self, scope: Scope, limit: int, *, latest_first: bool = True) -> Sequence[Memory]:
        """
        Memories in scope by iteration, then by creation, then by id, highest first; those of no iteration count as the
        lowest. The other way round if not `latest_first`.
        """
        ...

    def latest(self, limit: int, agent: str | None = None) -> tuple[Sequence[Session], int]:
        """
        The sessions with the latest activity, latest first, of those at one moment by name; and how many there are.

        Args:
            agent: Counts the memories of this agent alone.
        """
        ...

    def summary(self, id: str) -> Session | None:
        """What is kept of a session; None if nothing is."""
        ...

    def aged(self, scope: Scope, before: datetime, limit: int | None = None) -> Sequence[tuple[MemoryId, int]]:
        """The memories in scope that were made before a moment, lowest id first, and how many chunks each has."""
        ...

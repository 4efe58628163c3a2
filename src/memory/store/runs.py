"""Where research runs and the tools used in them are kept: a part of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.store.values import Run, ToolCall


class Runs(Protocol):
    """
    Research runs, and the tools used in them. A run is there as long as a memory of a research kind or a call names it.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def latest(self, limit: int) -> tuple[Sequence[Run], int]:
        """The runs with the latest activity, latest first, of those at one moment by name; and how many there are."""
        ...

    def any(self) -> bool:
        """Whether there is a memory of a research kind."""
        ...

    def summary(self, id: str) -> Run | None:
        """What is kept of a run; None if nothing is."""
        ...

    def log(self, calls: Sequence[ToolCall]) -> Sequence[int]:
        """Keep calls, all in one transaction; their ids. One whose uid is there is not kept again."""
        ...

    def calls(
        self, run: str | None = None, *, agent: str | None = None, after: int = 0, limit: int = 1000
    ) -> Sequence[tuple[int, ToolCall]]:
        """
        Calls with an id above `after`, lowest first, with their ids.

        Args:
            run, agent: Only of this run, of this agent; None takes those of all, and of none.
        """
        ...

    def forget_calls(self, run: str | None, limit: int) -> int:
        """
        Remove calls, lowest ids first; how many there were.

        Args:
            run: Of this run; None takes those of all, and of none.
        """
        ...

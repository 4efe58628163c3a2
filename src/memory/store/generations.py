"""Which sets of vectors there are, and which one answers: a part of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memory.store.values import State

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.schema.space import Space, Vectors
    from memory.store.values import Generation


class Generations(Protocol):
    """
    Generations of vectors. At most one is active: it answers. One that is gone is NotFound, where nothing else is said.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def every(self) -> Sequence[Generation]:
        """Oldest first."""
        ...

    def begin(self, space: Space, moment: datetime) -> Generation:
        """
        The living (active, else building) generation of a space, made if there is none: active if no other is,
        else building. Only one is being built: another that was begun is dropped. A retired generation of the
        space, the latest, is taken up again with its vectors and its fingerprint instead of making one.
        """
        ...

    def activate(self, generation: int, *, instead_of: int | None, former: State = State.RETIRED) -> bool:
        """
        Let a generation answer, if the active one is still the one named (compare and set).

        Chunks that have no vector in it are queued; what failed for another generation has not failed for this.
        To activate the active one changes nothing.

        Args:
            former: What becomes of the one that answered until now: RETIRED, or BUILDING, so that it can be taken
                up again; another that was being built is then dropped.
        """
        ...

    def fingerprint(self, generation: int) -> Vectors | None:
        """How the model answered a fixed text when the generation was new, shape (dimension,); None if not known."""
        ...

    def mark(self, generation: int, fingerprint: Vectors) -> None:
        """Remember it, unless there is one already or the generation is gone."""
        ...

    def drop(self, generation: int) -> None:
        """Remove a generation with its vectors; the active one stays, one that is gone is no matter."""
        ...

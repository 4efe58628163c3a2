"""What became of the chunks that waited for a vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.schema.holder import Fate

if TYPE_CHECKING:
    from datetime import datetime

    from memory.schema.holder import Holder


class Held(NamedTuple):
    """
    What others had begun to embed.

    Attributes:
        holder: Which process; None if that is not known.
        fate: What became of it; chunks of one that has ended were free at once.
        until: When the others are free again, if nothing comes of it.
    """

    chunks: int
    holder: Holder | None
    fate: Fate
    until: datetime

    def __str__(self) -> str:
        chunks = "1 chunk" if self.chunks == 1 else f"{self.chunks:,} chunks"
        process = "a process" if self.holder is None else f"process {self.holder.process}"
        match self.fate:
            case Fate.ENDED:
                return f"{chunks} that {process} had begun to embed were free at once: it has ended"
            case Fate.RUNS:
                return f"{process} on this machine is embedding {chunks}"
        place = "on another machine, in another container or before this machine was restarted"
        return f"{process} began to embed {chunks} {place}; they are free at {self.until:%H:%M:%S} UTC"


class Backfilled(NamedTuple):
    """
    Attributes:
        embedded: Chunks that got a vector.
        failed: Chunks whose text the model did not take.
        left: Chunks that still wait, the failed ones among them.
        error: The latest reason for a failure.
        more: The time was over before all was done.
        model: Provider and model that embedded.
        held: What others had begun, as far as that was in the way.
    """

    embedded: int = 0
    failed: int = 0
    left: int = 0
    error: str = ""
    more: bool = False
    model: str = ""
    held: tuple[Held, ...] = ()

"""What became of a draft that was to be kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.schema.answer import Notice
    from memory.schema.memory import Memory


@dataclass(frozen=True, slots=True)
class Saved:
    """
    What became of a draft.

    Attributes:
        known: The same was kept before in the same scope; `memory` is that one, and nothing was written.
        chunks: How many the body is cut into, the head of a note among them.
        renewed: It was there and says now what the draft says.
    """

    memory: Memory
    known: bool
    notices: tuple[Notice, ...] = ()
    chunks: int = 1
    renewed: bool = False

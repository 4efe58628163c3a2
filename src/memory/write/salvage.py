"""Every memory of a store, as far as it can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import StoreDamaged
from memory.schema.memory import MemoryId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memory.schema.document import Details
    from memory.store import Store

SIGNS = ("\ufffd", "\\x00")
"""Signs of damage in the `repr` of a memory, which is then read more carefully."""

PAGE = 500  # memories read at once


def every(store: Store, lost: Callable[[str], None] | None = None) -> Iterator[Details]:
    """
    Every memory with its body and its history, oldest first.

    Args:
        lost: Called with a sentence for each part of a damaged store that cannot be read; the rest is returned. Bytes
            that are not text become U+FFFD.

    Raises:
        StoreDamaged: Something cannot be read, and `lost` is None.
    """
    after = MemoryId(0)
    while ids := store.ids(after, PAGE):
        for id in ids:
            try:
                found = _salvaged(store, id, lost)
            except StoreDamaged as error:
                if lost is None:
                    raise
                lost(str(error) if f"memory {id} " in str(error) else f"memory {id} cannot be read: {error}")
            else:
                if found is not None:  # None: it was deleted meanwhile
                    yield found
        after = ids[-1]


def _salvaged(store: Store, id: MemoryId, lost: Callable[[str], None] | None) -> Details | None:
    try:
        found = store.memories.details(id)
        if found is None or not any(sign in f"{found!r}" for sign in SIGNS):
            return found
    except StoreDamaged:
        if lost is None:
            raise
    if (readable := store.salvaged(id)) is None:
        return None
    if readable.lost:
        memory = readable.details.memory
        what = f"memory {id} ({memory.uid}): {', '.join(readable.lost)} cannot be read, or not all of it"
        if lost is None:
            raise StoreDamaged(what)
        lost(f"{what}; the rest is exported")
    return readable.details

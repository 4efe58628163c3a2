"""Every memory of a store, as far as each can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import StoreDamaged
from memory.schema.memory import MemoryId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memory.schema.document import Details
    from memory.store import Store

SIGNS = ("\ufffd", "\\x00")
"""What a text may have been read as that is damaged, in what `repr` says of it: it is looked at then."""

PAGE = 500  # memories read at a time


def every(store: Store, lost: Callable[[str], None] | None = None) -> Iterator[Details]:
    """
    Every memory with its body and its history, oldest first.

    Args:
        lost: Told what of a damaged store cannot be read; what can be comes nevertheless. Bytes that are no text are U+FFFD.

    Raises:
        StoreDamaged: Something cannot be read, and nobody is told.
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
                if found is not None:  # else it was deleted meanwhile
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

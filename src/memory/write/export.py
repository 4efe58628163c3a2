"""Everything that a store holds, as values that mean the same in every database: uids take the place of ids."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from memory.schema.errors import StoreDamaged
from memory.schema.memory import Memory, MemoryId, Revision
from memory.store import Attached, Relation, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from memory.schema.document import Details

SIGNS = ("\ufffd", "\\x00")
"""Signs of damage in the `repr` of a memory, which is then read more carefully."""

PAGE = 500  # memories, relations or links read at once

T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
class Exported:
    """
    A memory with all that belongs to it. Ids mean nothing in another database, so uids replace them.

    Attributes:
        parent, superseded_by: Uids of the memories it points to.
    """

    memory: Memory
    body: str
    history: tuple[Revision, ...]
    parent: str | None
    superseded_by: str | None


def exported(store: Store, lost: Callable[[str], None] | None = None) -> Iterator[Exported]:
    """
    Every memory, oldest first.

    Args:
        lost: Called with a sentence for each part of a damaged store that cannot be read; the rest is exported. Bytes
            that are not text become U+FFFD.

    Raises:
        StoreDamaged: Something cannot be read, and `lost` is None.
    """
    for found in every(store, lost):
        memory = found.memory
        yield Exported(*found[:3], _uid_of(store, memory.parent_id), _uid_of(store, memory.superseded_by))


def _uid_of(store: Store, id: MemoryId | None) -> str | None:
    try:
        return None if id is None else next((found.uid for found in store.memories.by_id([id]).values()), None)
    except StoreDamaged:  # reported with that memory itself
        return None


# Relations and links ----------------------------------------------------------


class RelationLine(NamedTuple):
    """A relation between two entities, by their uids."""

    source: str
    target: str
    type: str
    created_at: datetime


class LinkLine(NamedTuple):
    """A link between an entity and a memory about it, by their uids."""

    entity: str
    memory: str
    created_at: datetime


EdgeLine: TypeAlias = RelationLine | LinkLine


def edge_lines(store: Store) -> Iterator[EdgeLine]:
    """Every relation, then every link between an entity and a memory, read page by page."""
    for page in pages(partial(store.graph.edges, Relation)):
        uids = _uids(store, page)
        for one in page:
            if one.source in uids and one.target in uids:  # neither end was deleted meanwhile
                yield RelationLine(uids[one.source], uids[one.target], one.type, one.created_at)
    for links in pages(partial(store.graph.edges, Attached)):
        uids = _uids(store, links)
        for link in links:
            if link.entity in uids and link.memory in uids:
                yield LinkLine(uids[link.entity], uids[link.memory], link.created_at)


def pages(read: Callable[..., Sequence[T]]) -> Iterator[Sequence[T]]:
    """All that a read of the store gives, a page at a time, each after the last of the page before."""
    after: T | None = None
    while page := read(after=after, limit=PAGE):
        yield page
        after = page[-1]


def _uids(store: Store, edges: Sequence[Relation] | Sequence[Attached]) -> dict[MemoryId, str]:
    ids = {id for one in edges for id in one[:2]}
    return {id: memory.uid for id, memory in store.memories.by_id(sorted(ids)).items()}

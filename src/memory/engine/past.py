"""What memories were at a moment, read from what a store has: those that are there, their history, and the trash."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from memory.keep.trash import read
from memory.schema.memory import UID_PREFIX, MemoryId
from memory.search.as_of import Known, then
from memory.store import Match

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from memory.schema.query import Scope
    from memory.search.as_of import Version
    from memory.store import Store
    from memory.store.journal import Trashed

PAGE = 200  # lines of the trash read at once


def states(store: Store, scope: Scope, moment: datetime, now: datetime) -> list[Version]:
    """
    Memories as they were at a moment: all that may be in scope, and others.

    Args:
        now: What can no longer be had back from the trash is as if it had been deleted for good.

    Raises:
        StoreDamaged, Invalid: A former text, or a line of the trash, cannot be read.
    """
    with store.snapshot():
        former = store.memories.former(moment)
        # What was not changed since has the values of then, but for its status.
        there = store.memories.page(scope._replace(statuses=frozenset(), without=frozenset()), sys.maxsize)
        memories = {one.id: one for one in (*there, *store.memories.by_id([*former]).values())}
        bodies = store.memories.bodies([*memories])
        lying = [_known(one) for one in _lying(store, moment) if one.until > now]
        known = [Known(one, bodies.get(id, ""), (former[id],) if id in former else ()) for id, one in memories.items()]
        uids = {one.memory.successor_uid for one in (*known, *lying)} - {None, *(one.uid for one in memories.values())}
        successors = store.memories.find([Match({"uid": uid}) for uid in sorted(filter(None, uids))])
    return then([*lying, *known], [*memories.values(), *filter(None, successors)], moment)


def _lying(store: Store, moment: datetime) -> Iterator[Trashed]:
    """What was deleted, or replaced by an undo, after a moment."""
    after = None
    while page := store.trash.page(PAGE, after=after, replaced=None):
        for one in page:
            if one.deleted_at <= moment:
                return
            yield one
        after = page[-1]


def _known(one: Trashed) -> Known:
    line = read(one)
    memory = line.memory.memory
    assert memory is not None  # noqa: S101  # `memory.carry.jsonl` reads no other
    memory = memory._replace(
        id=MemoryId(one.id or 0), short_id=one.uid[:UID_PREFIX], successor_uid=line.links.superseded_by
    )
    return Known(memory, line.memory.draft.body, line.memory.history, one.deleted_at, line.superseded)

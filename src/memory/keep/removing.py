"""What is removed: into the trash or for good, by hand, for its age or with its run; and what of the trash is over."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from functools import wraps
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

from memory.keep.rules import current, delete_memories
from memory.schema.errors import StoreDamaged, StoreFull, checked_whole, kept_before
from memory.schema.kinds import RESEARCH_KINDS, RULES, kind
from memory.schema.query import EVERYTHING, Scope
from memory.store import Attached, Relation, Store, export as lines
from memory.store.export import EdgeLine, LinkLine, Record, RelationLine
from memory.store.journal import Change, Trashed, Undoable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from memory.schema.memory import Details, Memory, MemoryId

AT_ONCE = 200  # memories removed in one transaction; others can write in between

SHORT_LIVED = frozenset(
    name for name, rule in RULES.items() if rule.family == "session" and "session_id" in rule.required
)
"""The kinds that `cleanup` removes unless told otherwise."""

EXPIRED = 20
"""The most of what is over in the trash that one write removes."""


P = ParamSpec("P")
R = TypeVar("R")


class Keep(NamedTuple):
    """How long deleted memories can be restored: a number of days from a moment; 0 deletes them permanently."""

    moment: datetime
    days: int


class Aged(NamedTuple):
    """The number of memories and chunks that a cleanup moved to the trash, or would move."""

    memories: int
    chunks: int


class Cleared(NamedTuple):
    """The number of memories and tool calls that were removed from research runs."""

    memories: int
    calls: int


# Into the trash, and for good -----------------------------------------------------


def freeing(change: Callable[P, R]) -> Callable[P, R]:
    """
    A change that leaves more room than it takes: if it finds none, it is tried once more. The store has cut its log by then.

    Inside a transaction, that is tried again as a whole or not at all: only its end raises `StoreFull`.
    """

    @wraps(change)
    def tried(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return change(*args, **kwargs)
        except StoreFull:
            return change(*args, **kwargs)

    return tried


@freeing
def throw_away(store: Store, ids: Sequence[MemoryId], keep: Keep) -> int:
    """
    Delete memories with all that was derived from them, in one transaction; how many there were.

    Raises:
        StoreDamaged: One cannot be read, so that it does not fit into the trash. Nothing was deleted.
    """
    with store.transaction(frees=True):
        expire(store, keep.moment)
        if not keep.days:
            return purge(store, ids)
        step = current(store, keep.moment)
        gone = into_trash(store, ids, keep, step)
        store.steps.add(step, [Change.of(one, None, trashed_at=keep.moment) for one in gone])
    return len(gone)


def into_trash(store: Store, ids: Sequence[MemoryId], keep: Keep, step: Undoable) -> list[Memory]:
    """The same, in a transaction and without a note of it; those that there were. There is at least a day."""
    with store.transaction():
        found = [one for id in dict.fromkeys(ids) if (one := _read(store, id)) is not None]
        there = [one.memory.id for one in found]
        pointing = store.memories.by_id(there, pointing=True)
        trashed = _trashed(store, found, pointing, keep, step)
        delete_memories(store, there, pointing)
        store.trash.put(trashed)  # last: on a full disk it takes the room that the memories leave
    return [one.memory for one in found]


def purge(store: Store, ids: Sequence[MemoryId]) -> int:
    """Delete memories for good, and what the journal knows of them. Their bytes are gone after `Store.wipe`."""
    with store.transaction():
        forget_trashed(store, [one.uid for one in store.memories.by_id(ids).values()], ids)
        return delete_memories(store, ids)


@freeing
def forget_trashed(store: Store, uids: Sequence[str], ids: Sequence[MemoryId]) -> int:
    """Take what was deleted for good; how many there were. Their bytes are gone after `Store.wipe`."""
    with store.transaction(frees=True):
        store.steps.forget(ids)
        return store.trash.remove(uids, purged=True)


def expire(store: Store, moment: datetime) -> None:
    """
    Remove what is over in the trash, but no more than `EXPIRED` at once: each save, update and delete does it.

    The journal forgets what is gone with that. A memory that an import brought back, or that was deleted once more, can
    still be taken back. The bytes stay until SQLite uses their pages again, as those of all that changes.
    """
    over = store.trash.page(EXPIRED, ended=moment, replaced=None)
    for one in over:
        store.trash.remove([one.uid], deleted_at=one.deleted_at)
    ids = {one.id: one.uid for one in over if one.id is not None and not one.replaced}
    there = store.memories.by_id([*ids]) if ids else {}
    if gone := [id for id, uid in ids.items() if id not in there and not store.trash.page(1, named=uid)]:
        store.steps.forget(gone)


def _read(store: Store, id: MemoryId) -> Details | None:
    """A memory to be kept as a line; of a damaged one what can be read."""
    try:
        return store.memories.details(id)
    except StoreDamaged as error:
        (found,) = store.salvaged(type(id)(id - 1), 1)
        if found.details is None or found.id != id:
            hint = f"`memory delete --purge {id}` deletes it for good."
            raise StoreDamaged(f"{error}: it does not fit into the trash", hint=hint) from error
        return found.details


def replaced(store: Store, ids: Sequence[MemoryId], keep: Keep, step: Undoable) -> None:
    """Keep what memories say, in a transaction that puts something else in its place, for a redo of it."""
    found = [one for id in ids if (one := _read(store, id)) is not None]
    store.trash.put([one._replace(replaced=True) for one in _trashed(store, found, {}, keep, step)])


def _trashed(
    store: Store, found: Sequence[Details], pointing: Mapping[MemoryId, Memory], keep: Keep, step: Undoable
) -> list[Trashed]:
    """Memories that are there as the trash keeps them."""
    edges = _edges(store, [one.memory.id for one in found])
    until = keep.moment + timedelta(days=keep.days)
    rows = []
    for memory, body, history, *_ in found:
        line = lines.trashed(
            Record(memory, body, history, memory.parent_uid, memory.successor_uid),
            [line for ends, line in edges if memory.id in ends],
            superseded=[one.uid for one in pointing.values() if one.superseded_by == memory.id],
            children=[one.uid for one in pointing.values() if one.parent_id == memory.id],
            deleted_at=keep.moment,
            until=until,
        )
        rows.append(Trashed(memory.uid, memory.id, keep.moment, until, json.dumps(line), step.key, step.user))
    return rows


def _edges(store: Store, ids: Sequence[MemoryId]) -> list[tuple[tuple[MemoryId, MemoryId], EdgeLine]]:
    """What joins memories to others, by the ids of both ends."""
    relations, links = store.graph.edges(Relation, ids), store.graph.edges(Attached, ids)
    if not relations and not links:
        return []
    ends = {*(id for one in relations for id in one[:2]), *(id for link in links for id in link[:2])}
    uids = {id: one.uid for id, one in store.memories.by_id(sorted(ends)).items()}
    related = [((a, b), RelationLine(uids[a], uids[b], type, made)) for a, b, type, made in relations]
    linked = [((a, b), LinkLine(uids[a], uids[b], made)) for a, b, made in links]
    return [*related, *linked]


# By age, by run ----------------------------------------------------------------------


def cleanup(store: Store, days: int, kinds: Iterable[str], keep: Keep, *, dry_run: bool) -> Aged:
    """See `Engine.cleanup`."""
    checked_whole(days, 0, 36_500, "days are 0..36,500, a whole number")
    scope = EVERYTHING._replace(kinds=frozenset(map(kind, kinds)) or SHORT_LIVED)
    before = keep.moment - timedelta(days=days)
    if dry_run:
        return _sum(store.sessions.aged(scope, before))
    gone = Aged(0, 0)
    with kept_before(lambda: _goes_on(gone)):
        while (some := forget_aged(store, scope, before, AT_ONCE, keep)).memories:
            gone = Aged(gone.memories + some.memories, gone.chunks + some.chunks)
    return gone


def _goes_on(gone: Aged) -> str:
    done = f"{gone.memories:,} memories with {gone.chunks:,} chunks were removed before; the same call goes on."
    return done if gone.memories else ""


@freeing
def forget_aged(store: Store, scope: Scope, before: datetime, limit: int, keep: Keep) -> Aged:
    """Remove memories in scope that were made before a moment, lowest ids first; what was removed."""
    with store.transaction(frees=True):
        aged = store.sessions.aged(scope, before, limit)
        throw_away(store, [id for id, _ in aged], keep)
    return _sum(aged)


def _sum(aged: Sequence[tuple[MemoryId, int]]) -> Aged:
    return Aged(len(aged), sum(chunks for _, chunks in aged))


@freeing
def clear_run(store: Store, run: str | None, keep: Keep, *, calls: bool = False, limit: int = 1000) -> Cleared:
    """
    Remove memories of the research kinds, last changed first; what was removed.

    Args:
        run: Of this run; None takes all runs, and calls of none.
        calls: Once no memories are left, also remove the calls; these do not go to the trash.
        limit: Of memories, and of calls.
    """
    scope = EVERYTHING._replace(kinds=frozenset(RESEARCH_KINDS), runs=frozenset() if run is None else frozenset({run}))
    with store.transaction(frees=True):
        found = store.memories.page(scope, limit + 1)
        gone = throw_away(store, [memory.id for memory in found[:limit]], keep)
        return Cleared(gone, store.runs.forget_calls(run, limit) if calls and len(found) <= limit else 0)

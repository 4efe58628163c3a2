"""What is removed because it is old, or because its run is cleared."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.errors import StoreError, checked_whole
from memory.schema.kinds import RESEARCH_KINDS, RULES, kind
from memory.schema.query import EVERYTHING, Scope
from memory.write.rules import delete_memories

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory.schema.memory import MemoryId
    from memory.store import Store

AT_ONCE = 200  # memories removed in one transaction; others can write in between

SHORT_LIVED = frozenset(
    name for name, rule in RULES.items() if rule.family == "session" and "session_id" in rule.required
)
"""The kinds that `cleanup` removes unless told otherwise."""


class Aged(NamedTuple):
    """How many memories and chunks."""

    memories: int
    chunks: int


class Cleared(NamedTuple):
    """What was removed of research runs."""

    memories: int
    calls: int


def cleanup(store: Store, days: int, kinds: Iterable[str], *, moment: datetime, dry_run: bool) -> Aged:
    """See `Engine.cleanup`."""
    checked_whole(days, 0, 36_500, "days are 0..36,500, a whole number")
    scope = EVERYTHING._replace(kinds=frozenset(map(kind, kinds)) or SHORT_LIVED)
    before = moment - timedelta(days=days)
    if dry_run:
        return _sum(store.sessions.aged(scope, before))
    gone = Aged(0, 0)
    try:
        while (some := forget_aged(store, scope, before, AT_ONCE)).memories:
            gone = Aged(gone.memories + some.memories, gone.chunks + some.chunks)
    except StoreError as error:
        if not gone.memories:
            raise
        done = f"{gone.memories:,} memories with {gone.chunks:,} chunks were removed before; the same call goes on."
        raise type(error)(str(error), hint=done) from error
    return gone


def forget_aged(store: Store, scope: Scope, before: datetime, limit: int) -> Aged:
    """Remove memories in scope that were made before a moment, lowest ids first; what was removed."""
    with store.transaction():
        aged = store.sessions.aged(scope, before, limit)
        delete_memories(store, [id for id, _ in aged])
    return _sum(aged)


def _sum(aged: Sequence[tuple[MemoryId, int]]) -> Aged:
    return Aged(len(aged), sum(chunks for _, chunks in aged))


def clear_run(store: Store, run: str | None, *, calls: bool = False, limit: int = 1000) -> Cleared:
    """
    Remove memories of the research kinds, last changed first; what was removed.

    Args:
        run: Of this run; None takes all runs, and calls of none.
        calls: Once no memories are left, also remove the calls.
        limit: Of memories, and of calls.
    """
    scope = EVERYTHING._replace(kinds=frozenset(RESEARCH_KINDS), runs=frozenset() if run is None else frozenset({run}))
    with store.transaction():
        found = store.memories.page(scope, limit + 1)
        gone = delete_memories(store, [memory.id for memory in found[:limit]])
        return Cleared(gone, store.runs.forget_calls(run, limit) if calls and len(found) <= limit else 0)

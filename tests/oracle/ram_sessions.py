"""`RamSessions`: memories by session and age, the obvious way."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from memory.store import Aged, Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory.schema.memory import Memory


def ordered(memories: Iterable[Memory], *, latest_first: bool) -> list[Memory]:
    """By iteration, creation and id."""
    return sorted(memories, key=lambda one: (one.session_iter or 0, one.created_at, one.id), reverse=latest_first)


def session(id: str, memories: Sequence[Memory], chunks: int) -> Session:
    """
    Args:
        memories: All of the session, at least one.
        chunks: How many they have.
    """
    written = [one for one in memories if one.agent_id is not None]
    return Session(
        id=id,
        agent_id=max(written, key=lambda one: (one.updated_at, one.id)).agent_id if written else None,
        memories=len(memories),
        chunks=chunks,
        earliest=min(one.created_at for one in memories),
        latest=max(one.created_at for one in memories),
        active=max(one.updated_at for one in memories),
        iteration=max((one.session_iter for one in memories if one.session_iter is not None), default=None),
        kinds=tally(one.kind for one in memories),
        agents=tally(one.agent_id for one in written if one.agent_id is not None),
    )


def tally(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """How often each name occurs, the most frequent first."""
    return tuple(sorted(Counter(map(str, names)).items(), key=lambda item: (-item[1], item[0])))


def sum_of(found: Iterable[int]) -> Aged:
    """Of memories by how many chunks each has."""
    counts = list(found)
    return Aged(len(counts), sum(counts))

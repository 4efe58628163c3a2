"""`RamSessions`: memories by session and age, the obvious way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.store import Session
from oracle.ram_data import Part, inside, tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from memory.schema.memory import Memory, MemoryId
    from memory.schema.query import Scope


class RamSessions(Part):
    """See `memory.store.sessions.SessionRows`."""

    def latest(self, limit: int, *, id: str | None = None, agent: str | None = None) -> tuple[Sequence[Session], int]:
        with self.data.lock:
            of: dict[str, list[Memory]] = {}
            for one in self.data.memories.values():
                if one.session_id is not None and id in (None, one.session_id) and agent in (None, one.agent_id):
                    of.setdefault(one.session_id, []).append(one)
            found = [session(id, kept, sum(self._sizes(kept))) for id, kept in of.items()]
        return sorted(sorted(found, key=lambda one: one.id), key=lambda one: one.active, reverse=True)[:limit], len(of)

    def aged(self, scope: Scope, before: datetime, limit: int | None = None) -> Sequence[tuple[MemoryId, int]]:
        with self.data.lock:
            aged = sorted((one for one in self._all(scope) if one.created_at < before), key=lambda one: one.id)[:limit]
            return [(one.id, size) for one, size in zip(aged, self._sizes(aged), strict=True)]

    def _all(self, scope: Scope) -> list[Memory]:
        return [one for one in self.data.memories.values() if inside(self.data, one, scope)]

    def _sizes(self, memories: Iterable[Memory]) -> list[int]:
        """How many chunks each has."""
        pieces = self.data.pieces.values()
        return [sum(piece.memory == one.id for piece in pieces) for one in memories]


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

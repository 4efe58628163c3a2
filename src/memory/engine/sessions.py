"""Sessions: what a team of agents works on under one name. The part of an engine that works by session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import NotFound
from memory.schema.limits import clipped_repr, iteration as numbered
from memory.schema.query import check_limit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.document import Resumed
    from memory.store import Session, Store


class Sessions:
    """What is kept of sessions. `memory.engine.Engine.sessions` is one, and calling it is `latest`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def latest(self, limit: int = 20, *, agent: str | None = None) -> tuple[Sequence[Session], int]:
        """
        The sessions with the latest activity, latest first, and how many there are.

        Args:
            agent: Counts only what this agent wrote.

        Raises:
            Invalid: The limit is not 1..10,000.
        """
        check_limit(limit)
        return self._store.sessions.latest(limit, agent=agent)

    __call__ = latest

    def one(self, id: str) -> Session:
        """
        What is kept of a session.

        Raises:
            NotFound: The session has nothing.
        """
        found, _ = self._store.sessions.latest(1, id=id)
        if not found:
            raise NotFound(
                f"nothing is kept of session {clipped_repr(id)}", hint="`memory session list` shows those there are."
            )
        return found[0]

    def resume(self, session: str, iteration: int | str | None = None) -> Resumed:
        """
        What an agent needs to go on with a session: its latest context, all prompts, recent reports and working memory.

        Args:
            iteration: 1, "1" or "v1": the context is the newest up to this iteration; None takes the newest of all.

        Raises:
            NotFound: The session has nothing.
            Invalid: The iteration is not a valid number.
        """
        from memory.search.documents import resume

        return resume(self._store, self.one(session).id, numbered(iteration))

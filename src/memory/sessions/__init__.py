"""The memory of agent teams by the documented names: seven kinds, three granularities, 28 tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.sessions.find import Finding
from memory.sessions.keep import Keeping
from memory.sessions.use import Using

if TYPE_CHECKING:
    from pathlib import Path

    from memory.engine import Engine

__all__ = ["SessionMemory"]


class SessionMemory(Keeping, Finding, Using):
    """
    The 28 documented tools over an engine (CAP D9 to D35).

        >>> with Engine.open() as engine:
        ...     memory = SessionMemory(engine)
        ...     memory.store_report("explorer", "session-1", "# Findings\\n\\nThe pool is exhausted.", session_iter="v1")
        ...     memory.search_reports_specific_chunks("why do connections fail")["results"]

    Every tool answers an envelope: `success`, `error` (a documented name, see `memory.sessions.errors`), `message`, and
    its own fields, which are there whatever happened. Safe to use from several threads.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        source: str | None = None,
        project: str | None = None,
        folder: Path | None = None,
        raises: bool = False,
    ) -> None:
        """
        Args:
            source: The program that keeps, e.g. "claude-code".
            project: The project that what is kept belongs to.
            folder: Where documents may be written; None is as configured (`documents`).
            raises: Raise a `memory.sessions.errors.SessionError` instead of answering an error.
        """
        self.engine, self.raises = engine, raises
        self._source, self._project, self._folder = source, project, folder

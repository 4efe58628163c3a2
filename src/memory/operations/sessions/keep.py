"""The seven tools that keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.operations.sessions.drafts import draft
from memory.operations.sessions.envelope import answers, said
from memory.operations.sessions.filter import Filter, needed
from memory.operations.sessions.rows import HASH
from memory.schema.kinds import GENERAL, Kind
from memory.schema.times import iso

if TYPE_CHECKING:
    from memory.engine import Engine
    from memory.operations.sessions.envelope import Envelope, Iteration, Name
    from memory.schema.draft import Draft

STORED = {
    "memory_id": None,
    "memory_type": None,
    "agent_id": None,
    "session_id": None,
    "content_hash": None,
    "chunks_created": None,
    "created_at": None,
}
"""The fields of a StoreMemoryResult (CAP D36)."""


class Keeping:
    """Of `memory.operations.sessions.SessionMemory`. Every method answers a StoreMemoryResult (CAP D9, D36)."""

    def __init__(self, engine: Engine, *, source: str | None, project: str | None, raises: bool) -> None:
        self.engine, self.raises = engine, raises
        self._source, self._project = source, project

    @answers("store", STORED)
    def store_session_context(
        self, session_id: str, session_iter: Iteration, content: str, task_code: Name = None, agent_id: Name = None
    ) -> Envelope:
        """Keep where a session stands, for who goes on with it (CAP D9)."""
        return self._keep(Kind.SESSION_CONTEXT, content, Filter(agent_id, session_id, session_iter, task_code))

    @answers("store", STORED)
    def store_input_prompt(
        self, session_id: str, session_iter: Iteration, content: str, task_code: Name = None, agent_id: Name = None
    ) -> Envelope:
        """Keep what a user asked for, verbatim; the same may be said twice (CAP D11)."""
        return self._keep(Kind.INPUT_PROMPT, content, Filter(agent_id, session_id, session_iter, task_code))

    @answers("store", STORED)
    def store_system_memory(
        self, agent_id: str, session_id: str, content: str, session_iter: Iteration = None, task_code: Name = None
    ) -> Envelope:
        """Keep commands, settings, addresses (CAP D12)."""
        return self._keep(Kind.SYSTEM_MEMORY, content, Filter(agent_id, session_id, session_iter, task_code))

    @answers("store", STORED)
    def store_report(
        self, agent_id: str, session_id: str, content: str, session_iter: Iteration = None, task_code: Name = None
    ) -> Envelope:
        """Keep what an agent found, Markdown, cut at its headings if it is long (CAP D13)."""
        return self._keep(Kind.REPORT, content, Filter(agent_id, session_id, session_iter, task_code))

    @answers("store", STORED)
    def store_report_observation(
        self, agent_id: str, session_id: str, content: str, session_iter: Iteration = None, task_code: Name = None
    ) -> Envelope:
        """Keep what is to be added to a report or corrected in it; it stays whole (CAP D14, X10)."""
        return self._keep(Kind.REPORT_OBSERVATION, content, Filter(agent_id, session_id, session_iter, task_code))

    @answers("store", STORED)
    def store_working_memory(
        self, agent_id: str, session_id: str, content: str, session_iter: Iteration = None, task_code: Name = None
    ) -> Envelope:
        """Keep what an agent found so far, cut like a report (CAP D15)."""
        return self._keep(Kind.WORKING_MEMORY, content, Filter(agent_id, session_id, session_iter, task_code))

    @answers("store", STORED)
    def store_knowledge_base(self, agent_id: str, title: str, content: str, category: Name = GENERAL) -> Envelope:
        """Keep what holds beyond a session, cut like a report (CAP D16)."""
        filter = Filter(needed("agent_id", agent_id), category=category)
        return self._keep(Kind.KNOWLEDGE_BASE, content, filter, title=title)

    def _keep(self, kind: Kind, content: str, filter: Filter, *, title: Name = None) -> Envelope:
        return self._kept(
            draft(kind, content, title=title, **filter._asdict(), project=self._project, source=self._source)
        )

    def _kept(self, wanted: Draft) -> Envelope:
        saved = self.engine.save(wanted)
        memory = saved.memory
        chunks = saved.chunks
        facts = {
            "memory_id": memory.id,
            "memory_type": str(memory.kind),
            "agent_id": memory.agent_id,
            "session_id": memory.session_id,
            "content_hash": memory.content_hash[:HASH],
            "chunks_created": chunks if chunks > 1 else 0,
            "created_at": iso(memory.created_at),
        }
        if saved.known:
            why = f"the same {memory.kind} is kept here already, as memory {memory.id}: nothing was written"
            return facts | {"success": False, "error": "ValidationError", "message": said(saved.notices, why)}
        cut = f" in {chunks} chunks" if chunks > 1 else ""
        return facts | {"message": said(saved.notices, f"kept as memory {memory.id}{cut}")}

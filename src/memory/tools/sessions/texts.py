"""The nineteen tools that save and search: each is about one kind, and similar kinds share a method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema.answer import Answer, Hit, Outcome
from memory.schema.errors import Invalid, check_text, clipped_repr
from memory.schema.kinds import GENERAL, Kind
from memory.schema.query import EVERYTHING, QUERY_LIMIT, Granularity, Mode, Query, Scope
from memory.tools.render.data import row
from memory.tools.sessions import rows
from memory.tools.sessions.rows import Filter, draft, needed

if TYPE_CHECKING:
    from memory.tools.sessions.declare import Envelope, Iteration, Name, SessionTools


class Texts:
    """
    Save and search one kind, for `memory.tools.sessions.SessionMemory`.

    Methods that save answer a StoreMemoryResult. Searches for chunks and sections answer a GranularSearchResult, the others a SearchMemoriesResult. They go
    through the engine's pipeline: keywords first, vectors when those are not enough. `tier` says which answered.

    Rows are in the order of `relevance`, 0..1. `similarity` is their cosine with the query, -1..1, and `distance` 1 - cosine;
    a model in this process is always asked for them, a server only if the tier needs it: else they are None. With the
    setting `sessions.mode: vector` any provider is asked, and rows are in the order of similarity. Rows
    that were not found fill up the limit, after all that were: their `topup` says where they come from, "distilled" or
    "recent"; else it is None.

    Args:
        session_iter: 1, "1" or "v1".
        similarity_threshold: Accepted but ignored, as documented, unless the setting
            `search.threshold_filtering` is on: then rows that are known to be less similar are left out.
        rank: For whole documents: rank them by their best chunk instead of by iteration.
    """

    def __init__(self, memory: SessionTools, kind: Kind) -> None:
        self.memory, self.kind, self.engine = memory, kind, memory.engine

    def keep_of_session(
        self, session_id: str, session_iter: Iteration, content: str, task_code: Name = None, agent_id: Name = None
    ) -> Envelope:
        """Save what belongs to an iteration of a session."""
        return self._keep(content, Filter(agent_id, session_id, session_iter, task_code))

    def keep_by_agent(
        self, agent_id: str, session_id: str, content: str, session_iter: Iteration = None, task_code: Name = None
    ) -> Envelope:
        """Save what an agent of a session writes."""
        return self._keep(content, Filter(agent_id, session_id, session_iter, task_code))

    def keep_by_category(self, agent_id: str, title: str, content: str, category: Name = GENERAL) -> Envelope:
        """Save what outlives a session, split like a report."""
        return self._keep(content, Filter(needed("agent_id", agent_id), category=category), title=title)

    def _keep(self, content: str, filter: Filter, *, title: Name = None) -> Envelope:
        made = draft(self.kind, content, filter, title=title, project=self.memory.project, source=self.memory.source)
        saved = self.engine.save(made)
        memory, chunks, facts = saved.memory, saved.chunks, rows.stored(saved)
        if saved.known:
            why = f"the same {memory.kind} is saved here already, as memory {memory.id}: nothing was written"
            return facts | {"success": False, "error": "ValidationError", "message": rows.message(saved.notices, why)}
        cut = f" in {chunks} chunks" if chunks > 1 else ""
        return facts | {"message": rows.message(saved.notices, f"saved as memory {memory.id}{cut}")}

    # Searching -----------------------------------------------------------

    def of_session(
        self, session_id: str, session_iter: Iteration = None, limit: int = 5, *, latest_first: bool = True
    ) -> Envelope:
        """All of a session."""
        filter = Filter(session_id=needed("session_id", session_id), session_iter=session_iter)
        return self._in_order(filter, limit, latest_first=latest_first)

    def facts(
        self,
        query: Name = None,
        agent_id: Name = None,
        session_id: Name = None,
        session_iter: Iteration = None,
        task_code: Name = None,
        limit: int = 10,
        *,
        similarity_threshold: float | None = None,
    ) -> Envelope:
        """Commands, settings, addresses, by a query or, without one, by iteration."""
        filter = Filter(agent_id, session_id, session_iter, task_code)
        return self._whole(filter, query, limit, rank=True, threshold=similarity_threshold)

    def chunks_by_agent(
        self,
        query: str,
        agent_id: Name = None,
        session_id: Name = None,
        session_iter: Iteration = None,
        task_code: Name = None,
        limit: int = 10,
        *,
        similarity_threshold: float | None = None,
    ) -> Envelope:
        """Chunks of what agents write."""
        filter = Filter(agent_id, session_id, session_iter, task_code)
        return self._parts(filter, query, limit, Granularity.FINE, threshold=similarity_threshold)

    def sections_by_agent(
        self,
        query: str,
        agent_id: Name = None,
        session_id: Name = None,
        session_iter: Iteration = None,
        task_code: Name = None,
        limit: int = 5,
        *,
        similarity_threshold: float | None = None,
    ) -> Envelope:
        """Sections of what agents write."""
        filter = Filter(agent_id, session_id, session_iter, task_code)
        return self._parts(filter, query, limit, Granularity.MEDIUM, threshold=similarity_threshold)

    def documents_by_agent(
        self,
        query: Name = None,
        agent_id: Name = None,
        session_id: Name = None,
        session_iter: Iteration = None,
        task_code: Name = None,
        limit: int = 3,
        *,
        similarity_threshold: float | None = None,
        rank: bool = False,
    ) -> Envelope:
        """Whole texts of agents."""
        filter = Filter(agent_id, session_id, session_iter, task_code)
        return self._whole(filter, query, limit, rank=rank, threshold=similarity_threshold)

    def chunks_by_category(
        self,
        query: str,
        agent_id: Name = None,
        category: Name = None,
        limit: int = 10,
        *,
        similarity_threshold: float | None = None,
    ) -> Envelope:
        """Chunks of the knowledge base."""
        filter = Filter(agent_id, category=category)
        return self._parts(filter, query, limit, Granularity.FINE, threshold=similarity_threshold)

    def sections_by_category(
        self,
        query: str,
        agent_id: Name = None,
        category: Name = None,
        limit: int = 5,
        *,
        similarity_threshold: float | None = None,
    ) -> Envelope:
        """Sections of the knowledge base."""
        filter = Filter(agent_id, category=category)
        return self._parts(filter, query, limit, Granularity.MEDIUM, threshold=similarity_threshold)

    def documents_by_category(
        self,
        query: Name = None,
        agent_id: Name = None,
        category: Name = None,
        limit: int = 3,
        *,
        similarity_threshold: float | None = None,
        rank: bool = False,
    ) -> Envelope:
        """Whole entries of the knowledge base."""
        filter = Filter(agent_id, category=category)
        return self._whole(filter, query, limit, rank=rank, threshold=similarity_threshold)

    # All of them ---------------------------------------------------------

    def _in_order(self, filter: Filter, limit: int, *, latest_first: bool = True) -> Envelope:
        scope = filter.scope(self.kind)
        read, notices = self.engine.documents.listed(scope, limit, latest_first=latest_first)
        found = [rows.scoped(one) for one in read]
        why = "" if found else self._nothing(scope)
        return _results(found, filter, self.kind, rows.message(notices, why)) | {
            "limit": limit,
            "latest_first": bool(latest_first),
        }

    def _whole(self, filter: Filter, query: Name, limit: int, *, rank: bool, threshold: float | None) -> Envelope:
        """Documents: by iteration, or ranked by their best chunk if that is asked for and there is a query."""
        check_text("query", "" if query is None else query, QUERY_LIMIT)
        if not (query and query.strip()) or rank is not True:
            return self._in_order(filter, limit) | {"query": query}
        answer = self._answer(filter, query, limit, Granularity.COARSE)
        hits = self._reaching(answer, threshold)
        read, notices = self.engine.documents.read([hit.memory for hit in hits])
        of = {hit.memory.id: hit for hit in hits}
        found = [rows.ranked(one, of[one.memory.id]) for one in read]
        message = rows.message((*answer.notices, *notices), self._why(answer, hits))
        return _results(found, filter, self.kind, message) | {
            "query": query,
            "limit": limit,
            **row(answer, "tier outcome worth"),
        }

    def _parts(self, filter: Filter, query: str, limit: int, size: Granularity, *, threshold: float | None) -> Envelope:
        answer = self._answer(filter, query, limit, size)
        shape = rows.chunk if size is Granularity.FINE else rows.section
        hits = self._reaching(answer, threshold)
        found = [shape(hit) for hit in hits]
        message = rows.message(answer.notices, self._why(answer, hits))
        return {"results": found, "total_results": len(found), **row(answer, "tier outcome worth"), "message": message}

    def _answer(self, filter: Filter, query: str, limit: int, size: Granularity) -> Answer:
        config, scope = self.engine.config, filter.scope(self.kind)
        asked = config.sessions.mode == "vector"
        mode = Mode(config.mode("sessions"))
        return self.engine.search(Query(query, limit, size, mode, scope, compared=True, asked=asked, topup=True))

    def _reaching(self, answer: Answer, threshold: float | None) -> list[Hit]:
        if threshold is None or not self.engine.config.search.threshold_filtering:
            return list(answer.hits)
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float)):
            raise Invalid(f"similarity_threshold is a number, not {clipped_repr(threshold)}")
        return [hit for hit in answer.hits if hit.similarity is None or hit.similarity >= threshold]

    def _why(self, answer: Answer, hits: list[Hit]) -> str:
        """What to say if an answer hardly fits, or found nothing or less than it shows."""
        if not hits:
            return self._nothing(answer.query.scope)
        more = sum(bool(hit.topup) for hit in hits)
        if not answer.found:
            return "there are some in this scope, but none that matches: what is shown fills up the answer"
        fill = f"{answer.found} found; {more} more of this scope fill up the answer" if more else ""
        return ". ".join(filter(None, [_doubt(answer), fill]))

    def _nothing(self, scope: Scope) -> str:
        """Why there are no results: something may be saved and not match."""
        if self.engine.documents.recent(scope, 1):
            return "there are some in this scope, but none that matches"
        if self.engine.documents.recent(EVERYTHING._replace(kinds=scope.kinds), 1):
            return f"no {self.kind} is saved for this session and these filters, but elsewhere there is"
        return f"no {self.kind} is saved yet"


def _doubt(answer: Answer) -> str:
    """Why an answer may not help; empty if there is no doubt."""
    match answer.outcome:
        case Outcome.NOTHING_RELEVANT:
            return "nothing saved fits this; the closest, which likely do not answer, are shown"
        case Outcome.WEAK:
            return "possible matches"
        case Outcome.DEGRADED:
            return "found without the model, which did not answer; better ones may be missing"
    return ""


def _results(found: list[dict[str, Any]], filter: Filter, kind: Kind, message: Name) -> Envelope:
    filters = {"memory_type": str(kind), **filter.fields()}
    return {"results": found, "total_results": len(found), "filters": filters, "message": message}

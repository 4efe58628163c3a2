"""The twelve tools that search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.operations.sessions import rows
from memory.operations.sessions.arguments import Filter, needed
from memory.operations.sessions.envelope import answers, said
from memory.schema.answer import Outcome
from memory.schema.errors import Invalid
from memory.schema.kinds import Kind
from memory.schema.limits import check_text, clipped_repr
from memory.schema.query import EVERYTHING, QUERY_LIMIT, Granularity, Mode, Query

if TYPE_CHECKING:
    from memory.engine import Engine
    from memory.operations.sessions.envelope import Envelope, Iteration, Name
    from memory.schema.answer import Answer, Hit
    from memory.schema.query import Scope

LISTED = "results:rows total_results:number query:text? filters:object limit:number? latest_first:flag"
"""The fields of a SearchMemoriesResult (CAP D36)."""

WORTH = "granularity tier:text? outcome:text? worth:text?"
"""Which tier answered, and what that is worth."""

FOUND = f"results:rows total_results:number {WORTH}"
"""The fields of a GranularSearchResult (CAP D36)."""

chunks = answers("search", FOUND, granularity="fine")
sections = answers("search", FOUND, granularity="medium")
documents = answers("search", f"{LISTED} {WORTH}", granularity="coarse")


class Finding:
    """
    Of `memory.operations.sessions.SessionMemory`.

    Searches for chunks and sections answer a GranularSearchResult, the others a SearchMemoriesResult (CAP D36). They go
    through the engine's pipeline: keywords first, vectors when those are not enough. `tier` says which answered.

    Rows are in the order of `relevance`, 0..1. `similarity` is their cosine with the query, -1..1; a model in this process is
    always asked for it, a server only if the tier needs it: else it is None. What was not found fills up to the limit,
    after all that was: `topup` of such a row says whence, "distilled" or "recent"; of others it is None (CAP A43).

    Args:
        session_iter: 1, "1" or "v1".
        similarity_threshold: Is taken and ignored, as documented (CAP A42), unless the setting
            `search.threshold_filtering` is on: then what is known to be less similar is left out.
        rank: Of the tools for whole documents: rank them by their best chunk instead of by iteration.
    """

    def __init__(self, engine: Engine, *, raises: bool) -> None:
        self.engine, self.raises = engine, raises

    @answers("search", LISTED)
    def search_session_context(
        self, session_id: str, session_iter: Iteration = None, limit: int = 5, *, latest_first: bool = True
    ) -> Envelope:
        """The contexts of a session (CAP D18)."""
        return self._listed(Kind.SESSION_CONTEXT, session_id, session_iter, limit, latest_first=latest_first)

    @answers("search", LISTED)
    def search_input_prompts(
        self, session_id: str, session_iter: Iteration = None, limit: int = 5, *, latest_first: bool = True
    ) -> Envelope:
        """What users asked for in a session (CAP D19)."""
        return self._listed(Kind.INPUT_PROMPT, session_id, session_iter, limit, latest_first=latest_first)

    @answers("search", LISTED)
    def search_system_memory(
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
        """Commands, settings, addresses, by a query or, without one, by iteration (CAP D20, X12)."""
        filter = Filter(agent_id, session_id, session_iter, task_code)
        return self._whole(Kind.SYSTEM_MEMORY, filter, query, limit, rank=True, threshold=similarity_threshold)

    @chunks
    def search_reports_specific_chunks(
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
        """Chunks of reports (CAP D21)."""
        filter = Filter(agent_id, session_id, session_iter, task_code)
        return self._parts(Kind.REPORT, filter, query, limit, Granularity.FINE, threshold=similarity_threshold)

    @sections
    def search_reports_section_context(
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
        """Sections of reports (CAP D23)."""
        filter = Filter(agent_id, session_id, session_iter, task_code)
        return self._parts(Kind.REPORT, filter, query, limit, Granularity.MEDIUM, threshold=similarity_threshold)

    @documents
    def search_reports_full_documents(
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
        """Whole reports (CAP D24)."""
        filter = Filter(agent_id, session_id, session_iter, task_code)
        return self._whole(Kind.REPORT, filter, query, limit, rank=rank, threshold=similarity_threshold)

    @chunks
    def search_working_memory_specific_chunks(
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
        """Chunks of working memory (CAP D25)."""
        filter = Filter(agent_id, session_id, session_iter, task_code)
        return self._parts(Kind.WORKING_MEMORY, filter, query, limit, Granularity.FINE, threshold=similarity_threshold)

    @sections
    def search_working_memory_section_context(
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
        """Sections of working memory (CAP D25)."""
        filter = Filter(agent_id, session_id, session_iter, task_code)
        return self._parts(
            Kind.WORKING_MEMORY, filter, query, limit, Granularity.MEDIUM, threshold=similarity_threshold
        )

    @documents
    def search_working_memory_full_documents(
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
        """Whole working memory (CAP D25)."""
        filter = Filter(agent_id, session_id, session_iter, task_code)
        return self._whole(Kind.WORKING_MEMORY, filter, query, limit, rank=rank, threshold=similarity_threshold)

    @chunks
    def search_knowledge_base_specific_chunks(
        self,
        query: str,
        agent_id: Name = None,
        category: Name = None,
        limit: int = 10,
        *,
        similarity_threshold: float | None = None,
    ) -> Envelope:
        """Chunks of the knowledge base (CAP D26)."""
        filter = Filter(agent_id, category=category)
        return self._parts(Kind.KNOWLEDGE_BASE, filter, query, limit, Granularity.FINE, threshold=similarity_threshold)

    @sections
    def search_knowledge_base_section_context(
        self,
        query: str,
        agent_id: Name = None,
        category: Name = None,
        limit: int = 5,
        *,
        similarity_threshold: float | None = None,
    ) -> Envelope:
        """Sections of the knowledge base (CAP D26)."""
        filter = Filter(agent_id, category=category)
        return self._parts(
            Kind.KNOWLEDGE_BASE, filter, query, limit, Granularity.MEDIUM, threshold=similarity_threshold
        )

    @documents
    def search_knowledge_base_full_documents(
        self,
        query: Name = None,
        agent_id: Name = None,
        category: Name = None,
        limit: int = 3,
        *,
        similarity_threshold: float | None = None,
        rank: bool = False,
    ) -> Envelope:
        """Whole entries of the knowledge base (CAP D26)."""
        filter = Filter(agent_id, category=category)
        return self._whole(Kind.KNOWLEDGE_BASE, filter, query, limit, rank=rank, threshold=similarity_threshold)

    # All of them ---------------------------------------------------------

    def _listed(self, kind: Kind, session: str, iteration: Iteration, limit: int, *, latest_first: bool) -> Envelope:
        filter = Filter(session_id=needed("session_id", session), session_iter=iteration)
        return self._in_order(kind, filter, limit, latest_first=latest_first)

    def _in_order(self, kind: Kind, filter: Filter, limit: int, *, latest_first: bool = True) -> Envelope:
        scope = filter.scope(kind)
        read, notices = self.engine.documents.listed(scope, limit, latest_first=latest_first)
        found = [rows.scoped(one) for one in read]
        why = "" if found else self._nothing(scope)
        return _results(found, filter, kind, said(notices, why)) | {"limit": limit, "latest_first": bool(latest_first)}

    def _whole(
        self, kind: Kind, filter: Filter, query: Name, limit: int, *, rank: bool, threshold: float | None
    ) -> Envelope:
        """Documents: by iteration, or ranked by their best chunk if that is asked for and there is a query."""
        check_text("query", "" if query is None else query, QUERY_LIMIT)
        if not (query and query.strip()) or rank is not True:
            return self._in_order(kind, filter, limit) | {"query": query}
        answer = self._answer(kind, filter, query, limit, Granularity.COARSE)
        hits = self._reaching(answer, threshold)
        read, notices = self.engine.documents.read([hit.memory for hit in hits])
        of = {hit.memory.id: hit for hit in hits}
        found = [rows.ranked(one, of[one.memory.id]) for one in read]
        message = said((*answer.notices, *notices), self._why(answer, hits))
        return _results(found, filter, kind, message) | {"query": query, "limit": limit, **_worth(answer)}

    def _parts(
        self, kind: Kind, filter: Filter, query: str, limit: int, size: Granularity, *, threshold: float | None
    ) -> Envelope:
        answer = self._answer(kind, filter, query, limit, size)
        shape = rows.chunk if size is Granularity.FINE else rows.section
        hits = self._reaching(answer, threshold)
        found = [shape(hit) for hit in hits]
        message = said(answer.notices, self._why(answer, hits))
        return {"results": found, "total_results": len(found), **_worth(answer), "message": message}

    def _answer(self, kind: Kind, filter: Filter, query: str, limit: int, size: Granularity) -> Answer:
        mode = Mode(self.engine.config.search.mode)
        return self.engine.search(Query(query, limit, size, mode, filter.scope(kind), compared=True, topup=True))

    def _reaching(self, answer: Answer, threshold: float | None) -> list[Hit]:
        if threshold is None or not self.engine.config.search.threshold_filtering:
            return list(answer.hits)
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float)):
            raise Invalid(f"similarity_threshold is a number, not {clipped_repr(threshold)}")
        return [hit for hit in answer.hits if hit.similarity is None or hit.similarity >= threshold]

    def _why(self, answer: Answer, hits: list[Hit]) -> str:
        """What to say of an answer that hardly fits, found less than it shows, or nothing."""
        if not hits:
            return self._nothing(answer.query.scope)
        more = sum(bool(hit.topup) for hit in hits)
        if not answer.found:
            return "there are some in this scope, but none that matches: what is shown fills up the answer"
        fill = f"{answer.found} found; {more} more of this scope fill up the answer" if more else ""
        return ". ".join(filter(None, [_doubt(answer), fill]))

    def _nothing(self, scope: Scope) -> str:
        """Why there are no results: nothing found is not nothing kept."""
        if self.engine.documents.recent(scope, 1):
            return "there are some in this scope, but none that matches"
        (kind,) = scope.kinds
        if self.engine.documents.recent(EVERYTHING._replace(kinds=scope.kinds), 1):
            return f"no {kind} is kept in this scope, though elsewhere there is"
        return f"no {kind} is kept yet"


def _worth(answer: Answer) -> dict[str, str]:
    return {"tier": str(answer.tier), "outcome": str(answer.outcome), "worth": answer.worth}


def _doubt(answer: Answer) -> str:
    """What speaks against an answer; empty if nothing does."""
    match answer.outcome:
        case Outcome.NOTHING_RELEVANT:
            return f"nothing that is kept seems to fit ({answer.worth}); the nearest, which likely do not answer, are shown"
        case Outcome.WEAK:
            return f"perhaps relevant ({answer.worth})"
        case Outcome.DEGRADED:
            return "found without the model, which did not answer: better ones may be missing"
    return ""


def _results(found: list[dict[str, Any]], filter: Filter, kind: Kind, message: Name) -> Envelope:
    filters = {"memory_type": str(kind), **filter.fields()}
    return {"results": found, "total_results": len(found), "filters": filters, "message": message}

"""The memory of agent teams by the documented names: seven kinds, three granularities, 28 tools."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from memory.engine import delegate
from memory.operations.sessions.texts import Texts
from memory.operations.sessions.use import Using
from memory.schema.kinds import Kind

if TYPE_CHECKING:
    from pathlib import Path

    from memory.engine import Engine
    from memory.operations.sessions.timing import SearchStats, log_timing, search_stats

__all__ = ["SearchStats", "SessionMemory", "log_timing", "search_stats"]


class SessionMemory:
    """
    The 28 documented tools over an engine (CAP D9 to D35).

        >>> with Engine.open() as engine:
        ...     memory = SessionMemory(engine)
        ...     memory.store_report("explorer", "session-1", "# Findings\\n\\nThe pool is exhausted.", session_iter="v1")
        ...     memory.search_reports_specific_chunks("why do connections fail")["results"]

    Every tool answers an envelope: `success`, `error` (a documented name, see `memory.operations.sessions.errors`), `message`, and
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
            raises: Raise a `memory.operations.sessions.errors.SessionError` instead of answering an error.
        """
        self._engine, self._raises = engine, raises
        texts = partial(Texts, engine, source=source, project=project, raises=raises)
        self._contexts, self._prompts = texts(Kind.SESSION_CONTEXT), texts(Kind.INPUT_PROMPT)
        self._facts, self._working = texts(Kind.SYSTEM_MEMORY), texts(Kind.WORKING_MEMORY)
        self._reports, self._remarks = texts(Kind.REPORT), texts(Kind.REPORT_OBSERVATION)
        self._knowledge = texts(Kind.KNOWLEDGE_BASE)
        self._using = Using(engine, folder=folder, raises=raises)

    @property
    def engine(self) -> Engine:
        """What it stands on."""
        return self._engine

    @property
    def raises(self) -> bool:
        """Whether errors are raised."""
        return self._raises

    def get_search_statistics(self) -> dict[str, Any]:
        """
        What the remembered searches took, of the engine as a whole (CAP A53); times in seconds, rates 0..1.

        `by_type` has the same for each type, such as "search_fine_report"; `tiers` the share of each tier.
        """
        found = self.engine.searches.statistics()
        return {
            "total_queries": found.searches,
            "p50_time": found.p50,
            "p95_time": found.p95,
            "slow_query_rate": found.slow_share,
            "slow_query_count": found.slow,
            "slow_query_threshold": found.slow_seconds,
            "tiers": {tier.name: tier.share for tier in found.tiers},
            "by_type": {
                one.name: {
                    "count": one.searches,
                    "p50_time": one.p50,
                    "p95_time": one.p95,
                    "slow_query_rate": one.slow_share,
                    "mean_results": one.results,
                }
                for one in found.types
            },
        }

    store_session_context = delegate(
        "_contexts", Texts.keep_of_session, "Keep where a session stands, for who goes on with it (CAP D9)."
    )
    store_input_prompt = delegate(
        "_prompts", Texts.keep_of_session, "Keep what a user asked for, verbatim; the same may be said twice (CAP D11)."
    )
    store_system_memory = delegate("_facts", Texts.keep_by_agent, "Keep commands, settings, addresses (CAP D12).")
    store_report = delegate(
        "_reports",
        Texts.keep_by_agent,
        "Keep what an agent found, Markdown, cut at its headings if it is long (CAP D13).",
    )
    store_report_observation = delegate(
        "_remarks",
        Texts.keep_by_agent,
        "Keep what is to be added to a report or corrected in it; it stays whole (CAP D14, X10).",
    )
    store_working_memory = delegate(
        "_working", Texts.keep_by_agent, "Keep what an agent found so far, cut like a report (CAP D15)."
    )
    store_knowledge_base = delegate("_knowledge", Texts.keep_by_category)

    search_session_context = delegate("_contexts", Texts.of_session, "The contexts of a session (CAP D18).")
    search_input_prompts = delegate("_prompts", Texts.of_session, "What users asked for in a session (CAP D19).")
    search_system_memory = delegate("_facts", Texts.facts)
    search_reports_specific_chunks = delegate("_reports", Texts.chunks_by_agent, "Chunks of reports (CAP D21).")
    search_reports_section_context = delegate("_reports", Texts.sections_by_agent, "Sections of reports (CAP D23).")
    search_reports_full_documents = delegate("_reports", Texts.documents_by_agent, "Whole reports (CAP D24).")
    search_working_memory_specific_chunks = delegate(
        "_working", Texts.chunks_by_agent, "Chunks of working memory (CAP D25)."
    )
    search_working_memory_section_context = delegate(
        "_working", Texts.sections_by_agent, "Sections of working memory (CAP D25)."
    )
    search_working_memory_full_documents = delegate(
        "_working", Texts.documents_by_agent, "Whole working memory (CAP D25)."
    )
    search_knowledge_base_specific_chunks = delegate("_knowledge", Texts.chunks_by_category)
    search_knowledge_base_section_context = delegate("_knowledge", Texts.sections_by_category)
    search_knowledge_base_full_documents = delegate("_knowledge", Texts.documents_by_category)

    load_session_context_for_task = delegate("_using", Using.load_session_context_for_task)
    expand_chunk_context = delegate("_using", Using.expand_chunk_context)
    reconstruct_document = delegate("_using", Using.reconstruct_document)
    get_memory_by_id = delegate("_using", Using.get_memory_by_id)
    get_session_stats = delegate("_using", Using.get_session_stats)
    list_sessions = delegate("_using", Using.list_sessions)
    write_document_to_file = delegate("_using", Using.write_document_to_file)
    delete_memory = delegate("_using", Using.delete_memory)
    cleanup_old_memories = delegate("_using", Using.cleanup_old_memories)


def __getattr__(name: str) -> Any:
    """What only programs of their own use is imported when they do."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from memory.operations.sessions import timing

    return getattr(timing, name)

"""The memory of agent teams by the documented names: seven kinds, three granularities, 28 tools."""

from __future__ import annotations

from typing import Any

from memory.schema.kinds import Kind
from memory.tools.render.data import row
from memory.tools.sessions import rows, use
from memory.tools.sessions.declare import (
    BY_AGENT,
    BY_CATEGORY,
    BY_SESSION,
    FACTS,
    IN_SESSION,
    SessionTools,
    finding,
    keeping,
    search,
)
from memory.tools.sessions.texts import Texts


class SessionMemory(SessionTools):
    """
    The 28 documented tools over an engine.

        >>> with Engine.open() as engine:
        ...     memory = SessionMemory(engine)
        ...     memory.store_report("explorer", "session-1", "# Findings\\n\\nThe pool is exhausted.", session_iter="v1")
        ...     memory.search_reports_specific_chunks("why do connections fail")["results"]

    Every tool answers an envelope: `success`, `error` (a documented name, see `memory.tools.sessions.errors`), `message`, and
    its own fields, which are always there. Safe to use from several threads.
    """

    def get_search_statistics(self) -> dict[str, Any]:
        """
        How long the searches of the whole engine took; times in seconds, rates 0..1.

        `by_type` has the same for each type, such as "search_fine_report"; `tiers` has the share of each tier.
        """
        found = self.engine.searches.statistics()
        tiers = {tier.name: tier.share for tier in found.tiers}
        return {
            **row(found, rows.SEARCHES),
            "tiers": tiers,
            "by_type": {one.name: row(one, rows.OF_TYPE) for one in found.types},
        }

    @keeping(Kind.SESSION_CONTEXT, Texts.keep_of_session, "Save a session's state", *BY_SESSION)
    def store_session_context(self) -> None:
        """
        Save where a session stands, for whoever continues it: the goal, what is done, what is next. For the agent that
        leads.
        """

    @keeping(Kind.INPUT_PROMPT, Texts.keep_of_session, "Save a prompt", *BY_SESSION)
    def store_input_prompt(self) -> None:
        """Save the user's request word for word, before you act on it."""

    @keeping(Kind.SYSTEM_MEMORY, Texts.keep_by_agent, "Save a technical fact", *BY_AGENT)
    def store_system_memory(self) -> None:
        """Save a command that worked, a setting, an address."""

    @keeping(Kind.REPORT, Texts.keep_by_agent, "Save a report", *BY_AGENT)
    def store_report(self) -> None:
        """Save findings as Markdown with headings."""

    @keeping(Kind.REPORT_OBSERVATION, Texts.keep_by_agent, "Save a remark on a report", *BY_AGENT)
    def store_report_observation(self) -> None:
        """Save a correction of a report or a remark on it."""

    @keeping(Kind.WORKING_MEMORY, Texts.keep_by_agent, "Save work in progress", *BY_AGENT)
    def store_working_memory(self) -> None:
        """Save interim findings of an unfinished task."""

    @keeping(Kind.KNOWLEDGE_BASE, Texts.keep_by_category, "Save lasting knowledge", *BY_CATEGORY)
    def store_knowledge_base(self) -> None:
        """Save what outlives sessions: documentation, conventions, explanations."""

    @finding(Kind.SESSION_CONTEXT, Texts.of_session, "Get a session's state", *IN_SESSION)
    def search_session_context(self) -> None:
        """A session's saved states, latest iteration first."""

    @finding(Kind.INPUT_PROMPT, Texts.of_session, "Get a session's prompts", *IN_SESSION)
    def search_input_prompts(self) -> None:
        """A session's requests of the user, latest iteration first."""

    @finding(Kind.SYSTEM_MEMORY, Texts.facts, "Search technical facts", *FACTS)
    def search_system_memory(self) -> None:
        """Find commands, settings, addresses; without a query, the latest."""

    search_reports_specific_chunks = search("specific_chunks", Kind.REPORT, Texts.chunks_by_agent)
    search_reports_section_context = search("section_context", Kind.REPORT, Texts.sections_by_agent)
    search_reports_full_documents = search("full_documents", Kind.REPORT, Texts.documents_by_agent)
    search_working_memory_specific_chunks = search("specific_chunks", Kind.WORKING_MEMORY, Texts.chunks_by_agent)
    search_working_memory_section_context = search("section_context", Kind.WORKING_MEMORY, Texts.sections_by_agent)
    search_working_memory_full_documents = search("full_documents", Kind.WORKING_MEMORY, Texts.documents_by_agent)
    search_knowledge_base_specific_chunks = search("specific_chunks", Kind.KNOWLEDGE_BASE, Texts.chunks_by_category)
    search_knowledge_base_section_context = search("section_context", Kind.KNOWLEDGE_BASE, Texts.sections_by_category)
    search_knowledge_base_full_documents = search("full_documents", Kind.KNOWLEDGE_BASE, Texts.documents_by_category)

    load_session_context_for_task = use.load_session_context_for_task
    expand_chunk_context = use.expand_chunk_context
    reconstruct_document = use.reconstruct_document
    get_memory_by_id = use.get_memory_by_id
    get_session_stats = use.get_session_stats
    list_sessions = use.list_sessions
    write_document_to_file = use.write_document_to_file
    delete_memory = use.delete_memory
    cleanup_old_memories = use.cleanup_old_memories

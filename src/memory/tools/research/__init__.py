"""Research runs by the documented names: what agents of one run find out, shared without talking to each other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from memory.engine import Engine
from memory.schema.errors import Invalid, NotFound, checked_name
from memory.schema.kinds import Kind
from memory.schema.query import MOST, Mode, Query
from memory.tools.research import rows, transfer
from memory.tools.research.rows import LIMIT, THIS, Here, Which
from memory.tools.research.text import briefing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from memory.engine.sessions import Cleared
    from memory.schema.answer import Notice
    from memory.schema.draft import Draft, Saved
    from memory.schema.memory import Json
    from memory.tools.research.transfer import RunImport


class ResearchMemory:
    """
    The shared memory of one research run.

        >>> with ResearchMemory("query_1767225600_4711") as memory:
        ...     memory.store_memory("discovery", "WAL readers never block [Source: SQLite](https://…)", "worker-1")
        ...     memory.search_memories("do readers block")[0]["content"]
        ...     prompt = memory.build_worker_context(agent="worker-2") + task

    Memories are returned as dictionaries; docs/research.md lists their fields. Methods work on this run unless
    `query_id` names another one, or is None for all runs. Safe to use from several threads and processes.
    """

    def __init__(
        self,
        query_id: str | None = None,
        engine: Engine | None = None,
        *,
        source: str | None = None,
        project: str | None = None,
    ) -> None:
        """
        Args:
            query_id: Name of the run; None takes the one in the settings (`$MEMORY_RUN`), else creates a new one.
            engine: An open engine, which the caller closes; None opens the user's memory, which `close` closes.
            source: The program that saves, e.g. "my-researcher".
            project: The project of the memories that are saved.

        Raises:
            Invalid: The name is not valid for a run, or looks like a secret.
            ConfigError, StoreError: See `Engine.open`.
        """
        name = None if query_id is None else checked_name("query_id", query_id)
        self._own, self._closed = engine is None, False
        self.engine = engine or Engine.open()
        try:
            named = name or self.engine.config.run
            self.query_id = self.engine.runs.name(named) if named else self.engine.runs.new()
        except BaseException:
            if self._own:
                self.engine.close()
            raise
        self._source, self._project = source, project

    # Keeping -------------------------------------------------------------

    def store_memory(
        self, memory_type: str, content: str, created_by: str, metadata: Mapping[str, Json] | None = None
    ) -> int:
        """
        Save a finding of an agent; returns the memory's id.

        Saving the same text of the same agent again returns the id of the first memory. Feedback replaces the earlier
        feedback of its author.

        Args:
            memory_type: "discovery", "insight", "deadend", "feedback", "plan", "context" or "query_result".
            content: Text, 1..500,000 characters.
            created_by: The agent.
            metadata: JSON values by name.

        Raises:
            Invalid: The type does not exist, or the content or author is missing or too long.
            StoreBusy, StoreFull: The database could not be written. Nothing was saved.
        """
        return _kept(self.engine.save(self._draft(memory_type, content, created_by, metadata)))

    def update_or_store_memory(
        self, memory_type: str, content: str, created_by: str, metadata: Mapping[str, Json] | None = None
    ) -> int:
        """
        Replace the agent's latest memory of a type in this run, or save the first one; returns its id.

        Runs in one transaction, so concurrent writers replace one after the other. `Engine.details` has the earlier
        texts.

        Raises:
            Invalid, StoreBusy, StoreFull: See `store_memory`.
        """
        return _kept(self.engine.runs.renew(self._draft(memory_type, content, created_by, metadata)))

    def _draft(self, memory_type: str, content: str, created_by: str, metadata: Mapping[str, Json] | None) -> Draft:
        named: dict[str, Any] = {"run": self.query_id, "project": self._project, "source": self._source}
        return rows.draft(memory_type, content, created_by, metadata=metadata, **named)

    # Finding -------------------------------------------------------------

    def search_memories(
        self,
        query: str,
        limit: int = LIMIT,
        query_id: Which = THIS,
        memory_type: str | None = None,
        *,
        mode: str | None = None,
    ) -> list[dict[str, Any]]:
        """
        Find memories by meaning, the most similar first, filled up to the limit.

        Always calls the configured model, over the network too. If it does not answer, the search uses keywords, every
        distance is infinite, and the log says why.

        Args:
            query: Text, 1..10,000 characters.
            limit: Maximum number of memories, 1..10,000.
            query_id: Another run, or None for all runs.
            memory_type: Only this type; None searches all seven.
            mode: "tiered", "keyword", "vector" or "hybrid"; None takes the setting `research.mode`, usually "vector".

        Returns:
            Memories, each with `relevance`, `similarity`, `distance` and `topup`; see docs/research.md.

        Raises:
            Invalid: The query is blank or too long, or the type, limit or mode is not valid.
        """
        chosen = self.engine.config.mode("research") if mode is None else mode
        if chosen not in list(Mode):
            raise Invalid(f"no mode {chosen!r}", hint=f"There are: {', '.join(Mode)}.")
        scope = rows.scope(self._run(query_id), memory_type)
        query_ = Query(query, limit, mode=Mode(chosen), scope=scope, asked=True, topup=True)
        answer = rows.by_similarity(self.engine.search(query_))
        _warn("search", answer.notices)
        bodies = self.engine.runs.bodies([hit.memory for hit in answer.hits])
        return [rows.found(hit, bodies[hit.memory.id]) for hit in answer.hits if hit.memory.id in bodies]

    def get_memories_by_type(self, memory_type: str, query_id: Which = THIS, limit: int = MOST) -> list[dict[str, Any]]:
        """Memories of a type, most recently updated first; at most `limit`, 1..10,000."""
        found = rows.latest(self.engine, self._run(query_id), memory_type, limit)
        return [*map(rows.documented, found)]

    def get_discoveries(self, query_id: Which = THIS) -> list[dict[str, Any]]:
        """Discoveries, most recently updated first; at most 10,000."""
        return self.get_memories_by_type(Kind.DISCOVERY, query_id)

    def get_insights(self, query_id: Which = THIS) -> list[dict[str, Any]]:
        """Insights, most recently updated first; at most 10,000."""
        return self.get_memories_by_type(Kind.INSIGHT, query_id)

    def get_deadends(self, query_id: Which = THIS) -> list[dict[str, Any]]:
        """Dead ends, most recently updated first; at most 10,000."""
        return self.get_memories_by_type(Kind.DEADEND, query_id)

    def get_feedback(self, query_id: Which = THIS) -> list[dict[str, Any]]:
        """The feedback of each author, most recently updated first."""
        return self.get_memories_by_type(Kind.FEEDBACK, query_id)

    def get_plan(self, query_id: Which = THIS) -> list[dict[str, Any]]:
        """Plans, most recently updated first; at most 10,000."""
        return self.get_memories_by_type(Kind.PLAN, query_id)

    def get_context(self, query_id: Which = THIS) -> list[dict[str, Any]]:
        """Memories of type "context": background information, most recently updated first; at most 10,000."""
        return self.get_memories_by_type(Kind.CONTEXT, query_id)

    def build_worker_context(
        self, agent: str | None = None, *, discoveries: int = 10, deadends: int = 5, tokens: int = 4000
    ) -> str:
        """
        Build the beginning of a worker's prompt from the run's plan, feedback, discoveries and dead ends.

        Args:
            agent: The worker; its own discoveries are left out.
            discoveries, deadends: Maximum number of each, latest first.
            tokens: Maximum size, estimated, from 300.

        Raises:
            Invalid: A number is out of range.
        """
        limits = {"discoveries": discoveries, "deadends": deadends, "room": tokens}
        return briefing(self.engine, self.query_id, agent, **limits).text

    def get_embedding(self, text: str) -> list[float]:
        """
        Embed a text with the configured model; returns a vector of length 1.

        Raises:
            EmbedError: No model is configured, or it cannot be used.
        """
        from memory.vectors.adapter import EmbeddingProvider

        found = EmbeddingProvider(self.engine.vectors.embedders.configured()).generate(text)
        return [float(value) for value in found]

    def statistics(self, query_id: str | Here = THIS) -> dict[str, Any]:
        """Counts of a run's memories, by type and by agent; all 0 if there is no such run."""
        run = self.query_id if query_id is THIS else checked_name("query_id", query_id)
        try:
            return rows.statistics(self.engine.runs.run(run), run)
        except NotFound:
            return rows.statistics(None, run)

    def clear(self, query_id: Which = THIS, *, all: bool = False, calls: bool = False) -> Cleared:
        """
        Move the research memories of a run to the trash; returns how many memories and tool calls.

        Args:
            query_id: Another run.
            all: Delete the memories of all runs.
            calls: Also delete the tool calls, permanently.

        Raises:
            Invalid: Both a run and `all` are given, or `query_id` is None without `all`.
        """
        if all is True and isinstance(query_id, str):
            raise Invalid("name one run, or clear all")
        if all is not True and query_id is None:
            raise Invalid("no run is named", hint="all=True clears all of them.")
        return self.engine.runs.clear(None if all is True else self._run(query_id), calls=calls)

    def _run(self, query_id: Which) -> str | None:
        if query_id is THIS:
            return self.query_id
        return None if query_id is None else checked_name("query_id", query_id)

    # Tool calls ----------------------------------------------------------

    def record_tool_call(  # noqa: PLR0917  # as it is documented
        self, agent_name: str, tool_type: str, tool_name: str, parameters: Json, result: Json, success: int
    ) -> int:
        """
        Record a tool call; returns its id.

        Args:
            agent_name: The agent that called the tool.
            tool_type: "builtin", "http" or "mcp".
            tool_name: The name of the tool.
            parameters, result: Text is saved as it is, other values as JSON. A long result is cut, with a mark.
            success: True or False, 1 or 0.

        Raises:
            Invalid: An argument is not valid.
        """
        logged = self.engine.runs.log(
            run=self.query_id,
            agent=agent_name,
            type=tool_type,
            tool=tool_name,
            parameters=_text("parameters", parameters),
            result=_text("result", result),
            success=success == 1 if isinstance(success, int) and 0 <= success <= 1 else success,
        )
        _warn(f"tool call {logged.id}", logged.notices)
        return logged.id

    def get_tool_calls(self, query_id: Which = THIS, agent_name: str | None = None) -> list[dict[str, Any]]:
        """Tool calls, oldest first; with `query_id=None` those of all runs and those without a run."""
        return [rows.call(*one) for one in self.engine.runs.calls(self._run(query_id), agent=agent_name)]

    # Files ---------------------------------------------------------------

    def export_to_json(self, path: str | Path) -> None:
        """
        Export the run to a JSON file. An existing file is replaced, in one step.

        Raises:
            Invalid: The file cannot be written.
        """
        transfer.write(self.engine, path, transfer.exported(self.engine, self.query_id).content)

    def import_from_json(self, path: str | Path) -> RunImport:
        """
        Import an exported JSON file into the runs that it names. Existing memories are not saved again.

        Raises:
            Invalid: The file is not such an export; the message says where. Nothing was saved.
        """
        return transfer.import_from_json(self.engine, path)

    # The end -------------------------------------------------------------

    def close(self) -> None:
        """Export the run if `research.export_memories` is on, and close the engine if this object opened it."""
        if self._closed:
            return
        self._closed = True
        try:
            if self.engine.config.research.export_memories:
                content = transfer.exported(self.engine, self.query_id).content
                transfer.write_beside(self.engine, content, int(self.engine.now().timestamp()))
        finally:
            if self._own:
                self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _kept(saved: Saved) -> int:
    _warn(f"{saved.memory.kind} {saved.memory.short_id}", saved.notices)
    return saved.memory.id


def _text(name: str, value: Json) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"{name} must be text or JSON: {error}") from error


def _warn(what: str, notices: Iterable[Notice]) -> None:
    import logging  # 2 ms of a command that names the others

    for notice in notices:
        logging.getLogger("memory").warning("%s: %s", what, notice.text)

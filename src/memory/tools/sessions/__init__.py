"""
The memory of agent teams by the documented names: seven kinds, three granularities, 28 tools; and its commands.

The engine times and remembers its own searches. Those of your own program, by the documented names:

    @log_timing("vector_search_fine")
    def search(question): ...

    search_stats.record_query("search_fine_report", elapsed, len(results), {"limit": 10, "filters": {"agent_id": "a"}})
    memory.get_search_statistics()["p95_time"]
"""

from __future__ import annotations

import functools
import logging
import math
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from time import perf_counter
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from memory.schema.answer import Searched
from memory.schema.errors import AROUND, NAME_LIMIT, Invalid, check_text, clipped_repr, iteration, printable
from memory.schema.kinds import RULES, Kind, kind
from memory.schema.query import EVERYTHING, MOST
from memory.text.display import escape_controls
from memory.tools.operation import INSTEAD, PAGE, Call, Given, Option, Shown, command, group
from memory.tools.render.data import notices, pointer, row, whole
from memory.tools.render.text import counted, first, notice
from memory.tools.sessions import rows, text, use
from memory.tools.sessions.declare import (
    BY_AGENT,
    BY_CATEGORY,
    BY_SESSION,
    DECLARED,
    FACTS,
    IN_SESSION,
    SessionTools,
    finding,
    keeping,
    search,
)
from memory.tools.sessions.texts import Texts
from memory.tools.sessions.use import list_

if TYPE_CHECKING:
    from memory.engine import Engine
    from memory.engine.markdown import Written
    from memory.schema.memory import Document


class SessionMemory(SessionTools):
    """
    The 28 session tools as methods over an engine.

        >>> with Engine.open() as engine:
        ...     memory = SessionMemory(engine)
        ...     memory.store_report("explorer", "session-1", "# Findings\\n\\nThe pool is exhausted.", session_iter="v1")
        ...     memory.search_reports_specific_chunks("why do connections fail")["results"]

    Every method returns a dictionary with `success`, `error` (a name such as "ValidationError", or None), `message` and
    fields of its own, which are always present. Safe to use from several threads.
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
        Save where a session stands, for the agent that continues it: the goal, what is done, what is next. For the agent that
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


@group("session", "list")
def session() -> None:
    """
    List sessions, or show the memories of one.

    \b
        memory session                        list them
        memory session show auth-rework       the memories of one
        memory session context auth-rework    what an agent reads to continue it
    """


@command("session context ID", Option("--iter N", "The latest context up to this iteration: 2, v2."))
def context(call: Call, a: Given) -> Shown:
    """
    Show what an agent needs to resume a session.

    It shows the latest context and all prompts in full, and the beginnings of the five latest reports, remarks on them
    and working memories. `memory details ID` shows the rest of each.

    \b
        memory session context auth-rework
    """
    documents, found = call.engine.documents, call.engine.sessions.resume(a["id"], a["iter"])
    heads = [*found.reports, *found.observations, *found.working] if call.as_json else []
    read, uncounted = documents.read([*filter(None, [found.context]), *found.prompts, *heads])
    bodies = {one.memory.id: one.body for one in read}
    data = rows.resumed(found, lambda memory: whole(memory) | {"content": bodies.get(memory.id, "")})
    data = {"session_id": a["id"], **data, "notices": notices(uncounted)}
    page = escape_controls(text.context(a["id"], found, bodies))
    missing = [] if page else ["this session has no context, prompts, reports or working memory to go on with"]
    return Shown(data, page, [*missing, *map(notice, uncounted)], ends=False)


@command("expand CHUNK", Option("-C --around N", "How many chunks to show on each side.", takes=(0, AROUND), usual=2))
def expand(call: Call, a: Given) -> Shown:
    """
    Show a chunk with its neighbours. `memory search --granularity fine` shows the ids of chunks.

    \b
        memory search "session cookies" --granularity fine
        memory expand 12 -C 3
    """
    found = call.engine.documents.expand(a["chunk"], a["around"])
    data = {"memory": pointer(found.memory)} | rows.expanded(found, a["around"], list)
    return Shown(data, text.expanded(found))


@command(
    "reconstruct ID",
    Option("-o --output FILE", "Write to this file, with front matter."),
    Option("--force", "With -o: replace an existing file."),
    Option("--no-front-matter", "With -o: write only the text."),
)
def reconstruct(call: Call, a: Given) -> Shown:
    """
    Print the text of a memory byte for byte, or write it to a file.

    A file begins with YAML front matter that identifies the memory. ID is the short id that is shown, or all 32 digits.

    \b
        memory reconstruct 12 | less
        memory reconstruct 12 -o audit.md
    """
    found = call.engine.documents.reconstruct(a["id"])
    id = found.memory.id
    notes = [*map(notice, call.engine.documents.accessed([id]))]
    if not found.whole:
        notes.append(
            "its chunks, put together, are not its text any more: searches may miss some of it; this is the text"
        )
    if not found.body:
        name = found.memory.short_id
        notes.append(f"memory {name} has no text beside its title and its fields. `memory details {name}` shows them.")
    if a["output"] in (None, "-"):
        body = escape_controls(found.body) if sys.stdout.isatty() else found.body.encode()
        return Shown(row(found, rows.DOCUMENT), body, notes, ends=False)
    written = _written(found, a, call.engine.config.folder)
    place = {"memory_id": id, "file_path": str(written.path), "bytes_written": written.size}
    done = f"{counted(written.size, 'byte')} in {escape_controls(printable(str(written.path)))}"
    return Shown(place | {"verified": found.whole}, done, notes)


def _written(found: Document, a: Given, home: str) -> Written:
    from memory.engine.markdown import write

    how = {"overwrite": a["force"], "matter": not a["no_front_matter"]}
    try:
        return write(found, a["output"], folder=None, home=home, **how)
    except Invalid as error:
        if isinstance(error.__cause__, FileExistsError):
            error.hint = INSTEAD
        raise


@command("session stats ID")
def stats(call: Call, a: Given) -> Shown:
    """
    Count a session's memories and chunks, by kind and by agent.

    \b
        memory session stats auth-rework
    """
    found = call.engine.sessions.one(a["id"])
    return Shown(row(found, rows.NUMBERS), text.stats(found))


@command(
    "cleanup",
    Option("--days N", "Memories created more than N days ago.", takes=(0, 36_500), usual=90),
    Option("--kind KIND", "Only this kind; may be repeated.", several=True),
    Option("--delete", "Delete them; without it they are only listed."),
)
def cleanup(call: Call, a: Given) -> Shown:
    """
    List old session memories, or delete them with --delete.

    It leaves notes, the knowledge base and research runs alone, unless --kind names them.

    \b
        memory cleanup --days 30            list what would be deleted
        memory cleanup --days 30 --delete   delete it
    """
    from memory.keep.removing import SHORT_LIVED  # other commands do without

    wanted, dry_run = {kind(name) for name in a["kind"]} or SHORT_LIVED, not a["delete"]
    cleanup = call.engine.trash.cleanup  # each kind by itself, to say how many of each
    gone = {name: cleanup(a["days"], kinds=[name], dry_run=dry_run) for name in RULES if name in wanted}
    before = call.engine.now() - timedelta(days=a["days"])
    named = "".join(f" --kind {name}" for name in gone) if a["kind"] else ""
    notes = [f"nothing was changed; `memory cleanup --days {a['days']}{named} --delete` does it"]
    there = dry_run and any(aged.memories for aged in gone.values())
    data = rows.cleaned(gone, before, dry_run=dry_run)
    return Shown(data, text.cleaned(gone, before, dry_run=dry_run), notes if there else ())


@command(
    "session show ID",
    PAGE,
    Option("--kind KIND", "Only this kind; may be repeated.", several=True),
    Option("--iter N", "Only this iteration: 2, v2."),
)
def show(call: Call, a: Given) -> Shown:
    """
    Show a session's memories, latest iteration first. Before them it counts memories by kind and by agent.

    \b
        memory session show auth-rework --kind report
    """
    wanted = iteration(a["iter"])
    scope = EVERYTHING._replace(
        sessions=frozenset({a["id"]}),
        kinds=frozenset(map(kind, a["kind"])),
        iterations=frozenset(() if wanted is None else (wanted,)),
    )
    found = call.engine.sessions.one(a["id"])
    memories, more = first(call.engine.documents.by_iteration(scope, min(a["limit"] + 1, MOST)), a["limit"])
    data = row(found, rows.NUMBERS) | {"memories": [whole(memory) for memory in memories]}
    missing = "" if memories else "none of these is in it"
    return Shown(data, text.shown(found, memories), [*filter(None, (missing, more))])


# Searches of your own program --------------------------------------------------

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

LOGGER = "memory.timing"
OWN = "own"  # the tier of a search that was not the engine's


def log_timing(operation: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """
    Decorate a function so that each call logs its duration, even if it raises: logger `memory.timing`, level DEBUG.

        >>> @log_timing("vector_search_fine")
        ... def search(question): ...

    Args:
        operation: The name in the log.
    """

    def decorated(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @functools.wraps(function)
        def timed(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            begun, how = perf_counter(), "failed after"
            try:
                result = function(*args, **kwargs)
                how = "took"
            finally:
                logging.getLogger(LOGGER).debug("%s %s %.3f s", operation, how, perf_counter() - begun)
            return result

        return timed

    return decorated


class SearchStats:
    """
    Adds the searches of your own program to the search log of an engine.

        >>> search_stats.record_query("search_fine_report", 0.12, 3, {"limit": 10})

    `search_stats` is an instance for the user's memory.
    """

    def __init__(self, engine: Engine | None = None) -> None:
        """
        Args:
            engine: An open engine; None opens the user's memory for each recorded search.
        """
        self._engine = engine

    def record_query(
        self, query_type: str, elapsed: float, result_count: int, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """
        Log a search, for `get_search_statistics` and `memory stats`.

        Args:
            query_type: One word, e.g. "search_fine_report".
            elapsed: Seconds, from 0.
            result_count: Number of results, from 0.
            metadata: Its `limit` and the names in its `filters` are saved; values of filters never.

        Raises:
            Invalid: An argument is not valid. Nothing was saved.
        """
        fields = _fields(query_type, elapsed, result_count, {} if metadata is None else metadata)
        if self._engine is not None:
            return _remember(self._engine, fields)
        from memory.engine import Engine

        with Engine.open(lasting=False) as engine:  # only now: what is no such thing opens nothing
            return _remember(engine, fields)


def _fields(type: str, elapsed: float, results: int, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `Searched` but its moment."""
    check_text("query_type", type, NAME_LIMIT)
    if not type.strip() or len(type.split()) > 1:  # it is a word of a line
        raise Invalid(f"query_type is one word such as search_fine_report, not {clipped_repr(type)}")
    if isinstance(elapsed, bool) or not isinstance(elapsed, int | float) or not 0 <= elapsed < math.inf:
        raise Invalid(f"elapsed is a number of seconds, not {clipped_repr(elapsed)}")
    if not isinstance(metadata, Mapping):
        raise Invalid(f"metadata must be values by name, not {clipped_repr(metadata)}")
    limit, filters = metadata.get("limit"), metadata.get("filters")
    limit, filters = 0 if limit is None else limit, {} if filters is None else filters
    if not isinstance(filters, (Mapping, list, tuple, set, frozenset)):
        raise Invalid(f"metadata.filters must be values by name, or names, not {clipped_repr(filters)}")
    for name, count in (("result_count", results), ("limit", limit)):
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise Invalid(f"{name} is a whole number, not {clipped_repr(count)}")
    names = tuple("_".join(str(name).split()) for name in filters)
    return {"type": type.strip(), "seconds": float(elapsed), "limit": limit, "results": results, "filters": names}


def _remember(engine: Engine, fields: Mapping[str, Any]) -> None:
    engine.searches.record(Searched(engine.now(), tier=OWN, **fields), mode=OWN, outcome=OWN)


search_stats = SearchStats()
"""Records into the user's memory."""


OPERATIONS = tuple(DECLARED[name] for name in vars(SessionMemory) if name in DECLARED)
COMMANDS = (session, list_, show, stats, context, expand, reconstruct, cleanup)

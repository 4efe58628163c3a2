"""The 28 tools of session memory, by their documented names, parameters and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.operations import shapes
from memory.operations.arguments import Parameter
from memory.operations.operation import Operation, Result
from memory.operations.render import envelope
from memory.operations.render.hints import for_agents
from memory.operations.sessions import SessionMemory
from memory.operations.sessions.envelope import refusal
from memory.text.display import escape_invisible
from memory.text.fence import INTRODUCTION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memory.operations.arguments import Schema
    from memory.operations.operation import Call
    from memory.schema.errors import Error

MOST, ALL = 100, 10_000  # results of a search, and of one for whole documents (CAP X23)

_SESSION = Parameter("session_id", "string", "The session.", required=True)
_OF_SESSION = Parameter("session_id", "string", "Only of this session.")
_NUMBER = Parameter("session_iter", "id", 'Its iteration: 1, "1" or "v1".')
_NUMBERED = Parameter("session_iter", "id", 'Its iteration: 1, "1" or "v1".', required=True)
_AGENT = Parameter("agent_id", "string", "The agent that says it.", required=True)
_OF_AGENT = Parameter("agent_id", "string", "Only of this agent.")
_ORCHESTRATOR = Parameter("agent_id", "string", "Who says it; default main-orchestrator.")
_TASK = Parameter("task_code", "string", "A short name of the task, to filter by.")
_OF_TASK = Parameter("task_code", "string", "Only of this task.")
_CONTENT = Parameter("content", "string", "The text, at most 500,000 characters.", required=True)
_QUERY = Parameter("query", "string", "What to look for: words, or a question.", required=True)
_MEMORY = Parameter("memory_id", "id", "The memory's id.", required=True)
_THRESHOLD = Parameter("similarity_threshold", "number", "Taken and ignored, unless the settings say otherwise.")
_RANK = Parameter("rank", "boolean", "With a query: rank by the best chunk instead of taking the latest.")
_LATEST = Parameter("latest_first", "boolean", "Default true; false begins with the first iteration.")
_FILTER = (_OF_AGENT, _OF_SESSION, _NUMBER, _OF_TASK)


def _limit(usual: int, most: int = MOST) -> Parameter:
    return Parameter("limit", "integer", f"Results at most; default {usual}.", low=1, high=most)


def _runner(name: str) -> Callable[[Call, Mapping[str, Any]], Result]:
    def answer(call: Call, given: Mapping[str, Any]) -> Result:
        project = None if call.project is None else call.engine.documents.project(call.project)
        memory = SessionMemory(call.engine, source=call.client or None, project=project)
        return _result(getattr(memory, name)(**given))

    return answer


def _result(values: dict[str, Any]) -> Result:
    if (content := values.get("content")) and escape_invisible(content) != content:
        note = "Characters that nobody would see are shown as U+FFFD; write_document_to_file writes the text as it is."
        values["message"] = f"{values['message'] or ''} {note}".strip()
    if values["message"]:
        values["message"] = for_agents(values["message"])
    return Result({**values, "about": INTRODUCTION}, envelope.text(values), failed=not values["success"])


def _problem(name: str) -> Callable[[Error], Result]:
    """What is said of an argument that is not taken."""

    def problem(error: Error) -> Result:
        return _result(refusal(getattr(SessionMemory, name), error))

    return problem


def _tool(
    name: str,
    title: str,
    description: str,
    parameters: tuple[Parameter, ...],
    output: Schema,
    *,
    keeps: bool = False,
    **hints: Any,
) -> Operation:
    """
    Args:
        keeps: It keeps something, in the client's project.
    """
    return Operation(
        name=name,
        toolset="sessions",
        title=title,
        description=description,
        parameters=parameters,
        returns=output,
        run=_runner(name),
        project_argument="project" if keeps else "",
        always=keeps,
        problem=_problem(name),
        **hints,
    )


def _keeps(kind: str, title: str, description: str, *parameters: Parameter) -> Operation:
    return _tool(
        f"store_{kind}",
        title,
        description,
        parameters,
        shapes.STORED,
        keeps=True,
        repeats=kind != "input_prompt",
    )


def _family(kind: str, what: str, filter: tuple[Parameter, ...]) -> tuple[Operation, ...]:
    """The three searches of a kind: chunks, sections, documents."""
    return (
        _tool(
            f"search_{kind}_specific_chunks",
            f"Search {what}: chunks",
            f"Find the passages of {what} that say something in particular: a number, a quotation, a setting, an error. "
            "Each result has a chunk_id for expand_chunk_context.",
            (_QUERY, *filter, _limit(10), _THRESHOLD),
            shapes.GRANULAR,
            reads=True,
            repeats=True,
        ),
        _tool(
            f"search_{kind}_section_context",
            f"Search {what}: sections",
            f"Find the sections of {what} that are about something, each whole, to be read in its context. A section is "
            "what stands below the same first two headings (or one H2 where there is no H1); match_ratio says how much of it matches.",
            (_QUERY, *filter, _limit(5), _THRESHOLD),
            shapes.GRANULAR,
            reads=True,
            repeats=True,
        ),
        _tool(
            f"search_{kind}_full_documents",
            f"Get {what} whole",
            f"Get whole {what}, the latest iteration first; they may be long. Nothing is searched and a query is only "
            "noted, unless rank=true; then those with the best matching chunk come first.",
            (
                Parameter("query", "string", "What to look for, with rank=true."),
                *filter,
                _limit(3, ALL),
                _RANK,
                _THRESHOLD,
            ),
            shapes.DOCUMENTS,
            reads=True,
            repeats=True,
        ),
    )


_BY_SESSION = (_SESSION, _NUMBERED, _CONTENT, _TASK, _ORCHESTRATOR)
_BY_AGENT = (_AGENT, _SESSION, _CONTENT, _NUMBER, _TASK)

KEEPING = (
    _keeps(
        "session_context",
        "Keep a session's state",
        "Keep where a session stands, in short, so that a later iteration or another agent can go on: the goal, what is "
        "done, what is next. For the agent that leads the session.",
        *_BY_SESSION,
    ),
    _keeps(
        "input_prompt",
        "Keep a prompt",
        "Keep what the user asked for, word by word, before anything else is done with it. The same may be kept twice.",
        *_BY_SESSION,
    ),
    _keeps(
        "system_memory",
        "Keep a technical fact",
        "Keep a command that worked, a setting, an address, the state of a system.",
        *_BY_AGENT,
    ),
    _keeps(
        "report",
        "Keep a report",
        "Keep what an agent found, as Markdown with headings: it is cut at them and can be searched by chunk, section or "
        "as a whole.",
        *_BY_AGENT,
    ),
    _keeps(
        "report_observation",
        "Keep a remark on a report",
        "Keep a correction of a report or a remark on it; it stays in one piece.",
        *_BY_AGENT,
    ),
    _keeps(
        "working_memory",
        "Keep work in progress",
        "Keep what was found so far in a task that is not done; cut and searched like a report.",
        *_BY_AGENT,
    ),
    _keeps(
        "knowledge_base",
        "Keep lasting knowledge",
        "Keep what holds beyond this session: documentation, conventions, explanations. It belongs to no session.",
        _AGENT,
        Parameter("title", "string", "One line that names it.", required=True),
        _CONTENT,
        Parameter("category", "string", "What it is about; default general."),
    ),
)

SEARCHING = (
    _tool(
        "search_session_context",
        "Get a session's state",
        "What was kept of where a session stands, the latest iteration first.",
        (_SESSION, _NUMBER, _limit(5), _LATEST),
        shapes.SCOPED,
        reads=True,
        repeats=True,
    ),
    _tool(
        "search_input_prompts",
        "Get a session's prompts",
        "What the user asked for in a session, word by word, the latest iteration first.",
        (_SESSION, _NUMBER, _limit(5), _LATEST),
        shapes.SCOPED,
        reads=True,
        repeats=True,
    ),
    _tool(
        "search_system_memory",
        "Search technical facts",
        "Find commands, settings and addresses by words or meaning; without a query, the latest.",
        (Parameter("query", "string", "What to look for; none takes the latest."), *_FILTER, _limit(10), _THRESHOLD),
        shapes.SCOPED,
        reads=True,
        repeats=True,
    ),
    *_family("reports", "reports", _FILTER),
    *_family("working_memory", "working memory", _FILTER),
    *_family(
        "knowledge_base",
        "the knowledge base",
        (_OF_AGENT, Parameter("category", "string", "Only of this category.")),
    ),
)

USING = (
    _tool(
        "load_session_context_for_task",
        "Go on with a session",
        "Everything needed to go on with a session: its latest state, all prompts, the five latest reports, remarks "
        "on reports and working memories. Call it first when you are to continue somebody's work.",
        (_SESSION, _NUMBERED),
        shapes.LOADED,
        reads=True,
        repeats=True,
    ),
    _tool(
        "expand_chunk_context",
        "Read around a chunk",
        "A chunk that a search found, with the chunks before and after it.",
        (
            Parameter("chunk_id", "id", "The chunk's id, as searches for chunks show it.", required=True),
            Parameter("surrounding_chunks", "integer", "Chunks on either side; default 2.", low=0, high=100),
        ),
        shapes.EXPANDED,
        reads=True,
        repeats=True,
    ),
    _tool(
        "reconstruct_document",
        "Read a document whole",
        "A memory's text as it was stored, and whether its chunks still make it up.",
        (_MEMORY,),
        shapes.RECONSTRUCTED,
        reads=True,
        repeats=True,
    ),
    _tool(
        "get_memory_by_id",
        "Get a memory",
        "One memory with all its fields.",
        (_MEMORY,),
        shapes.FETCHED,
        reads=True,
        repeats=True,
    ),
    _tool(
        "get_session_stats",
        "Count a session",
        "How much is kept of a session, of which kinds, by which agents, from when to when.",
        (_SESSION,),
        shapes.COUNTED,
        reads=True,
        repeats=True,
    ),
    _tool(
        "list_sessions",
        "List sessions",
        "The sessions that something is kept of, the latest activity first.",
        (_limit(20), Parameter("agent_id", "string", "Only what this agent kept.")),
        shapes.LISTED,
        reads=True,
        repeats=True,
    ),
    _tool(
        "write_document_to_file",
        "Write a document to a file",
        "Write a memory's text to a Markdown file with YAML front matter, inside the folder that is set for documents. "
        "A file that is there is left alone unless overwrite=true.",
        (
            _MEMORY,
            Parameter("output_path", "string", "The file; relative paths are inside that folder.", required=True),
            Parameter("overwrite", "boolean", "Take the place of a file that is there; default false."),
            Parameter("front_matter", "boolean", "Default true; false writes the text alone."),
        ),
        shapes.WRITTEN,
        destroys=True,
    ),
    _tool(
        "delete_memory",
        "Delete a memory for good",
        "Remove a memory with its chunks and vectors. It cannot be undone.",
        (_MEMORY,),
        shapes.DELETED,
        destroys=True,
        repeats=True,
    ),
    _tool(
        "cleanup_old_memories",
        "Remove old memories",
        "Remove what sessions left behind more than so many days ago; notes and the knowledge base stay. It only counts "
        "unless dry_run=false, which cannot be undone: show the user the count first.",
        (
            Parameter("days_old", "integer", "Days; default 90.", low=0, high=36_500, strict=True),
            Parameter("dry_run", "boolean", "Default true: only count."),
            Parameter("memory_type", "string", "Only of this kind, e.g. working_memory."),
        ),
        shapes.CLEANED,
        destroys=True,
    ),
)

OPERATIONS = (*KEEPING, *SEARCHING, *USING)

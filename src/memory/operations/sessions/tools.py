"""The tools of session memory that agents alone have, and how each is made: a method of `SessionMemory` by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.operations.arguments import Parameter
from memory.operations.operation import Operation, Result, told
from memory.operations.render.recall import for_agents
from memory.operations.sessions import SessionMemory
from memory.operations.sessions.envelope import refusal, returned
from memory.operations.sessions.text import answer
from memory.text.display import INTRODUCTION, escape_invisible

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.operations.operation import Call, Given

MOST, ALL = 100, 10_000  # results of a search, and of one for whole documents (CAP X23)

SESSION = Parameter("session_id", "string", "The session.", required=True)
OF_SESSION = Parameter("session_id", "string", "Only of this session.")
NUMBER = Parameter("session_iter", "id", 'Its iteration: 1, "1" or "v1".')
NUMBERED = Parameter("session_iter", "id", 'Its iteration: 1, "1" or "v1".', required=True)
AGENT = Parameter("agent_id", "string", "The agent that says it.", required=True)
OF_AGENT = Parameter("agent_id", "string", "Only of this agent.")
ORCHESTRATOR = Parameter("agent_id", "string", "Who says it; default main-orchestrator.")
TASK = Parameter("task_code", "string", "A short name of the task, to filter by.")
OF_TASK = Parameter("task_code", "string", "Only of this task.")
CONTENT = Parameter("content", "string", "The text, at most 500,000 characters.", required=True)
QUERY = Parameter("query", "string", "What to look for: words, or a question.", required=True)
MEMORY = Parameter("memory_id", "id", "The memory's id.", required=True)
THRESHOLD = Parameter("similarity_threshold", "number", "Taken and ignored, unless the settings say otherwise.")
RANK = Parameter("rank", "boolean", "With a query: rank by the best chunk instead of taking the latest.")
LATEST = Parameter("latest_first", "boolean", "Default true; false begins with the first iteration.")
FILTER = (OF_AGENT, OF_SESSION, NUMBER, OF_TASK)


def limit(usual: int, most: int = MOST) -> Parameter:
    return Parameter("limit", "integer", f"Results at most; default {usual}.", low=1, high=most)


def declared(
    name: str, title: str, description: str, *parameters: Parameter, keeps: bool = False, **hints: Any
) -> Operation:
    """
    A tool that is a method of `SessionMemory`, by its name.

    Args:
        keeps: It keeps something, in the client's project.
    """
    method = getattr(SessionMemory, name)

    def run(call: Call, given: Given) -> Result:
        project = None if call.project is None else call.engine.documents.project(call.project)
        return _result(method(SessionMemory(call.engine, source=call.client or None, project=project), **given))

    if keeps:
        hints |= {"project_argument": "project", "always": True}
    hints["problem"] = lambda error: _result(refusal(method, error))
    return Operation(name, title, description, parameters, returned(method), run=run, **hints)


def tool(title: str, *parameters: Parameter, **hints: Any) -> Callable[[Callable[[], None]], Operation]:
    """Declare such a tool by an empty function, which has its name and says what an agent is told of it."""
    return lambda named: declared(named.__name__, title, told(named), *parameters, **hints)


def _result(values: dict[str, Any]) -> Result:
    if (content := values.get("content")) and escape_invisible(content) != content:
        note = "Characters that nobody would see are shown as U+FFFD; write_document_to_file writes the text as it is."
        values["message"] = f"{values['message'] or ''} {note}".strip()
    if values["message"]:
        values["message"] = for_agents(values["message"])
    return Result({**values, "about": INTRODUCTION}, answer(values), failed=not values["success"])


READS: dict[str, Any] = {"reads": True, "repeats": True}


def reading(title: str, *parameters: Parameter) -> Callable[[Callable[[], None]], Operation]:
    return tool(title, *parameters, **READS)


def keeping(title: str, *parameters: Parameter) -> Callable[[Callable[[], None]], Operation]:
    return tool(title, *parameters, keeps=True, repeats=True)


def family(kind: str, what: str, filter: tuple[Parameter, ...]) -> tuple[Operation, ...]:
    """The three searches of a kind: chunks, sections, documents."""
    return (
        declared(
            f"search_{kind}_specific_chunks",
            f"Search {what}: chunks",
            f"Find the passages of {what} that say something in particular: a number, a quotation, a setting, an error. "
            "Each result has a chunk_id for expand_chunk_context.",
            QUERY,
            *filter,
            limit(10),
            THRESHOLD,
            **READS,
        ),
        declared(
            f"search_{kind}_section_context",
            f"Search {what}: sections",
            f"Find the sections of {what} that are about something, each whole, to be read in its context. A section is "
            "what stands below the same first two headings (or one H2 where there is no H1); match_ratio says how much of it matches.",
            QUERY,
            *filter,
            limit(5),
            THRESHOLD,
            **READS,
        ),
        declared(
            f"search_{kind}_full_documents",
            f"Get {what} whole",
            f"Get whole {what}, the latest iteration first; they may be long. Nothing is searched and a query is only "
            "noted, unless rank=true; then those with the best matching chunk come first.",
            Parameter("query", "string", "What to look for, with rank=true."),
            *filter,
            limit(3, ALL),
            RANK,
            THRESHOLD,
            **READS,
        ),
    )


BY_SESSION = (SESSION, NUMBERED, CONTENT, TASK, ORCHESTRATOR)
BY_AGENT = (AGENT, SESSION, CONTENT, NUMBER, TASK)


@keeping("Keep a session's state", *BY_SESSION)
def store_session_context() -> None:
    """
    Keep where a session stands, in short, so that a later iteration or another agent can go on: the goal, what is done,
    what is next. For the agent that leads the session.
    """


@tool("Keep a prompt", *BY_SESSION, keeps=True)
def store_input_prompt() -> None:
    """Keep what the user asked for, word by word, before anything else is done with it. The same may be kept twice."""


@keeping("Keep a technical fact", *BY_AGENT)
def store_system_memory() -> None:
    """Keep a command that worked, a setting, an address, the state of a system."""


@keeping("Keep a report", *BY_AGENT)
def store_report() -> None:
    """
    Keep what an agent found, as Markdown with headings: it is cut at them and can be searched by chunk, section or as a
    whole.
    """


@keeping("Keep a remark on a report", *BY_AGENT)
def store_report_observation() -> None:
    """Keep a correction of a report or a remark on it; it stays in one piece."""


@keeping("Keep work in progress", *BY_AGENT)
def store_working_memory() -> None:
    """Keep what was found so far in a task that is not done; cut and searched like a report."""


@keeping(
    "Keep lasting knowledge",
    AGENT,
    Parameter("title", "string", "One line that names it.", required=True),
    CONTENT,
    Parameter("category", "string", "What it is about; default general."),
)
def store_knowledge_base() -> None:
    """Keep what holds beyond this session: documentation, conventions, explanations. It belongs to no session."""


KEEPING = (
    store_session_context,
    store_input_prompt,
    store_system_memory,
    store_report,
    store_report_observation,
    store_working_memory,
    store_knowledge_base,
)


@reading("Get a session's state", SESSION, NUMBER, limit(5), LATEST)
def search_session_context() -> None:
    """What was kept of where a session stands, the latest iteration first."""


@reading("Get a session's prompts", SESSION, NUMBER, limit(5), LATEST)
def search_input_prompts() -> None:
    """What the user asked for in a session, word by word, the latest iteration first."""


@reading(
    "Search technical facts",
    Parameter("query", "string", "What to look for; none takes the latest."),
    *FILTER,
    limit(10),
    THRESHOLD,
)
def search_system_memory() -> None:
    """Find commands, settings and addresses by words or meaning; without a query, the latest."""


SEARCHING = (
    search_session_context,
    search_input_prompts,
    search_system_memory,
    *family("reports", "reports", FILTER),
    *family("working_memory", "working memory", FILTER),
    *family(
        "knowledge_base",
        "the knowledge base",
        (OF_AGENT, Parameter("category", "string", "Only of this category.")),
    ),
)

"""The tools of session memory that agents alone have, and how each is made: a method of `SessionMemory` by its name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from memory.operations.arguments import Parameter
from memory.operations.operation import Operation, Result
from memory.operations.render.hints import for_agents
from memory.operations.sessions import SessionMemory
from memory.operations.sessions.envelope import refusal, returned
from memory.operations.sessions.text import answer
from memory.text.display import escape_invisible
from memory.text.fence import INTRODUCTION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memory.operations.operation import Call, Command

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


def operation(
    name: str,
    title: str,
    description: str,
    *parameters: Parameter,
    keeps: bool = False,
    command: Command | None = None,
    **hints: Any,
) -> Operation:
    """
    A tool of `SessionMemory`, by its name.

    Args:
        keeps: It keeps something, in the client's project.
    """
    method = getattr(SessionMemory, name)

    def run(call: Call, given: Mapping[str, Any]) -> Result:
        project = None if call.project is None else call.engine.documents.project(call.project)
        return _result(method(SessionMemory(call.engine, source=call.client or None, project=project), **given))

    return Operation(
        name,
        title,
        description,
        parameters,
        returned(method),
        toolset="sessions",
        run=run,
        project_argument="project" if keeps else "",
        always=keeps,
        problem=lambda error: _result(refusal(method, error)),
        command=command,
        **hints,
    )


def _result(values: dict[str, Any]) -> Result:
    if (content := values.get("content")) and escape_invisible(content) != content:
        note = "Characters that nobody would see are shown as U+FFFD; write_document_to_file writes the text as it is."
        values["message"] = f"{values['message'] or ''} {note}".strip()
    if values["message"]:
        values["message"] = for_agents(values["message"])
    return Result({**values, "about": INTRODUCTION}, answer(values), failed=not values["success"])


reading = partial(operation, reads=True, repeats=True)
keeping = partial(operation, keeps=True, repeats=True)


def family(kind: str, what: str, filter: tuple[Parameter, ...]) -> tuple[Operation, ...]:
    """The three searches of a kind: chunks, sections, documents."""
    return (
        reading(
            f"search_{kind}_specific_chunks",
            f"Search {what}: chunks",
            f"Find the passages of {what} that say something in particular: a number, a quotation, a setting, an error. "
            "Each result has a chunk_id for expand_chunk_context.",
            QUERY,
            *filter,
            limit(10),
            THRESHOLD,
        ),
        reading(
            f"search_{kind}_section_context",
            f"Search {what}: sections",
            f"Find the sections of {what} that are about something, each whole, to be read in its context. A section is "
            "what stands below the same first two headings (or one H2 where there is no H1); match_ratio says how much of it matches.",
            QUERY,
            *filter,
            limit(5),
            THRESHOLD,
        ),
        reading(
            f"search_{kind}_full_documents",
            f"Get {what} whole",
            f"Get whole {what}, the latest iteration first; they may be long. Nothing is searched and a query is only "
            "noted, unless rank=true; then those with the best matching chunk come first.",
            Parameter("query", "string", "What to look for, with rank=true."),
            *filter,
            limit(3, ALL),
            RANK,
            THRESHOLD,
        ),
    )


BY_SESSION = (SESSION, NUMBERED, CONTENT, TASK, ORCHESTRATOR)
BY_AGENT = (AGENT, SESSION, CONTENT, NUMBER, TASK)

KEEPING = (
    keeping(
        "store_session_context",
        "Keep a session's state",
        "Keep where a session stands, in short, so that a later iteration or another agent can go on: the goal, what is "
        "done, what is next. For the agent that leads the session.",
        *BY_SESSION,
    ),
    operation(
        "store_input_prompt",
        "Keep a prompt",
        "Keep what the user asked for, word by word, before anything else is done with it. The same may be kept twice.",
        *BY_SESSION,
        keeps=True,
    ),
    keeping(
        "store_system_memory",
        "Keep a technical fact",
        "Keep a command that worked, a setting, an address, the state of a system.",
        *BY_AGENT,
    ),
    keeping(
        "store_report",
        "Keep a report",
        "Keep what an agent found, as Markdown with headings: it is cut at them and can be searched by chunk, section or "
        "as a whole.",
        *BY_AGENT,
    ),
    keeping(
        "store_report_observation",
        "Keep a remark on a report",
        "Keep a correction of a report or a remark on it; it stays in one piece.",
        *BY_AGENT,
    ),
    keeping(
        "store_working_memory",
        "Keep work in progress",
        "Keep what was found so far in a task that is not done; cut and searched like a report.",
        *BY_AGENT,
    ),
    keeping(
        "store_knowledge_base",
        "Keep lasting knowledge",
        "Keep what holds beyond this session: documentation, conventions, explanations. It belongs to no session.",
        AGENT,
        Parameter("title", "string", "One line that names it.", required=True),
        CONTENT,
        Parameter("category", "string", "What it is about; default general."),
    ),
)

SEARCHING = (
    reading(
        "search_session_context",
        "Get a session's state",
        "What was kept of where a session stands, the latest iteration first.",
        SESSION,
        NUMBER,
        limit(5),
        LATEST,
    ),
    reading(
        "search_input_prompts",
        "Get a session's prompts",
        "What the user asked for in a session, word by word, the latest iteration first.",
        SESSION,
        NUMBER,
        limit(5),
        LATEST,
    ),
    reading(
        "search_system_memory",
        "Search technical facts",
        "Find commands, settings and addresses by words or meaning; without a query, the latest.",
        Parameter("query", "string", "What to look for; none takes the latest."),
        *FILTER,
        limit(10),
        THRESHOLD,
    ),
    *family("reports", "reports", FILTER),
    *family("working_memory", "working memory", FILTER),
    *family(
        "knowledge_base",
        "the knowledge base",
        (OF_AGENT, Parameter("category", "string", "Only of this category.")),
    ),
)

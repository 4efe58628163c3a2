"""How a verb of session memory is declared: a method that answers the documented envelope, and the tool of its name."""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias

from memory.operations.arguments import Parameter, record
from memory.operations.operation import Operation, Result, told
from memory.operations.render.data import parsed
from memory.operations.render.recall import for_agents
from memory.operations.sessions.errors import ValidationError, documented
from memory.operations.sessions.text import answer
from memory.schema.errors import Error
from memory.text.display import INTRODUCTION, escape_invisible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from memory.engine import Engine
    from memory.operations.operation import Call, Given as Arguments
    from memory.operations.sessions.errors import Doing, SessionError
    from memory.schema.answer import Notice

Envelope: TypeAlias = "dict[str, Any]"
"""JSON, as CAP D9 to D38 have it; more fields may come."""

Iteration: TypeAlias = "int | str | None"
"""Of a session: 1, "1" or "v1"."""

Name: TypeAlias = "str | None"

Given = ParamSpec("Given")

DECLARED: dict[str, Operation] = {}
"""The tools, by the methods that they are."""

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


def limit(usual: int, most: int = MOST) -> Parameter:
    return Parameter("limit", "integer", f"Results at most; default {usual}.", low=1, high=most)


BY_SESSION = (SESSION, NUMBERED, CONTENT, TASK, ORCHESTRATOR)
BY_AGENT = (AGENT, SESSION, CONTENT, NUMBER, TASK)
BY_CATEGORY = (
    AGENT,
    Parameter("title", "string", "One line that names it.", required=True),
    CONTENT,
    Parameter("category", "string", "What it is about; default general."),
)
"""What is given of what is kept."""

PLACE = (OF_AGENT, OF_SESSION, NUMBER, OF_TASK)
CATEGORY = (OF_AGENT, Parameter("category", "string", "Only of this category."))
LISTED = (SESSION, NUMBER, limit(5), LATEST)
FACTS = (Parameter("query", "string", "What to look for; none takes the latest."), *PLACE, limit(10), THRESHOLD)
"""What a search is narrowed by."""


class Session:
    """What verbs work on: an engine, and by whom it is used."""

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
        self.source, self.project, self.folder = source, project, folder

    @property
    def engine(self) -> Engine:
        """What it stands on."""
        return self._engine

    @property
    def raises(self) -> bool:
        """Whether errors are raised."""
        return self._raises


_EMPTY: Mapping[str, Callable[[], object]] = {"number": int, "object": dict, "rows": list, "flag": lambda: True}


def _blank(fields: str, granularity: str) -> Envelope:
    blank = {name: _EMPTY[shape]() if shape in _EMPTY else None for name, _, shape in parsed(fields)}
    sizes = {"granularity": granularity} if granularity else {}
    return {"success": True, **blank, **sizes, "message": None, "error": None}


def said(notices: Iterable[Notice], *first: str) -> str | None:
    """What should be known besides, as the message; None if that is nothing."""
    told = [f"{notice.text}. {notice.hint}".rstrip() if notice.hint else notice.text for notice in notices]
    return " ".join(f"{text.rstrip('.')}." for text in (*first, *told) if text) or None


# Tools -------------------------------------------------------------------


def tool(
    title: str, doing: Doing, fields: str, *parameters: Parameter, granularity: str = "", **hints: Any
) -> Callable[[Callable[Concatenate[Any, Given], Envelope]], Callable[Concatenate[Any, Given], Envelope]]:
    """
    Declare a method of `SessionMemory`, whose result becomes an envelope and whose errors too, and the tool of its name:
    the first paragraph of its docstring is what agents are told.

    Args:
        fields: What it promises, see `memory.operations.arguments.record`.
        granularity: What that field says whatever happened.
    """
    blank = partial(_blank, fields, granularity)

    def declared(method: Callable[Concatenate[Any, Given], Envelope]) -> Callable[Concatenate[Any, Given], Envelope]:
        verb = _answering(method, doing, blank)
        checked: Callable[..., Envelope] = verb  # an agent's arguments are checked before

        def run(call: Call, arguments: Arguments) -> Result:
            project = None if call.project is None else call.engine.documents.project(call.project)
            return _result(checked(Session(call.engine, source=call.client or None, project=project), **arguments))

        def problem(error: Error) -> Result:
            return _result(_refusal(documented(error, doing), blank))

        name, schema = method.__name__, record(f"success:flag {fields} message:text? error:text?")
        DECLARED[name] = Operation(name, title, told(method), parameters, schema, run=run, problem=problem, **hints)
        return verb

    return declared


def _answering(
    method: Callable[Concatenate[Any, Given], Envelope], doing: Doing, blank: Callable[[], Envelope]
) -> Callable[Concatenate[Any, Given], Envelope]:
    @wraps(method)
    def answered(memory: Session, /, *args: Given.args, **values: Given.kwargs) -> Envelope:
        try:
            envelope = blank() | method(memory, *args, **values)
        except Error as error:
            problem = documented(error, doing)
            if memory.raises:
                raise problem from error
            return _refusal(problem, blank)
        if memory.raises and not envelope["success"]:
            raise ValidationError(envelope["message"])
        return envelope

    return answered


def _refusal(problem: SessionError, blank: Callable[[], Envelope]) -> Envelope:
    return blank() | {"success": False, "error": problem.name, "message": str(problem)}


reading = partial(tool, reads=True, repeats=True)


def _result(values: dict[str, Any]) -> Result:
    if (content := values.get("content")) and escape_invisible(content) != content:
        note = "Characters that nobody would see are shown as U+FFFD; write_document_to_file writes the text as it is."
        values["message"] = f"{values['message'] or ''} {note}".strip()
    if values["message"]:
        values["message"] = for_agents(values["message"])
    return Result({**values, "about": INTRODUCTION}, answer(values), failed=not values["success"])

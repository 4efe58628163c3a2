"""How a verb of session memory is declared: a method that answers the documented envelope, and the tool of its name."""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeAlias

from memory.schema.errors import ConfigError, EmbedError, Error, SpaceMismatch, StoreBusy, StoreError
from memory.schema.kinds import Kind
from memory.text.display import INTRODUCTION, escape_invisible
from memory.tools.arguments import IDS, MANY, SOUGHT, Parameter, brief, record
from memory.tools.operation import Call, Given as Arguments, Operation, Result, told
from memory.tools.render import data
from memory.tools.render.recall import for_agents
from memory.tools.sessions.text import answer
from memory.tools.sessions.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memory.engine import Engine


Doing: TypeAlias = Literal["store", "search", "use"]
"""What a tool is for."""


class SessionError(Exception):
    """
    Base of the documented errors.

    Attributes:
        name: How an envelope names it.
        code: The HTTP status that means about the same.
    """

    name = "MemoryError"
    code = 500


class ValidationError(SessionError):
    """An argument is not valid, or names nothing. Nothing was changed."""

    name, code = "ValidationError", 400


class MemoryStoreError(SessionError):
    """It could not be saved."""


MemoryError = MemoryStoreError  # the documented name, which is a builtin's too


class SearchError(SessionError):
    """It could not be searched."""

    name = "SearchError"


class ChunkingError(SessionError):
    """A text could not be split. This never happens; the name is here for programs that know it."""

    name = "ChunkingError"


class DatabaseError(SessionError):
    """The database could not do what was asked."""

    name = "DatabaseError"


class DatabaseLockError(DatabaseError):
    """Another process was writing for longer than the configured time; the same call may succeed later."""

    name, code = "DatabaseLockError", 503


def documented(error: Error, doing: Doing) -> SessionError:
    """One of our errors as a documented error, with its hint."""
    said = f"{error}. {error.hint}" if error.hint else str(error)
    match error:
        case StoreBusy():
            return DatabaseLockError(said)
        case StoreError():
            return DatabaseError(said)
        case EmbedError() | SpaceMismatch() | ConfigError():
            return SearchError(said) if doing == "search" else MemoryStoreError(said)
    return ValidationError(said)


Envelope: TypeAlias = "dict[str, Any]"
"""The documented JSON; fields may be added."""

Iteration: TypeAlias = "int | str | None"
"""Of a session: 1, "1" or "v1"."""

Name: TypeAlias = "str | None"

Given = ParamSpec("Given")

OfKind: TypeAlias = "Callable[Concatenate[Texts, Given], Envelope]"
Verb: TypeAlias = "Callable[Concatenate[Any, Given], Envelope]"
"""A method of `Texts`, and one of `SessionMemory`."""

DECLARED: dict[str, Operation] = {}
"""The tools, by the methods that they are."""

MOST, ALL = 100, 10_000  # results of a search, and of one for whole documents

SESSION = brief("session_id", "string", "The session.", required=True)
OF_SESSION = brief("session_id", "string", "Only from this session.")
NUMBER = brief("session_iter", "id", 'Its iteration: 1, "1" or "v1".')
NUMBERED = brief("session_iter", "id", 'Its iteration: 1, "1" or "v1".', required=True)
AGENT = brief("agent_id", "string", "The agent that writes it.", required=True)
OF_AGENT = brief("agent_id", "string", "Only from this agent.")
ORCHESTRATOR = Parameter("agent_id", "string", "Who writes it; default main-orchestrator.", hidden=True)
TASK = brief("task_code", "string", "A short task name to filter by.")
OF_TASK = brief("task_code", "string", "Only for this task.")
CONTENT = brief("content", "string", "The text, at most 500,000 characters.", required=True, also=("text",))
QUERY = brief("query", "string", "What to look for: words or a question.", required=True, also=SOUGHT)
MEMORY = brief("memory_id", "id", "The memory's id.", required=True, also=("id", *IDS[1:]))
THRESHOLD = Parameter(
    "similarity_threshold", "number", "Accepted but ignored, unless a setting enables it.", hidden=True
)
RANK = brief("rank", "boolean", "With a query: rank by the best chunk instead of taking the latest.")
LATEST = brief("latest_first", "boolean", "Default true; false starts with the first iteration.")


def limit(usual: int, most: int = MOST) -> Parameter:
    meaning = f"Maximum results; default {usual}."
    return Parameter("limit", "integer", meaning, low=1, high=most, usual=usual, also=MANY, plain=True)


BY_SESSION = (SESSION, NUMBERED, CONTENT, TASK, ORCHESTRATOR)
BY_AGENT = (AGENT, SESSION, CONTENT, NUMBER, TASK)
BY_CATEGORY = (
    AGENT,
    brief("title", "string", "One line that names it.", required=True),
    CONTENT,
    brief("category", "string", "What it is about; default general."),
)
"""Parameters of the tools that save."""

PLACE = (OF_AGENT, OF_SESSION, NUMBER, OF_TASK)
CATEGORY = (OF_AGENT, brief("category", "string", "Only in this category."))
IN_SESSION = (SESSION, NUMBER, limit(5), LATEST)
FACTS = (brief("query", "string", "What to look for; omit for the latest.", also=SOUGHT), *PLACE, limit(10), THRESHOLD)
"""Parameters of the tools that search."""

STORED = (
    "memory_id:number? memory_type:text? agent_id:text? session_id:text? content_hash:text? chunks_created:number? "
    "created_at:text?"
)
"""The fields of a StoreMemoryResult."""

LISTED = "results:rows total_results:number query:text? filters:object limit:number? latest_first:flag"
"""The fields of a SearchMemoriesResult."""

WORTH = "granularity tier:text? outcome:text? worth:text?"
"""Which tier answered, and what that is worth."""

FOUND = f"results:rows total_results:number {WORTH}"
"""The fields of a GranularSearchResult."""


class SessionTools:
    """Base class of the session tools: an engine, and the program that uses it."""

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
            engine: An open engine, which the caller closes.
            source: The program that saves, e.g. "claude-code".
            project: The project of the memories that are saved.
            folder: The folder that documents may be written into; None takes the setting `documents`.
            raises: Raise a `memory.tools.sessions.declare.SessionError` instead of returning an error.
        """
        self._engine, self._raises = engine, raises
        self.source, self.project, self.folder = source, project, folder

    @property
    def engine(self) -> Engine:
        """The engine."""
        return self._engine

    @property
    def raises(self) -> bool:
        """Whether errors are raised."""
        return self._raises


# Tools -------------------------------------------------------------------


def tool(
    title: str, doing: Doing, fields: str, *parameters: Parameter, granularity: str = "", **hints: Any
) -> Callable[[Verb[Given]], Verb[Given]]:
    """
    Declare a method of `SessionMemory`, whose result becomes an envelope and whose errors too, and the tool of its name:
    the first paragraph of its docstring is what agents are told.

    Args:
        fields: The fields that are always there, see `memory.tools.arguments.record`.
        granularity: The constant value of that field.
    """
    sizes = {"granularity": granularity} if granularity else {}

    def blank() -> Envelope:
        return {"success": True, **data.blank(fields), **sizes, "message": None, "error": None}

    def declared(method: Verb[Given]) -> Verb[Given]:
        verb = _answering(method, doing, blank)
        checked: Callable[..., Envelope] = verb  # an agent's arguments are checked before

        def run(call: Call, arguments: Arguments) -> Result:
            project = None if call.project is None else call.engine.documents.project(call.project)
            return _result(checked(SessionTools(call.engine, source=call.client or None, project=project), **arguments))

        def problem(error: Error) -> Result:
            return _result(_refusal(documented(error, doing), blank))

        name, schema = method.__name__, record(f"success:flag {fields} message:text? error:text?")
        DECLARED[name] = Operation(name, title, told(method), parameters, schema, run=run, problem=problem, **hints)
        return verb

    return declared


def _answering(method: Verb[Given], doing: Doing, blank: Callable[[], Envelope]) -> Verb[Given]:
    @wraps(method)
    def answered(memory: SessionTools, /, *args: Given.args, **values: Given.kwargs) -> Envelope:
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


reading = partial(tool, reads=True)


def _result(values: dict[str, Any]) -> Result:
    if (content := values.get("content")) and escape_invisible(content) != content:
        note = "Invisible characters are shown as U+FFFD; write_document_to_file writes the text as it is."
        values["message"] = f"{values['message'] or ''} {note}".strip()
    if values["message"]:
        values["message"] = for_agents(values["message"])
    return Result({**values, "about": INTRODUCTION}, answer(values), failed=not values["success"])


# Of one kind -------------------------------------------------------------


def of_kind(
    kind: Kind, method: OfKind[Given], title: str, *parameters: Parameter, doing: Doing, fields: str, **hints: Any
) -> Callable[[Callable[[Any], None]], Verb[Given]]:
    """Declare a tool that is a method of a kind by an empty function: its name, and what agents are told."""

    def declared(named: Callable[[Any], None]) -> Verb[Given]:
        return tool(title, doing, fields, *parameters, **hints)(
            _bound(kind, method, named.__name__, named.__doc__ or "")
        )

    return declared


def _bound(kind: Kind, method: OfKind[Given], name: str, words: str) -> Verb[Given]:
    """A method of a kind as one of the whole memory, with its signature."""

    @wraps(method)
    def call(memory: SessionTools, /, *args: Given.args, **values: Given.kwargs) -> Envelope:
        return method(Texts(memory, kind), *args, **values)

    call.__name__, call.__doc__ = name, words
    return call


keeping = partial(of_kind, doing="store", fields=STORED, project_argument="project", always=True)
finding = partial(of_kind, doing="search", fields=LISTED, reads=True)

FAMILIES = {
    Kind.REPORT: ("reports", "reports", PLACE),
    Kind.WORKING_MEMORY: ("working_memory", "working memory", PLACE),
    Kind.KNOWLEDGE_BASE: ("knowledge_base", "the knowledge base", CATEGORY),
}
"""The kinds that are searched by chunk, section and as a whole: in the tools' names, in their words, and by what."""

CHUNKS = "Find passages of {what} with a detail: a number, a quotation, a setting, an error."
SECTIONS = "Find sections of {what} on a topic, to read in context."
DOCUMENTS = "Get {what} in full, latest iteration first, which may be long; by `query` only with rank=true."
RANKED = brief("query", "string", "What to look for, with rank=true.", also=SOUGHT)

SIZES = {
    "specific_chunks": ("Search {what}: chunks", CHUNKS, "fine", FOUND, (QUERY, (limit(10), THRESHOLD))),
    "section_context": ("Search {what}: sections", SECTIONS, "medium", FOUND, (QUERY, (limit(5), THRESHOLD))),
    "full_documents": (
        "Get {what} in full",
        DOCUMENTS,
        "coarse",
        f"{LISTED} {WORTH}",
        (RANKED, (limit(3, ALL), RANK, THRESHOLD)),
    ),
}
"""The three searches of each by the end of their names: the title, the words, the size, what it answers, what it takes."""


def search(size: str, kind: Kind, method: OfKind[Given]) -> Verb[Given]:
    """Declare one of the searches of a family."""
    name, what, filter = FAMILIES[kind]
    title, words, granularity, fields, (query, rest) = SIZES[size]
    made = _bound(kind, method, f"search_{name}_{size}", words.format(what=what))
    parameters = (query, *filter, *rest)
    return reading(title.format(what=what), "search", fields, *parameters, granularity=granularity)(made)

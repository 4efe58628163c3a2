"""The tools that keep and search a kind: methods of `Texts`, in an agent's words."""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, TypeAlias

from memory.operations.arguments import Parameter
from memory.operations.sessions.declare import ALL, CATEGORY, PLACE, QUERY, RANK, THRESHOLD, limit, reading, tool
from memory.operations.sessions.texts import Texts
from memory.schema.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.operations.sessions.declare import Envelope, Given, Session
    from memory.operations.sessions.errors import Doing

OfKind: TypeAlias = "Callable[Concatenate[Texts, Given], Envelope]"
Verb: TypeAlias = "Callable[Concatenate[Any, Given], Envelope]"
"""A method of `Texts`, and one of `SessionMemory`."""

STORED = (
    "memory_id:number? memory_type:text? agent_id:text? session_id:text? content_hash:text? chunks_created:number? "
    "created_at:text?"
)
"""The fields of a StoreMemoryResult (CAP D36)."""

LISTED = "results:rows total_results:number query:text? filters:object limit:number? latest_first:flag"
"""The fields of a SearchMemoriesResult (CAP D36)."""

WORTH = "granularity tier:text? outcome:text? worth:text?"
"""Which tier answered, and what that is worth."""

FOUND = f"results:rows total_results:number {WORTH}"
"""The fields of a GranularSearchResult (CAP D36)."""


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
    def call(memory: Session, /, *args: Given.args, **values: Given.kwargs) -> Envelope:
        return method(Texts(memory, kind), *args, **values)

    call.__name__, call.__doc__ = name, words
    return call


keeping = partial(of_kind, doing="store", fields=STORED, repeats=True, project_argument="project", always=True)
finding = partial(of_kind, doing="search", fields=LISTED, repeats=True, reads=True)

FAMILIES = {
    Kind.REPORT: ("reports", "reports", PLACE),
    Kind.WORKING_MEMORY: ("working_memory", "working memory", PLACE),
    Kind.KNOWLEDGE_BASE: ("knowledge_base", "the knowledge base", CATEGORY),
}
"""The kinds that are searched by chunk, section and as a whole: in the tools' names, in their words, and by what."""

CHUNKS = (
    "Find the passages of {what} that say something in particular: a number, a quotation, a setting, an error. Each "
    "result has a chunk_id for expand_chunk_context."
)
SECTIONS = (
    "Find the sections of {what} that are about something, each whole, to be read in its context. A section is what "
    "stands below the same first two headings (or one H2 where there is no H1); match_ratio says how much of it matches."
)
DOCUMENTS = (
    "Get whole {what}, the latest iteration first; they may be long. Nothing is searched and a query is only noted, "
    "unless rank=true; then those with the best matching chunk come first."
)
RANKED = Parameter("query", "string", "What to look for, with rank=true.")

SIZES = {
    "specific_chunks": ("Search {what}: chunks", CHUNKS, "fine", FOUND, (QUERY, (limit(10), THRESHOLD))),
    "section_context": ("Search {what}: sections", SECTIONS, "medium", FOUND, (QUERY, (limit(5), THRESHOLD))),
    "full_documents": (
        "Get {what} whole",
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

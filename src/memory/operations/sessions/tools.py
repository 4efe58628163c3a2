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

OfKind: TypeAlias = "Callable[Concatenate[Texts, Given], Envelope]"
Verb: TypeAlias = "Callable[Concatenate[Any, Given], Envelope]"
"""A method of `Texts`, and one of `SessionMemory`."""


def of_kind(
    kind: Kind, method: OfKind[Given], title: str, *parameters: Parameter, **hints: Any
) -> Callable[[Callable[[Any], None]], Verb[Given]]:
    """Declare a tool that is a method of a kind by an empty function: its name, and what agents are told."""

    def declared(named: Callable[[Any], None]) -> Verb[Given]:
        return tool(title, *parameters, **hints)(_bound(kind, method, named.__name__, named.__doc__ or ""))

    return declared


def _bound(kind: Kind, method: OfKind[Given], name: str, words: str) -> Verb[Given]:
    """A method of a kind as one of the whole memory, with its signature."""

    @wraps(method)
    def call(memory: Session, /, *args: Given.args, **values: Given.kwargs) -> Envelope:
        return method(Texts(memory, kind), *args, **values)

    call.__name__, call.__doc__ = name, words
    return call


keeping = partial(of_kind, repeats=True, project_argument="project", always=True)
finding = partial(of_kind, repeats=True, reads=True)

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
    "specific_chunks": ("Search {what}: chunks", CHUNKS, QUERY, (limit(10), THRESHOLD)),
    "section_context": ("Search {what}: sections", SECTIONS, QUERY, (limit(5), THRESHOLD)),
    "full_documents": ("Get {what} whole", DOCUMENTS, RANKED, (limit(3, ALL), RANK, THRESHOLD)),
}
"""The three searches of each by the end of their names: the title, the words, what is looked for, what narrows it."""


def search(size: str, kind: Kind, method: OfKind[Given]) -> Verb[Given]:
    """Declare one of the searches of a family."""
    name, what, filter = FAMILIES[kind]
    title, words, query, rest = SIZES[size]
    made = _bound(kind, method, f"search_{name}_{size}", words.format(what=what))
    return reading(title.format(what=what), query, *filter, *rest)(made)

"""
The findings of research runs: as they are given, and as rows, for a program and a file and for tools and
commands.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from memory.schema.draft import Draft, Saved, check_content
from memory.schema.errors import NAME_LIMIT, Invalid, check_text, checked_name, clipped_repr
from memory.schema.kinds import RESEARCH_KINDS, Kind, kind as named_kind
from memory.schema.memory import Document
from memory.schema.query import MOST, Scope
from memory.tools.arguments import record, several
from memory.tools.render import data
from memory.tools.render.data import row

if TYPE_CHECKING:
    from datetime import datetime

    from memory.engine import Engine
    from memory.engine.sessions import Run, ToolCall
    from memory.schema.answer import Answer, Hit
    from memory.schema.memory import Json, Memory
    from memory.tools.research.text import Briefing


LIMIT = 10
"""The default number of hits."""


class Here(Enum):
    """Stands for the run that a `ResearchMemory` is of."""

    RUN = "this run"


THIS = Here.RUN

Which: TypeAlias = "str | Literal[Here.RUN] | None"
"""A run; None means all runs, and is never the default."""


def draft(
    memory_type: str,
    content: str,
    created_by: str,
    *,
    run: str,
    metadata: Mapping[str, Json] | None = None,
    project: str | None = None,
    source: str | None = None,
) -> Draft:
    """
    What an agent found, as a draft.

    Args:
        metadata: A `query_id` in it is dropped: the run has it.

    Raises:
        Invalid: The type is unknown, content or author is missing, or the metadata name another run.
    """
    if metadata is not None and not isinstance(metadata, Mapping):
        raise Invalid(f"metadata must be values by name, not {clipped_repr(metadata)}")
    kind = research_kind(memory_type)
    check_content(kind, content)
    said = dict(metadata or {})
    if (other := said.pop("query_id", run)) != run:
        raise Invalid(
            f"metadata.query_id is {clipped_repr(other)}, and the run is {clipped_repr(run)}", hint="Leave it out."
        )
    return Draft(
        kind=kind,
        body=content,
        agent_id=checked_name("created_by", created_by),
        query_id=run,
        metadata=said,
        project=project,
        source=source,
    )


def scope(run: str | None, memory_type: str | None = None) -> Scope:
    """
    The findings of a run, of all types or of one.

    Args:
        run: None takes all runs.

    Raises:
        Invalid: No such type.
    """
    return Scope(kinds=frozenset(_kinds(memory_type)), runs=frozenset(() if run is None else (run,)))


def _kinds(memory_type: str | None) -> tuple[Kind, ...]:
    return tuple(RESEARCH_KINDS) if memory_type is None else (research_kind(memory_type),)


def research_kind(name: str) -> Kind:
    """
    One of the seven kinds by its name; plurals are accepted.

    Raises:
        Invalid: There is no kind of this name, or it does not belong to runs.
    """
    check_text("the type", name, NAME_LIMIT)
    if (found := named_kind(name, RESEARCH_KINDS)) in RESEARCH_KINDS:
        return found
    raise Invalid(f"a {found} belongs to no research run", hint=f"Of a run there are: {', '.join(RESEARCH_KINDS)}.")


def latest(engine: Engine, run: str | None, memory_type: str | None = None, limit: int = MOST) -> list[Document]:
    """
    Memories, most recently updated first.

    Args:
        run: None takes all runs.

    Raises:
        Invalid: No such type, or the limit is not 1..10,000.
    """
    return _read(engine, engine.runs.memories(run, _kinds(memory_type), limit))


def every(engine: Engine, run: str, memory_type: str | None = None, *, at_once: int = MOST) -> Iterator[Document]:
    """All memories of a run, most recently updated first, read in pages."""
    for page in engine.documents.pages(scope(run, memory_type), at_once):
        yield from _read(engine, page)


def _read(engine: Engine, memories: Sequence[Memory]) -> list[Document]:
    bodies = engine.runs.bodies(memories)
    return [Document(memory, bodies[memory.id]) for memory in memories if memory.id in bodies]


# Rows --------------------------------------------------------------------

PAGE = 20_000
"""Characters of a content that a tool shows; `memory_details` goes on from there."""

SAID = several(
    record("id memory_id:number query_id type agent:text? content size:number metadata:object created_at flags:texts")
)
CALL = (
    "query_id=run:text? agent_name=agent tool_type=type tool_name=tool parameters result success:number "
    "timestamp=moment:number"
)
NUMBERS = (
    "query_id=id total_memories=memories:number memory_counts=kinds:object agent_counts=agents:object "
    "total_tool_calls=calls:number failed_tool_calls=failed_calls:number"
)
_DOCUMENTED = (
    "id=memory.id:number uid=memory.uid query_id=memory.query_id:text? memory_type=memory.kind type=memory.kind "
    "content=body created_by=memory.agent_id:text? created_at=memory.updated_at:number metadata=memory.metadata:object "
    "flags=memory.flags:texts"
)
_SAID = (
    "id=memory.uid memory_id=memory.id:number query_id=memory.query_id:text? type=memory.kind "
    "agent=memory.agent_id:text? content=body size=memory.body_size:number metadata=memory.metadata:object "
    "created_at=memory.updated_at flags=memory.flags:texts"
)
_EXPORTED = (
    "id=memory.id:number query_id=memory.query_id memory_type=memory.kind content=body created_by=memory.agent_id "
    "created_at=memory.updated_at:number metadata=memory.metadata:object"
)
"""A memory of an export, in the order of its fields."""


def unix(moment: datetime) -> int:
    """Whole seconds since 1970."""
    return int(moment.timestamp())


def documented(found: Document) -> dict[str, Any]:
    """
    A memory as it is documented, and more.

    `created_at` is the time of its last change; the metadata name the run, as the column does.
    """
    return row(found, _DOCUMENTED) | {"metadata": _metadata(found.memory)}


def _metadata(memory: Memory) -> dict[str, Json]:
    return {"query_id": memory.query_id, **memory.metadata}


def found(hit: Hit, body: str) -> dict[str, Any]:
    """
    A memory that was searched for. Rows are in the order of `distance`.

    `distance` is 1 - cosine, 0..2. It is a number always: infinity where no vector was compared, so that
    `distance < 0.3` says no and what is not known comes last. `similarity` is the cosine, and None there. `relevance`, 0..1,
    is what the search goes by. `topup` says whence a row fills up the answer, "distilled" or "recent"; None if it was found.
    """
    numbers = row(hit, "relevance:real6 similarity:real6 distance:real6 topup:filled")
    numbers["distance"] = inf if hit.distance is None else numbers["distance"]
    return documented(Document(hit.memory, body)) | numbers


def by_similarity(answer: Answer) -> Answer:
    """The most similar first, then what was not compared; what only fills up stays behind all that was found."""
    hits = sorted(answer.hits, key=lambda hit: (bool(hit.topup), inf if hit.distance is None else hit.distance))
    return answer._replace(hits=tuple(hits))


def call(id: int, made: ToolCall) -> dict[str, Any]:
    """A tool that was used."""
    return {"id": id} | row(made, CALL)


def statistics(run: Run | None, query_id: str) -> dict[str, Any]:
    """
    How much there is of a run.

    Args:
        run: None if nothing is.
    """
    fields = f"{NUMBERS} earliest_created=earliest:number? latest_created=latest:number?"
    found = data.blank(fields) | {"query_id": query_id} if run is None else row(run, fields)
    return found | {"memory_counts": dict.fromkeys(map(str, RESEARCH_KINDS), 0) | found["memory_counts"]}


def said(found: Document) -> dict[str, Any]:
    """
    A memory as tools show it; `id` is its uid, `memory_id` its number.

    Of the content there is no more than a page; `size` says how many characters it has.
    """
    return row(found, _SAID) | {"content": found.body[:PAGE], "metadata": _metadata(found.memory)}


def kept(result: Saved) -> dict[str, Any]:
    return {
        **row(result, "known:flag renewed:flag"),
        "memory": row(result.memory, "id=uid memory_id=id:number title"),
        **row(result.memory, "query_id:text? type=kind agent=agent_id:text? created_at=updated_at"),
        "notices": data.notices(result.notices),
    }


def listed(run: str, found: Iterable[Document], *, more: bool) -> dict[str, Any]:
    return {"query_id": run, "memories": [said(one) for one in found], "more": more, "notices": []}


def numbers(found: Run) -> dict[str, Any]:
    """The numbers of a run."""
    return row(found, f"{NUMBERS} earliest_created=earliest latest_created=latest")


def context(id: str, found: Briefing) -> dict[str, Any]:
    """What a worker should know of a run."""
    pointers = [data.pointer(memory) for memory in found.memories]
    return {
        "query_id": id,
        **row(found, "context=text tokens:number"),
        "memories": pointers,
        "omitted": found.omitted,
    }


def export(
    query_id: str, documents: Iterable[Document], calls: Iterable[tuple[int, ToolCall]], moment: datetime
) -> dict[str, Any]:
    """The documented file: metadata as text, times in seconds."""
    memories = [
        row(one, _EXPORTED)
        | {
            "created_by": one.memory.agent_id or "",
            "metadata": json.dumps(_metadata(one.memory), ensure_ascii=False),
        }
        for one in documents
    ]
    made = [call(id, one) for id, one in calls]
    return {"export_timestamp": unix(moment), "query_id": query_id, "memories": memories, "tool_calls": made}

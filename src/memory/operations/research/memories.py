"""The memories of a run as the engine takes and gives them: drafts and scopes, what was said last, all there is."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Literal, TypeAlias

from memory.schema.document import Document
from memory.schema.draft import Draft, article
from memory.schema.errors import Invalid
from memory.schema.kinds import RESEARCH_KINDS, Kind, kind as named_kind
from memory.schema.limits import BODY_LIMIT, NAME_LIMIT, check_text, checked_name, clipped_repr
from memory.schema.query import MOST, Scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.engine import Engine
    from memory.schema.memory import Json, Memory


LIMIT = 10
"""Hits of a search unless somebody says another number (CAP C28)."""


class Here(Enum):
    """Stands for the run that a `ResearchMemory` is of."""

    RUN = "this run"


THIS = Here.RUN

Which: TypeAlias = "str | Literal[Here.RUN] | None"
"""A run; None is all of them, and is never meant by leaving it out."""


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
        metadata: A `query_id` in it is left out: the run says it (CAP X35).

    Raises:
        Invalid: No such type, no content, no author, or the metadata name another run.
    """
    if metadata is not None and not isinstance(metadata, Mapping):
        raise Invalid(f"metadata must be values by name, not {clipped_repr(metadata)}")
    kind = research_kind(memory_type)
    check_text("content", content, BODY_LIMIT)
    if not content.strip():
        raise Invalid(f"{article(kind)} needs content")
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
    What a run found out, all of it or of one type.

    Args:
        run: None takes all runs.

    Raises:
        Invalid: No such type.
    """
    kinds = RESEARCH_KINDS if memory_type is None else (research_kind(memory_type),)
    return Scope(kinds=frozenset(kinds), runs=frozenset(() if run is None else (run,)))


def research_kind(name: str) -> Kind:
    """
    One of the seven kinds, by its name; a plural is taken too.

    Raises:
        Invalid: There is none of this name, or it belongs to no run.
    """
    check_text("the type", name, NAME_LIMIT)
    if (found := named_kind(name, RESEARCH_KINDS)) in RESEARCH_KINDS:
        return found
    raise Invalid(f"a {found} belongs to no research run", hint=f"Of a run there are: {', '.join(RESEARCH_KINDS)}.")


def latest(engine: Engine, run: str | None, memory_type: str | None = None, limit: int = MOST) -> list[Document]:
    """
    What was said last, first.

    Args:
        run: None takes all runs.

    Raises:
        Invalid: No such type, or the limit is not 1..10,000.
    """
    kinds = RESEARCH_KINDS if memory_type is None else (research_kind(memory_type),)
    return _read(engine, engine.runs.memories(run, kinds, limit))


def every(engine: Engine, run: str, memory_type: str | None = None, *, at_once: int = MOST) -> Iterator[Document]:
    """All of a run, last said first, read so many at once."""
    where = scope(run, memory_type)
    page = engine.documents.recent(where, at_once)
    while page:
        yield from _read(engine, page)
        page = engine.documents.recent(where, at_once, after=page[-1])


def _read(engine: Engine, memories: Sequence[Memory]) -> list[Document]:
    bodies = engine.runs.bodies(memories)
    return [Document(memory, bodies[memory.id]) for memory in memories if memory.id in bodies]

"""The memories of a run: how they become drafts, which scope they are in, and how they are read."""

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
"""The default number of hits (CAP C28)."""


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
        metadata: A `query_id` in it is dropped: the run has it (CAP X35).

    Raises:
        Invalid: The type is unknown, content or author is missing, or the metadata name another run.
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
    The findings of a run, of all types or of one.

    Args:
        run: None takes all runs.

    Raises:
        Invalid: No such type.
    """
    kinds = RESEARCH_KINDS if memory_type is None else (research_kind(memory_type),)
    return Scope(kinds=frozenset(kinds), runs=frozenset(() if run is None else (run,)))


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
    kinds = RESEARCH_KINDS if memory_type is None else (research_kind(memory_type),)
    return _read(engine, engine.runs.memories(run, kinds, limit))


def every(engine: Engine, run: str, memory_type: str | None = None, *, at_once: int = MOST) -> Iterator[Document]:
    """All memories of a run, most recently updated first, read in pages."""
    where = scope(run, memory_type)
    page = engine.documents.recent(where, at_once)
    while page:
        yield from _read(engine, page)
        page = engine.documents.recent(where, at_once, after=page[-1])


def _read(engine: Engine, memories: Sequence[Memory]) -> list[Document]:
    bodies = engine.runs.bodies(memories)
    return [Document(memory, bodies[memory.id]) for memory in memories if memory.id in bodies]

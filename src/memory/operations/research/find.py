"""What a run found out, searched or simply the latest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.operations.research.arguments import research_kind, scope
from memory.schema.document import Document
from memory.schema.kinds import RESEARCH_KINDS
from memory.schema.query import MOST, Query

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memory.engine import Engine
    from memory.schema.answer import Answer
    from memory.schema.memory import Memory, MemoryId
    from memory.schema.query import Mode, Scope

LIMIT = 10  # hits unless somebody says another number (CAP C28)


class Found(NamedTuple):
    """An answer, and what its memories say in full; one that was removed meanwhile is missing there."""

    answer: Answer
    bodies: Mapping[MemoryId, str]


def search(engine: Engine, text: str, limit: int, where: Scope, mode: Mode) -> Found:
    """
    Search memories whole, filled up to the limit with what is in scope (CAP A43).

    Raises:
        Invalid: See `memory.schema.query.Query`.
        EmbedError, SpaceMismatch: Only if the mode wants vectors.
    """
    answer = engine.search(Query(text, limit, mode=mode, scope=where, compared=True, topup=True))
    return Found(answer, engine.runs.bodies([hit.memory for hit in answer.hits]))


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

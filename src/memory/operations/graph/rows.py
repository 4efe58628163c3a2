"""Entities and relations as rows of an answer."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from memory.operations.render import data, graph_data
from memory.schema.answer import Notice
from memory.schema.limits import clipped_repr

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from memory.engine import Engine
    from memory.schema.memory import Memory, MemoryId
    from memory.store import Relation

One = TypeVar("One")

PAGE = 1000  # entities, relations, links that are read together

Name: TypeAlias = "int | str"
"""An entity's name, its id, its uid or the beginning of its uid (CAP X45); names come first."""

Values: TypeAlias = "dict[str, Any]"
"""JSON values by name."""


HINTS = 3
"""Unknown names for which the nearest is looked up."""


class Rows:
    """What is asked of an engine to answer in rows."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def entities(self, entities: Sequence[Memory], *, observations: bool = True) -> list[Values]:
        embeddings = self._engine.vectors.embeddings(entities)
        known: Mapping[MemoryId, Sequence[str]] = self._engine.graph.known(entities) if observations else {}
        return [graph_data.entity(one, embeddings[one.id], known.get(one.id)) for one in entities]

    def states(self, entities: Sequence[Memory]) -> dict[MemoryId, str]:
        embeddings = self._engine.vectors.embeddings(entities)
        return {one.id: graph_data.status(one, embeddings[one.id]) for one in entities}

    def relations(self, relations: Iterable[Relation]) -> list[Values]:
        found = list(relations)
        ends = self._engine.graph.there(end for one in found for end in (one.source, one.target))
        names = {id: memory.title for id, memory in ends.items()}
        return [graph_data.relation(one, names) for one in found]

    def unknown(self, names: Sequence[Name]) -> list[Values]:
        """Notices of names that are none, with the nearest that there is."""
        suggestion = self._engine.graph.suggestion
        return data.notices(
            tuple(Notice(f"no entity {clipped_repr(name)}", suggestion(name)) for name in names[:HINTS])
        )


def unique(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    return tuple(dict.fromkeys(notices))


def paged(found: Iterator[One]) -> Iterator[list[One]]:
    """A page at a time: what belongs to each is asked for together."""
    while page := list(islice(found, PAGE)):
        yield page

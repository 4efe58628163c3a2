"""Where entities are related to each other and to memories: a part of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence, Set as AbstractSet

    from memory.schema.memory import MemoryId
    from memory.store.values import Attached, GraphCounts, Relation


class Graph(Protocol):
    """
    Relations between entities, and links from entities to memories. Both go with what they join.

    An entity is a memory of kind ENTITY; its name is its title, and no two have the same. For neighbourhoods it does
    not matter which way a relation points. None of the methods asks the database once for each entity.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def named(self, names: Sequence[str]) -> Mapping[str, MemoryId]:
        """The entities of these names that are there, by name."""
        ...

    def names(self, after: str = "", limit: int = 1000) -> Sequence[str]:
        """Names of entities above `after`, by code points, lowest first."""
        ...

    def relate(self, relations: Sequence[Relation]) -> Sequence[bool]:
        """
        Add relations, all in one transaction; for each whether it is new. One that is there stays as it is.

        Raises:
            NotFound: An end of one is no entity that is there. Nothing was added.
        """
        ...

    def unrelate(self, relations: Sequence[Relation]) -> Sequence[bool]:
        """Remove relations by source, target and type, all in one transaction; for each whether it was there."""
        ...

    def relations(self, ids: Sequence[MemoryId], *, inside: bool = False) -> Sequence[Relation]:
        """
        Those that begin or end at one of these entities, by source, target, type.

        Args:
            inside: Only those that begin and end at one of them.
        """
        ...

    def all_relations(self, after: Relation | None = None, limit: int = 1000) -> Sequence[Relation]:
        """By source, target, type; `after` continues behind the last one of a page, which may be gone."""
        ...

    def neighbours(self, ids: Collection[MemoryId], *, besides: Collection[MemoryId] = ()) -> AbstractSet[MemoryId]:
        """The entities that a relation joins to one of these, whichever way it points, but those `besides`."""
        ...

    def attach(self, links: Sequence[Attached]) -> Sequence[bool]:
        """
        Link memories to entities, all in one transaction; for each link whether it is new.

        Raises:
            NotFound: The entity is none that is there, or there is no such memory. Nothing was linked.
            Invalid: The memory is an entity itself: those are related. Nothing was linked.
        """
        ...

    def detach(self, links: Sequence[Attached]) -> Sequence[bool]:
        """Remove links by entity and memory, all in one transaction; for each whether it was there."""
        ...

    def attached(self, entities: Sequence[MemoryId] = (), memories: Sequence[MemoryId] = ()) -> Sequence[Attached]:
        """The links of any of these entities or of any of these memories, by entity, then by memory."""
        ...

    def all_attached(self, after: Attached | None = None, limit: int = 1000) -> Sequence[Attached]:
        """By entity, then by memory; `after` continues behind the last one of a page, which may be gone."""
        ...

    def counts(self) -> GraphCounts: ...

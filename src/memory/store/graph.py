"""Where entities are related to each other and to memories: a part of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence, Set as AbstractSet

    from memory.schema.memory import MemoryId
    from memory.store.values import Attached, Edge, GraphCounts, Relation


class Graph(Protocol):
    """
    Relations between entities, and links from entities to memories. Both go with what they join.

    An entity is a memory of kind ENTITY; its name is its title, and no two have the same. For neighbourhoods it does
    not matter which way a relation points. None of the methods asks the database once for each entity.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def named(
        self, names: Sequence[str] | None = None, *, after: str = "", limit: int | None = None
    ) -> Mapping[str, MemoryId]:
        """
        Entities that are there, by name, in the order of the code points.

        Args:
            names: Only those of these names.
            after, limit: A page of them: of names above `after`, so many.
        """

    def add(self, edges: Sequence[Edge]) -> Sequence[bool]:
        """
        Add relations and links, all in one transaction; for each whether it is new. One that is there stays as it is.

        What may be joined is said in `memory.write.rules.join`.
        """

    def remove(self, edges: Sequence[Edge]) -> Sequence[bool]:
        """
        Remove relations by source, target and type, and links by entity and memory, all in one transaction; for each
        whether it was there.
        """

    def relations(
        self,
        ids: Sequence[MemoryId] | None = None,
        *,
        inside: bool = False,
        after: Relation | None = None,
        limit: int | None = None,
    ) -> Sequence[Relation]:
        """
        Relations by source, target, type.

        Args:
            ids: Only those that begin or end at one of these entities; `inside`: that begin and end at one of them.
            after, limit: A page of them: behind this relation, which may be gone, so many.
        """

    def neighbours(self, ids: Collection[MemoryId], *, besides: Collection[MemoryId] = ()) -> AbstractSet[MemoryId]:
        """The entities that a relation joins to one of these, whichever way it points, less those `besides`."""

    def attached(
        self,
        entities: Sequence[MemoryId] | None = None,
        memories: Sequence[MemoryId] | None = None,
        *,
        after: Attached | None = None,
        limit: int | None = None,
    ) -> Sequence[Attached]:
        """
        Links by entity, then by memory.

        Args:
            entities, memories: Only the links of any of these; if both are given, of any of the ones or of the others.
            after, limit: A page of them: behind this link, which may be gone, so many.
        """

    def counts(self) -> GraphCounts: ...

"""Where entities are related to each other and to memories: a part of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from memory.store.values import Attached, Edge, GraphCounts, Relation

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence, Set as AbstractSet

    from memory.schema.memory import MemoryId

E = TypeVar("E", Relation, Attached)


class Graph(Protocol):
    """
    Relations between entities, and links from entities to memories. Both go with what they join.

    An entity is a memory of kind ENTITY; its name is its title, and no two have the same. For neighbourhoods it does
    not matter which way a relation points. No reading asks the database once for each entity.

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

        What may be joined is said in `memory.write.edges.join`.
        """

    def remove(self, edges: Sequence[Edge]) -> Sequence[bool]:
        """
        Remove relations by source, target and type, and links by entity and memory, all in one transaction; for each
        whether it was there.
        """

    def edges(
        self,
        kind: type[E],
        ids: Sequence[MemoryId] | None = None,
        *,
        inside: bool = False,
        after: E | None = None,
        limit: int | None = None,
    ) -> Sequence[E]:
        """
        Edges of a kind: relations by source, target, type, or links by entity, memory.

        Args:
            ids: Only those that begin or end at one of these; `inside`: that begin and end at one of them.
            after, limit: A page of them: behind this edge, which may be gone, so many.
        """

    def neighbours(self, ids: Collection[MemoryId], *, besides: Collection[MemoryId] = ()) -> AbstractSet[MemoryId]:
        """The entities that a relation joins to one of these, whichever way it points, less those `besides`."""

    def counts(self) -> GraphCounts: ...

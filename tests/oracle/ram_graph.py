"""`RamGraph`: relations between entities and links to memories, the obvious way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.kinds import Kind
from memory.store import Attached, GraphCounts, Relation
from oracle.ram_data import Part, tally

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence, Set as AbstractSet

    from memory.schema.memory import Memory, MemoryId
    from memory.store import Edge
    from memory.store.graph import E


class RamGraph(Part):
    """See `memory.store.graph.Graph`."""

    def named(
        self, names: Sequence[str] | None = None, *, after: str = "", limit: int | None = None
    ) -> Mapping[str, MemoryId]:
        with self.data.lock:
            found = [(one.title, one.id) for one in self._entities() if names is None or one.title in names]
        return dict(sorted(one for one in found if one[0] > after)[:limit])

    def add(self, edges: Sequence[Edge]) -> Sequence[bool]:
        with self.data.change() as data:
            new = []
            for *key, moment in edges:
                there = data.relations if len(key) > 2 else data.attached
                new.append(tuple(key) not in there)
                there.setdefault(tuple(key), moment)
            return new

    def remove(self, edges: Sequence[Edge]) -> Sequence[bool]:
        with self.data.change() as data:
            tables = [data.relations if isinstance(one, Relation) else data.attached for one in edges]
            return [there.pop(one[:-1], None) is not None for there, one in zip(tables, edges, strict=True)]

    def edges(
        self,
        kind: type[E],
        ids: Sequence[MemoryId] | None = None,
        *,
        inside: bool = False,
        after: E | None = None,
        limit: int | None = None,
    ) -> Sequence[E]:
        among = all if inside else any
        found = [one for one in self._every(kind) if ids is None or among(end in ids for end in one[:2])]
        return [one for one in found if after is None or one[:-1] > after[:-1]][:limit]

    def _every(self, kind: type[E]) -> list[E]:
        with self.data.lock:
            there = self.data.relations if kind is Relation else self.data.attached
            return [kind._make((*key, moment)) for key, moment in sorted(there.items())]

    def neighbours(self, ids: Collection[MemoryId], *, besides: Collection[MemoryId] = ()) -> AbstractSet[MemoryId]:
        ends = [one[:2] for one in self._every(Relation)] + [one[1::-1] for one in self._every(Relation)]
        return {there for here, there in ends if here in ids and there not in besides}

    def counts(self) -> GraphCounts:
        with self.data.lock:
            entities, relations = self._entities(), self._every(Relation)
            joined = {end for one in relations for end in (one.source, one.target)}
            return GraphCounts(
                entities=len(entities),
                relations=len(relations),
                attached=len(self._every(Attached)),
                isolated=sum(one.id not in joined for one in entities),
                types=tally(one.type for one in relations),
                categories=tally(one.category for one in entities if one.category is not None),
            )

    def _entities(self) -> list[Memory]:
        return [one for one in self.data.memories.values() if one.kind is Kind.ENTITY]

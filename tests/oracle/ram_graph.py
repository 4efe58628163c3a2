"""`RamGraph`: relations between entities and links to memories, the obvious way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import Invalid, NotFound
from memory.schema.kinds import Kind
from memory.store import Attached, GraphCounts, Relation
from oracle.ram_data import Part, tally

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence, Set as AbstractSet

    from memory.schema.memory import Memory, MemoryId


class RamGraph(Part):
    """See `memory.store.graph.Graph`."""

    def named(self, names: Sequence[str]) -> Mapping[str, MemoryId]:
        with self.data.lock:
            return {one.title: one.id for one in self._entities() if one.title in names}

    def names(self, after: str = "", limit: int = 1000) -> Sequence[str]:
        with self.data.lock:
            return sorted(one.title for one in self._entities() if one.title > after)[:limit]

    def relate(self, relations: Sequence[Relation]) -> Sequence[bool]:
        with self.data.change() as data:
            for one in relations:
                self._check_entities(one.source, one.target)
            answers = []
            for source, target, type, moment in relations:
                answers.append((source, target, type) not in data.relations)
                data.relations.setdefault((source, target, type), moment)
            return answers

    def unrelate(self, relations: Sequence[Relation]) -> Sequence[bool]:
        with self.data.change() as data:
            return [data.relations.pop(one[:3], None) is not None for one in relations]

    def relations(self, ids: Sequence[MemoryId], *, inside: bool = False) -> Sequence[Relation]:
        among = all if inside else any
        return [one for one in self._relations() if among(end in ids for end in (one.source, one.target))]

    def all_relations(self, after: Relation | None = None, limit: int = 1000) -> Sequence[Relation]:
        return [one for one in self._relations() if after is None or one[:3] > after[:3]][:limit]

    def _relations(self) -> list[Relation]:
        with self.data.lock:
            return [Relation(*key, moment) for key, moment in sorted(self.data.relations.items())]

    def neighbours(self, ids: Collection[MemoryId], *, besides: Collection[MemoryId] = ()) -> AbstractSet[MemoryId]:
        ends = [one[:2] for one in self._relations()] + [one[1::-1] for one in self._relations()]
        return {there for here, there in ends if here in ids and there not in besides}

    def attach(self, links: Sequence[Attached]) -> Sequence[bool]:
        with self.data.change() as data:
            for one in links:
                self._check_entities(one.entity)
                if one.memory not in data.memories:
                    raise NotFound(f"no memory {one.memory}")
            if any(data.memories[one.memory].kind is Kind.ENTITY for one in links):
                raise Invalid("a memory is an entity itself")
            answers = []
            for entity, memory, moment in links:
                answers.append((entity, memory) not in data.attached)
                data.attached.setdefault((entity, memory), moment)
            return answers

    def detach(self, links: Sequence[Attached]) -> Sequence[bool]:
        with self.data.change() as data:
            return [data.attached.pop(one[:2], None) is not None for one in links]

    def attached(self, entities: Sequence[MemoryId] = (), memories: Sequence[MemoryId] = ()) -> Sequence[Attached]:
        return [one for one in self._attached() if one.entity in entities or one.memory in memories]

    def all_attached(self, after: Attached | None = None, limit: int = 1000) -> Sequence[Attached]:
        return [one for one in self._attached() if after is None or one[:2] > after[:2]][:limit]

    def _attached(self) -> list[Attached]:
        with self.data.lock:
            return [Attached(*key, moment) for key, moment in sorted(self.data.attached.items())]

    def counts(self) -> GraphCounts:
        with self.data.lock:
            entities, relations = self._entities(), self._relations()
            joined = {end for one in relations for end in (one.source, one.target)}
            return GraphCounts(
                entities=len(entities),
                relations=len(relations),
                attached=len(self._attached()),
                isolated=sum(one.id not in joined for one in entities),
                types=tally(one.type for one in relations),
                categories=tally(one.category for one in entities if one.category is not None),
            )

    def _entities(self) -> list[Memory]:
        return [one for one in self.data.memories.values() if one.kind is Kind.ENTITY]

    def _check_entities(self, *ids: MemoryId) -> None:
        there = {one.id for one in self._entities()}
        for id in ids:
            if id not in there:
                raise NotFound(f"no entity {id}")

"""What may be joined: relations between entities, and links from entities to memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.keep.rules import note
from memory.schema.errors import Invalid, NotFound
from memory.schema.kinds import Kind
from memory.schema.query import EVERYTHING
from memory.store import Attached, Edge, Relation, Store
from memory.store.journal import EdgeChange

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from memory.schema.memory import Memory, MemoryId

ENTITIES = frozenset({Kind.ENTITY})
OTHERS = frozenset(Kind) - ENTITIES


def join(store: Store, edges: Sequence[Edge]) -> Sequence[bool]:
    """
    Relate entities to each other and memories to entities, all or none; for each edge whether it is new.

    Raises:
        NotFound: What should be an entity is none that is there, or there is no such memory.
        Invalid: A memory is an entity itself.
    """
    entities = {id: None for one in edges for id in (one[:1] if isinstance(one, Attached) else one[:2])}
    memories = {one.memory: None for one in edges if isinstance(one, Attached)}
    with store.transaction():
        # Counted, as no row need be read for it, and all is well in most cases.
        if [_count(store, entities, ENTITIES), _count(store, memories, OTHERS)] != [len(entities), len(memories)]:
            _refuse(store.memories.by_id([*entities, *memories]), entities, memories)
        added = store.graph.add(edges)
        new = [EdgeChange(None, one) for one, is_new in zip(edges, added, strict=True) if is_new]
        if new:
            note(store, new, max(one.created_at for one in edges))
    return added


def part(store: Store, edges: Sequence[Edge]) -> Sequence[bool]:
    """Remove edges, all or none; for each whether it was there. Of these, `created_at` is now."""
    with store.transaction():
        ids = sorted({id for one in edges for id in one[:2]})
        relations, links = store.graph.edges(Relation, ids), store.graph.edges(Attached, ids)
        known: list[Edge] = [*relations, *links]
        there = {one[:-1]: one for one in known}
        gone = store.graph.remove(edges)
        former = [EdgeChange(there[one[:-1]], None) for one, was in zip(edges, gone, strict=True) if was]
        if former:
            note(store, former, max(one.created_at for one in edges))
    return gone


def _count(store: Store, ids: Collection[MemoryId], kinds: frozenset[Kind]) -> int:
    return store.memories.count(EVERYTHING._replace(kinds=kinds, among=frozenset(ids))) if ids else 0


def _refuse(known: Mapping[MemoryId, Memory], entities: Iterable[MemoryId], memories: Iterable[MemoryId]) -> None:
    for id in entities:
        if id not in known or known[id].kind is not Kind.ENTITY:
            raise NotFound(f"no entity {id}")
    for id in memories:
        if id not in known:
            raise NotFound(f"no memory {id}")
    for id in memories:
        if known[id].kind is Kind.ENTITY:
            raise Invalid(f"memory {known[id].short_id} is an entity itself", hint="Relate the two instead.")

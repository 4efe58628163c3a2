"""Walks through the graph of entities, by breadth: how far away others are, and a shortest path to one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from memory.schema.errors import StoreDamaged
from memory.schema.kinds import Kind
from memory.store import UNSEEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet

    from memory.schema.memory import MemoryId
    from memory.store import Relation, Store
    from memory.store.graph import Graph


def distances(store: Store, ids: Iterable[MemoryId], most: int) -> Mapping[MemoryId, int]:
    """
    How many relations away each entity is from the nearest of these, of those that are at most `most` away.

    They themselves are 0 away, if they are entities. The store is asked once a step, all of them in one snapshot.
    """
    with store.snapshot():
        frontier: AbstractSet[MemoryId] = _entities(store, ids)
        found = dict.fromkeys(frontier, 0)
        for step in range(1, most + 1):
            frontier = store.graph.neighbours(frontier, besides=found)
            if not frontier:
                break
            found |= dict.fromkeys(frontier, step)
    return found


def path(store: Store, source: MemoryId, target: MemoryId, most: int) -> Sequence[Relation] | None:
    """
    The relations of a shortest path, from source to target, whichever way each points; the same for the same graph.

    Returns:
        None if there is none of at most `most` relations, or an end is no entity; empty from an entity to itself.

    Raises:
        StoreDamaged: What the store says of its relations does not agree.
    """
    with store.snapshot():
        if source == target:
            return [] if _entities(store, (source,)) else None
        if (levels := _levels(store.graph, source, target, most)) is None:
            return None
        if (found := _first(store.graph, source, levels)) is not None:
            return found
    fault = next((one for one in store.check() if one != UNSEEN), "its relations and their index do not agree")
    raise StoreDamaged(f"no path can be followed: {fault}", hint="`memory doctor --fix` rebuilds what it can.")


def _entities(store: Store, ids: Iterable[MemoryId]) -> set[MemoryId]:
    """Those of these that are there."""
    return {one.id for one in store.memories.by_id([*ids]).values() if one.kind is Kind.ENTITY}


def _levels(graph: Graph, source: MemoryId, target: MemoryId, most: int) -> list[AbstractSet[MemoryId]] | None:
    """
    The entities on shortest paths, step by step from the source on; None if no path is short enough.

    From the source on as far as half the way, those that lead to the target; from there on all of that distance to it.
    It is looked for from both ends, further from the one with fewer to go on from: from one end alone, a search comes
    by nearly everything before it is half as far again.
    """
    ahead: list[AbstractSet[MemoryId]] = [{source}]
    back: list[AbstractSet[MemoryId]] = [{target}]
    while not ahead[-1] & back[-1]:
        if len(ahead) + len(back) - 2 >= most:
            return None
        side = min(ahead, back, key=lambda levels: len(levels[-1]))
        side.append(graph.neighbours(side[-1]) - set().union(*side))
        if not side[-1]:
            return None
    levels = [ahead.pop() & back.pop()]
    for level in reversed(ahead):
        levels.insert(0, level & graph.neighbours(levels[0]))
    return levels + back[::-1]


def _first(graph: Graph, source: MemoryId, levels: Sequence[AbstractSet[MemoryId]]) -> list[Relation] | None:
    """
    From each entity on to the lowest of the next level, by the first of the relations that join them.

    Returns:
        None if it ends on the way, as where an index has lost a relation.
    """
    stations = [source]
    for level in levels[1:]:
        # Each entity of a level has a neighbour in the next: where that has one alone, nothing is asked.
        nearer = level if len(level) == 1 else level & graph.neighbours(stations[-1:])
        if not nearer:
            return None
        stations.append(min(nearer))
    joined = {frozenset(one[:2]): one for one in reversed(graph.relations(stations, inside=True))}
    pairs = [frozenset(pair) for pair in pairwise(stations)]
    return [joined[pair] for pair in pairs] if joined.keys() >= {*pairs} else None

"""Walks along relations are the same over every store: neighbours, distances and paths."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from entries import kept, note, write
from graph_suite import NO_ENTITIES, entities, entity, linked, related

from memory.keep.rules import join
from memory.search.near import distances, path

if TYPE_CHECKING:
    from memory.schema.memory import MemoryId
    from memory.store import Relation, Store


def chained(store: Store, *ids: MemoryId) -> list[Relation]:
    """Relate each to the next, every other one the other way round."""
    chain = [related(*((a, b) if n % 2 else (b, a))) for n, (a, b) in enumerate(pairwise(ids))]
    join(store, chain)
    return chain


class Neighbours:
    def test_it_does_not_matter_which_way_relations_point(self, store: Store) -> None:
        a, b, c, d, alone = entities(store, "a", "b", "c", "d", "alone")
        join(store, [related(a, b), related(c, a), related(b, d), related(a, b, "likes")])

        assert store.graph.neighbours([a]) == {b, c}
        assert store.graph.neighbours([c, d]) == {a, b}
        assert store.graph.neighbours([a, b, a]) == {a, b, c, d}
        assert store.graph.neighbours([alone]) == store.graph.neighbours([]) == set()

    def test_an_entity_that_is_related_to_itself_is_its_own_neighbour(self, store: Store) -> None:
        a, b = entities(store, "a", "b")
        join(store, [related(a, a), related(a, b)])

        assert store.graph.neighbours([a]) == {a, b}
        assert store.graph.neighbours([a], besides=[a, *NO_ENTITIES]) == {b}

    def test_only_entities_have_neighbours(self, store: Store) -> None:
        a, b, memory = kept(store, entity("a"), entity("b"), note())
        join(store, [related(a, b)])
        join(store, [linked(a, memory)])

        assert store.graph.neighbours([memory, *NO_ENTITIES]) == set()
        assert store.graph.neighbours([memory, a, *NO_ENTITIES]) == {b}

    @pytest.mark.parametrize("left", [0, 1, 50, 299])
    def test_of_many_only_those_are_named_that_are_not_left_out(self, store: Store, left: int) -> None:
        hub, alone, *spokes = entities(store, "hub", "alone", *map(str, range(300)))
        join(store, [related(hub, id) if id % 2 else related(id, hub) for id in spokes])
        join(store, [related(*pair) for pair in pairwise(spokes)])

        some = spokes[left:]
        assert store.graph.neighbours(spokes, besides=[alone, hub, *some]) == set(spokes[:left])
        assert store.graph.neighbours([*spokes, hub], besides=some) == {hub, *spokes[:left]}


class Distances:
    def test_it_does_not_matter_which_way_relations_point(self, store: Store) -> None:
        a, b, c, d, alone = entities(store, "a", "b", "c", "d", "alone")
        chained(store, a, b, c, d)

        assert distances(store, [a], 9) == {a: 0, b: 1, c: 2, d: 3}
        assert distances(store, [c], 1) == {c: 0, b: 1, d: 1}
        assert distances(store, [c], 0) == {c: 0}
        assert distances(store, [alone], 9) == {alone: 0}

    def test_the_nearest_of_several_counts(self, store: Store) -> None:
        ids = entities(store, *"abcdefg")
        chained(store, *ids)

        assert distances(store, [ids[0], ids[6], ids[0]], 2) == dict(
            zip([*ids[:3], *ids[4:]], [0, 1, 2, 2, 1, 0], strict=True)
        )

    def test_cycles_end(self, store: Store) -> None:
        ids = entities(store, *"abcde")
        chained(store, *ids, ids[0])

        assert distances(store, ids[:1], 1000) == dict(zip(ids, [0, 1, 2, 2, 1], strict=True))

    def test_only_entities_that_are_there_are_near(self, store: Store) -> None:
        a, b, memory = kept(store, entity("a"), entity("b"), note())
        chained(store, a, b)
        join(store, [linked(a, memory)])

        assert distances(store, [memory, *NO_ENTITIES], 3) == {}
        assert distances(store, [memory, a, *NO_ENTITIES], 3) == {a: 0, b: 1}

    def test_a_hub_has_everybody_near(self, store: Store) -> None:
        hub, far, *spokes = entities(store, "hub", "far", *map(str, range(60)))
        join(store, [related(hub, id) if id % 2 else related(id, hub) for id in spokes])
        join(store, [related(spokes[7], far)])

        assert distances(store, [hub], 1) == {hub: 0} | dict.fromkeys(spokes, 1)
        assert distances(store, [hub], 3) == {hub: 0, far: 2} | dict.fromkeys(spokes, 1)
        from_far = dict.fromkeys(spokes, 3) | {far: 0, spokes[7]: 1, hub: 2}
        assert distances(store, [far], 3) == distances(store, [far], 99) == from_far


class Paths:
    def test_a_path_leads_from_the_source_to_the_target(self, store: Store) -> None:
        ids = entities(store, *"abcd")
        chain = chained(store, *ids)

        assert path(store, ids[0], ids[3], 9) == chain
        assert path(store, ids[3], ids[0], 9) == chain[::-1]
        assert path(store, ids[1], ids[1], 9) == path(store, ids[1], ids[1], 0) == []

    def test_a_path_is_no_longer_than_it_may_be(self, store: Store) -> None:
        ids = entities(store, *"abcdef")
        chain = chained(store, *ids)

        for length in range(1, 6):
            assert path(store, ids[0], ids[length], length) == chain[:length]
            assert path(store, ids[0], ids[length], length - 1) is None

    def test_there_is_no_path_to_what_is_not_joined_or_not_there(self, store: Store) -> None:
        a, b, c, d, alone = entities(store, "a", "b", "c", "d", "alone")
        memory = write(store, note()).memory.id
        chained(store, a, b)
        chained(store, c, d)

        for target in (d, alone, memory, *NO_ENTITIES):
            assert path(store, a, target, 9) is None
            assert path(store, target, a, 9) is None
        for id in (memory, *NO_ENTITIES):
            assert path(store, id, id, 9) is None

    def test_of_paths_of_one_length_the_one_by_the_lowest_entities_is_given(self, store: Store) -> None:
        start, low, high, lower, higher, end = entities(store, *"abcdef")
        join(store, [related(start, low), related(start, high), related(lower, end), related(higher, end)])
        join(store, [related(low, higher), related(high, lower)])

        assert path(store, start, end, 3) == [related(start, low), related(low, higher), related(higher, end)]
        assert path(store, end, start, 3) == [related(lower, end), related(high, lower), related(start, high)]

    def test_of_relations_between_two_the_first_is_given(self, store: Store) -> None:
        a, b = entities(store, "a", "b")
        join(store, [related(b, a, "a"), related(a, b, "y"), related(a, b, "x"), related(a, a), related(b, b)])

        assert path(store, a, b, 1) == path(store, b, a, 1) == [related(a, b, "x")]

    def test_a_short_cut_is_taken(self, store: Store) -> None:
        ids = entities(store, *"abcdefgh")
        chained(store, *ids, ids[0])
        join(store, [related(ids[6], ids[1], "short")])

        assert path(store, ids[0], ids[5], 9) == [
            related(ids[1], ids[0]),
            related(ids[6], ids[1], "short"),
            related(ids[5], ids[6]),
        ]


class WalksSuite(Neighbours, Distances, Paths):
    """All of them."""

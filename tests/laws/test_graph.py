"""Both stores say of a graph what networkx says of it, whatever was done to it."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest
from entries import KEEP, at, note, write
from graph_suite import entity, linked, related
from hypothesis import HealthCheck, given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from profiles import examples
from sound import sound
from stores import new

from memory.keep.removing import forget_aged
from memory.keep.rules import delete_memories, join, write_entries
from memory.schema.errors import NotFound
from memory.schema.kinds import Kind
from memory.schema.query import Scope
from memory.search import near as walks
from memory.store import Attached, Relation
from oracle.ram import RamStore

types = st.sampled_from(["x", "y", "é"])
steps = st.sampled_from([0, 1, 2, 3, 5, 99])
moments = st.integers(0, 9).map(at)
NOBODY = 999


def near(graph: nx.MultiGraph, sources, most: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for source in sources:
        if source in graph:
            for id, away in nx.single_source_shortest_path_length(graph, source, cutoff=most).items():
                found[id] = min(away, found.get(id, away))
    return found


def stations(path: list[Relation], source: int) -> list[int]:
    """The entities that a path leads by; it fails if one of its relations does not go on from where it is."""
    passed = [source]
    for one in path:
        assert passed[-1] in {one.source, one.target}
        passed.append(one.target if passed[-1] == one.source else one.source)
    return passed


def right_path(graph: nx.MultiGraph, path: list[Relation] | None, ends: tuple[int, int], most: int) -> None:
    source, target = ends
    if path is None:
        assert source not in graph or target not in graph or target not in near(graph, [source], most)
        return
    passed = stations(path, source)
    assert passed == min(nx.all_shortest_paths(graph, source, target))
    assert len(path) <= most
    assert [one[:3] for one in path] == [min(graph[here][there]) for here, there in pairwise(passed)]


class Graphs(RuleBasedStateMachine):
    """The two stores, and a graph of networkx whose edges have source, target and type for their key."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.ram, self.sqlite = RamStore(), new(self.folder)
        self.graph = nx.MultiGraph()
        self.moments: dict[tuple, object] = {}  # of each edge
        self.links: dict[tuple[int, int], object] = {}
        self.memory = self.same(lambda store: write(store, note(uid=f"{0:032x}")).memory.id)
        self.named = 0

    def same(self, act):
        """What both stores answer to the same."""
        expected, given = act(self.ram), act(self.sqlite)
        assert given == expected
        return given

    def some(self, data) -> int:
        return data.draw(st.sampled_from([*self.graph, *self.graph, NOBODY, self.memory]))

    def pair(self, data) -> tuple[int, int]:
        return self.some(data), self.some(data)

    # Changes ---------------------------------------------------------------

    @initialize(count=st.integers(2, 6))
    def begin_with_some(self, count) -> None:
        for _ in range(count):
            self.add()

    @rule()
    def add(self) -> None:
        self.named += 1
        made = entity(f"e{self.named}", uid=f"{self.named:032x}")
        self.graph.add_node(self.same(lambda store: write(store, made).memory.id))

    @rule(data=st.data(), size=st.integers(1, 6))
    def relate(self, data, size) -> None:
        new = [related(*self.pair(data), data.draw(types), data.draw(st.integers(0, 9))) for _ in range(size)]
        if any(end not in self.graph for one in new for end in one[:2]):
            for store in (self.ram, self.sqlite):
                with pytest.raises(NotFound):
                    join(store, new)
            return
        expected = []
        for one in new:
            expected.append(one[:3] not in self.moments)
            self.moments.setdefault(one[:3], one.created_at)
            self.graph.add_edge(one.source, one.target, one[:3])
        assert self.same(lambda store: join(store, new)) == expected

    @rule(data=st.data(), size=st.integers(1, 3))
    def unrelate(self, data, size) -> None:
        known = st.sampled_from([*self.moments, (NOBODY, NOBODY, "x")])
        old = [related(*data.draw(known), 5) for _ in range(size)]
        expected = []
        for one in old:
            expected.append(self.moments.pop(one[:3], None) is not None)
            if expected[-1]:
                self.graph.remove_edge(one.source, one.target, one[:3])
        assert self.same(lambda store: store.graph.remove(old)) == expected

    @rule(data=st.data())
    def attach(self, data) -> None:
        id = self.some(data)
        if id in self.graph and self.ram.memories.by_id([self.memory]):
            new = self.same(lambda store: join(store, [linked(id, self.memory)]))
            assert new == [(id, self.memory) not in self.links]
            self.links.setdefault((id, self.memory), at(0))

    @rule(data=st.data())
    def delete(self, data) -> None:
        id = self.some(data)
        self.same(lambda store: delete_memories(store, [id]))
        if id in self.graph:
            self.graph.remove_node(id)
            self.moments = {key: moment for key, moment in self.moments.items() if id not in key[:2]}
        self.links = {key: moment for key, moment in self.links.items() if id not in key}

    @rule(data=st.data())
    def forget_some(self, data) -> None:
        gone = data.draw(st.sets(st.sampled_from(sorted(self.graph)), max_size=2)) if self.graph else set()
        if not gone:
            return
        scope = Scope(kinds=frozenset({Kind.ENTITY}), among=frozenset(gone))
        self.same(lambda store: forget_aged(store, scope, at(1), 9, KEEP))
        self.graph.remove_nodes_from(gone)
        self.moments = {key: moment for key, moment in self.moments.items() if not gone & set(key[:2])}
        self.links = {key: moment for key, moment in self.links.items() if key[0] not in gone}

    # Questions -------------------------------------------------------------

    @rule(data=st.data(), count=st.integers(0, 3), most=steps)
    def ask_what_is_near(self, data, count, most) -> None:
        sources = [self.some(data) for _ in range(count)]
        assert self.same(lambda store: walks.distances(store, sources, most)) == near(self.graph, sources, most)

    @rule(data=st.data(), count=st.integers(0, 4), without=st.integers(0, 4))
    def ask_for_neighbours(self, data, count, without) -> None:
        ids, besides = ([self.some(data) for _ in range(number)] for number in (count, without))
        expected = {one for id in ids if id in self.graph for one in self.graph[id]}.difference(besides)
        assert self.same(lambda store: store.graph.neighbours(ids, besides=besides)) == expected

    @rule(data=st.data(), most=steps)
    def ask_for_a_path(self, data, most) -> None:
        ends = self.pair(data)
        right_path(self.graph, self.same(lambda store: walks.path(store, *ends, most)), ends, most)

    @rule(data=st.data(), count=st.integers(0, 4))
    def ask_for_relations(self, data, count) -> None:
        ids = [self.some(data) for _ in range(count)]
        touching = {key for _, _, key in self.graph.edges([id for id in ids if id in self.graph], keys=True)}
        inside = {key for _, _, key in self.graph.subgraph(ids).edges(keys=True)}
        for wanted, only in ((touching, False), (inside, True)):
            found = self.same(lambda store, only=only: store.graph.edges(Relation, ids, inside=only))
            assert [one[:3] for one in found] == sorted(wanted)

    # Always ----------------------------------------------------------------

    @invariant()
    def hold_the_same(self) -> None:
        every = self.same(lambda store: store.graph.edges(Relation))
        assert every == [Relation(*key, moment) for key, moment in sorted(self.moments.items())]
        links = self.same(lambda store: store.graph.edges(Attached))
        assert [one[:2] for one in links] == sorted(self.links)
        counts = self.same(lambda store: store.graph.counts())
        assert (counts.entities, counts.relations) == (len(self.graph), self.graph.number_of_edges())
        assert counts.isolated == nx.number_of_isolates(self.graph)

    def teardown(self) -> None:
        self.sqlite.close()
        sound(self.folder / "memory.db")
        shutil.rmtree(self.folder)


TestGraphs = Graphs.TestCase
TestGraphs.settings = examples(0.4, stateful_step_count=30, suppress_health_check=list(HealthCheck))


@st.composite
def shapes(draw) -> nx.Graph:
    """Graphs of 60 or so: at random, thin and dense, with hubs, in rings, in pieces; a few loops."""
    seed, size = draw(st.integers(0, 1 << 20)), draw(st.integers(20, 60))
    graph = draw(
        st.sampled_from(
            [
                nx.gnm_random_graph(size, size, seed),
                nx.gnm_random_graph(size, size * 4, seed),
                nx.barabasi_albert_graph(size, 2, seed),
                nx.star_graph(size),
                nx.cycle_graph(size),
                nx.path_graph(size),
                nx.grid_2d_graph(size // 8 + 2, 8),
                nx.disjoint_union(nx.star_graph(size // 2), nx.cycle_graph(size // 2)),
                nx.watts_strogatz_graph(size, 4, 0.1, seed),
            ]
        )
    )
    graph = nx.convert_node_labels_to_integers(graph)
    graph.add_edges_from((id, id) for id in draw(st.sets(st.integers(0, size - 1), max_size=3)))
    return nx.relabel_nodes(graph, dict(zip(graph, draw(st.permutations(sorted(graph))), strict=True)))


@given(shape=shapes(), data=st.data(), most=st.integers(0, 8))
@examples(0.4, suppress_health_check=list(HealthCheck))
def test_what_is_near_and_the_shortest_paths_are_those_of_networkx(shape, data, most) -> None:
    graph = nx.MultiGraph()
    with tempfile.TemporaryDirectory() as folder, closing(new(Path(folder))) as sqlite:
        stores = (RamStore(), sqlite)
        for store in stores:
            ids = [kept.memory.id for kept in write_entries(store, [entity(f"e{node}") for node in range(len(shape))])]
        graph.add_nodes_from(ids)
        for a, b in shape.edges:
            ends = (ids[a], ids[b]) if data.draw(st.booleans()) else (ids[b], ids[a])
            graph.add_edge(*ends, (*ends, "x"))
        for store in stores:
            join(store, [related(*key) for _, _, key in graph.edges(keys=True)])
        some = st.sampled_from(ids)
        sources = data.draw(st.lists(some, max_size=4))
        ends = data.draw(st.tuples(some, some))

        distances = [walks.distances(store, sources, most) for store in stores]
        path = [walks.path(store, *ends, most) for store in stores]

    assert distances[0] == distances[1] == near(graph, sources, most)
    assert path[0] == path[1]
    right_path(graph, path[1], ends, most)

"""What every store promises where entities are related to each other and to memories."""

from __future__ import annotations

from datetime import timedelta, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from entries import BEYOND, KEEP, START, at, kept, note, write

from memory.keep.removing import forget_aged
from memory.keep.rules import delete_memories, join, replace_memory
from memory.schema.errors import Invalid, NotFound
from memory.schema.kinds import Kind
from memory.schema.memory import MemoryId
from memory.schema.query import EVERYTHING, Scope
from memory.store import Attached, GraphCounts, Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.store import Entry, Store

NO_ENTITIES = (MemoryId(0), MemoryId(-1), MemoryId(999), MemoryId(BEYOND))


def entity(name: str, **fields: Any) -> Entry:
    return note("", title=name, kind=Kind.ENTITY, **fields)


def entities(store: Store, *names: str) -> list[MemoryId]:
    return kept(store, *map(entity, names))


def related(source: int, target: int, type: str = "knows", moment: float = 0) -> Relation:
    return Relation(MemoryId(source), MemoryId(target), type, at(moment))


def linked(entity: int, memory: int, moment: float = 0) -> Attached:
    return Attached(MemoryId(entity), MemoryId(memory), at(moment))


class Names:
    def test_entities_are_found_by_their_names(self, store: Store) -> None:
        names = ["Ada", "ada", "数据库", "🦊", 'a "quoted" one', "it's", "%", "1", "null", "[1]"]
        ids = entities(store, *names)
        kept(store, note("a note", title="Bob"))

        assert store.graph.named(names) == dict(zip(names, ids, strict=True))
        assert store.graph.named(["Bob", "ADA", "Ad", "", "a\0", "Ada\0", "Ada", "Ada"]) == {"Ada": ids[0]}
        assert store.graph.named([]) == {}

    def test_names_come_by_code_points_a_page_at_a_time(self, store: Store) -> None:
        names = ["b", "Z", "é", "a", "ab", "z", "数据", "\uffee", "🦊", "10", "9"]
        entities(store, *names)
        kept(store, note("a note", title="c"))

        assert [*store.graph.named()] == sorted(names)
        for size in (1, 2, 5, 10, 11, 12):
            pages, after = [], ""
            while len(pages) <= len(names) and (page := [*store.graph.named(after=after, limit=size)]):
                pages += page
                after = page[-1]
            assert pages == sorted(names)
        assert [*store.graph.named(after="abc", limit=2)] == ["b", "z"]

    def test_of_some_names_too_there_are_pages(self, store: Store) -> None:
        a, b, _, d = entities(store, *"abcd")

        assert [*store.graph.named("dab").items()] == [("a", a), ("b", b), ("d", d)]
        assert store.graph.named("dab", after="a") == {"b": b, "d": d}
        assert store.graph.named("dab", after="a", limit=1) == {"b": b}

    def test_a_name_is_free_again_when_its_entity_is_gone(self, store: Store) -> None:
        first, other = entities(store, "Ada", "Bob")
        join(store, [related(first, other)])
        delete_memories(store, [first])
        assert store.graph.named(["Ada"]) == {}

        again = entities(store, "Ada")[0]

        assert store.graph.named(["Ada"]) == {"Ada": again}
        assert store.graph.edges(Relation, [again]) == []


class Relating:
    def test_what_is_related_once_stays_as_it_was(self, store: Store) -> None:
        a, b = entities(store, "a", "b")

        assert join(store, [related(a, b, moment=1)]) == [True]
        assert join(store, [related(a, b, moment=2), related(b, a, moment=3)]) == [False, True]

        assert store.graph.edges(Relation) == [related(a, b, moment=1), related(b, a, moment=3)]

    def test_of_the_same_relation_twice_the_first_is_kept(self, store: Store) -> None:
        a, b = entities(store, "a", "b")

        new = join(store, [related(a, b, moment=5), related(a, b, "likes"), related(a, b, moment=1)])

        assert new == [True, True, False]
        assert store.graph.edges(Relation) == [related(a, b, moment=5), related(a, b, "likes")]

    @pytest.mark.parametrize("type", ["", "is part of", "数据", "🦊", "it's", '"', "1", "null", "\\u0041", "[]", "\n"])
    def test_a_type_is_kept_to_the_last_character(self, store: Store, type: str) -> None:
        a, b = entities(store, "a", "b")
        relation = related(a, b, type)

        join(store, [relation])

        assert store.graph.edges(Relation, [a]) == [relation]
        assert store.graph.remove([relation]) == [True]

    def test_an_entity_may_be_related_to_itself(self, store: Store) -> None:
        a, b = entities(store, "a", "b")

        assert join(store, [related(a, a)]) == [True]

        assert store.graph.edges(Relation, [a]) == store.graph.edges(Relation, [a, b], inside=True) == [related(a, a)]
        assert store.graph.neighbours([a]) == {a}

    @pytest.mark.parametrize("absent", NO_ENTITIES)
    def test_nothing_is_related_if_an_end_is_not_there(self, store: Store, absent: MemoryId) -> None:
        a, b = entities(store, "a", "b")

        for wrong in (related(a, absent), related(absent, a)):
            with pytest.raises(NotFound):
                join(store, [related(a, b), wrong, related(b, a)])
        assert store.graph.edges(Relation) == []

    def test_only_entities_are_related(self, store: Store) -> None:
        a, memory = kept(store, entity("a"), note())

        for wrong in (related(a, memory), related(memory, a), related(memory, memory)):
            with pytest.raises(NotFound):
                join(store, [wrong])

    def test_moments_are_kept_whatever_their_zone(self, store: Store) -> None:
        a, b = entities(store, "a", "b")
        zoned = at(1.5).astimezone(timezone(timedelta(hours=-9)))

        join(store, [related(a, b)._replace(created_at=zoned)])

        assert store.graph.edges(Relation)[0].created_at == at(1.5)

    def test_what_is_unrelated_is_gone_and_nothing_else(self, store: Store) -> None:
        a, b = entities(store, "a", "b")
        every = [related(a, b), related(a, b, "likes"), related(b, a), related(a, a)]
        join(store, every)

        gone = store.graph.remove([related(a, b, moment=9), related(b, b), related(a, b, "Knows"), related(a, b)])

        assert gone == [True, False, False, False]
        assert store.graph.edges(Relation) == [related(a, a), related(a, b, "likes"), related(b, a)]
        assert store.graph.remove([related(a, id) for id in NO_ENTITIES]) == [False] * 4

    def test_nothing_is_a_request_too(self, store: Store) -> None:
        assert join(store, []) == store.graph.remove([]) == []
        assert join(store, []) == store.graph.remove([]) == []
        assert (
            store.graph.edges(Relation, [])
            == store.graph.edges(Relation, [], inside=True)
            == store.graph.edges(Attached, [])
            == []
        )
        assert store.graph.neighbours([]) == set()

    def test_relations_go_with_either_end(self, store: Store) -> None:
        a, b, c = entities(store, "a", "b", "c")
        join(store, [related(a, b), related(b, a), related(b, b), related(a, c), related(c, a)])

        delete_memories(store, [b])

        assert store.graph.edges(Relation) == [related(a, c), related(c, a)]

    def test_what_is_related_outlives_a_change_of_an_entity(self, store: Store) -> None:
        a, b, memory = kept(store, entity("a"), entity("b"), note())
        join(store, [related(a, b)])
        join(store, [linked(a, memory)])

        replace_memory(store, a, entity("A", body="observed"))

        assert store.graph.named(["a", "A"]) == {"A": a}
        assert (store.graph.edges(Relation, [a]), store.graph.edges(Attached, [a])) == (
            [related(a, b)],
            [linked(a, memory)],
        )


class Relations:
    def test_those_that_begin_or_end_at_one_of_these_come_in_order(self, store: Store) -> None:
        a, b, c, d = entities(store, "a", "b", "c", "d")
        every = [
            related(a, a),
            related(a, b, "y"),
            related(a, b, "z"),
            related(b, a, "x"),
            related(b, c),
            related(c, d),
            related(d, a),
        ]
        join(store, every[::-1])

        assert store.graph.edges(Relation, [a]) == [every[n] for n in (0, 1, 2, 3, 6)]
        assert store.graph.edges(Relation, [d, c, d, *NO_ENTITIES]) == every[4:]
        assert store.graph.edges(Relation, [b, c, d, a]) == every
        assert store.graph.edges(Relation, NO_ENTITIES) == []

    def test_inside_are_those_that_begin_and_end_there(self, store: Store) -> None:
        a, b, c = entities(store, "a", "b", "c")
        join(store, [related(a, b), related(b, a), related(b, c), related(a, a), related(c, c)])

        assert store.graph.edges(Relation, [b, a], inside=True) == [related(a, a), related(a, b), related(b, a)]
        assert store.graph.edges(Relation, [a, c], inside=True) == [related(a, a), related(c, c)]
        assert store.graph.edges(Relation, [b, *NO_ENTITIES], inside=True) == []

    @pytest.mark.parametrize("gone", [False, True])
    @pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, 8])
    @pytest.mark.parametrize("kind", [Relation, Attached])
    def test_all_edges_come_a_page_at_a_time(
        self, store: Store, kind: type[Relation | Attached], size: int, gone: bool
    ) -> None:
        a, b, c, x, y = kept(store, *map(entity, "abc"), note("x"), note("y"))
        relations = [related(s, t, type) for s in (a, b) for t in (a, c) for type in ("x", "é")][:7]
        links = [linked(a, x), linked(a, y), linked(b, x), linked(c, x), linked(c, y)]
        every, read = (relations if kind is Relation else links), partial(store.graph.edges, kind)
        join(store, [*links, *relations[::-1]])

        found: Sequence[Relation | Attached] = read(limit=size)
        pages = list(found)
        while found and len(pages) <= len(every):
            if gone:  # the place to go on from need not be there
                store.graph.remove(found[-1:])
            found = read(after=found[-1], limit=size)
            pages += found

        assert pages == every

    @pytest.mark.parametrize("inside", [False, True])
    def test_of_some_entities_too_there_are_pages(self, store: Store, inside: bool) -> None:
        a, b, c = entities(store, "a", "b", "c")
        every = [related(s, t, type) for s in (a, b) for t in (a, b) for type in ("x", "é")]
        join(store, [*every, related(c, c)])

        pages = [store.graph.edges(Relation, [a, b], inside=inside, after=one, limit=3) for one in (None, *every)]

        assert pages == [every[place : place + 3] for place in range(len(every) + 1)]


class Attaching:
    def test_what_is_linked_once_stays_as_it_was(self, store: Store) -> None:
        a, b, memory, other = kept(store, entity("a"), entity("b"), note("x"), note("y"))

        assert join(store, [linked(a, memory, 1), linked(b, memory), linked(a, memory, 2)]) == [
            True,
            True,
            False,
        ]
        assert join(store, [linked(a, memory, 3), linked(a, other)]) == [False, True]

        assert store.graph.edges(Attached) == [linked(a, memory, 1), linked(a, other), linked(b, memory)]

    @pytest.mark.parametrize("absent", NO_ENTITIES)
    def test_nothing_is_linked_if_an_end_is_not_there(self, store: Store, absent: MemoryId) -> None:
        a, memory = kept(store, entity("a"), note())

        for wrong in (linked(absent, memory), linked(a, absent), linked(memory, memory)):
            with pytest.raises(NotFound):
                join(store, [linked(a, memory), wrong])
        assert store.graph.edges(Attached) == []

    def test_entities_are_related_and_not_linked(self, store: Store) -> None:
        a, b, memory = kept(store, entity("a"), entity("b"), note())

        for wrong in (linked(a, b), linked(a, a)):
            with pytest.raises(Invalid):
                join(store, [linked(a, memory), wrong])
        with pytest.raises(NotFound):
            join(store, [linked(a, b), linked(a, 999)])
        assert store.graph.edges(Attached) == []

    def test_links_are_found_from_both_sides(self, store: Store) -> None:
        a, b, x, y, z = kept(store, entity("a"), entity("b"), note("x"), note("y"), note("z"))
        join(store, [linked(b, y), linked(b, x), linked(a, z), linked(a, x)])

        assert store.graph.edges(Attached, [a]) == [linked(a, x), linked(a, z)]
        assert store.graph.edges(Attached, [x]) == [linked(a, x), linked(b, x)]
        assert store.graph.edges(Attached, [a, a, x, y]) == [linked(a, x), linked(a, z), linked(b, x), linked(b, y)]
        assert store.graph.edges(Attached, [a, x, b], inside=True) == [linked(a, x), linked(b, x)]
        assert store.graph.edges(Attached, NO_ENTITIES) == []

    def test_what_is_detached_is_gone_and_nothing_else(self, store: Store) -> None:
        a, b, x = kept(store, entity("a"), entity("b"), note("x"))
        join(store, [linked(a, x), linked(b, x)])

        assert store.graph.remove([linked(a, x, 9), linked(x, a), linked(a, x), linked(b, BEYOND)]) == [
            True,
            False,
            False,
            False,
        ]
        assert store.graph.edges(Attached) == [linked(b, x)]

    def test_of_some_links_too_there_are_pages(self, store: Store) -> None:
        a, b, c, x, y = kept(store, entity("a"), entity("b"), entity("c"), note("x"), note("y"))
        every = [linked(a, x), linked(a, y), linked(b, x), linked(c, x)]
        join(store, [*every, linked(b, y)])

        pages = [store.graph.edges(Attached, [a, x], after=one, limit=2) for one in (None, *every)]

        assert pages == [every[place : place + 2] for place in range(len(every) + 1)]

    def test_links_go_with_what_they_join(self, store: Store) -> None:
        a, b, x, y = kept(store, entity("a"), entity("b"), note("x"), note("y", moment=at(9)))
        join(store, [linked(a, x), linked(a, y), linked(b, x), linked(b, y)])

        delete_memories(store, [a])
        assert store.graph.edges(Attached) == [linked(b, x), linked(b, y)]
        forget_aged(store, Scope(kinds=frozenset({Kind.NOTE})), at(1), 10, KEEP)
        assert store.graph.edges(Attached) == [linked(b, y)]
        assert set(store.memories.by_id([a, b, x, y])) == {b, y}


class Counting:
    def test_an_empty_graph_counts_nothing(self, store: Store) -> None:
        kept(store, note("no entity", category="bug"))

        assert store.graph.counts() == GraphCounts(0, 0, 0, 0, (), ())

    def test_there_is_as_much_as_was_kept(self, store: Store) -> None:
        a, b, c, d, *_ = kept(
            store,
            entity("a", category="person"),
            entity("b", category="place"),
            entity("c", category="thing"),
            entity("d", category="thing"),
            entity("e"),
            note("no entity", category="bug"),
        )
        memory = write(store, note()).memory.id
        join(store, [related(a, b, "x"), related(b, a, "y"), related(b, b, "y"), related(c, c, "b")])
        join(store, [linked(d, memory), linked(a, memory)])

        assert store.graph.counts() == GraphCounts(
            entities=5,
            relations=4,
            attached=2,
            isolated=2,
            types=(("y", 2), ("b", 1), ("x", 1)),
            categories=(("thing", 2), ("person", 1), ("place", 1)),
        )

    def test_entities_are_memories_like_others(self, store: Store) -> None:
        id = entities(store, "Ada")[0]

        assert [one.id for one in store.memories.page(EVERYTHING, 5)] == [id]
        assert store.memories.by_id([id])[id].created_at == START


class GraphSuite(Names, Relating, Relations, Attaching, Counting):
    """The part `graph`, but for who is next to whom: that, and what is built on it, is in `walks_suite`."""

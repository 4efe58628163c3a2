"""What `KeyedStore` promises, over every store: a key has one value, which ends when it is to, and is found by what it says."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from entries import at

from memory import Engine, Invalid, KeyedStore
from memory.config import FLAG, Config, with_setting
from memory.engine.keyed import Put

if TYPE_CHECKING:
    from datetime import datetime

    from memory.store import Store

ANN, BOB = ("users", "ann"), ("users", "bob")
PLACES = [
    ("a",),
    ("a0",),
    ("a.",),
    ("a", "b"),
    ("a", "b", "c"),
    ("a/b",),
    ("a%2Fb",),
    ("ab",),
    ("b", "a"),
    ("é", " ", "a.b", "\n"),
]


class Clock:
    moment: datetime = at(0)

    def __call__(self) -> datetime:
        return self.moment


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def items(store: Store, clock: Clock) -> KeyedStore:
    return KeyedStore(Engine(store, with_setting(Config(), "embedding.provider", "none", FLAG), now=clock))


def keys(found: list[Any]) -> list[str]:
    return [one.key for one in found]


class Keeping:
    def test_what_is_put_is_there(self, items: KeyedStore, clock: Clock) -> None:
        values: list[Any] = ["", " \r\n text \t", {}, {"b": [1, 2.5, None, True, {"c": "ü"}], "a": ""}]
        for number, value in enumerate(values):
            clock.moment = at(number)
            made = items.put(ANN, str(number), value)
            there = items.get(ANN, str(number))

            assert made == there
            assert there is not None
            assert (there.namespace, there.key, there.value) == (ANN, str(number), value)
            assert (there.created_at, there.updated_at, there.expires_at) == (at(number), at(number), None)
        assert list(items.get(ANN, "3").value) == ["b", "a"]  # fields stay in their order

    def test_nothing_is_there_that_was_not_put(self, items: KeyedStore) -> None:
        items.put(ANN, "tea", "green")

        for namespace, key in ((ANN, "te"), (ANN, "TEA"), (ANN, "tea "), (BOB, "tea"), (("users",), "tea")):
            assert items.get(namespace, key) is None
            assert not items.delete(namespace, key)

    def test_a_key_has_one_value_the_last(self, items: KeyedStore, store: Store, clock: Clock) -> None:
        first = items.put(ANN, "tea", {"likes": "green tea"})
        clock.moment = at(5)
        second = items.put(ANN, "tea", "black tea")

        assert items.get(ANN, "tea") == second
        assert (second.memory, second.created_at, second.updated_at) == (first.memory, at(0), at(5))
        assert store.counts().memories == 1
        assert keys(items.search(query="green")) == []
        assert keys(items.search(query="black")) == ["tea"]

    def test_the_same_value_may_stand_under_many_keys(self, items: KeyedStore) -> None:
        items.put_all([Put(ANN, "1", "same"), Put(ANN, "2", "same"), Put(BOB, "1", "same"), Put(BOB, "2", {})])
        items.put(BOB, "3", {})

        assert [(one.namespace, one.key) for one in items.search(("users",))] == [
            *((ANN, "1"), (ANN, "2")),
            *((BOB, "1"), (BOB, "2"), (BOB, "3")),
        ]
        assert sorted(keys(items.search(query="same"))) == ["1", "1", "2"]

    def test_of_one_key_in_one_call_the_last_stays(self, items: KeyedStore) -> None:
        items.put_all([Put(ANN, "k", "one"), Put(ANN, "j", "two"), Put(ANN, "k", "three")])

        assert [one.value for one in items.search(ANN)] == ["two", "three"]

    def test_several_are_kept_together_or_not_at_all(self, items: KeyedStore) -> None:
        with pytest.raises(Invalid, match="a text or an object"):
            items.put_all([Put(ANN, "1", "one"), Put(ANN, "2", 2)])

        assert items.search() == []

    def test_what_is_deleted_lies_in_the_trash(self, items: KeyedStore, store: Store) -> None:
        items.put(ANN, "tea", "green")

        assert items.delete(ANN, "tea")
        assert items.get(ANN, "tea") is None
        assert items.search(query="green") == []
        assert store.counts().trashed == 1
        assert items.put(ANN, "tea", "black").value == "black"

    def test_it_comes_back_from_the_trash_unless_its_key_is_taken(self, items: KeyedStore, store: Store) -> None:
        items.put(ANN, "tea", {"likes": "green"})
        items.delete(ANN, "tea")
        (lying,) = store.trash.page(1)
        items.engine.trash.restore([lying.uid])

        assert items.get(ANN, "tea").value == {"likes": "green"}
        items.delete(ANN, "tea")
        items.put(ANN, "tea", "black")
        with pytest.raises(Invalid, match="another item of the same name"):
            items.engine.trash.restore([lying.uid])

    @pytest.mark.parametrize(
        ("namespace", "key", "value"),
        [
            *(((), "k", ""), (("",), "k", ""), ("ab", "k", ""), ((1,), "k", ""), (("a" * 301,), "k", "")),
            *((ANN, 1, ""), (ANN, "k" * 301, ""), (ANN, "k\0", ""), (ANN, "\ud800", "")),
            *(
                (ANN, "k", 1),
                (ANN, "k", [1]),
                (ANN, "k", None),
                (ANN, "k", {"a": {1}}),
                (ANN, "k", {"a": float("nan")}),
            ),
            (ANN, "AKIA" + "QXZJ4PLM7T2WRB5N", ""),
        ],
    )
    def test_what_cannot_be_kept_is_refused(self, items: KeyedStore, namespace: Any, key: Any, value: Any) -> None:
        with pytest.raises(Invalid):
            items.put(namespace, key, value)

        assert items.search() == []


class Placing:
    def test_a_prefix_is_of_whole_labels(self, items: KeyedStore) -> None:
        for place in PLACES:
            items.put(place, "k", "value")

        for prefix in [(), *PLACES, ("b",), ("a", "c"), ("é",)]:
            below = {place for place in PLACES if place[: len(prefix)] == prefix}
            assert {one.namespace for one in items.search(prefix, limit=100)} == below
            assert items.list_namespaces(prefix) == sorted(below)
            assert {one.namespace for one in items.search(prefix, query="value", limit=100)} == below

    def test_namespaces_are_listed_once_to_a_depth(self, items: KeyedStore) -> None:
        items.put_all([Put(place, key, "") for place in PLACES for key in "xy"])

        assert items.list_namespaces(max_depth=1) == sorted({place[:1] for place in PLACES})
        assert items.list_namespaces(("a",), max_depth=2) == [("a",), ("a", "b")]
        assert items.list_namespaces(limit=2, offset=1) == sorted(PLACES)[1:3]

    def test_pages_are_one_list(self, items: KeyedStore) -> None:
        items.put_all([Put(ANN if number % 2 else BOB, f"{number:02}", {"n": number}) for number in range(20)])
        every = items.search(limit=100)

        assert [(one.namespace, one.key) for one in every] == sorted((one.namespace, one.key) for one in every)
        assert [one for start in range(0, 21, 3) for one in items.search(limit=3, offset=start)] == every
        assert items.search(limit=100, reverse=True) == every[::-1]
        assert keys(items.search(ANN, limit=2, reverse=True)) == ["19", "17"]


class Filtering:
    @pytest.mark.parametrize(
        ("filter", "wanted"),
        [
            ({"n": 1}, "b"),
            ({"n": {"$eq": 1}}, "b"),
            ({"n": {"$ne": 1}}, "acdef"),
            ({"n": {"$gt": 0}}, "bc"),
            ({"n": {"$gte": 0, "$lt": 1.5}}, "ab"),
            ({"n": {"$lte": 0}}, "a"),
            ({"n": {"$in": [0, 1.5, "x"]}}, "acd"),
            ({"n": {"$in": []}}, ""),
            ({"n": True}, "e"),
            ({"n": {"$gt": "a"}}, "d"),
            ({"n": None}, "f"),
            ({"o": {"p": {"$gte": 2}}}, "c"),
            ({"o": {}}, "bc"),
            ({"l": [1, 2]}, "d"),
            ({"l": [1]}, ""),
            ({"n": 1, "o": {"p": 1}}, "b"),
            ({"n": 0, "o": {"p": 1}}, ""),
            ({}, "abcdefg"),
        ],
    )
    def test_what_is_found_is_as_the_filter_says(self, items: KeyedStore, filter: Any, wanted: str) -> None:
        values = {
            "a": {"n": 0},
            "b": {"n": 1, "o": {"p": 1}},
            "c": {"n": 1.5, "o": {"p": 2}},
            "d": {"n": "x", "l": [1, 2]},
            "e": {"n": True},
            "f": {"m": 1},
        }
        items.put_all([Put(ANN, key, value) for key, value in values.items()])
        items.put(BOB, "g", "n: 1")

        assert "".join(keys(items.search(filter=filter))) == wanted
        assert "".join(keys(items.search(filter=filter, limit=1, offset=1))) == wanted[1:2]

    def test_a_filter_narrows_before_the_best_count(self, items: KeyedStore) -> None:
        items.put_all([Put(ANN, f"{number:02}", {"says": "green tea", "n": number}) for number in range(30)])

        found = items.search(query="green tea", filter={"n": {"$gte": 27}}, limit=5)

        assert sorted(keys(found)) == ["27", "28", "29"]
        assert all(0 < one.score <= 1 for one in found)

    @pytest.mark.parametrize("filter", [{"n": {"$like": 1}}, {"n": {"$in": 1}}, {"o": {"p": {"$x": 1}}}, ["n"]])
    def test_what_is_no_filter_is_refused(self, items: KeyedStore, filter: Any) -> None:
        with pytest.raises(Invalid):
            items.search(filter=filter)


class Searching:
    def test_what_search_reads_can_be_said(self, items: KeyedStore) -> None:
        items.put(ANN, "all", {"title": "walrus", "list": [{"deep": "narwhal"}]})
        items.put(ANN, "some", {"title": "walrus"}, text="a sea animal")
        items.put(ANN, "none", {"title": "walrus"}, text="")

        assert keys(items.search(query="walrus")) == ["all"]
        assert keys(items.search(query="narwhal")) == ["all"]
        assert keys(items.search(query="sea animal")) == ["some"]
        assert items.get(ANN, "none").value == {"title": "walrus"}
        assert [items.engine.get(items.get(ANN, key).memory).keyword_only for key in ("some", "none")] == [False, True]

    def test_an_engine_finds_it_as_any_memory(self, items: KeyedStore) -> None:
        item = items.put(ANN, "habits", "walks before breakfast")

        (hit,) = items.engine.search("breakfast").hits
        assert (hit.memory.id, hit.memory.title) == (item.memory, "habits")
        assert items.engine.details(hit.memory.id).body == "walks before breakfast"

    def test_a_hyphen_excludes_nothing(self, items: KeyedStore) -> None:
        items.put(ANN, "a", "green tea")

        assert keys(items.search(query="green -tea")) == ["a"]


class Ending:
    def test_it_is_gone_at_once_and_removed_later(self, items: KeyedStore, store: Store, clock: Clock) -> None:
        items.put(ANN, "short", {"says": "walrus"}, ttl=60)
        items.put(ANN, "till", "walrus", expires_at=at(60))
        items.put(BOB, "long", "walrus", ttl=61)
        clock.moment = at(59.9)
        assert sorted(keys(items.search(query="walrus"))) == ["long", "short", "till"]

        clock.moment = at(60)
        assert (items.get(ANN, "short"), items.delete(ANN, "till")) == (None, False)
        assert keys(items.search()) == keys(items.search(query="walrus")) == ["long"]
        assert keys(items.search(filter={"says": "walrus"})) == []
        assert items.list_namespaces() == [BOB]
        assert [hit.memory.title for hit in items.engine.search("walrus").hits] == ["long"]
        assert store.counts().memories == 3

        assert (items.sweep(), items.sweep()) == (2, 0)
        assert (store.counts().memories, store.counts().trashed) == (1, 0)

    def test_a_put_removes_what_has_ended(self, items: KeyedStore, store: Store, clock: Clock) -> None:
        items.put_all([Put(ANN, f"{number}", "x", ttl=1) for number in range(25)])
        clock.moment = at(1)

        items.put(BOB, "new", "y")
        assert store.counts().memories == 6
        items.put(BOB, "newer", "y")
        assert keys(items.search()) == ["new", "newer"]
        assert store.counts().memories == 2

    def test_a_new_value_lasts_as_it_says(self, items: KeyedStore, clock: Clock) -> None:
        items.put(ANN, "k", "one", ttl=5)
        items.put(ANN, "k", "two")
        clock.moment = at(9)

        assert items.get(ANN, "k").expires_at is None
        items.put(ANN, "k", "two", ttl=5)
        assert items.get(ANN, "k").expires_at == at(14)
        clock.moment = at(14)
        assert items.get(ANN, "k") is None
        assert items.put(ANN, "k", "three").value == "three"

    def test_who_reads_it_may_let_it_last(self, items: KeyedStore, clock: Clock) -> None:
        made = items.put(ANN, "k", "one", ttl=60)
        items.put(ANN, "till", "two", expires_at=at(60))
        clock.moment = at(30)

        assert items.get(ANN, "k").expires_at == at(60)
        assert items.get(ANN, "k", refresh=True).expires_at == at(90)
        assert items.get(ANN, "till", refresh=True).expires_at == at(60)
        assert items.get(ANN, "k") == made._replace(expires_at=at(90))

    @pytest.mark.parametrize("ttl", [0, -1, True, "5", float("inf"), float("nan")])
    def test_what_is_no_time_is_refused(self, items: KeyedStore, ttl: Any) -> None:
        with pytest.raises(Invalid):
            items.put(ANN, "k", "", ttl=ttl)
        with pytest.raises(Invalid, match="give one"):
            items.put(ANN, "k", "", ttl=1, expires_at=at(0) + timedelta(1))


class KeyedSuite(Keeping, Placing, Filtering, Searching, Ending):
    pass

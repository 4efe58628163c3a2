"""A `KeyedStore` is a dictionary whose values end, whatever is done in whatever order, over both stores."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from entries import at
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from keyed_suite import Clock
from profiles import examples
from stores import new

from memory import Engine, KeyedStore
from memory.config import FLAG, Config, with_setting
from memory.engine.keyed import Put
from memory.schema.item import labels, path
from oracle.ram import RamStore

SETTINGS = with_setting(Config(), "embedding.provider", "none", FLAG)

places = st.lists(st.sampled_from(["a", "b", "a/", "%2F", "/", "é"]), min_size=1, max_size=3).map(tuple)
keys = st.sampled_from(["", " ", "k", "K", "k ", "1", "\n"])
numbers = st.integers(0, 3)
values = st.one_of(
    st.sampled_from(["", " ", "tea", "green tea\r\n"]),
    st.fixed_dictionaries({}, optional={"n": numbers, "says": st.sampled_from(["tea", "milk"]), "x": st.none()}),
)
filters = st.sampled_from(
    [{}, {"n": 1}, {"n": {"$gt": 0, "$lte": 2}}, {"n": {"$in": [0, 3]}}, {"n": {"$ne": 2}}, {"says": "tea"}]
)
lasting = st.one_of(st.none(), st.integers(1, 5))


def matches(value: Any, filter: dict[str, Any]) -> bool:
    """The obvious way, of what is generated here."""
    fields = value if isinstance(value, dict) else {}
    if "says" in filter:
        return fields.get("says") == "tea"
    number = fields.get("n")
    one, some = filter.get("n"), number is not None
    return {
        "None": True,
        "1": number == 1,
        "{'$gt': 0, '$lte': 2}": some and 0 < number <= 2,
        "{'$in': [0, 3]}": number in {0, 3},
        "{'$ne': 2}": number != 2 and isinstance(value, dict),
    }[str(one)]


class Keyed(RuleBasedStateMachine):
    kind = "ram"

    @initialize()
    def begin(self) -> None:
        self.stack = ExitStack()
        store = RamStore()
        if self.kind == "sqlite":
            folder = self.stack.enter_context(tempfile.TemporaryDirectory())
            store = self.stack.enter_context(closing(new(Path(folder))))
        self.clock = Clock()
        self.items = KeyedStore(Engine(store, SETTINGS, now=self.clock, lasting=False))
        self.seconds = 0
        self.there: dict[tuple[tuple[str, ...], str], tuple[Any, int | None, int | None]] = {}

    @rule(puts=st.lists(st.tuples(places, keys, values, lasting), min_size=1, max_size=3))
    def put(self, puts: Any) -> None:
        self.items.put_all([Put(place, key, value, ttl=ttl) for place, key, value, ttl in puts])
        for place, key, value, ttl in puts:
            self.there[place, key] = value, ttl and self.seconds + ttl, ttl

    @rule(place=places, key=keys)
    def delete(self, place: Any, key: str) -> None:
        assert self.items.delete(place, key) == (self.there.pop((place, key), None) is not None)

    @rule(place=places, key=keys, refresh=st.booleans())
    def get(self, place: Any, key: str, refresh: bool) -> None:
        item = self.items.get(place, key, refresh=refresh)
        known = self.there.get((place, key))

        assert (item and item.value) == (known and known[0])
        if known and refresh and known[2]:
            self.there[place, key] = known[0], self.seconds + known[2], known[2]

    @rule(seconds=st.integers(1, 3))
    def wait(self, seconds: int) -> None:
        self.seconds += seconds
        self.clock.moment = at(self.seconds)
        self.there = {name: one for name, one in self.there.items() if one[1] is None or one[1] > self.seconds}

    @rule()
    def sweep(self) -> None:
        self.items.sweep()
        assert self.items.engine.store.counts().memories == len(self.there)

    @rule(prefix=st.one_of(st.just(()), places), filter=filters, limit=st.integers(1, 9), offset=numbers)
    def search(self, prefix: Any, filter: Any, limit: int, offset: int) -> None:
        below = sorted((path(place), key, place) for place, key in self.there if place[: len(prefix)] == prefix)
        wanted = [(place, key) for _, key, place in below if matches(self.there[place, key][0], filter)]

        shown = self.items.search(prefix, filter=filter, limit=limit, offset=offset)
        assert [(one.namespace, one.key) for one in shown] == wanted[offset : offset + limit]
        assert [one.value for one in shown] == [self.there[name][0] for name in wanted[offset : offset + limit]]

    @rule(prefix=st.one_of(st.just(()), places), filter=filters)
    def ask(self, prefix: Any, filter: Any) -> None:
        shown = self.items.search(prefix, query="tea", filter=filter, limit=50)
        below = {name: one[0] for name, one in self.there.items() if name[0][: len(prefix)] == prefix}

        assert {(one.namespace, one.key) for one in shown} == {
            name
            for name, value in below.items()
            if matches(value, filter) and "tea" in (value if isinstance(value, str) else value.get("says", ""))
        }

    @invariant()
    def lists_what_is_there(self) -> None:
        if hasattr(self, "items"):
            assert self.items.list_namespaces(limit=1000) == sorted({place for place, _ in self.there})

    def teardown(self) -> None:
        self.stack.close()


@pytest.mark.parametrize("kind", ["ram", "sqlite"])
def test_it_is_a_dictionary_whose_values_end(kind: str) -> None:
    run_state_machine_as_test(type("Keyed", (Keyed,), {"kind": kind}), settings=examples(0.4, stateful_step_count=25))


@pytest.mark.parametrize("place", [("a", "b"), ("a/b",), ("%", "%2F", "/"), ("%252F",), ("",), ("é", " ", "\n")])
def test_a_path_is_the_namespace_and_no_other(place: tuple[str, ...]) -> None:
    assert labels(path(place)) == place
    assert path(("x", *place)).startswith(path(("x",)))
    assert not path(("xy", *place)).startswith(path(("x",)))

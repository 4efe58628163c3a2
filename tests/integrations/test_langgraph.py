"""`MemoryStore` is a LangGraph store: beside `InMemoryStore` under a state machine, and in a graph with a scripted model."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import pytest
from adapters import Clock, opened
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from memory import Invalid, KeyedStore
from memory.integrations.langgraph import MemoryStore

if TYPE_CHECKING:
    from memory import Engine


@pytest.fixture
def store(items: KeyedStore) -> MemoryStore:
    return MemoryStore(items)


labels = st.sampled_from(["a", "b", "users", "é", "a/b", "%"])
places = st.lists(labels, min_size=1, max_size=3).map(tuple)
names = st.sampled_from(["k", "K", "1", " ", ""])
scalars = st.one_of(st.integers(-2, 2), st.sampled_from(["tea", "milk", ""]), st.none())
values = st.dictionaries(
    st.sampled_from(["n", "says", "deep"]), st.one_of(scalars, st.fixed_dictionaries({"x": scalars}))
)
filters = st.sampled_from(
    [None, {}, {"says": "tea"}, {"n": {"$eq": 1}}, {"n": {"$ne": 1}}, {"deep": {"x": 1}}, {"n": None}]
)
paths = st.lists(st.one_of(labels, st.just("*")), min_size=1, max_size=2).map(tuple)
conditions = st.lists(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), paths), max_size=2)

gets = st.tuples(places, names).map(lambda of: GetOp(*of))
puts = st.tuples(places, names, st.one_of(values, st.none())).map(lambda of: PutOp(*of))
searches = st.builds(
    lambda prefix, fields, query: SearchOp(prefix, fields, limit=100, query=query),
    *(st.one_of(st.just(()), places), filters, st.sampled_from([None, "tea"])),
)
lists = st.builds(
    lambda *of: ListNamespacesOp(*of, limit=100),
    *(st.one_of(st.none(), conditions.map(tuple)), st.one_of(st.none(), st.integers(1, 3))),
)


def plain(result: Any) -> Any:
    """A result without its times and scores, and a search without an order: without an index neither store has one."""
    if hasattr(result, "namespace"):
        return result.namespace, result.key, result.value
    if isinstance(result, list) and result and hasattr(result[0], "namespace"):
        return sorted(map(plain, result), key=repr)
    return result


class Beside(RuleBasedStateMachine):
    """Both do the same; `InMemoryStore` is asked of namespaces that hold something, since it lists those that held something."""

    @initialize()
    def begin(self) -> None:
        self.stack = ExitStack()
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.store = self.stack.enter_context(MemoryStore(KeyedStore(opened(Path(folder, "home")))))
        self.oracle = InMemoryStore()

    @rule(ops=st.lists(st.one_of(gets, puts, puts, searches), min_size=1, max_size=5), waiting=st.booleans())
    def batch(self, ops: list[Any], waiting: bool) -> None:
        done = asyncio.run(self.store.abatch(ops)) if waiting else self.store.batch(ops)

        assert list(map(plain, done)) == list(map(plain, self.oracle.batch(ops)))

    @rule(op=lists)
    def namespaces(self, op: ListNamespacesOp) -> None:
        held = InMemoryStore()
        for item in self.oracle.search((), limit=10_000):
            held.put(item.namespace, item.key, item.value)

        assert self.store.batch([op]) == held.batch([op])

    @rule(prefix=st.one_of(st.just(()), places), size=st.integers(1, 4), filter=filters)
    def pages(self, prefix: Any, size: int, filter: Any) -> None:
        whole = self.store.search(prefix, filter=filter, limit=100)
        paged = [
            self.store.search(prefix, filter=filter, limit=size, offset=at) for at in range(0, len(whole) + 1, size)
        ]

        assert [one for page in paged for one in page] == whole
        assert plain(whole) == plain(self.oracle.search(prefix, filter=filter, limit=100))

    def teardown(self) -> None:
        self.stack.close()


def test_it_does_what_the_store_in_memory_does() -> None:
    run_state_machine_as_test(Beside, settings=settings(max_examples=25, stateful_step_count=20, deadline=None))


def test_times_are_those_of_the_first_and_the_last_put(store: MemoryStore, clock: Clock) -> None:
    first = clock.moment
    store.put(("a",), "k", {"n": 1})
    clock.wait(5)
    store.put(("a",), "k", {"n": 2})

    item = store.get(("a",), "k")
    assert (item.created_at, item.updated_at, item.value) == (first, clock.moment, {"n": 2})


def test_a_batch_reads_what_was_there_before_it(store: MemoryStore) -> None:
    store.put(("a",), "k", {"n": 1})

    there, _, _, listed = store.batch(
        [GetOp(("a",), "k"), PutOp(("a",), "k", {"n": 2}), PutOp(("b",), "k", {"n": 3}), ListNamespacesOp()]
    )
    assert (there.value, listed) == ({"n": 1}, [("a",)])


def test_a_batch_keeps_all_its_puts_or_none(store: MemoryStore) -> None:
    with pytest.raises(Invalid):
        store.batch([PutOp(("a",), "k", {"n": 1}), PutOp(("a",), "j", {"n": {1}})])

    assert store.search(()) == []


def test_of_numbers_filters_compare(store: MemoryStore) -> None:
    oracle = InMemoryStore()
    for number in range(6):
        store.put(("a",), str(number), {"n": number / 2})
        oracle.put(("a",), str(number), {"n": number / 2})

    for filter in ({"n": {"$gt": 1}}, {"n": {"$gte": 1, "$lt": 2}}, {"n": {"$lte": 0.5}}, {"n": {"$ne": 2.5}}):
        assert plain(store.search(("a",), filter=filter)) == plain(oracle.search(("a",), filter=filter))
    assert [one.key for one in store.search(("a",), filter={"n": {"$in": [0, 2.5]}})] == ["0", "5"]


def test_what_a_query_finds_stands_first_with_a_score(store: MemoryStore, engine: Engine) -> None:
    store.put(("a",), "1", {"text": "he walks to work"})
    store.put(("a",), "2", {"text": "she likes green tea"})
    store.put(("b",), "3", {"text": "green tea as well"})

    first, second = store.search(("a",), query="who likes tea?", limit=5)
    assert (first.key, second.key, second.score) == ("2", "1", None)
    assert 0 < first.score <= 1
    assert [hit.memory.title for hit in engine.search("work").hits] == ["1"]
    assert store.search(("a",), query="who likes tea?", limit=1, offset=1)[0].key == "1"


@pytest.mark.parametrize(
    ("index", "own", "found"),
    [
        (None, None, "abc"),
        ({"fields": ["a"]}, None, "a"),
        ({"fields": ["$"]}, None, "abc"),
        ({"fields": ["list[*].b", "a"]}, None, "ab"),
        ({"fields": ["a"]}, ["list[0].b", "c.d"], "bc"),
        (None, False, ""),
    ],
)
def test_search_reads_the_fields_that_are_indexed(items: KeyedStore, index: Any, own: Any, found: str) -> None:
    store = MemoryStore(items, index=index)
    store.put(("x",), "k", {"a": "walrus", "list": [{"b": "narwhal"}], "c": {"d": "dugong"}}, index=own)

    scored = {
        name
        for name, word in (("a", "walrus"), ("b", "narwhal"), ("c", "dugong"))
        if store.search(("x",), query=word)[0].score is not None
    }
    assert scored == {*found}


def test_items_end_and_are_refreshed_as_the_settings_say(items: KeyedStore, clock: Clock) -> None:
    store = MemoryStore(items, ttl={"default_ttl": 1, "refresh_on_read": False})
    store.put(("a",), "usual", {})
    store.put(("a",), "long", {}, ttl=3)
    store.put(("a",), "for ever", {}, ttl=None)
    clock.wait(59)
    assert store.get(("a",), "usual") is not None
    assert store.get(("a",), "long", refresh_ttl=True) is not None
    clock.wait(1)

    assert store.get(("a",), "usual") is None
    assert [one.key for one in store.search(("a",))] == ["for ever", "long"]
    clock.wait(178)
    assert [one.key for one in store.search(("a",), refresh_ttl=True)] == ["for ever", "long"]
    clock.wait(179)
    assert store.get(("a",), "long") is not None
    clock.wait(1)
    assert store.get(("a",), "long") is None
    assert (store.sweep_ttl(), store.sweep_ttl()) == (2, 0)


def test_what_is_no_namespace_is_refused_as_elsewhere(store: MemoryStore) -> None:
    for namespace in ((), ("a.b",), ("",), (1,), ("langgraph", "x")):
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {})


def test_asynchronous_verbs_answer_the_same(store: MemoryStore) -> None:
    async def use() -> None:
        await asyncio.gather(*(store.aput(("a", str(number)), "k", {"n": number}) for number in range(5)))
        assert (await store.aget(("a", "3"), "k")).value == {"n": 3}
        assert len(await store.asearch(("a",))) == 5
        assert await store.alist_namespaces(prefix=("a",), limit=2) == [("a", "0"), ("a", "1")]
        await store.adelete(("a", "3"), "k")
        assert await store.aget(("a", "3"), "k") is None

    asyncio.run(use())


class State(TypedDict):
    said: str
    answer: str


def test_a_graph_remembers_between_its_runs(store: MemoryStore, engine: Engine) -> None:
    model = FakeListChatModel(responses=["Noted: green tea.", "Green tea, as ever."])

    def answer(state: State, *, store: BaseStore) -> dict[str, str]:
        known = store.search(("users", "ann"), query=state["said"])
        told = model.invoke(f"{[one.value for one in known]} {state['said']}").content
        store.put(("users", "ann"), state["said"], {"said": state["said"]})
        return {"answer": f"{len(known)}: {told}"}

    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    graph = builder.compile(store=store)

    assert graph.invoke({"said": "I like green tea"})["answer"] == "0: Noted: green tea."
    assert asyncio.run(graph.ainvoke({"said": "Which tea?"}))["answer"] == "1: Green tea, as ever."
    assert engine.search("green").hits[0].memory.kind == "item"

"""What every store promises where research runs and the tools used in them are kept."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from entries import (
    KEEP,
    SPACE,
    at,
    directions,
    embedded,
    everything,
    found,
    kept,
    note,
    outline,
    prompt,
    unit,
    words,
    write,
)
from graph_suite import entity, linked

from memory.keep.removing import Cleared, clear_run
from memory.keep.rules import delete_memories, join, replace_memory
from memory.schema.kinds import RESEARCH_KINDS, Kind
from memory.schema.memory import MemoryId, Standing
from memory.schema.query import EVERYTHING
from memory.store import Attached, Run, ToolCall

if TYPE_CHECKING:
    from memory.store import Entry, Store


def finding(body: str = "found", moment: float = 0, /, run: str = "r", **fields: Any) -> Entry:
    """Something of a research run, made so many seconds after the start."""
    return note(**{"kind": Kind.DISCOVERY} | fields, body=body, query_id=run, moment=at(moment))


def used(moment: float = 0, /, **said: Any) -> ToolCall:
    """A tool that was used in run r so many seconds after the start."""
    usual = ToolCall(uuid4().hex, "r", "a", "http", "fetch", '{"url": "x"}', "page", success=True, moment=at(moment))
    return usual._replace(**said)


def memories(store: Store) -> list[MemoryId]:
    return [one.id for one in everything(store)]


def logged(store: Store, **filters: Any) -> list[ToolCall]:
    return [call for _, call in store.runs.calls(**filters)]


def of_name(store: Store, id: str) -> Run | None:
    """The run of a name; None if nothing is kept of it."""
    found, total = store.runs.latest(5, id=id)
    assert len(found) == total
    return found[0] if found else None


class OneRun:
    def test_a_run_is_what_is_kept_of_it(self, store: Store) -> None:
        kept(
            store,
            finding("one", 5, agent_id="a"),
            finding("two", 1, agent_id="b", kind=Kind.INSIGHT),
            finding("three", 3, kind=Kind.INSIGHT),
            finding("four", 9, run="other", agent_id="c"),
        )
        store.runs.log([used(99), used(0, success=False), used(7, success=False), used(8, run="other"), used(run=None)])

        assert of_name(store, "r") == Run(
            id="r",
            memories=3,
            calls=3,
            failed_calls=2,
            earliest=at(1),
            latest=at(5),
            kinds=(("insight", 2), ("discovery", 1)),
            agents=(("a", 1), ("b", 1)),
        )

    @pytest.mark.parametrize("absent", ["", "R", "r ", "%", "None", "other"])
    def test_a_run_that_nothing_is_kept_of_is_none(self, store: Store, absent: str) -> None:
        kept(store, finding())
        store.runs.log([used(), used(run=None)])

        assert of_name(store, absent) is None

    def test_only_the_research_kinds_make_a_run(self, store: Store) -> None:
        kept(store, note("of a run, but a note", query_id="n", agent_id="a"), finding("x", run="r"))
        write(store, prompt("continue", query_id="r"))

        assert of_name(store, "n") is None
        run = of_name(store, "r")
        assert (run.memories, run.agents) == (1, ())

    @pytest.mark.parametrize("kind", RESEARCH_KINDS)
    def test_every_research_kind_counts(self, store: Store, kind: Kind) -> None:
        kept(store, finding("x", kind=kind))

        assert of_name(store, "r").kinds == ((str(kind), 1),)

    def test_a_run_may_be_of_calls_alone(self, store: Store) -> None:
        store.runs.log([used(5), used(2, success=False), used(3)])

        assert of_name(store, "r") == Run("r", 0, 3, 1, at(2), at(5), (), ())

    def test_what_changed_last_is_its_latest_moment(self, store: Store) -> None:
        first = kept(store, finding("old", 1), finding("other", 5))[0]

        replace_memory(store, first, finding("corrected", 20))

        run = of_name(store, "r")
        assert (run.earliest, run.latest) == (at(1), at(20))

    def test_what_was_superseded_counts_too(self, store: Store) -> None:
        old = kept(store, finding("old"))[0]
        write(store, finding("new")._replace(supersedes=old))

        assert of_name(store, "r").memories == 2


class Latest:
    def test_runs_are_listed_by_their_latest_activity_then_by_name(self, store: Store) -> None:
        moments = {"b": 5, "a": 5, "c": 7, "é": 5, "d": 1}
        first = {name: write(store, finding("x", moment, run=name)).memory.id for name, moment in moments.items()}
        store.runs.log([used(6, run="calls"), used(5, run="aa"), used(99, run="d"), used(99, run=None)])
        kept(store, note("no research", query_id="n", moment=at(99)))

        runs, total = store.runs.latest(10)
        assert [one.id for one in runs] == ["c", "calls", "a", "aa", "b", "é", "d"]
        assert total == 7
        assert list(runs) == [of_name(store, one.id) for one in runs]
        for limit in (1, 3, 7):
            assert store.runs.latest(limit) == (runs[:limit], 7)

        replace_memory(store, first["d"], finding("corrected", 50, run="d"))
        assert store.runs.latest(1)[0][0].id == "d"

    def test_there_may_be_none(self, store: Store) -> None:
        kept(store, note("no research", query_id="n"))
        store.runs.log([used(run=None)])

        assert store.runs.latest(5) == ([], 0)


class Calls:
    def test_a_call_comes_back_as_it_was_logged(self, store: Store) -> None:
        zoned = at(1.5).astimezone(timezone(timedelta(hours=9)))
        calls = [
            used(3, type="mcp", tool="数据", parameters="é\n'\"🦊", result="", success=False),
            used(1, type="builtin", run=None, agent=""),
            used()._replace(moment=zoned),
        ]

        ids = store.runs.log(calls)

        assert sorted(ids) == ids
        assert store.runs.calls() == list(zip(ids, calls, strict=True))
        assert [type(call.success) for call in logged(store)] == [bool] * 3

    def test_a_call_is_kept_once(self, store: Store) -> None:
        first, second, third = used(1), used(2), used(3)
        ids = store.runs.log([first, second])

        again = store.runs.log([third, second._replace(result="another"), third._replace(run="x"), first])

        assert again == [ids[1] + 1, ids[1], ids[1] + 1, ids[0]]
        assert logged(store) == [first, second, third]
        assert store.runs.log([]) == []

    def test_calls_of_a_run_and_of_an_agent(self, store: Store) -> None:
        every = [
            used(run=run, agent=agent, result=f"{n}")
            for n in range(2)
            for run in ("r", "s", None)
            for agent in ("a", "b")
        ]
        ids = store.runs.log(every)

        for run in (None, "r", "s", "R", "none"):
            for agent in (None, "a", "b", ""):
                wanted = [
                    (id, call)
                    for id, call in zip(ids, every, strict=True)
                    if run in (None, call.run) and agent in (None, call.agent)
                ]
                assert store.runs.calls(run, agent=agent) == wanted
                for limit in (1, 3):
                    assert store.runs.calls(run, agent=agent, limit=limit) == wanted[:limit]
                    assert (
                        store.runs.calls(run, agent=agent, after=ids[3], limit=limit)
                        == [pair for pair in wanted if pair[0] > ids[3]][:limit]
                    )

    def test_ids_of_calls_are_never_used_again(self, store: Store) -> None:
        first, second = store.runs.log([used(), used()])
        clear_run(store, "r", KEEP, calls=True)

        again = store.runs.log([used(), used()])

        assert again == [second + 1, second + 2]
        assert first < second

    def test_a_memory_that_goes_takes_no_call_along(self, store: Store) -> None:
        id = kept(store, finding())[0]
        store.runs.log([used()])

        delete_memories(store, [id])

        assert of_name(store, "r") == Run("r", 0, 1, 0, at(0), at(0), (), ())


class Clearing:
    def test_a_run_is_cleared_alone(self, store: Store) -> None:
        kept(store, *(finding("x", kind=kind, agent_id=kind) for kind in RESEARCH_KINDS))
        stay = kept(store, finding("x", run="s"), note("a note", query_id="r"), note("of none"), entity("e"))
        stay.append(write(store, prompt("continue", query_id="r")).memory.id)
        store.runs.log([used(), used(run="s"), used(run=None)])

        assert clear_run(store, "r", KEEP) == Cleared(7, 0)

        assert memories(store) == stay
        assert len(logged(store)) == 3
        assert of_name(store, "r").memories == 0
        assert clear_run(store, "r", KEEP) == clear_run(store, "none", KEEP, calls=True) == Cleared(0, 0)

    def test_all_runs_are_cleared_and_nothing_else(self, store: Store) -> None:
        kept(store, finding("x"), finding("x", run="s"), finding("y", run="s", kind=Kind.PLAN))
        stay = kept(store, note("a note", query_id="r"), note("of none"), entity("e"))
        store.runs.log([used(), used(run="s"), used(run=None)])

        assert clear_run(store, None, KEEP) == Cleared(3, 0)
        assert memories(store) == stay
        assert len(logged(store)) == 3
        assert clear_run(store, None, KEEP, calls=True) == Cleared(0, 3)
        assert (logged(store), store.runs.latest(5)) == ([], ([], 0))

    def test_at_most_so_many_go_the_lowest_ids_first_and_the_calls_last(self, store: Store) -> None:
        ids = kept(store, *(finding(f"{n}", -n, run="rs"[n % 2]) for n in range(8)))
        of_r = ids[::2]
        store.runs.log([used(n, run="rs"[n % 2]) for n in range(8)])

        assert clear_run(store, "r", KEEP, calls=True, limit=3) == Cleared(3, 0)
        assert memories(store) == sorted([of_r[3], *ids[1::2]])
        assert clear_run(store, "r", KEEP, calls=True, limit=3) == Cleared(1, 3)
        assert [call.moment for call in logged(store, run="r")] == [at(6)]
        assert clear_run(store, "r", KEEP, calls=True, limit=3) == Cleared(0, 1)
        assert clear_run(store, "r", KEEP, calls=True, limit=3) == Cleared(0, 0)
        assert (memories(store), len(logged(store))) == (ids[1::2], 4)

    def test_as_many_as_may_go_are_followed_by_the_calls_at_once(self, store: Store) -> None:
        kept(store, finding("1"), finding("2"))
        store.runs.log([used(), used(), used(run="s")])

        assert clear_run(store, "r", KEEP, calls=True, limit=2) == Cleared(2, 2)
        assert [call.run for call in logged(store)] == ["s"]

    def test_nothing_of_it_is_left(self, store: Store) -> None:
        vectors = directions(3)
        gone, stays = kept(
            store,
            finding("ab", what="zebra", size=1, embedded=embedded(vectors[:2], [0, 1])),
            note("giraffe", embedded=embedded(vectors[2:])),
        )
        chunks = [chunk for chunk, _ in outline(store, gone)]
        replace_memory(store, gone, finding("abc", what="zebra", size=1, embedded=embedded(vectors[:2], [0, 1])))
        chunks += [chunk for chunk, _ in outline(store, gone)]
        other = kept(store, entity("e"))[0]
        join(store, [linked(other, gone), linked(other, stays)])

        assert clear_run(store, "r", KEEP) == Cleared(1, 0)

        assert (
            store.memories.bodies([gone]),
            store.memories.details(gone),
            store.memories.excerpts(chunks),
        ) == ({}, None, {})
        assert found(store.keywords.by_keyword(words("zebra", "giraffe"), EVERYTHING, 10)) == [stays]
        assert found(store.vectors.by_vector(1, vectors[0], EVERYTHING, 10)) == [stays]
        assert store.vectors.cosines(1, unit(1), chunks, other=unit(0, 1)) == {}
        total, count = store.generations.centre(1)
        assert (count, len(total)) == (1, SPACE.dimension)
        assert list(total) == pytest.approx(vectors[2], abs=1e-6)
        assert store.graph.edges(Attached) == [linked(other, stays)]

    def test_what_a_cleared_memory_superseded_holds_again(self, store: Store) -> None:
        old = kept(store, finding("old", run="s"))[0]
        write(store, finding("new")._replace(supersedes=old))

        clear_run(store, "r", KEEP)

        former = store.memories.by_id([old])[old]
        assert (former.status, former.superseded_by) == (Standing.ACTIVE, None)

    def test_children_outlive_a_cleared_parent(self, store: Store) -> None:
        parent = kept(store, finding())[0]
        child = kept(store, note(parent_id=parent))[0]

        clear_run(store, "r", KEEP)

        assert store.memories.by_id([child])[child].parent_id is None

    def test_ids_of_what_is_cleared_are_never_used_again(self, store: Store) -> None:
        id = kept(store, finding())[0]
        clear_run(store, None, KEEP)

        assert kept(store, finding())[0] > id


class RunsSuite(OneRun, Latest, Calls, Clearing):
    """All of them."""

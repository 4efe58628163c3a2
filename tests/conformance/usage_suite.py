"""What every store promises of usage: what was embedded, and which circuits are open."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from entries import BEYOND, START, at, request, within

from memory.schema.errors import Invalid
from memory.schema.space import Budget, OpenCircuit

if TYPE_CHECKING:
    from memory.store import Store

DAY = 24 * 3600


class UsageSuite:
    """The part `usage`."""

    def test_a_request_is_reserved_before_it_is_made_and_recorded_after(self, store: Store) -> None:
        call = request(1, calls=1, texts=3, tokens=30, bytes_out=120, cost=0.5)

        id = store.usage.reserve_call(call)

        assert id is not None
        assert list(store.usage.lines()) == [call._replace(id=id)]
        store.usage.record_call(id, tokens=25, seconds=0.25, cost=0.125, error="cut off")
        recorded = call._replace(id=id, tokens=25, seconds=0.25, cost=0.125, error="cut off")
        assert list(store.usage.lines()) == [recorded]
        store.usage.record_call(id, tokens=26, seconds=0.5, cost=0.25)
        assert [line.error for line in store.usage.lines()] == [""]

    def test_settling_what_is_gone_is_no_matter(self, store: Store) -> None:
        id = store.usage.reserve_call(request())
        before = list(store.usage.lines())

        for gone in (0, -1, (id or 0) + 1, BEYOND):
            store.usage.record_call(gone, tokens=1, seconds=1, cost=1)

        assert list(store.usage.lines()) == before

    def test_what_stays_in_the_process_is_not_reserved(self, store: Store) -> None:
        with pytest.raises(Invalid, match="noted"):
            store.usage.reserve_call(within())

        assert list(store.usage.lines()) == []

    @pytest.mark.parametrize(
        ("budget", "fit"),
        [
            (Budget(), 5),
            (Budget(calls=3), 3),
            (Budget(tokens=30), 3),
            (Budget(tokens=39), 3),
            (Budget(calls=2, tokens=30), 2),
            (Budget(calls=4, tokens=20), 2),
            (Budget(calls=0), 0),
            (Budget(tokens=9), 0),
        ],
    )
    def test_a_budget_is_used_up_and_not_exceeded(self, store: Store, budget: Budget, fit: int) -> None:
        ids = [store.usage.reserve_call(request(n), budget) for n in range(5)]

        assert [id is not None for id in ids] == [n < fit for n in range(5)]
        assert len(store.usage.lines()) == fit

    def test_a_budget_is_of_one_host_and_one_day(self, store: Store) -> None:
        budget = Budget(calls=1)

        assert store.usage.reserve_call(request(0), budget)
        assert store.usage.reserve_call(request(0, host="https://two.example"), budget)
        assert store.usage.reserve_call(request(DAY), budget)
        assert store.usage.reserve_call(request(-0.000001), budget)
        assert store.usage.reserve_call(request(DAY - 0.000001), budget) is None
        assert store.usage.reserve_call(request(0, provider="voyage", model="large", purpose="search"), budget) is None

    def test_a_day_is_one_of_utc(self, store: Store) -> None:
        east = START.astimezone(timezone(timedelta(hours=9)))
        store.usage.reserve_call(request()._replace(moment=east + timedelta(hours=23)))

        assert store.usage.reserve_call(request(), Budget(calls=1)) is None
        assert [line.moment for line in store.usage.lines(daily=True)] == [START]

    def test_a_budget_counts_what_was_estimated_until_it_is_known(self, store: Store) -> None:
        budget = Budget(tokens=100)
        id = store.usage.reserve_call(request(tokens=90), budget)
        assert store.usage.reserve_call(request(tokens=20), budget) is None

        store.usage.record_call(id or 0, tokens=80, seconds=1, cost=0, error="failed, and was counted")

        assert store.usage.reserve_call(request(tokens=20), budget)
        assert store.usage.reserve_call(request(tokens=1), budget) is None

    def test_a_request_without_a_budget_counts_for_those_with_one(self, store: Store) -> None:
        assert store.usage.reserve_call(request())

        assert store.usage.reserve_call(request(), Budget(calls=1)) is None

    def test_what_stays_in_the_process_is_added_up_by_day(self, store: Store) -> None:
        one = within(50, calls=2, texts=3, tokens=5, seconds=0.5)
        store.usage.add_calls([one, within(20, calls=1, texts=4, tokens=6, seconds=0.25, cost=0.5, error="odd")])
        store.usage.add_calls([within(70, calls=1, texts=1, tokens=1, error="odder")])
        store.usage.add_calls([within(70, calls=1, tokens=0)])
        store.usage.add_calls(
            [within(70, purpose="search"), within(70, model="large"), within(DAY), within(70, provider="x")]
        )
        store.usage.add_calls([])

        day = next(line for line in store.usage.lines() if line.calls == 5)
        assert day._replace(id=0) == within(20, calls=5, texts=8, tokens=12, seconds=0.75, cost=0.5, error="odder")
        assert len(store.usage.lines()) == 5
        assert len({line.id for line in store.usage.lines()}) == 5

    def test_lines_come_latest_first_then_by_id(self, store: Store) -> None:
        ids = [store.usage.reserve_call(request(n)) for n in (2, 5, 2, 1)]

        assert [line.id for line in store.usage.lines()] == [ids[1], ids[2], ids[0], ids[3]]
        assert [line.id for line in store.usage.lines(since=at(2))] == [ids[1], ids[2], ids[0]]
        assert list(store.usage.lines(since=at(6))) == list(store.usage.lines(since=at(6), daily=True)) == []

    def test_usage_is_summed_by_day_and_names(self, store: Store) -> None:
        for call in (
            request(1, texts=2, tokens=5, bytes_out=7, seconds=0.5, cost=0.25),
            request(9, texts=1, tokens=1, bytes_out=1, seconds=0.25, cost=0.5, error="down"),
            request(9, purpose="fill", error="down"),
            request(9, host="https://a.example"),
            request(9, model="large"),
            request(9, provider="a", host="z"),
            request(DAY + 5),
        ):
            store.usage.reserve_call(call)
        store.usage.add_calls([within(3, calls=5)])

        given = list(store.usage.lines(daily=True))

        assert [(line.moment, line.provider, line.model, line.host, line.purpose) for line in given] == [
            (at(DAY), "openai", "small", "https://one.example", "save"),
            (START, "a", "small", "z", "save"),
            (START, "local", "small", "", "save"),
            (START, "openai", "large", "https://one.example", "save"),
            (START, "openai", "small", "https://a.example", "save"),
            (START, "openai", "small", "https://one.example", "fill"),
            (START, "openai", "small", "https://one.example", "save"),
        ]
        assert given[-1] == request(
            0, calls=2, texts=3, tokens=6, bytes_out=8, seconds=0.75, cost=0.75, error="1 failed"
        )
        assert [line.error for line in given] == ["", "", "", "", "", "1 failed", "1 failed"]
        assert given[2].calls == 5
        assert [line.calls for line in store.usage.lines(since=at(9), daily=True)] == [1, 1, 1, 1, 1, 1]

    def test_a_host_that_gave_no_answer_is_remembered_until_it_does(self, store: Store) -> None:
        assert store.usage.circuit("https://one.example") is None
        first, last = (OpenCircuit("https://one.example", at(n), f"down at {n}") for n in (9, 5))
        other = OpenCircuit("https://two.example", at(1), "")

        for circuit in (first, other, last):
            store.usage.set_circuit(circuit.host, circuit)

        assert store.usage.circuit("https://one.example") == last
        store.usage.set_circuit("https://one.example", None)
        store.usage.set_circuit("https://one.example", None)
        assert store.usage.circuit("https://one.example") is None
        assert store.usage.circuit("https://two.example") == other

    def test_a_budget_holds_among_many_that_ask_at_once(self, store: Store) -> None:
        with ThreadPoolExecutor(8) as pool:
            ids = list(
                pool.map(lambda n: store.usage.reserve_call(request(n), Budget(calls=20, tokens=150)), range(80))
            )

        assert len([id for id in ids if id is not None]) == len(store.usage.lines()) == 15

"""An embedder that sends texts by itself, as a plug-in's may: reserved, left alone, let through."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from doubles import Away

from memory.schema.errors import OverBudget, Refused, Unreachable
from memory.schema.space import Budget
from memory.schema.step import EMBED, purpose
from memory.vectors import ProcessStore
from memory.vectors.meter import Metered
from memory.vectors.providers.inside import HashedEmbedder
from oracle.ram_usage import RamUsage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.space import Vectors
    from memory.vectors import Role

START = datetime(2026, 1, 2, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.moment = START

    def __call__(self) -> datetime:
        return self.moment


class Dying(Away):
    """Gives no answer while it is `dead`."""

    dead = True

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        vectors = super().embed(texts, role)
        if self.dead:
            raise Unreachable("no answer")
        return vectors


@pytest.fixture
def log() -> RamUsage:
    return RamUsage()


def test_its_requests_are_in_the_log_before_they_are_sent(log: RamUsage) -> None:
    sent: list[str] = []
    away = Away(before=lambda: sent.extend(line.error for line in log.lines(daily=True)))

    Metered(away, log).embed(["some words"], "passage")

    assert sent == ["1 failed"]  # no answer yet
    [line] = log.lines(daily=True)
    assert (line.host, line.error, line.bytes_out) == (Away.host, "", len("some words"))


def test_a_spent_budget_sends_nothing_more(log: RamUsage) -> None:
    away = Away()
    metered = Metered(away, log, budget=Budget(calls=1))
    metered.embed(["first"], "passage")

    with pytest.raises(OverBudget):
        metered.embed(["second"], "passage")

    assert away.passages == ["first"]


def test_one_that_gives_no_answer_is_left_alone_and_no_longer_for_being_asked(log: RamUsage) -> None:
    dying, clock = Dying(), Clock()
    metered = Metered(dying, log, pause_seconds=60.0, now=clock)
    other = Metered(dying, log, pause_seconds=60.0, now=clock)  # as another process would
    for asked in (metered, metered, other):
        with pytest.raises(Unreachable, match="no answer"):
            asked.embed(["a"], "query")
        clock.moment += timedelta(seconds=20)

    assert dying.queries == ["a"]
    dying.dead = False
    other.embed(["b"], "query")
    assert dying.queries == ["a", "b"]


def test_whoever_waits_for_just_this_is_let_through_and_an_answer_opens_the_way_for_all(log: RamUsage) -> None:
    dying = Dying()
    metered = Metered(dying, log, pause_seconds=900.0)
    with pytest.raises(Unreachable):
        metered.embed(["a"], "query")
    dying.dead = False

    with purpose(EMBED):
        metered.embed(["b"], "passage")

    assert log.circuit(Away.host) is None
    assert metered.embed(["c"], "query").shape == (1, 64)


def test_what_fails_inside_this_process_is_not_in_the_log(log: RamUsage) -> None:
    class Broken(HashedEmbedder):
        def embed(self, texts: Sequence[str], role: Role) -> Vectors:
            raise RuntimeError("out of memory")

    metered = Metered(Broken(8), log)
    with pytest.raises(Refused, match="out of memory"):
        metered.embed(["a"], "query")
    metered.close()

    assert log.lines(daily=True) == []


# Without a store -------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [Budget(calls=1), Budget(tokens=3)], ids=str)
def test_without_a_store_a_budget_holds_for_one_host_and_one_day(budget: Budget) -> None:
    away, clock, store = Away(), Clock(), ProcessStore()
    metered = Metered(away, store.usage, budget=budget, now=clock)
    other = Away()
    other.host = "http://elsewhere.test"

    metered.embed(["one"], "passage")
    with pytest.raises(OverBudget):
        metered.embed(["and two more"], "passage")
    Metered(other, store.usage, budget=budget, now=clock).embed(["one"], "passage")
    clock.moment += timedelta(days=1)
    metered.embed(["one"], "passage")

    assert away.passages == ["one", "one"]


def test_without_a_store_a_budget_of_nothing_sends_nothing() -> None:
    with pytest.raises(OverBudget):
        Metered(Away(), ProcessStore().usage, budget=Budget(calls=0)).embed(["a"], "passage")


def test_without_a_store_a_dead_server_is_left_alone_until_it_answers() -> None:
    dying = Dying()
    metered = Metered(dying, ProcessStore().usage)
    for _ in range(2):
        with pytest.raises(Unreachable, match="no answer"):
            metered.embed(["a"], "query")
    dying.dead = False
    with purpose(EMBED):
        metered.embed(["b"], "query")

    assert metered.embed(["c"], "query").shape == (1, 64)
    assert dying.queries == ["a", "b", "c"]

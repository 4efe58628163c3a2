"""What comes up in a context unasked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sessions_made import Compass

from memory import Config, Draft, Engine, Kind, Mode, Query, Scope
from memory.schema.query import around
from memory.tools.sessions import SessionMemory


@pytest.fixture
def engine(tmp_path):
    config = replace(Config(), home=str(tmp_path), embedding=replace(Config().embedding, provider="none"))
    with Engine.open(config) as engine:
        engine.save(Draft(title="Pool", what="The pool has 40 connections"))
        memory = SessionMemory(engine)
        memory.store_input_prompt("s1", 1, "continue with the vacuum")
        memory.store_session_context("s1", 1, "half of it is done")
        memory.store_report("explorer", "s1", "# Findings\n\nThe index is bloated.")
        yield engine


def kinds(engine, about: str = "", **more) -> list[Kind]:
    return [memory.kind for memory in engine.context(about, **more).memories]


def test_what_was_said_in_a_session_does_not_come_up_unasked(engine) -> None:
    assert kinds(engine) == [Kind.REPORT, Kind.NOTE]


def test_what_nothing_speaks_for_is_not_about_the_task(tmp_path) -> None:
    """`search.merge: max` gives 0 to what holds no word and points away."""
    config = replace(Config(), home=str(tmp_path), search=replace(Config().search, merge="max"))
    with Engine.open(config, embedder=Compass()) as engine:
        engine.save_all([Draft(title="pool", what="-10°"), Draft(title="other", what="170°")])

        answer = engine.search(Query("pool 0°", mode=Mode.HYBRID))
        context = engine.context("pool 0°", semantic="always", topup_recent=False)

    assert [(hit.memory.title, hit.score > 0) for hit in answer.hits] == [("pool", True), ("other", False)]
    assert [memory.title for memory in context.memories] == ["pool"]


def test_it_does_when_it_is_about_the_task(engine) -> None:
    assert kinds(engine, "vacuum")[0] is Kind.INPUT_PROMPT


def test_it_does_when_it_is_asked_for(engine) -> None:
    assert kinds(engine, scope=Scope(kinds=frozenset({Kind.SESSION_CONTEXT}))) == [Kind.SESSION_CONTEXT]


# What is pinned, and what always holds ---------------------------------------------


@pytest.fixture
def shop(tmp_path):
    """An engine with a pinned memory, a preference, one of no project, and many later ones of a project."""
    config = replace(Config(), home=str(tmp_path), embedding=replace(Config().embedding, provider="none"))
    with Engine.open(config) as engine:
        engine.documents.pin([engine.save(Draft(title="pinned", project="shop")).memory.uid[:8]])
        engine.save(Draft(title="preference", category="preference", project="shop"))
        engine.save(Draft(title="everywhere"))
        engine.save(Draft(title="elsewhere", project="other"))
        engine.save_all([Draft(title=f"fact {n:02}", project="shop") for n in range(12)])
        yield engine


def titles(engine, about: str = "", **more) -> list[str]:
    return [memory.title for memory in engine.context(about, scope=around("shop"), **more).memories]


def test_what_is_pinned_comes_first_and_preferences_do_not_vanish(shop) -> None:
    assert titles(shop, limit=6) == ["pinned", "preference", *(f"fact {n}" for n in (11, 10)), "fact 09", "fact 08"]
    assert titles(shop, limit=9)[:3] == ["pinned", "preference", "everywhere"]


def test_what_is_pinned_comes_before_what_is_about_the_task(shop) -> None:
    found = titles(shop, "fact 03")

    assert found[:2] == ["pinned", "fact 03"]
    assert {"preference", "everywhere"} <= set(found)
    assert len(found) == len(set(found)) == 10
    assert titles(shop, "fact 03", topup_recent=False)[:2] == ["pinned", "fact 03"]


@pytest.mark.parametrize("about", ["", "fact 03"])
def test_a_pin_may_be_all_there_is_room_for(shop, about) -> None:
    found = shop.context(about, scope=around("shop"), limit=1)

    assert [memory.title for memory in found.memories] == ["pinned"]
    assert "fact" not in found.text


def test_a_memory_that_is_pinned_and_about_the_task_is_shown_once(shop) -> None:
    assert titles(shop, "pinned", topup_recent=False) == ["pinned"]


def test_pins_leave_room_and_those_that_are_not_shown_are_told(shop) -> None:
    every = shop.documents.recent(around("shop"), 100)
    shop.documents.pin([memory.id for memory in every])

    found = shop.context("fact 03", scope=around("shop"), limit=5)

    assert [memory.pinned for memory in found.memories] == [True] * 5
    assert "fact 03" in [memory.title for memory in found.memories]
    assert [notice.text for notice in found.notices] == [f"{len(every) - 3} more are pinned"]
    shop.documents.pin([memory.id for memory in every], pinned=False)
    assert titles(shop, limit=3)[0] == "preference"


def test_a_pin_is_of_its_project(shop) -> None:
    found = shop.context(scope=around("other")).memories

    assert "pinned" not in [memory.title for memory in found]


def test_without_a_project_there_is_nothing_that_holds_beside_it(shop) -> None:
    assert [memory.title for memory in shop.context(limit=4).memories] == ["pinned", "preference", "fact 11", "fact 10"]

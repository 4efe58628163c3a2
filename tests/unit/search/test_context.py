"""What comes up in a context unasked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sessions_made import Compass

from memory import Config, Draft, Engine, Kind, Mode, Query, Scope
from memory.operations.sessions import SessionMemory


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

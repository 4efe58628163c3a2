"""Questions that name a time, asked of dated notes."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from dated import at, judged, opened

from memory import Draft, Engine, Kind, Mode, Query
from memory.schema.query import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def engine(tmp_path: Path, zoned: Any) -> Iterator[Engine]:
    """Five notes of a year, as if it were 2026-11-20."""
    zoned("Europe/Berlin")
    with opened(tmp_path, "none") as engine:
        for day, title, category in (
            ("2026-02-10", "Release 2.2", "context"),
            ("2026-03-03", "Outage: all connections were used up", "bug"),
            ("2026-05-19", "Release 2.3", "context"),
            ("2026-07-02", "Outage: the DNS provider was attacked", "bug"),
            ("2026-10-29", "Deploys wait for a review", "decision"),
        ):
            at(engine, datetime.fromisoformat(f"{day}T12:00:00+00:00"))
            engine.save(Draft(title=title, category=category))
        at(engine, datetime(2026, 11, 20, 12, tzinfo=UTC))
        yield engine


def titles(engine: Engine, text: str, **how: Any) -> list[str]:
    return [hit.memory.title for hit in engine.search(Query(text, **how)).hits]


def test_without_a_model_most_are_answered_too(tmp_path: Path, zoned: Any) -> None:
    right, _, trapped = judged(tmp_path, "none", zoned)

    assert right >= 100  # of 120
    assert trapped == []


def test_a_span_narrows_and_the_answer_says_how_it_was_read(engine: Engine) -> None:
    answer = engine.search("outage in Q3")

    assert [hit.memory.title for hit in answer.hits] == ["Outage: the DNS provider was attacked"]
    [notice] = answer.notices
    assert notice.text == 'read as a time: "in Q3", from 2026-07-01 to 2026-09-30'
    assert "--no-time" in notice.hint


def test_with_a_span_alone_all_of_it_comes_by_date_notes_before_conversations(engine: Engine) -> None:
    at(engine, datetime(2026, 5, 30, 12, tzinfo=UTC))
    engine.save(Draft(kind=Kind.SESSION_CONTEXT, title="A talk", body="We talked.", session_id="s1", session_iter=1))
    at(engine, datetime(2026, 11, 20, 12, tzinfo=UTC))

    assert titles(engine, "what happened in the first half of 2026") == [
        "Release 2.3",
        "Outage: all connections were used up",
        "Release 2.2",
        "A talk",
    ]


def test_latest_and_first_order_what_is_about_it(engine: Engine) -> None:
    assert titles(engine, "latest release")[:2] == ["Release 2.3", "Release 2.2"]
    assert titles(engine, "newest bug") == [
        "Outage: the DNS provider was attacked",
        "Outage: all connections were used up",
    ]
    assert titles(engine, "first outage we noted")[0] == "Outage: all connections were used up"


def test_what_happened_at_a_bound_is_looked_for(engine: Engine) -> None:
    assert titles(engine, "outage before 2.3 was released") == ["Outage: all connections were used up"]
    assert titles(engine, "outage since release 2.3") == ["Outage: the DNS provider was attacked"]


def test_a_bound_that_is_no_memory_is_words(engine: Engine) -> None:
    question = "outage before 9.9 was released"

    assert engine.search(question).hits == engine.search(Query(question, time=False)).hits
    assert not engine.search(question).notices


def test_where_nothing_is_from_that_time_the_nearest_is_named(engine: Engine) -> None:
    answer = engine.search("outage in August")

    assert {hit.memory.title[:6] for hit in answer.hits} == {"Outage"}
    assert answer.notices[-1].text == (
        'nothing is from that time ("in August", from 2026-08-01 to 2026-08-31); the nearest of these is 2026-07-02'
    )


def test_a_time_long_before_all_memories_is_one_that_texts_speak_of(engine: Engine) -> None:
    question = "which outage was there in 2001"

    assert engine.search(question).hits == engine.search(Query(question, time=False)).hits
    assert not engine.search(question).notices


def test_a_name_that_sounds_like_an_order_is_a_name(engine: Engine) -> None:
    engine.save(Draft(title="Never deploy the `latest` tag of an image"))
    answer = engine.search("the latest tag of an image, may it be deployed")

    assert answer.hits[0].memory.title.startswith("Never deploy")
    assert not answer.notices


def test_when_a_thing_happened_counts_not_when_it_was_saved(engine: Engine) -> None:
    engine.save(Draft(title="Outage: the lights went out", happened_at=datetime(2026, 8, 4, tzinfo=UTC)))

    assert titles(engine, "outage in August") == ["Outage: the lights went out"]


def test_what_was_revised_is_asked_for_by_its_last_change(engine: Engine) -> None:
    [old] = engine.search(Query('"Release 2.2"', 1, mode=Mode.KEYWORD)).hits
    engine.documents.update(old.memory.short_id, why="A wish.")

    assert titles(engine, "which release was revised this month") == ["Release 2.2"]


def test_bounds_of_the_scope_and_switches_beat_it(engine: Engine) -> None:
    bound = Scope(since=datetime(2026, 1, 1, tzinfo=UTC))

    assert len(titles(engine, "outage in Q3", scope=bound)) == 2
    assert len(titles(engine, "outage in Q3", time=False)) == 2
    engine.config = replace(engine.config, search=replace(engine.config.search, time=False))
    assert len(titles(engine, "outage in Q3")) == 2


def test_where_all_is_from_that_time_it_is_answered_too(tmp_path: Path, zoned: Any) -> None:
    zoned("Europe/Berlin")
    with opened(tmp_path, "none") as engine:
        at(engine, datetime(2026, 11, 20, 12, tzinfo=UTC))
        engine.save(Draft(title="The pool has 20 connections", category="bug"))
        at(engine, datetime(2026, 11, 20, 13, tzinfo=UTC))
        engine.save(Draft(title="Tokens of JWT in place of cookies", category="decision"))

        assert titles(engine, "what did we decide today") == ["Tokens of JWT in place of cookies"]
        assert len(titles(engine, "what happened today")) == 2
        assert titles(engine, "what did we decide last week") == []


def test_of_what_was_saved_together_nothing_is_the_latest(tmp_path: Path) -> None:
    with opened(tmp_path, "none") as engine:
        engine.save_all([Draft(title=f"The outage of host {number}") for number in range(5)])
        answer = engine.search("latest outage of a host")

        assert not answer.notices
        assert answer.hits == engine.search(Query("latest outage of a host", time=False)).hits


def test_a_question_without_a_time_is_read_without_an_import(tmp_path: Path) -> None:
    from subprocess import run
    from sys import executable

    code = (
        "import sys; from memory import Engine; engine = Engine.open(); engine.search('how do deploys work'); "
        "print('memory.text.spans' in sys.modules)"
    )
    environment = {**os.environ, "MEMORY_HOME": str(tmp_path), "MEMORY_EMBEDDING_PROVIDER": "none"}
    done = run([executable, "-c", code], env=environment, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


def test_a_day_begins_where_whoever_asks_is(engine: Engine, zoned: Any) -> None:
    at(engine, datetime(2026, 11, 19, 23, 30, tzinfo=UTC))
    engine.save(Draft(title="Saved on Friday in Berlin, on Thursday in London"))
    at(engine, datetime(2026, 11, 20, 12, tzinfo=UTC) + timedelta(hours=1))

    assert titles(engine, "what was saved today") == ["Saved on Friday in Berlin, on Thursday in London"]
    zoned("Europe/London")
    assert titles(engine, "what was saved yesterday") == ["Saved on Friday in Berlin, on Thursday in London"]

"""Filters meet what was saved: without blanks, in any case, without secrets; and one that nothing has offers the nearest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from memory import Config, Draft, Engine
from memory.schema.errors import Invalid
from memory.schema.kinds import Kind
from memory.schema.query import Mode, Query, Scope
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"

WITHOUT_MODEL = replace(Config(), embedding=replace(Config().embedding, provider="none"))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(SqliteStore(tmp_path / "m.db"), WITHOUT_MODEL, lasting=False) as engine:
        yield engine


def wanted(name: str, value: str) -> Scope:
    return Scope(**{name: frozenset({value})})  # type: ignore[arg-type]


FIELDS = [
    *(("project", "projects"), ("source", "sources"), ("agent_id", "agents"), ("session_id", "sessions")),
    *(("task_code", "tasks"), ("tags", "tags")),
]


def saved(engine: Engine, field: str, value: str) -> None:
    engine.save(Draft(title="t", what="alpha", **{field: (value,) if field == "tags" else value}))  # type: ignore[arg-type]


@pytest.mark.parametrize(("field", "name"), FIELDS)
@pytest.mark.parametrize("value", [" pad ", f"key {SECRET}", f" {SECRET}"])
def test_what_is_normalised_when_it_is_saved_is_when_it_is_asked_for(engine, field, name, value) -> None:
    saved(engine, field, value)
    scope = wanted(name, value)

    assert len(engine.search(Query("alpha", mode=Mode.KEYWORD, scope=scope)).hits) == 1
    assert len(engine.documents.recent(scope)) == 1
    assert len(engine.by_iteration(scope)) == 1
    assert len(engine.context(scope=scope).memories) == 1
    assert engine.documents.unmet(scope) == ()


@pytest.mark.parametrize(
    ("where", "value", "asked", "said"),
    [
        (("tags", "tags"), "auth", "auht", "no memory has the tag 'auht'"),
        (("tags", "tags"), "Größe", "grosse", "no memory has the tag 'grosse'"),
        (("project", "projects"), "memory", "Memory", "no memory is of project 'Memory'"),
        (("source", "sources"), "claude-code", "claude", "no memory has the source 'claude'"),
        (("category", "categories"), "decision", "decison", "no memory has the category 'decison'"),
        (("session_id", "sessions"), "session-12", "session-13", "no memory is of session 'session-13'"),
        (("agent_id", "agents"), "planner", "planer", "no memory is of agent 'planer'"),
    ],
)
def test_a_filter_that_nothing_has_offers_the_nearest_value(engine, where, value, asked, said) -> None:
    field, name = where
    saved(engine, field, value)

    found = engine.search(Query("alpha", mode=Mode.KEYWORD, scope=wanted(name, asked)))

    assert [(one.text, one.hint) for one in found.notices] == [(said, f"Did you mean {value!r}?")]
    assert engine.context(scope=wanted(name, asked)).notices == found.notices
    assert engine.documents.listed(wanted(name, asked), 5)[1] == found.notices


def test_a_kind_that_nothing_is_of_is_left_to_who_asked_for_it(engine) -> None:
    saved(engine, "project", "p")

    assert engine.search(Query("alpha", mode=Mode.KEYWORD, scope=Scope(kinds=frozenset({Kind.REPORT})))).notices == ()
    with pytest.raises(Invalid, match="no kind 'reprot'") as caught:
        Query("alpha", scope=wanted("kinds", "reprot"))
    assert caught.value.hint == "Did you mean 'report'?"


def test_what_is_in_scope_but_not_found_says_nothing_of_filters(engine) -> None:
    saved(engine, "project", "p")

    assert engine.search(Query("zzz", mode=Mode.KEYWORD, scope=wanted("projects", "p"))).notices == ()

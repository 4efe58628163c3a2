"""Which index SQLite takes for a scope: by a plan, since no test knows how fast a machine is."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from entries import at, note
from one_suite import entity, feedback
from plans import steps

from memory.keep.rules import write_entries
from memory.schema.kinds import Kind
from memory.schema.memory import Standing
from memory.schema.query import Scope
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sized
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "memory.db")) as made:
        yield made


def scope(**filters: str) -> Scope:
    return Scope(**{name: frozenset({value}) for name, value in filters.items()})


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        ({"agents": "a"}, "memories_by_agent"),
        ({"kinds": Kind.NOTE}, "memories_by_kind"),
        ({"agents": "a", "kinds": Kind.NOTE}, "memories_by_agent"),
        ({"sessions": "s"}, "memories_by_session"),
        ({"sessions": "s", "agents": "a", "kinds": Kind.REPORT}, "memories_by_session"),
        ({"runs": "r", "agents": "a", "kinds": Kind.DISCOVERY}, "memories_by_run"),
        ({"projects": "p", "agents": "a", "kinds": Kind.NOTE}, "memories_by_project"),
        ({"categories": "preference"}, "preferences"),
        ({"categories": "preference", "projects": "p", "kinds": Kind.NOTE}, "preferences"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else value,
)
def test_a_scope_is_looked_up_by_what_leaves_the_fewest(store: SqliteStore, filters, index) -> None:
    found = steps(store, lambda: store.memories.page(scope(**filters), 20))
    counted = steps(store, lambda: store.memories.count(scope(**filters)))

    for plan in (found, counted):
        used = [step.split(" <- ")[0] for step in plan if step.startswith(("SEARCH m ", "SCAN m "))]
        assert [index in step for step in used] == [True], used
        assert used[0].startswith("SEARCH")


@pytest.mark.parametrize(("filters"), [{"agents": "a"}, {"kinds": Kind.NOTE}], ids="".join)
def test_the_latest_of_an_agent_or_a_kind_are_read_and_no_others(store: SqliteStore, filters) -> None:
    """Steps of SQLite's machine: as many for the latest twenty of 1,600 memories as of 100."""
    worked = {}
    for more in (100, 300, 1200):
        write_entries(store, [note(f"{more} {number}", agent_id="a") for number in range(more)])
        worked[more] = steps_taken(store, lambda: store.memories.page(scope(**filters), 20), 20)

    assert worked[1200] < 1.2 * worked[100]


def test_the_latest_of_a_large_project_are_met_by_time_and_those_of_a_small_one_looked_up(store: SqliteStore) -> None:
    projects = {"large": 40, "small": 1}
    write_entries(store, [note(f"{name} {n}", project=name) for name, count in projects.items() for n in range(count)])

    for name, index in (("large", "memories_by_update"), ("small", "memories_by_project")):
        plan = steps(store, lambda name=name: store.memories.page(scope(projects=name), 20))
        [used] = [step.split(" <- ")[0] for step in plan if step.startswith(("SEARCH m ", "SCAN m "))]
        assert index in used
        assert len(store.memories.page(scope(projects=name), 20)) == min(projects[name], 20)


def test_what_happened_in_a_span_is_looked_up(store: SqliteStore) -> None:
    span = Scope(happened_since=at(3), happened_until=at(9), statuses=frozenset({Standing.ACTIVE}))
    write_entries(store, [note(f"one {n}", happened_at=at(n)) for n in range(40)])

    plan = steps(store, lambda: store.memories.count(span))

    [used] = [step.split(" <- ")[0] for step in plan if step.startswith(("SEARCH m ", "SCAN m "))]
    assert used == "SEARCH m USING COVERING INDEX memories_by_happening (<expr>>? AND <expr><?)"
    assert store.memories.count(span) == 6


@pytest.mark.parametrize("part", ["by_id", "openings", "bodies", "outlines"])
def test_what_is_read_by_id_takes_the_same_work_in_a_large_store(store: SqliteStore, part) -> None:
    read = getattr(store.memories, part)
    worked = []
    for more in (100, 1_000):
        write_entries(store, [note(f"{more} {number}", body="some text") for number in range(more)])
        worked.append(steps_taken(store, lambda: read([*range(1, 21)]), 20))

    assert worked[1] < 1.5 * worked[0]


def steps_taken(store: SqliteStore, read: Callable[[], Sized], rows: int) -> int:
    """Tens of steps of SQLite's machine, while so many rows are read."""
    taken = 0

    def one_more() -> bool:
        nonlocal taken
        taken += 1
        return False

    connection = store._db.connection
    connection.set_progress_handler(one_more, 10)
    try:
        assert len(read()) == rows
    finally:
        connection.set_progress_handler(None)
    return taken


def test_what_there_is_one_of_is_looked_up_by_what_names_it(store: SqliteStore) -> None:
    named = steps(store, lambda: store.graph.named(["a", "b"]))
    names = steps(store, lambda: store.graph.named(after="a", limit=5))
    saved = steps(store, lambda: write_entries(store, [entity("c"), feedback("well done")]))

    assert [step.split(" <- ")[0] for step in (*named, *names)][::2] == [
        "SEARCH memories USING COVERING INDEX one_entity_a_name (title=?)",
        "SEARCH memories USING COVERING INDEX one_entity_a_name (title>?)",
    ]
    kinds = [step.split(" <- ")[0] for step in saved if "from memories" in step and "kind = '" in step]
    assert any("one_entity_a_name (title=?)" in step for step in kinds)
    assert any("memories_by_run (query_id=? AND kind=?)" in step for step in kinds)
    assert not [step for step in kinds if "memories_by_kind" in step or "memories_by_agent" in step]


@pytest.mark.parametrize("reverse", [False, True])
def test_items_of_a_namespace_are_read_in_order_and_no_others(store: SqliteStore, reverse) -> None:
    listed = steps(store, lambda: store.memories.items("users/ann/", at(0), 10, offset=5, reverse=reverse))
    spaces = steps(store, lambda: store.memories.namespaces("users/", at(0)))
    ended = steps(store, lambda: store.memories.ended_items(at(0), 10))

    for plan, index in (
        (listed, "one_item_a_key (namespace>? AND namespace<?)"),
        (spaces, "one_item_a_key"),
        (ended, "ended_memories"),
    ):
        assert [step for step in plan if step.startswith("SEARCH memories") and index in step], plan
        assert not [step for step in plan if "TEMP B-TREE" in step or step.startswith("SCAN")], plan

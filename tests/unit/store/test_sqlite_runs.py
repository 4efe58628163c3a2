"""Research runs in SQLite: what is read of them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from entries import KEEP, note
from plans import steps
from runs_suite import finding, used

from memory.keep.removing import clear_run
from memory.keep.rules import write_entries
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memory.store import Store

CALLS: dict[str, Callable[[Store], object]] = {
    "one": lambda store: store.runs.latest(1, id="r"),
    "latest": lambda store: store.runs.latest(5),
    "log": lambda store: store.runs.log([used(), used()]),
    "calls": lambda store: store.runs.calls(after=3),
    "calls of a run": lambda store: store.runs.calls("r"),
    "calls of an agent": lambda store: store.runs.calls(agent="a"),
    "calls of an agent in a run": lambda store: store.runs.calls("r", agent="a"),
    "clear": lambda store: clear_run(store, "r", KEEP, calls=True),
    "clear all": lambda store: clear_run(store, None, KEEP, calls=True),
}


@pytest.mark.parametrize("name", CALLS)
def test_sqlite_reads_nothing_but_what_belongs_to_the_runs(tmp_path: Path, name: str) -> None:
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        write_entries(store, [finding("x"), finding("y", run="s"), note()])
        store.runs.log([used(), used(run="s"), used(run="calls alone")])

        found = steps(store, lambda: CALLS[name](store))

    whole = [
        step
        for step in found
        if step.startswith("SCAN") and not step.startswith(("SCAN kept", "SCAN generations", "SCAN CONSTANT ROW"))
    ]
    assert [step for step in found if step.startswith("SEARCH")]
    assert not [step for step in whole if "delete from tool_calls" not in step]
    of_calls = [step.split(" <- ")[0] for step in found if step.startswith("SEARCH tool_calls")]
    if name in {"one", "latest"}:  # what tools gave may be long
        assert set(of_calls) <= {
            "SEARCH tool_calls USING COVERING INDEX tool_calls_by_run (query_id=?)",
            "SEARCH tool_calls USING COVERING INDEX tool_calls_by_run (query_id>?)",
        }
    if name == "calls of an agent in a run":
        assert of_calls == ["SEARCH tool_calls USING INDEX tool_calls_by_run (query_id=? AND id>?)"]

"""A kind may be named in the plural wherever one is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command import Shell

from memory import Draft, Engine, Query
from memory.config import load
from memory.schema.errors import Invalid
from memory.schema.kinds import Kind, kind, sizes
from memory.schema.query import Scope
from memory.tools.research import ResearchMemory
from memory.tools.sessions import SessionMemory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(load("/dev/null", env={"MEMORY_EMBEDDING_PROVIDER": "none", "MEMORY_HOME": str(tmp_path)})) as one:
        yield one


def plurals(name: str) -> set[str]:
    return {f"{name}s", f"{name.removesuffix('y')}ies" if name.endswith("y") else f"{name}s"}


@pytest.mark.parametrize("name", Kind)
def test_every_kind_has_a_plural(name: Kind) -> None:
    assert {kind(one) for one in plurals(name)} == {name}


def test_the_library_takes_it_where_it_takes_a_kind(engine: Engine) -> None:
    kept = engine.save(Draft(kind="reports", agent_id="a", session_id="s", body="alpha")).memory
    with ResearchMemory("query_1", engine) as research:
        found = research.store_memory("discoveries", "alpha", "a")
        assert [row["id"] for row in research.get_memories_by_type("discoveries")] == [found]
        assert [row["id"] for row in research.search_memories("alpha", memory_type="discoveries")] == [found]
    assert [one.id for one in engine.runs.memories("query_1", ["discoveries"])] == [found]

    scope = Scope(kinds=frozenset({"reports"}))
    assert kept.kind is Kind.REPORT
    assert [hit.memory.id for hit in engine.search(Query("alpha", scope=scope)).hits] == [kept.id]
    assert [one.id for one in engine.recent(scope)] == [kept.id]
    assert [one.id for one in engine.by_iteration(scope)] == [kept.id]
    assert [one.id for one in engine.context("alpha", scope=scope).memories] == [kept.id]
    assert engine.update(kept.id, kind="working_memories").memory.kind is Kind.WORKING_MEMORY
    assert engine.cleanup(0, kinds=["working_memories"]).memories == 1
    assert SessionMemory(engine).cleanup_old_memories(0, memory_type="working_memories")["memories_deleted"] == 1
    assert sizes("reports = never") == {Kind.REPORT: None}
    with pytest.raises(Invalid, match="no kind 'rapports'"):
        engine.recent(Scope(kinds=frozenset({"rapports"})))


def test_the_commands_take_it_where_they_take_a_kind(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    shell = Shell(tmp_path / "home", tmp_path / "shop")
    shell("store", "reports", "--session", "s", "--agent", "a", stdin="alpha")
    run = shell("run", "start", "--plan", "alpha").out.strip()

    for command in (("search", "alpha"), ("list",), ("context", "alpha"), ("session", "show", "s")):
        assert "alpha" in shell(*command, "--kind", "reports").out, command
    assert "alpha" in shell("run", "show", run, "--kind", "plans").out
    assert "1 memory" in shell("cleanup", "--days", "0", "--kind", "reports").out

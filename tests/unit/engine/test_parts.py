"""An engine is made of parts; nothing reaches into another object's underscore."""

from __future__ import annotations

import ast
import gc
import inspect
import re
import weakref
from importlib.resources import files
from typing import TYPE_CHECKING
from unittest.mock import create_autospec

import pytest

from memory import Config, Draft, Engine, EntityGraph, Kind, SessionMemory
from memory.store.sqlite import SqliteStore
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCUMENTED = (
    "save", "search", "context", "update", "delete", "get", "details", "recent", "by_iteration", "expand", "reconstruct",
    "session", "resume", "cleanup", "embed", "reindex", "forecast", "roll_back", "ledger", "search_statistics",
    "embedding", "status", "doctor",
)  # fmt: skip

TUPLES = frozenset({"_replace", "_asdict", "_fields", "_make"})  # what a NamedTuple calls its public methods
FOREIGN = frozenset({"atexit._run_exitfuncs", "os._exit", "context.session._connection"})


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(SqliteStore(tmp_path / "memory.db"), Config(home=tmp_path), embedder=HashedEmbedder(64)) as made:
        yield made


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_documented_call_says_what_it_does(engine: Engine, name: str) -> None:
    call = getattr(engine, name)

    assert inspect.getdoc(call)
    assert "self" not in inspect.signature(call).parameters
    assert inspect.getdoc(getattr(Engine, name)) == inspect.getdoc(call)


SHORT = [name for name, one in vars(Engine).items() if re.search(r"See `\w+\.\w+`\.$", inspect.getdoc(one) or "")]


@pytest.mark.parametrize("name", SHORT)
def test_a_short_name_takes_what_its_part_takes(engine: Engine, name: str) -> None:
    """But for defaults that are functions, which say nothing."""
    part, call = re.search(r"See `(\w+)\.(\w+)`\.$", inspect.getdoc(getattr(Engine, name))).groups()
    parts = (*vars(engine).values(), engine.sessions, engine.trash)
    [told] = {type(one) for one in parts if type(one).__name__ == part}

    def shape(of: type, method: str) -> list[tuple[object, ...]]:
        parameters = list(inspect.signature(getattr(of, method)).parameters.values())[1:]
        return [(one.name, one.kind, one.annotation, callable(one.default) or one.default) for one in parameters]

    assert shape(Engine, name) == shape(told, call)


def test_a_call_of_the_engine_is_that_of_its_part(engine: Engine) -> None:
    saved = engine.save(Draft(title="WAL", what="Readers never block the writer"))
    engine.vectors.rest()  # nothing changes from one look to the next

    assert engine.get(saved.memory.id) == engine.documents.get(saved.memory.id)
    assert engine.embedding(saved.memory.id) == engine.vectors.embedding(saved.memory.id)
    assert engine.status() == engine.maintenance.status()


@pytest.mark.parametrize(
    ("whole", "call", "arguments"),
    [(Engine, "get", (1,)), (SessionMemory, "list_sessions", ()), (EntityGraph, "read_graph", ())],
)
def test_a_program_can_put_a_double_in_place_of_a_whole(whole: type, call: str, arguments: tuple[object, ...]) -> None:
    double = create_autospec(whole, instance=True)

    getattr(double, call)(*arguments)
    with pytest.raises(TypeError):
        getattr(double, call)(*arguments, nope=1)


def test_an_engine_that_is_let_go_leaves_no_file_open(tmp_path: Path) -> None:
    gc.collect()
    gc.disable()
    try:
        engine = Engine(SqliteStore(tmp_path / "memory.db"), Config(home=tmp_path), embedder=HashedEmbedder(64))
        EntityGraph(engine).get_stats()
        gone = weakref.ref(engine.store)
        del engine

        assert gone() is None
    finally:
        gc.enable()


def test_sessions_are_a_part_and_a_call(engine: Engine) -> None:
    engine.save(Draft(kind=Kind.SESSION_CONTEXT, body="half done", agent_id="a", session_id="login", session_iter=1))

    assert engine.sessions(5, agent="a") == engine.sessions.latest(5, agent="a")
    assert engine.session("login") == engine.sessions.one("login")


def test_nothing_reaches_into_another_objects_underscore() -> None:
    found = [
        f"{name}:{node.lineno} {ast.unparse(node)}"
        for name, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and _private(node.attr) and ast.unparse(node) not in FOREIGN
        if not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls", "other"})
    ]

    assert not found


def _private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in TUPLES


def _modules() -> Iterator[tuple[str, ast.Module]]:
    folders = [files("memory")]
    while folders:
        for item in folders.pop().iterdir():
            if item.is_dir():
                folders.append(item)
            elif item.name.endswith(".py"):
                yield item.name, ast.parse(item.read_text("utf-8"))

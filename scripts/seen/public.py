"""What programs import: the names of `memory`, those that the documentation shows, and what they look like."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seen.shell import Shell

ROOT = Path(__file__).parents[2]
IMPORTS = re.compile(r"^\s*from (memory[\w.]*) import ([\w, ]+)", re.MULTILINE)
MENTIONED = re.compile(r"`(?:\w+ )?(memory(?:\.\w+)+)[(`]")
PLACES = {
    "memory.adapter": ("EmbeddingProvider", "SentenceTransformerProvider", "set_embedding_provider"),
    "memory.vectors": ("Embedder",),
    "memory.embed.hashed": ("HashedEmbedder",),
    "memory.embed.remote": ("Remote",),
    "memory.entities": ("Edge", "Entities"),
    "memory.errors": (),
    "memory.graph": ("EntityGraph", "SQLiteVectorStore", "VectorContextSearch", "VectorStore", "hybrid_relevance"),
    "memory.proximity": ("ENTITIES", "Wanted"),
    "memory.redact": ("Redactor",),
    "memory.research": ("ResearchMemory",),
    "memory.sessions": ("SearchStats", "SessionMemory", "log_timing", "search_stats"),
    "memory.sessions.errors": ("ValidationError",),
    "memory.settings": ("EmbeddingSettings",),
}
"""What the documentation has said to import, and from where: programs have it."""

OPENED = ("Engine", "SessionMemory", "EntityGraph", "ResearchMemory")
"""Classes whose calls are looked at on an object, however they come to be there."""


def named(name: str) -> Any:
    """A documented name: one of `memory`, or at the place where it was."""
    return _found(f"memory.{name}") or next(
        _found(f"{module}.{name}") for module, names in PLACES.items() if name in names
    )


def see(store: Shell) -> None:
    def library() -> None:
        import memory

        print("memory.__all__", memory.__all__, memory.__doc__)
        for name in memory.__all__:
            print("\n".join(_described(f"memory.{name}", getattr(memory, name))))
        for module, names in PLACES.items():
            _module(module, names)
        _documented()

    for name, run in (("public", library), ("calls", _calls), ("library", _used)):
        ran = store.copy(name).child(run)
        store.record.add(name, f"exit {ran.code}\n{ran.out}{ran.err}")


def _documented() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    shown = {(module, name.strip()) for module, names in IMPORTS.findall(text) for name in names.split(",")}
    for module, name in sorted(shown):
        print("\n".join(_described(f"{module}:{name}", _found(f"{module}.{name}"))))
    for path in sorted(set(MENTIONED.findall(text))):
        print(f"mentioned {path}: {'is there' if _found(path) is not None else 'is none'}")


def _module(name: str, names: Sequence[str]) -> None:
    module = _found(name)
    public = getattr(module, "__all__", None)
    print(f"\n## {name}: {'is none' if module is None else f'__all__ {public}'}")
    for one in names:
        if not hasattr(module, one):
            print(f"{name}:{one} is none")
    for one in sorted(public or (one for one in vars(module or object) if not one.startswith("_"))):
        value = getattr(module, one)
        if one in names or public or (isinstance(value, type) and value.__module__ == name):
            print("\n".join(_described(f"{name}:{one}", value)))


def _found(path: str) -> Any:
    module, _, rest = path.partition(".")
    value: Any = importlib.import_module(module)
    for name in rest.split("."):
        module += f".{name}"
        try:
            value = getattr(value, name) if hasattr(value, name) else importlib.import_module(module)
        except ImportError:
            return None
    hollow = inspect.ismodule(value) and value.__file__ is None  # a folder that was left behind
    return None if hollow else value


def _described(path: str, value: Any) -> Iterator[str]:
    """A name with its kind, signature and first line; of a class also its public members. Never where it lives."""
    yield f"{path}: {_told(value)}"
    if not inspect.isclass(value):
        return
    if issubclass(value, BaseException):
        yield f"  caught as: {[one.__name__ for one in value.__mro__]}"
    if issubclass(value, enum.Enum):
        yield f"  values: {[(one.name, one.value) for one in value]}"
    fields = getattr(value, "_fields", None) or list(getattr(value, "__dataclass_fields__", ()))
    yield f"  fields: {list(fields)}"
    for name in dir(value):
        if not name.startswith("_"):
            yield f"  .{name}" + ("" if value.__name__ in OPENED else f": {_told(inspect.getattr_static(value, name))}")


def _calls() -> None:
    """What can be asked of an engine that is open, and of what stands on it."""
    from memory import Engine

    with Engine.open() as engine:
        others = {name: named(name)(engine) for name in ("SessionMemory", "EntityGraph")}
        run = named("ResearchMemory")("query_1700000000_1", engine)
        for name, value in ({"Engine": engine} | others | {"ResearchMemory": run}).items():
            for one in dir(value):
                if not one.startswith("_"):
                    print(f"{name}.{one}: {_told(getattr(value, one))}")


def _told(value: Any) -> str:
    if isinstance(value, (staticmethod, classmethod)):
        return f"{type(value).__name__} {_told(value.__func__)}"
    if isinstance(value, property):
        return f"property {_told(value.fget)}"
    if isinstance(value, types.MemberDescriptorType) or not (callable(value) or inspect.ismodule(value)):
        return type(value).__name__
    first = (inspect.getdoc(value) or "").strip().partition("\n")[0]
    try:
        signature = (
            "class" if inspect.isclass(value) and issubclass(value, enum.Enum) else str(inspect.signature(value))
        )
    except (TypeError, ValueError):
        signature = "class" if inspect.isclass(value) else ""
    return f"{signature} | {first}"


def _used() -> None:
    """Answers of the library, as Python shows them."""
    from memory import Draft, Engine, EntityGraph, Error, Granularity, Mode, Query, Scope, SessionMemory

    with Engine.open() as engine:
        saved = engine.save(Draft(title="By Python", what="password = qXvTbKpw93zL", tags=("a",)))
        query = Query(
            "ledger", mode=Mode.HYBRID, granularity=Granularity.MEDIUM, scope=Scope(sessions=frozenset({"login"}))
        )
        runs = named("ResearchMemory")("query_1700000000_1", engine)
        asked = {
            "save": lambda: saved,
            "search": lambda: engine.search("lock of the ledger", limit=2),
            "query": lambda: engine.search(query),
            "details": lambda: engine.details(2),
            "context": lambda: engine.context("the pool", tokens=2000),
            "expand": lambda: engine.expand(20, around=1),
            "reconstruct": lambda: engine.reconstruct(11),
            "sessions": lambda: (engine.sessions(), engine.session("login"), engine.resume("login", "v1")),
            "status": engine.status,
            "forecast": engine.forecast,
            "cleanup": lambda: engine.cleanup(days=0),
            "stored": lambda: SessionMemory(engine).store_report("a", "s", "# R\n\ntext\n"),
            "found": lambda: SessionMemory(engine).search_reports_specific_chunks("ledger", limit=1),
            "task": lambda: SessionMemory(engine).load_session_context_for_task("login", "v1"),
            "run": lambda: runs.search_memories("do readers block"),
            "worker": lambda: runs.build_worker_context(agent="worker-2"),
            "graph": lambda: EntityGraph(engine).search_nodes("sessions"),
            "path": lambda: EntityGraph(engine).find_path("payroll", "Redis"),
            "no memory": lambda: engine.details("nope"),
            "no draft": lambda: Draft(title=""),
            "no limit": lambda: Query("x", limit=0),
            "no entity": lambda: EntityGraph(engine).open_nodes(3),
        }
        for name, ask in asked.items():
            try:
                print(f"{name}: {ask()!r}")
            except Error as error:
                print(f"{name}: {type(error).__name__}: {error} | {error.hint} | {error.retryable}")

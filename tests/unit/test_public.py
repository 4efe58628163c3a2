"""What the library offers: the names that `memory` lists, each of which is there."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys

import pytest

import memory

FOUND = [found.name for found in pkgutil.walk_packages(memory.__path__, "memory.") if found.name != "memory.__main__"]
ADAPTERS = {"anthropic": "anthropic", "langgraph": "langgraph", "openai_agents": "agents", "pydantic_ai": "pydantic_ai"}
"""Modules of `memory.integrations` for a framework, which this environment need not have, and the package each needs."""

MODULES = [name for name in FOUND if name.rpartition(".")[2] not in ADAPTERS]


def test_the_library_lists_what_is_public_and_nothing_else() -> None:
    import memory.engine  # a module that was imported is not public for that

    assert dir(memory) == sorted(memory.__all__)
    assert "engine" in vars(memory)


def test_what_is_listed_is_there() -> None:
    assert [name for name in dir(memory) if not hasattr(memory, name)] == []


def test_every_module_can_be_imported() -> None:
    """Also one that is imported in a function or in another process alone: a type checker sees what only types have."""
    for module in MODULES:
        assert importlib.import_module(module)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_whose_framework_is_missing_says_what_to_install(
    adapter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, ADAPTERS[adapter], None)
    monkeypatch.delitem(sys.modules, f"memory.integrations.{adapter}", raising=False)

    assert f"memory.integrations.{adapter}" in FOUND
    with pytest.raises(ImportError, match=rf"pip install 'tiermem\[{adapter.replace('_', '-')}\]'"):
        importlib.import_module(f"memory.integrations.{adapter}")


@pytest.mark.parametrize("facade", [memory.EntityGraph, memory.SessionMemory, memory.ResearchMemory])
def test_methods_look_like_methods(facade: type) -> None:
    methods = {name: one for name, one in inspect.getmembers(facade, inspect.isfunction) if not name.startswith("_")}

    assert len(methods) > 10
    assert [name for name, one in methods.items() if next(iter(inspect.signature(one).parameters)) != "self"] == []

"""`help(memory)` as a manual: everything that a program reaches from `memory.__all__` is documented, in plain words."""

from __future__ import annotations

import ast
import asyncio
import doctest
import inspect
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from public import parts
from saying import LOCAL
from words import INSIDE, prose

import memory
from memory import AsyncEngine, Draft, Engine, Kind, set_embedding_provider
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator

NOT_HERE = re.compile(r"set_embedding_provider\(\"openai|~/team-memory|1a2b3c4d")
"""Examples that ask a server, open a person's own folder, or are of an error."""

LABEL = re.compile(r"^ *[\w*, ]+:(?= )", re.MULTILINE)
"""Names of parameters and attributes, before what is said of them."""


@cache
def documented() -> dict[str, str]:
    """Each part's docstring by its name: read when a test asks, for every worker of a run imports this module."""
    return {part.name: part.text for part in parts()}


def test_it_goes_on_to_what_the_library_returns_and_takes() -> None:
    names = documented().keys()

    assert {"Engine.save", "Documents.conflicts", "Maintenance.catch_up", "Trash.wipe", "Undoing.memories"} <= names
    assert {"NearQuery", "Embedder.embed", "HashedEmbedder", "KeyedStore.put", "Mirror.look"} <= names
    assert {"EntityGraph.create_entities", "SessionMemory.store_report", "ResearchMemory.clear"} <= names


def test_what_a_program_calls_is_documented_in_plain_words() -> None:
    firsts = {name: text.split("\n\n")[0] for name, text in documented().items()}

    assert [name for name, first in firsts.items() if not re.match(r"[A-Z0-9`].*[.:]$", first, re.DOTALL)] == []
    assert [name for name, first in firsts.items() if re.match(r"(Args|Attributes|Returns|Raises):", first)] == []
    inside = {name: INSIDE.findall(LABEL.sub("", prose(text))) for name, text in documented().items()}
    assert {name: words for name, words in inside.items() if words} == {}


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What examples name, over a store in which is what they speak of."""
    for name, value in {**LOCAL, "MEMORY_HOME": str(tmp_path / "home")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    with Engine.open() as engine:
        engine.save(Draft(title="Python", kind=Kind.ENTITY, category="language", body="- high-level language"))
        engine.save(Draft(title="checkout", kind=Kind.ENTITY, category="service"))
        provider = set_embedding_provider("local")
        yield {
            **{name: getattr(memory, name) for name in memory.__all__},
            "engine": engine,
            "provider": provider,
            "neighbours": lambda name: {"checkout": ["Python"]}.get(name, []),
            "Path": Path,
            "HashedEmbedder": HashedEmbedder,
            "datetime": datetime,
            "UTC": UTC,
            "lines": [],
            "task": "Compare them.",
        }
        set_embedding_provider(None)


def test_the_examples_of_docstrings_run(names: dict[str, Any]) -> None:
    ran = set()
    for name, text in {"memory": memory.__doc__ or "", **documented()}.items():
        own = dict(names)
        for example in doctest.DocTestParser().get_examples(inspect.cleandoc(text), name):
            waits = "await" in example.source or "async" in example.source
            code = compile(example.source, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            if NOT_HERE.search(example.source):
                continue
            ran.add(name)
            if waits:
                asyncio.run(eval(code, own | {"engine": AsyncEngine.open()}))
            else:
                exec(code, own)
    assert {"memory", "AsyncEngine"} <= ran

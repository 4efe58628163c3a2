"""`help(memory)` as a manual: everything that a program reaches from `memory.__all__` is documented, in plain words."""

from __future__ import annotations

import ast
import asyncio
import doctest
import inspect
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from public import Part, parts
from saying import LOCAL
from words import INSIDE, prose

import memory
from memory import AsyncEngine, Draft, Engine, Kind, set_embedding_provider
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTS = tuple({part.name: part for part in parts()}.values())
EXAMPLES = {
    name: examples
    for name, text in {"memory": memory.__doc__ or "", **{part.name: part.text for part in PARTS}}.items()
    if (examples := doctest.DocTestParser().get_examples(inspect.cleandoc(text)))
}
NOT_HERE = re.compile(r"set_embedding_provider\(\"openai|~/team-memory|1a2b3c4d")
"""Examples that ask a server, open a person's own folder, or are of an error."""

LABEL = re.compile(r"^ *[\w*, ]+:(?= )", re.MULTILINE)
"""Names of parameters and attributes, before what is said of them."""


def test_it_goes_on_to_what_the_library_returns_and_takes() -> None:
    names = {part.name for part in PARTS}

    assert {"Engine.save", "Documents.conflicts", "Maintenance.catch_up", "Trash.wipe", "Undoing.memories"} <= names
    assert {"NearQuery", "Embedder.embed", "HashedEmbedder", "KeyedStore.put", "Mirror.look"} <= names
    assert {"EntityGraph.create_entities", "SessionMemory.store_report", "ResearchMemory.clear"} <= names


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_what_a_program_calls_is_documented_in_plain_words(part: Part) -> None:
    first = part.text.split("\n\n")[0]

    assert re.match(r"[A-Z0-9`].*[.:]$", first, re.DOTALL), "no sentence at the beginning"
    assert not re.match(r"(Args|Attributes|Returns|Raises):", first), "no sentence at the beginning"
    assert INSIDE.findall(LABEL.sub("", prose(part.text))) == []


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


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_a_docstring_run(name: str, names: dict[str, Any]) -> None:
    for example in EXAMPLES[name]:
        waits = "await" in example.source or "async" in example.source
        code = compile(example.source, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if NOT_HERE.search(example.source):
            continue
        if waits:
            asyncio.run(eval(code, names | {"engine": AsyncEngine.open()}))
        else:
            exec(code, names)

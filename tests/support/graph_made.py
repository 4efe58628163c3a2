"""Entity graphs for tests, opened on a real file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sessions_made import PATIENT, Clock

from memory import Config, Engine
from memory.store.sqlite import SqliteStore
from memory.tools.graph import EntityGraph

if TYPE_CHECKING:
    from pathlib import Path

    from memory.vectors import Embedder


def entity_graph(home: Path, embedder: Embedder | None = None, *, provider: str = "none", **settings) -> EntityGraph:
    """
    Args:
        embedder: In place of the provider.
        settings: Of the section `graph`, by name.
    """
    embedding = replace(Config().embedding, provider=provider, fill_seconds=PATIENT)
    config = replace(Config(), home=str(home), embedding=embedding)
    config = replace(config, graph=replace(config.graph, **settings))
    home.mkdir(exist_ok=True)
    engine = Engine(SqliteStore(config.database), config, embedder=embedder, now=Clock())
    return EntityGraph(engine, source="tests", agent="tester")


def names(values) -> list[str]:
    return [row["name"] for row in values["entities"]]

"""Session memory for tests: opened on a real file, with documents and vectors that say where they are."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw
import numpy as np

from memory import Config, Engine
from memory.store import State
from memory.store.narrow import numbers_in, widened
from memory.store.sqlite import SqliteStore
from memory.tools.sessions import SessionMemory
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from memory.schema.space import Vectors
    from memory.vectors import Embedder, Role

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
PATIENT = 600.0  # seconds: what waits for a vector is embedded, and waited for, however busy the machine is


class Clock:
    """Says what time it is: `now`, and each time it is asked a second more."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def pass_days(self, days: float) -> None:
        self.now += timedelta(days=days)


def embedded(engine: Engine) -> None:
    """Embed what waits, and wait for what the thread beside is at."""
    engine.embed()
    awaited(engine)


def awaited(engine: Engine) -> None:
    """Wait until the thread beside has embedded what was saved."""
    while engine.store.queue.queued():
        sleep(0.01)


def session_memory(
    home: Path,
    embedder: Embedder | None = None,
    *,
    config: Config | None = None,
    clock: Clock | None = None,
    **settings,
) -> SessionMemory:
    """
    Args:
        embedder: None is the provider of the configuration; of the usual one, none.
        settings: Of the section `search`, by name.
    """
    config = config or replace(Config(), embedding=replace(Config().embedding, provider="none"))
    config = replace(config, home=str(home), documents=str(home / "documents"))
    config = replace(config, embedding=replace(config.embedding, fill_seconds=PATIENT))
    config = replace(config, search=replace(config.search, **settings))
    store = SqliteStore(config.database, busy_seconds=config.store.busy_seconds)
    engine = Engine(store, config, embedder=embedder, now=clock or Clock())
    return SessionMemory(engine)


class Compass(HashedEmbedder):
    """Texts point where they say: the last "30°" of a text is the direction of its vector; 90° without any."""

    def __init__(self) -> None:
        super().__init__(2)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        assert role in {"query", "passage"}
        said = [float((re.findall(r"(-?[0-9.]+)°", text) or ["90"])[-1]) for text in texts]
        turned = [(math.cos(math.radians(degrees)), math.sin(math.radians(degrees))) for degrees in said]
        return np.asarray(turned, np.float32).reshape(-1, 2)


class Section(NamedTuple):
    """What stands below the first two headings of a document: `body[start:stop]`."""

    headers: tuple[str, ...]
    start: int
    stop: int


class Made(NamedTuple):
    """A document whose sections are known."""

    body: str
    sections: tuple[Section, ...]


def made(title: str, parts: Mapping[str, Sequence[str]]) -> Made:
    """A document of H2s by their names, each with an H3 for each of its texts; every heading has a sentence."""
    body = f"# {title}\n\nWhat this is about.\n\n"
    sections = [Section((f"# {title}",), 0, len(body))]
    for name, texts in parts.items():
        start = len(body)
        body += f"## {name}\n\nIn short.\n\n"
        body += "".join(f"### {name} {n}\n\n{text}\n\n" for n, text in enumerate(texts, start=1))
        sections.append(Section((f"# {title}", f"## {name}"), start, len(body)))
    return Made(body, tuple(sections))


def rows(memory: SessionMemory, statement: str) -> list[tuple[Any, ...]]:
    """What stands in the file, asked without any of our code."""
    database = apsw.Connection(memory.engine.config.database, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(database.execute(statement))
    finally:
        database.close()


def owners(memory: SessionMemory) -> dict[int, int]:
    """The memory of each chunk."""
    return dict(rows(memory, "select id, memory_id from chunks"))


def vectors(memory: SessionMemory) -> dict[int, Vectors]:
    """The vectors of each chunk as they stand in the file: shape (windows, dimension)."""
    (active,) = (one for one in memory.engine.store.generations.every() if one.state is State.ACTIVE)
    found: dict[int, list[Vectors]] = {}
    for chunk, blob in rows(memory, f"select chunk_id, embedding from vectors_{active.id}"):
        found.setdefault(chunk, []).append(widened(blob, numbers_in(len(blob)))[0])
    return {chunk: np.stack(windows) for chunk, windows in found.items()}


def cosines(memory: SessionMemory, query: Vectors) -> dict[int, float]:
    """Of each chunk with a query, from its best window."""
    return {
        chunk: float(max(windows @ query / np.linalg.norm(windows, axis=1)))
        for chunk, windows in vectors(memory).items()
    }

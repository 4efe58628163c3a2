"""A store of many memories with vectors, made in seconds: through the store itself, a third of the time it takes to save."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memory import Config, Draft
from memory.keep.entry import entry
from memory.schema.space import Embedded, Space, Window, recipe
from memory.store.sqlite import SqliteStore
from memory.vectors.models import profile
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from pathlib import Path

PAGE = 2_000  # memories a transaction
DIMENSION = 16
MODEL = f"hashed-{DIMENSION}"
PROJECTS = ("shop", "billing", "mobile", "search")
TOPICS = (
    "cookies session login token",
    "kettle tea cup leaves",
    "index table vacuum query",
    "upload photo resize queue",
    "invoice tax total currency",
)


def note(number: int) -> Draft:
    """Each has words of its topic, its number as a word of its own, and one project of four by turns."""
    topic = TOPICS[number % len(TOPICS)]
    return Draft(
        title=f"Ticket {number}",
        what=f"{topic} and case-{number}",
        project=PROJECTS[number % len(PROJECTS)],
        tags=(MODEL,),
    )


def fill(home: Path, count: int) -> None:
    """Notes 0 to count in the database of a home, embedded as by the provider "hashed" with `MODEL`."""
    home.mkdir(parents=True, exist_ok=True)
    embedder = HashedEmbedder(DIMENSION)
    space = Space("hashed", MODEL, recipe(profile(MODEL).passage_prefix), DIMENSION)
    store = SqliteStore(replace(Config(), home=str(home)).database)
    now = datetime.now(UTC)
    try:
        for first in range(0, count, PAGE):
            drafts = [note(number) for number in range(first, min(first + PAGE, count))]
            vectors = embedder.embed([draft.what for draft in drafts], "passage")
            with store.transaction():
                for draft, vector in zip(drafts, vectors, strict=True):
                    embedded = Embedded(space, vector[None], (Window(0, 0, 0),))
                    store.memories.insert(entry(draft, now)._replace(unless_known=False, embedded=embedded))
    finally:
        store.close()

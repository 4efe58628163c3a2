"""Status: how much is kept, which vectors there are, what is wrong and what would mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.embed import space
from memory.errors import EmbedError
from memory.query import Notice
from memory.store import State

if TYPE_CHECKING:
    from memory.embed.pool import Embedders
    from memory.space import Space
    from memory.store import Counts, Generation, Store


class Status(NamedTuple):
    """
    Attributes:
        generations: With the number of chunks that have a vector in each.
        configured: The space of the configured model; None if it cannot be used.
        problems: What keeps the engine from doing all it could, and what would mend it.
    """

    counts: Counts
    generations: tuple[tuple[Generation, int], ...]
    configured: Space | None
    problems: tuple[Notice, ...]


def status(store: Store, embedders: Embedders) -> Status:
    """Look at everything; nothing is changed."""
    generations = tuple((found, store.filled(found.id)) for found in store.generations())
    counts = store.counts()
    problems: list[Notice] = []
    configured: Space | None = None
    if embedders.enabled:
        try:
            configured = space(embedders.configured())
        except EmbedError as error:
            problems.append(Notice(str(error), error.hint))
    active = next((found for found, _ in generations if found.state is State.ACTIVE), None)
    if configured and active and configured != active.space:
        told = f"the stored vectors are in {active.space}, the configured model gives {configured}"
        problems.append(Notice(told, "Run `memory reindex`."))
    elif configured and counts.queued:
        problems.append(Notice(f"{counts.queued:,} chunks have no vector yet", "Run `memory reindex`."))
    return Status(counts, generations, configured, tuple(problems))

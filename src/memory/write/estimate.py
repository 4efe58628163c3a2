"""What a reindex would take: chunks, tokens, money and time, before anything is sent."""

from __future__ import annotations

from datetime import timedelta
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from memory.embed.usage import PROBE, purpose
from memory.schema.query import Scope
from memory.store import active
from memory.text.passage import passage
from memory.text.tokens import estimated_sum

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.embed.registry import Embedders
    from memory.store import Store

SAMPLE = 100  # memories whose chunks speak for all
TIMED = 4  # passages embedded to see how fast a model in this process is
WINDOW = timedelta(days=30)  # of the ledger, from which a server's speed is taken
ENOUGH = 1_000  # tokens in it that say something about speed


class Forecast(NamedTuple):
    """
    Attributes:
        model: Provider and model that would be used.
        before: Provider and model that answer now; empty if none does.
        chunks: Without a vector of the model.
        tokens: In their passages, estimated from a sample.
        cost: In US dollars; None if no price is known and the model is not on this machine.
        seconds: None if there is nothing to go by.
    """

    model: str
    before: str
    chunks: int
    tokens: int
    cost: float | None
    seconds: float | None


def estimate(store: Store, embedders: Embedders, *, moment: datetime) -> Forecast:
    """
    Look at what there is. Nothing is changed and nothing leaves the process.

    Raises:
        Refused: There is no configured model, or it cannot be used.
    """
    embedder = embedders.configured()
    provider, model = embedder.provider, embedder.model
    chunks = store.counts().embeddable
    here = embedders.named(store.generations.every())
    if here is not None:
        chunks -= store.vectors.embedded_count(here.id)
    passages = _sample(store)
    mean = estimated_sum(passages) / len(passages) if passages else 0.0
    tokens = round(mean * chunks)
    answering = active(store.generations.every())
    before = f"{answering.space.provider}:{answering.space.model}" if answering else ""
    price = embedders.price
    free = embedders.inside or provider == "ollama"
    cost = tokens * price / 1_000_000 if price or free else None
    return Forecast(
        f"{provider}:{model}", before, chunks, tokens, cost, _seconds(store, embedders, passages, tokens, moment)
    )


def _sample(store: Store) -> list[str]:
    ids = [
        id
        for memory in store.memories.recent(Scope(statuses=frozenset()), SAMPLE)
        for id, _ in store.memories.outline(memory.id)
    ]
    return [passage(excerpt) for excerpt in store.memories.excerpts(ids[: 4 * SAMPLE]).values()]


def _seconds(
    store: Store, embedders: Embedders, passages: Sequence[str], tokens: int, moment: datetime
) -> float | None:
    """By the speed that the ledger shows; of a model in this process, by that of a few passages."""
    if not tokens:
        return 0.0
    embedder = embedders.configured()
    lines = [
        line
        for line in store.usage.daily_usage(moment - WINDOW)
        if (line.provider, line.model) == (embedder.provider, embedder.model) and line.purpose in {"fill", "reindex"}
    ]
    done, took = sum(line.tokens for line in lines), sum(line.seconds for line in lines)
    if done >= ENOUGH and took > 0:
        return tokens * took / done
    if not embedders.inside or not passages:
        return None
    some = list(passages[:TIMED])
    with purpose(PROBE):
        embedder.embed(some[:1], "passage")  # a model is loaded at first use
        begun = perf_counter()
        embedder.embed(some, "passage")
    return tokens * (perf_counter() - begun) / max(1, estimated_sum(some))

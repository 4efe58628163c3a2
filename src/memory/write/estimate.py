"""Estimates a reindex before anything is sent: chunks, tokens, money and time."""

from __future__ import annotations

from datetime import timedelta
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from memory.embed.usage import PROBE, purpose
from memory.schema.query import Scope
from memory.store import active
from memory.text.tokens import estimated_sum, passage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.embed.registry import Embedders
    from memory.store import Store

SAMPLE = 100  # memories whose chunks stand for all
TIMED = 4  # passages embedded to measure the speed of a model in this process
WINDOW = timedelta(days=30)  # period of the ledger from which a server's speed is taken
ENOUGH = 1_000  # tokens in it from which the speed is meaningful


class Forecast(NamedTuple):
    """
    Attributes:
        model: Provider and model that would be used.
        before: Provider and model that answer now; empty if none does.
        chunks: Those without a vector from the model.
        tokens: Tokens of their passages, estimated from a sample.
        cost: In US dollars; None if no price is known and the model is not on this machine.
        seconds: None if there is nothing to base it on.
    """

    model: str
    before: str
    chunks: int
    tokens: int
    cost: float | None
    seconds: float | None


def estimate(store: Store, embedders: Embedders, *, moment: datetime) -> Forecast:
    """
    Estimate. Nothing is changed and nothing leaves the process.

    Raises:
        Refused: No model is configured, or it cannot be used.
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
        for memory in store.memories.page(Scope(statuses=frozenset()), SAMPLE)
        for id, _ in store.memories.outlines([memory.id]).get(memory.id, ())
    ]
    return [passage(excerpt) for excerpt in store.memories.excerpts(ids[: 4 * SAMPLE]).values()]


def _seconds(
    store: Store, embedders: Embedders, passages: Sequence[str], tokens: int, moment: datetime
) -> float | None:
    """By the speed in the ledger; for a model in this process without one, by timing a few passages."""
    if not tokens:
        return 0.0
    embedder = embedders.configured()
    lines = [
        line
        for line in store.usage.lines(moment - WINDOW, daily=True)
        if (line.provider, line.model) == (embedder.provider, embedder.model) and line.purpose in {"fill", "reindex"}
    ]
    done, took = sum(line.tokens for line in lines), sum(line.seconds for line in lines)
    if done >= ENOUGH and took > 0:
        return tokens * took / done
    if not embedders.inside or not passages:
        return None
    some = list(passages[:TIMED])
    with purpose(PROBE):
        embedder.embed(some[:1], "passage")  # loads the model, which must not count
        begun = perf_counter()
        embedder.embed(some, "passage")
    return tokens * (perf_counter() - begun) / max(1, estimated_sum(some))

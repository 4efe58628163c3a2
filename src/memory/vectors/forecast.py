"""What a reindex would take: all that is embedded with it, what that costs, and how long it takes."""

from __future__ import annotations

from datetime import timedelta
from math import ceil
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.query import EVERYTHING
from memory.store import LEAST, Generation, Store
from memory.text.tokens import estimated_sum, passage
from memory.vectors import FINGERPRINT_TEXT, PROBE, purpose
from memory.vectors.baseline import ANSWERS, LEAST as ENOUGH_VECTORS, STAMP, STRANGERS
from memory.vectors.word_list import BATCH, missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.vectors.registry import Embedders

SAMPLE = 100  # memories whose chunks stand for all
TIMED, TIMED_WORDS = 4, 64  # passages and words embedded to measure the speed of a model in this process
WINDOW = timedelta(days=30)  # period of the ledger from which a server's speed is taken
ENOUGH = 1_000  # tokens in it from which the speed is meaningful


class Forecast(NamedTuple):
    """
    Attributes:
        model: Provider and model that would be used.
        before: Provider and model that answer now; empty if none does.
        chunks: Those without a vector from the model.
        words: Words of the public list without one; see the setting `embedding.words`.
        texts: All that is embedded: also the questions by which nearness is judged, and, of a server, the text with each
            request by which its model is known.
        tokens: Of all texts, estimated from a sample.
        cost: In US dollars; None if no price is known and the model is not on this machine.
        seconds: None if there is nothing to base it on.
    """

    model: str
    before: str
    chunks: int
    words: int
    texts: int
    tokens: int
    cost: float | None
    seconds: float | None


class _Work(NamedTuple):
    """Texts, and their tokens."""

    texts: int = 0
    tokens: int = 0


def estimate(store: Store, embedders: Embedders, batch: int, *, words: bool) -> Forecast:
    """
    Estimate. Nothing is changed and nothing leaves the process.

    Args:
        batch: Chunks that are embedded together.
        words: Whether term vectors begin with words at all.

    Raises:
        Refused: No model is configured, or it cannot be used.
    """
    embedder, every = embedders.configured(), store.counts().embeddable
    here = embedders.named(store.generations.every())
    passages = _sample(store)
    mean = estimated_sum(passages) / len(passages) if passages else 0.0
    left = every - (store.generations.size(here.id).chunks if here else 0)
    chunks = _Work(left, round(mean * left))
    listed = missing(store.path, here) if words and embedders.words and store.path and every >= LEAST else []
    lists = _Work(len(listed), estimated_sum(listed))
    asked = _questions(here, every)
    most = getattr(embedder, "most_texts", BATCH)
    pages = (
        (chunks.texts, min(batch, most)),
        (lists.texts, min(BATCH, most)),
        (len(ANSWERS) if asked.texts else 0, most),
    )
    requests = 1 + bool(asked.texts) + sum(ceil(texts / size) for texts, size in pages)
    sent = _fingerprints(requests if embedder.host else 0)
    tokens = sum(one.tokens for one in (chunks, lists, asked, sent))
    answering, price = store.generations.active(), embedders.price
    seconds = _seconds(store, embedders, passages, chunks.tokens + asked.tokens + sent.tokens, listed)
    return Forecast(
        f"{embedder.provider}:{embedder.model}",
        f"{answering.space.provider}:{answering.space.model}" if answering else "",
        chunks.texts,
        lists.texts,
        sum(one.texts for one in (chunks, lists, asked, sent)),
        tokens,
        tokens * price / 1_000_000 if price or embedders.free else None,
        seconds,
    )


def _questions(here: Generation | None, every: int) -> _Work:
    """The strangers and their answers, unless they are known."""
    known = here is not None and here.strangers is not None and here.strangers.stamp == STAMP
    if known or every < ENOUGH_VECTORS:
        return _Work()
    return _Work(len(STRANGERS) + len(ANSWERS), estimated_sum([*STRANGERS, *ANSWERS.values()]))


def _fingerprints(requests: int) -> _Work:
    """With each page of passages goes a text by which a server's model is known; and with the first query, and before all."""
    return _Work(requests, requests * estimated_sum([FINGERPRINT_TEXT]))


def _sample(store: Store) -> list[str]:
    ids = [
        id
        for memory in store.memories.page(EVERYTHING, SAMPLE)
        for id, _ in store.memories.outlines([memory.id]).get(memory.id, ())
    ]
    return [passage(excerpt) for excerpt in store.memories.excerpts(ids[: 4 * SAMPLE]).values()]


def _seconds(
    store: Store, embedders: Embedders, passages: Sequence[str], tokens: int, words: Sequence[str]
) -> float | None:
    """By the speed in the ledger; for a model in this process without one, by timing a few passages and words."""
    if not tokens and not words:
        return 0.0
    embedder = embedders.configured()
    lines = [
        line
        for line in store.usage.lines(embedders.now() - WINDOW, daily=True)
        if (line.provider, line.model) == (embedder.provider, embedder.model) and line.purpose in {"fill", "reindex"}
    ]
    done, took = sum(line.tokens for line in lines), sum(line.seconds for line in lines)
    known = took / done if done >= ENOUGH and took > 0 else None
    if not embedders.inside:
        return None if known is None else (tokens + estimated_sum(words)) * known
    if known is None and passages:
        known = _timed(embedders, passages[:TIMED]) / max(1, estimated_sum(passages[:TIMED]))
    some = words[:: max(1, len(words) // TIMED_WORDS)][:TIMED_WORDS]
    each = _timed(embedders, some) / len(some) if some else 0.0
    return None if known is None else tokens * known + len(words) * each


def _timed(embedders: Embedders, texts: Sequence[str]) -> float:
    """Seconds that a model in this process takes for some texts, once it is loaded."""
    embedder = embedders.configured()
    with purpose(PROBE):
        embedder.embed(texts[:1], "passage")
        begun = perf_counter()
        embedder.embed(texts, "passage")
    return perf_counter() - begun

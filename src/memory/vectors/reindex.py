"""Reindexing: building a second index version beside the active one, which it then replaces; and estimating the cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.errors import NotFound, StoreBusy, kept_before
from memory.schema.memory import ChunkId
from memory.schema.query import EVERYTHING
from memory.schema.step import PROBE, REINDEX, purpose
from memory.store import UNAIDED, Generation, State, Store
from memory.text.tokens import estimated_sum, passage
from memory.vectors import FINGERPRINT_TEXT, exchanged, mark, space
from memory.vectors.baseline import ANSWERS, LEAST as ENOUGH_VECTORS, STAMP, STRANGERS
from memory.vectors.embed import Tally, Target
from memory.vectors.providers import LASTING
from memory.vectors.words import BATCH, missing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.schema.space import Space
    from memory.vectors.backfill import Backfill
    from memory.vectors.registry import Embedders, MeteredEmbedder

TAKEN_OVER = "Run `memory status` to see which model answers, and `memory reindex` again if it is not the one you want."

BATCHES = 8  # read together; each is embedded and committed by itself


GOES_ON = "What was embedded until then stays. `memory reindex` goes on."


@dataclass(frozen=True, slots=True)
class Reindexed:
    """
    The result of a reindex.

    Attributes:
        before: The model and width of the former vectors; None if nothing was embedded.
        after: The model and width of the new ones.
        embedded: Number of chunks embedded by this call; fewer than all if it continued an interrupted one.
        failed: Number of chunks whose text the model refused; keywords find them, and they are tried again later.
        error: The reason of the latest failure.
        exchanged: Whether the model now gives other vectors under the same name; the earlier ones were removed.
    """

    before: Space | None
    after: Space
    embedded: int
    failed: int = 0
    error: str = ""
    exchanged: bool = False


def reindex(
    store: Store,
    embedders: Embedders,
    backfill: Backfill,
    prepare: Callable[[int], None] = lambda _generation: None,
    *,
    keep: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Reindexed:
    """
    Embed every chunk that has no vector of the configured model, then activate these vectors.

    Searches use the old vectors and their model until then. Each batch is committed: after an interruption the next
    call continues. Memories saved meanwhile are included. The old vectors stay until the next reindex to another model.

    Args:
        backfill: How many chunks are committed together, and how much text before a chunk is embedded with it.
        prepare: Makes data that depends on the vectors of an index version, before it is activated.
        keep: Remove no index version, however old.
        progress: Called after each batch with the number of chunks that have a vector, and the total.

    Raises:
        EmbedError: The model cannot be used; vectors made until then are saved.
        StoreBusy: A reindex to another model started meanwhile: only one index version is built at a time.
    """
    with purpose(REINDEX):
        embedder = embedders.fresh()
        wanted = space(embedder)  # the first request to a server
        before = store.generations.active()
        changes = before is not None and before.space != wanted
        generation = store.generations.begin(wanted, embedders.now(), alone=changes and not keep)
        exchanged = _exchanged(store, generation, embedder)
        try:
            target = Target(store, generation.id, embedder, backfill.overlap, embedders.now())
            with kept_before(lambda: GOES_ON):
                tally = _build(target, backfill.batch, progress, prepare)
        except NotFound as error:
            raise StoreBusy("another reindex, to another model, took over", hint=TAKEN_OVER) from error
    embedders.write()
    return Reindexed(before.space if before else None, wanted, *tally, exchanged)


def _build(target: Target, batch: int, progress: Callable[[int, int], None], prepare: Callable[[int], None]) -> Tally:
    """Embed all chunks without a vector in an index version, activate it, and embed chunks that were saved meanwhile."""
    tally, generations, id = _embed_missing(target, batch, progress), target.store.generations, target.generation
    if (answering := generations.active()) is not None and answering.id != id:
        prepare(id)
    while (answering := generations.active()) is None or answering.id != id:
        if generations.activate(id, instead_of=answering.id if answering else None):
            late = _embed_missing(target, batch, lambda _done, _total: None)
            tally = Tally(tally.done + late.done, late.failed, late.error)  # what failed before fails again
    return tally


def _embed_missing(target: Target, batch: int, progress: Callable[[int, int], None]) -> Tally:
    store, id = target.store, target.generation
    total, before = store.counts().embeddable, store.generations.size(id).chunks
    tally, after = Tally(), ChunkId(0)
    while excerpts := store.vectors.pending(id, after, BATCHES * batch):
        for first in range(0, len(excerpts), batch):
            tally = tally.plus(target.fill(excerpts[first : first + batch]))
            progress(before + tally.done, max(total, before + tally.done))
        after = excerpts[-1].id
    return tally


@dataclass(frozen=True, slots=True)
class RolledBack:
    """
    The result of `roll_back`.

    Attributes:
        before: The model and width of the vectors used until now. They stay, so `reindex` can return to them at once.
        after: The model and width of the vectors used from now on.
        missing: Number of chunks without such a vector, saved since they were retired; they are queued.
    """

    before: Space
    after: Space
    missing: int


def roll_back(store: Store) -> RolledBack:
    """
    Activate the index version that was retired last.

    Raises:
        NotFound: There is none.
        StoreBusy: A reindex took over at this moment.
    """
    retired = [found for found in store.generations.every() if found.state is State.RETIRED]
    answering = store.generations.active()
    if not retired or answering is None:
        hint = "The vectors of the model before are deleted at the next reindex to another model; `--keep` keeps all."
        raise NotFound("there are no vectors of an earlier model", hint=hint)
    former = retired[-1]
    if not store.generations.activate(former.id, instead_of=answering.id, former=State.BUILDING):
        raise StoreBusy("another process is reindexing", hint="See `memory status`.")
    return RolledBack(answering.space, former.space, store.queue.queued())


def _exchanged(store: Store, generation: Generation, embedder: MeteredEmbedder) -> bool:
    """
    Whether the model behind the name has changed since the index version was created; if so, removes its vectors,
    because no model is left that could embed queries for them.
    """
    if embedder.provider in LASTING:
        return False
    fingerprint = embedder.fingerprint
    if fingerprint is None:
        fingerprint = embedder.embed([FINGERPRINT_TEXT], "passage")[0]
    if different := exchanged(generation, fingerprint):
        answers = fingerprint.astype("<f4").tobytes()
        store.generations.mark(generation.id, answers, instead_of=generation.fingerprint)
    else:
        mark(store.generations, generation, fingerprint)
    return different


# Estimating the cost -----------------------------------------------------------

SAMPLE = 100  # memories from whose chunks all are estimated
TIMED, TIMED_WORDS = 4, 64  # passages and words embedded to measure the speed of a model in this process
WINDOW = timedelta(days=30)  # period of the usage log from which a server's speed is taken
ENOUGH = 1_000  # tokens in it from which the speed is meaningful


class Forecast(NamedTuple):
    """
    The estimated cost of a reindex.

    Attributes:
        model: Provider and model that would be used.
        before: Provider and model that are used now; empty if there is none.
        chunks: Number of chunks without a vector of the model.
        words: Number of words of the public list without one; see the setting `embedding.words`.
        texts: Number of all texts to embed: chunks, words, baseline questions, and for a server a fingerprint text with
            each request.
        tokens: Number of tokens in all texts, estimated from a sample.
        cost: US dollars; None if no price is known and the model is not on this machine.
        seconds: Estimated duration; None if nothing is known about the model's speed.
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
    Estimate the cost of a reindex. Changes nothing and sends nothing.

    Args:
        batch: Chunks that are embedded together.
        words: Whether word vectors are made too.

    Raises:
        Refused: No model is configured, or it cannot be used.
    """
    embedder, every = embedders.configured(), store.counts().embeddable
    here = embedders.named(store.generations.every())
    passages = _sample(store)
    mean = estimated_sum(passages) / len(passages) if passages else 0.0
    left = every - (store.generations.size(here.id).chunks if here else 0)
    chunks = _Work(left, round(mean * left))
    listed = missing(store.path, here) if words and embedders.words and store.path and every >= UNAIDED else []
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
    """The baseline questions and answers, unless they are already embedded."""
    known = here is not None and here.strangers is not None and here.strangers.stamp == STAMP
    if known or every < ENOUGH_VECTORS:
        return _Work()
    return _Work(len(STRANGERS) + len(ANSWERS), estimated_sum([*STRANGERS, *ANSWERS.values()]))


def _fingerprints(requests: int) -> _Work:
    """The fingerprint texts: one with each page of passages, with the first query, and one at the beginning."""
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
    """Seconds that embedding takes, by the speed in the usage log; for a new model in this process, by timing a few texts."""
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

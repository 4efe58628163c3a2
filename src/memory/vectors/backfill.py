"""Backfill: embedding queued chunks into the active index version, in a background thread or during other calls."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from math import inf
from time import perf_counter, sleep
from typing import TYPE_CHECKING, NamedTuple

from memory.schema import holder
from memory.schema.answer import Notice
from memory.schema.holder import Backfilled, Fate, HeldChunks
from memory.schema.step import BACKFILL, EMBED, Purpose, purpose
from memory.vectors import space
from memory.vectors.embed import SHARE, Tally, Target, shares

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.schema.errors import StoreBusy, StoreFull
    from memory.schema.memory import Excerpt, MemoryId
    from memory.store import Store
    from memory.vectors.registry import Embedders

RETRY = timedelta(hours=1)
"""Time after which a text that the model refused is tried again, unless a person asks for it."""

TOGETHER = 512
"""
Chunks that are embedded before term vectors learn from them in one page: twice as fast as with pages of some dozens.
"""

CLAIM = timedelta(minutes=5)
"""Time after which the claim of another process counts as abandoned if it is unknown whether the process still runs."""

AT_ONCE = 16
"""The most chunks embedded before they are written, or while a caller waits: about half a second of the local model."""

LATER = "The next searches that need vectors go on with them; `memory embed` does it now."
"""A hint: when waiting chunks are embedded if no background thread does it."""

IN_PASSING = 8
"""Chunks in a batch while another call may wait, because a batch cannot be interrupted."""

PAUSE = 0.01  # seconds between two checks whether others have finished

PATIENCE = 2.0  # seconds that closing waits for the current batch

NICE = 5
"""
How much lower than its program's the priority of a thread in the background is. Not the lowest: it holds the write lock
now and then, and other writers wait for it.
"""


class Backfill(NamedTuple):
    """
    How queued chunks are embedded; see the settings `embedding.fill…`.

    Attributes:
        policy: "eager", "lazy" or "background".
        background: Whether a thread of this program embeds the whole queue.
        own: The most chunks that a save embeds, all of them its own; a save with more embeds none.
        seconds: The most time to spend within another call; None works until all is done.
        threshold: The most waiting chunks that a search embeds.
        batch: Number of chunks embedded and committed together.
        overlap: The most tokens of preceding text embedded with a chunk; see `memory.text.tokens.passage`.
        learn: Called with the number of chunks that got vectors, once these are stored.
    """

    policy: str = "eager"
    background: bool = False
    own: float = inf
    seconds: float | None = 2.0
    threshold: int = 1000
    batch: int = 32
    overlap: int = 50
    learn: Callable[[int], None] = lambda _count: None


def drain(
    store: Store,
    embedders: Embedders,
    backfill: Backfill,
    *,
    of: Purpose = BACKFILL,
    memories: Sequence[MemoryId] | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    going: Callable[[], bool] = lambda: True,
) -> Backfilled:
    """
    Embed the queue, fewest failures first, and commit batch by batch.

    Args:
        of: The purpose. If a person asked, failed texts are tried again, each once.
        memories: Only chunks of these; None embeds all that wait.
        going: Whether to continue; called before each batch.

    Raises:
        EmbedError: The model cannot be used; vectors made until then are saved.
        SpaceMismatch: The configured model is not the one of the stored vectors.
    """
    if not (total := waiting(store, memories)):
        return Backfilled()
    tally, model, held, moment, unlearned = Tally(), "", dict[str, HeldChunks](), embedders.now(), 0
    passing = backfill.seconds is not None
    claim = partial(_claimed, store, backfill.batch, moment if of.asked else moment - RETRY, held, memories)
    in_time = partial(_before, inf if backfill.seconds is None else perf_counter() + backfill.seconds, going)
    try:
        with purpose(of):
            while going() and (excerpts := claim(now=embedders.now())):
                step, model = _embed_claimed(excerpts, store, embedders, backfill, moment=moment, going=in_time)
                tally, unlearned = tally.plus(step), unlearned + step.done
                progress(tally.done, max(total, tally.done))
                # If no vectors were stored and none failed, the index version was replaced meanwhile.
                if not in_time() or not (step.done or step.failed):
                    break
                if unlearned >= TOGETHER:
                    backfill.learn(unlearned)
                    unlearned = 0
    finally:
        if unlearned:
            backfill.learn(unlearned)
    embedders.write()
    left = waiting(store, memories)
    more = passing and not in_time() and left > tally.failed
    return Backfilled(tally.done, tally.failed, left, tally.error, more=more, model=model, held=tuple(held.values()))


def drain_awaited(store: Store, embedders: Embedders, backfill: Backfill) -> Backfilled:
    """
    Embed the queue for a search that should miss nothing. Also waits for chunks that a thread or another process is
    embedding, for `backfill.seconds` in all.

    Raises:
        EmbedError, SpaceMismatch: As in `drain`.
    """
    deadline, embedded = perf_counter() + (backfill.seconds or 0.0), 0
    while True:
        found = drain(store, embedders, backfill._replace(seconds=max(0.0, deadline - perf_counter())))
        embedded += found.embedded
        elsewhere = bool(found.left) and bool(store.queue.claims(embedders.now()))
        if not elsewhere or perf_counter() >= deadline:
            return found._replace(embedded=embedded, more=found.more or elsewhere)
        sleep(PAUSE)


def waiting(store: Store, memories: Sequence[MemoryId] | None = None) -> int:
    """The number of chunks that wait for a vector, of all memories or of these."""
    return store.queue.queued() if memories is None else sum(one.chunks for one in store.queue.waiting(memories))


def left_alone(store: Store, now: datetime) -> bool:
    """Whether chunks wait for a vector, and no other process on this machine embeds any of them."""
    if not store.queue.queued():
        return False
    holders = (holder.parsed(one.holder) for one in store.queue.claims(now))
    return not any(one != holder.own() and holder.fate(one) is Fate.RUNS for one in holders)


def unembedded(error: StoreBusy | StoreFull) -> Notice:
    """The notice that memories were saved without vectors, because the second of two writes failed."""
    return Notice(f"saved and found by keyword; not embedded yet: {error}", "`memory embed` continues.")


def _before(deadline: float, going: Callable[[], bool]) -> bool:
    return going() and perf_counter() < deadline


def _embed_claimed(
    excerpts: Sequence[Excerpt],
    store: Store,
    embedders: Embedders,
    backfill: Backfill,
    *,
    moment: datetime,
    going: Callable[[], bool],
) -> tuple[Tally, str]:
    """Embed chunks while `going` returns True; returns counts, and the model's name."""
    tally, complete = Tally(), False
    try:
        target = _target(store, embedders, backfill, moment)
        passing = len(excerpts) <= IN_PASSING or backfill.seconds is not None
        for share in shares(excerpts, SHARE if passing else None):
            tally = tally.plus(target.fill_share(share, going))
            if not going():
                break
        else:
            complete = True
    finally:
        if not complete:  # release the claim, so that others may try at once
            store.queue.release([excerpt.id for excerpt in excerpts])
    return tally, str(target.embedder.names)


def reembed(
    store: Store,
    embedders: Embedders,
    backfill: Backfill,
    ids: Sequence[MemoryId],
    *,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Backfilled:
    """
    Embed all chunks of some memories again and commit batch by batch.

    Searches use the old vectors until then. Keyword-only memories are skipped.

    Raises:
        EmbedError, SpaceMismatch: As in `drain`.
    """
    embeddable = [id for id, memory in store.memories.by_id(ids).items() if not memory.keyword_only]
    chunks = [id for outline in store.memories.outlines(embeddable).values() for id, _ in outline]
    moment, tally, model = embedders.now(), Tally(), ""
    with purpose(EMBED):
        for start in range(0, len(chunks), backfill.batch):
            if not (excerpts := list(store.memories.excerpts(chunks[start : start + backfill.batch]).values())):
                continue  # they were deleted meanwhile
            target = _target(store, embedders, backfill, moment)
            tally, model = tally.plus(target.fill(excerpts)), str(target.embedder.names)
            progress(start + len(excerpts), len(chunks))
    if tally.done:
        backfill.learn(tally.done)
    embedders.write()
    return Backfilled(tally.done, tally.failed, store.queue.queued(), tally.error, model=model)


def _claimed(
    store: Store,
    limit: int,
    retried: datetime,
    held: dict[str, HeldChunks],
    memories: Sequence[MemoryId] | None,
    *,
    now: datetime,
) -> Sequence[Excerpt]:
    """
    Claim the next chunks that no other process has claimed; if there are none, chunks whose process has ended.

    Args:
        held: Filled with the claims of other processes if no other chunks are left.
        memories: Only chunks of these.
    """
    by = str(holder.own())
    claim = partial(store.queue.claim, limit, retried, now=now, until=now + CLAIM, by=by, of=memories)
    if found := claim():
        return found
    others: dict[str, HeldChunks] = {}
    for one in store.queue.claims(now):
        process = holder.parsed(one.holder)
        others[one.holder] = HeldChunks(len(one.chunks), process, holder.fate(process), one.until)
    held |= others
    ended = [name for name, one in others.items() if one.fate is Fate.ENDED]
    if not ended:
        return ()
    with store.transaction():  # another process may have taken them over meanwhile
        for one in store.queue.claims(now):
            if one.holder in ended:
                store.queue.release(one.chunks)
        return claim()


def _target(store: Store, embedders: Embedders, backfill: Backfill, moment: datetime) -> Target:
    """The active index version, created if there is none, and the embedder of its space."""
    if store.generations.active() is None:
        embedder = embedders.configured()
        store.generations.begin(space(embedder), moment)
        embedders.keep_fingerprint()
    generation, embedder = embedders.answering()
    return Target(store, generation.id, embedder, backfill.overlap, moment)

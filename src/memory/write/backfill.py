"""Backfill: queued chunks get their vectors in the active generation."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from memory.embed import FINGERPRINT_TEXT, space
from memory.embed.usage import BACKFILL, EMBED, purpose
from memory.schema import holder
from memory.schema.errors import EmbedError, Garbled, Raised, Unfit
from memory.schema.holder import Backfilled, Fate, Held
from memory.schema.limits import printable
from memory.schema.space import Embedded, Space, Window
from memory.store import active
from memory.text.tokens import passage
from memory.write.gradual import SHARE, embed_on, shares

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from memory.embed.registry import Embedders, MeteredEmbedder
    from memory.embed.usage import Purpose
    from memory.schema.memory import Chunk, ChunkId, Excerpt, MemoryId
    from memory.store import Claim, Store
    from memory.write.gradual import Share

RETRY = timedelta(hours=1)
"""How long until a text that the model did not take is tried again, unless a person asks for it."""

CLAIM = timedelta(minutes=5)
"""How long until chunks that another process began to embed count as abandoned, if its fate is unknown."""

AT_ONCE = 16
"""The most chunks embedded before they are written: about half a second of the local model."""

TOKENS_AT_ONCE = 7_200
"""The most tokens of those chunks: as many as 16 of the usual size. A chunk that is not cut may have thousands."""

HOPELESS = 3
"""After this many texts in a row that a model does not take, it is asked for one that it must take."""


IN_PASSING = 8
"""Chunks in a batch while something else waits: a batch that has begun must be finished."""


class Backfill(NamedTuple):
    """
    How queued chunks are embedded; see the settings `embedding.fill…`.

    Attributes:
        policy: "eager", "lazy" or "background".
        seconds: The most time to spend in passing; None works until all is done.
        threshold: The most chunks that a search takes on.
        batch: Chunks embedded and committed together.
        overlap: The most tokens of preceding text embedded with a chunk; see `memory.text.tokens.passage`.
    """

    policy: str = "eager"
    seconds: float | None = 2.0
    threshold: int = 1000
    batch: int = 32
    overlap: int = 50


def many(chunks: Sequence[Chunk]) -> bool:
    """Whether chunks are written before they are embedded, because that takes the local model over half a second."""
    return len(chunks) > AT_ONCE or sum(piece.token_count for piece in chunks) > TOKENS_AT_ONCE


def embedded(embedder: MeteredEmbedder, passages: Sequence[str]) -> Embedded:
    """
    Vectors for passages; a passage longer than the model reads gets one for each window.

    Returns:
        In its windows, `chunk` is the index of the passage.

    Raises:
        EmbedError: See `Embedder.embed`.
    """
    texts: list[str] = []
    windows: list[Window] = []
    for index, whole in enumerate(passages):
        for number, text in enumerate(embedder.windows(whole)):
            windows.append(Window(index, number, len(texts)))
            texts.append(text)
    vectors = embedder.embed(texts, "passage")
    return Embedded(Space(*embedder.names, vectors.shape[1]), vectors, tuple(windows))


class Isolated(NamedTuple):
    """
    Vectors of chunks, and the chunks whose text the model did not take.

    Attributes:
        parts: In their windows, `chunk` is the id.
    """

    parts: tuple[Embedded, ...]
    failed: tuple[tuple[ChunkId, EmbedError], ...]


def isolated(excerpts: Sequence[Excerpt], embedder: MeteredEmbedder, overlap: int) -> Isolated:
    """
    Embed chunks; one that makes its batch fail is found by halving and left out.

    An exception from third-party code may be about one text or about the whole model. So the model is asked for a text
    that it must take, when the first batch fails and before a text is left out:
    a model that is down then costs two calls and no text is blamed.

    Raises:
        EmbedError: The model cannot be used at all.
    """
    parts: list[Embedded] = []
    failed: list[tuple[ChunkId, EmbedError]] = []
    stack = [excerpts]
    while stack:
        some = stack.pop()
        try:
            made = embedded(embedder, [passage(excerpt, overlap) for excerpt in some])
        except (Unfit, Garbled, Raised) as error:
            if isinstance(error, Raised) and (len(some) == 1 or not (parts or stack)):
                embedded(embedder, [FINGERPRINT_TEXT])  # raises if the model fails, not just these texts
            if len(some) > 1:
                middle = len(some) // 2
                stack += [some[middle:], some[:middle]]
                continue
            failed.append((some[0].id, error))
            if len(failed) == HOPELESS and not parts:
                embedded(embedder, [FINGERPRINT_TEXT])
            continue
        named = tuple(Window(some[window.chunk].id, window.window, window.row) for window in made.windows)
        parts.append(made._replace(windows=named))
    return Isolated(tuple(parts), tuple(failed))


def store_isolated(found: Isolated, store: Store, generation: int, moment: datetime) -> int:
    """Write the vectors, and mark the texts not taken as failed; returns the number of chunks that got vectors."""
    done = sum(store.vectors.set_vectors(generation, part.vectors, part.windows) for part in found.parts)
    for id, error in found.failed:
        store.queue.failed([id], printable(str(error)), moment)
    return done


def drain(
    store: Store,
    embedders: Embedders,
    backfill: Backfill,
    *,
    of: Purpose = BACKFILL,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    going: Callable[[], bool] = lambda: True,
) -> Backfilled:
    """
    Embed the queue, fewest failures first, and commit batch by batch.

    Args:
        of: If a person asked for it, failed texts are tried again, each once.
        going: Whether to continue; asked before each batch.

    Raises:
        EmbedError: The model cannot be used; what was embedded is kept.
        SpaceMismatch: The configured model is not the one of the stored vectors.
    """
    total = store.queue.queued()
    if not total:
        return Backfilled()
    moment = embedders.now()
    retried = moment if of.asked else moment - RETRY
    passing = backfill.seconds is not None
    size = min(IN_PASSING, backfill.batch) if passing else backfill.batch
    begun, done, model = perf_counter(), 0, ""
    errors: list[EmbedError] = []
    held: dict[str, Held] = {}

    def in_time() -> bool:
        return going() and (backfill.seconds is None or perf_counter() - begun < backfill.seconds)

    rounds = _Rounds(store, embedders, backfill, moment, in_time)
    with purpose(of):
        while going() and (excerpts := _claimed(store, size, retried, held, now=embedders.now())):
            written, failures, model = rounds.embed(excerpts)
            done, errors = done + written, [*errors, *failures]
            progress(done, max(total, done))
            if not in_time() or not (
                written or failures
            ):  # no vectors were taken: the generation was replaced meanwhile
                break
    embedders.write()
    left, last = store.queue.queued(), str(errors[-1]) if errors else ""
    more = passing and not in_time() and left > len(errors)
    return Backfilled(done, len(errors), left, last, more=more, model=model, held=tuple(held.values()))


class _Rounds(NamedTuple):
    """What claimed chunks are embedded with; work continues while `going` says so."""

    store: Store
    embedders: Embedders
    backfill: Backfill
    moment: datetime
    going: Callable[[], bool]

    def embed(self, excerpts: Sequence[Excerpt]) -> tuple[int, list[EmbedError], str]:
        """Embed chunks and write their vectors; returns how many got them, the failures, and the model's name."""
        written, errors, complete = 0, list[EmbedError](), False
        try:
            generation, embedder = _founded(self.store, self.embedders, self.moment)
            for share in shares(excerpts, None if self.backfill.seconds is None else SHARE):
                count, failures = self._embed_share(share, generation, embedder)
                written, errors = written + count, [*errors, *failures]
                if not self.going():
                    break
            else:
                complete = True
        finally:
            if not complete:  # however it ended, others may try at once
                self.store.queue.release([excerpt.id for excerpt in excerpts])
        return written, errors, str(embedder.names)

    def _embed_share(self, share: Share, generation: int, embedder: MeteredEmbedder) -> tuple[int, list[EmbedError]]:
        store, overlap = self.store, self.backfill.overlap
        if not share.long:
            found = isolated(share.excerpts, embedder, overlap)
            return store_isolated(found, store, generation, self.moment), [error for _, error in found.failed]
        [excerpt] = share.excerpts
        try:
            return int(embed_on(store, embedder, generation, excerpt, overlap, going=self.going)), []
        except (Unfit, Garbled, Raised) as error:
            embedded(embedder, [FINGERPRINT_TEXT])  # raises if the model fails, not just this text
            store.queue.failed([excerpt.id], printable(str(error)), self.moment)
            return 0, [error]


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

    Until then the old vectors answer. Memories that are never embedded are skipped.

    Raises:
        EmbedError, SpaceMismatch: As in `drain`.
    """
    embeddable = [id for id, memory in store.memories.by_id(ids).items() if not memory.keyword_only]
    chunks = [id for outline in store.memories.outlines(embeddable).values() for id, _ in outline]
    done, failed, last, model = 0, 0, "", ""
    moment = embedders.now()
    with purpose(EMBED):
        for start in range(0, len(chunks), backfill.batch):
            if not (excerpts := list(store.memories.excerpts(chunks[start : start + backfill.batch]).values())):
                continue  # they were deleted meanwhile
            generation, embedder = _founded(store, embedders, moment)
            found = isolated(excerpts, embedder, backfill.overlap)
            done += store_isolated(found, store, generation, moment)
            failed, model = failed + len(found.failed), str(embedder.names)
            last = str(found.failed[-1][1]) if found.failed else last
            progress(start + len(excerpts), len(chunks))
    embedders.write()
    return Backfilled(done, failed, store.queue.queued(), last, model=model)


def _claimed(store: Store, limit: int, retried: datetime, held: dict[str, Held], *, now: datetime) -> Sequence[Excerpt]:
    """
    Claim the next chunks that no other process embeds; if there are none, those that an ended process left behind.

    Args:
        held: Gets the chunks that others claimed, if nothing else is left.
    """
    claim = partial(store.queue.claim, limit, retried, now=now, until=now + CLAIM, by=str(holder.own()))
    if found := claim():
        return found
    others = {one.holder: _held(one) for one in store.queue.claims(now)}
    held |= others
    ended = [name for name, one in others.items() if one.fate is Fate.ENDED]
    if not ended:
        return ()
    store.queue.release(by=ended)
    return claim()


def _held(one: Claim) -> Held:
    found = holder.parsed(one.holder)
    return Held(one.chunks, found, holder.fate(found), one.until)


def _founded(store: Store, embedders: Embedders, moment: datetime) -> tuple[int, MeteredEmbedder]:
    """The id of the active generation, begun if there is none, and the embedder of its space."""
    if active(store.generations.every()) is None:
        embedder = embedders.configured()
        store.generations.begin(space(embedder), moment)
        embedders.keep_fingerprint()
    generation, embedder = embedders.answering()
    return generation.id, embedder

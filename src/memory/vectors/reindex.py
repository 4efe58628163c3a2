"""Reindexing: a second generation of vectors built next to the first, which it then replaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.schema.errors import NotFound, StoreBusy, kept_before
from memory.schema.memory import ChunkId
from memory.store import Generation, State, Store
from memory.vectors import FINGERPRINT_TEXT, REINDEX, exchanged, mark, purpose, space
from memory.vectors.embed import Tally, Target
from memory.vectors.providers import LASTING

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.schema.space import Space
    from memory.vectors.backfill import Backfill
    from memory.vectors.registry import Embedders, MeteredEmbedder

TAKEN_OVER = "Run `memory status` to see which model answers, and `memory reindex` again if it is not the one you want."

BATCHES = 8  # read together; each is embedded and committed by itself


GOES_ON = "What was embedded until then is kept. `memory reindex` goes on."


@dataclass(frozen=True, slots=True)
class Reindexed:
    """
    before: The space that answered until now; None if nothing was embedded.
    after: The space that answers from now on.
    embedded: Chunks embedded by this call; fewer than all if an earlier call was interrupted.
    failed: Chunks whose text the model did not take; they are found by keyword, and tried again later.
    error: The most recent reason for that.
    exchanged: The model now gives other vectors under the same name; its earlier ones were useless and were removed.
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
    Embed every chunk without a vector in the configured model's space, then let that space answer.

    Until then the old vectors answer, with their own model. Batches are committed as they are made: after any
    interruption, the next call continues where this one stopped. Memories that anyone saves meanwhile are included.
    The vectors that answered until now are kept until the next reindex to another model.

    Args:
        backfill: Says how many chunks are committed together, and how much text before a chunk is embedded with it.
        prepare: Makes what is derived from the vectors of a generation, before that answers.
        keep: Remove no generation, however old.
        progress: Called after each batch with how many chunks, and of how many, have a vector.

    Raises:
        EmbedError: The model cannot be used; what was embedded is kept.
        StoreBusy: Another reindex, to another model, began meanwhile: only one is built at a time.
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
    """Embed what has no vector in a generation, activate it, and embed what was saved meanwhile."""
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
    before: The space that answered until now. Its vectors are kept, so `reindex` can return to them at once.
    after: The space that answers from now on.
    missing: Chunks without a vector in it, saved after it was retired; they are queued.
    """

    before: Space
    after: Space
    missing: int


def roll_back(store: Store) -> RolledBack:
    """
    Let the generation answer that was retired last.

    Raises:
        NotFound: None is kept.
        StoreBusy: A reindex took over at this moment.
    """
    retired = [found for found in store.generations.every() if found.state is State.RETIRED]
    answering = store.generations.active()
    if not retired or answering is None:
        hint = "Those that answered before are kept until the next reindex to another model; with `--keep`, all are."
        raise NotFound("no vectors of an earlier model are kept", hint=hint)
    former = retired[-1]
    if not store.generations.activate(former.id, instead_of=answering.id, former=State.BUILDING):
        raise StoreBusy("another process reindexed at this moment", hint="Look at `memory status`.")
    return RolledBack(answering.space, former.space, store.queue.queued())


def _exchanged(store: Store, generation: Generation, embedder: MeteredEmbedder) -> bool:
    """
    Whether the model behind the name has changed since the generation was begun; if so, removes its vectors.

    They are useless, because no model is left that could embed queries for them.
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

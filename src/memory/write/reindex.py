"""Reindexing: a second generation of vectors is built next to the first and then replaces it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memory.embed import FINGERPRINT_TEXT, space
from memory.embed.fingerprint import same_model
from memory.embed.providers import LASTING
from memory.embed.usage import REINDEX, purpose
from memory.schema.errors import NotFound, StoreBusy
from memory.schema.memory import ChunkId
from memory.store import State, active
from memory.write.backfill import isolated, store_isolated

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from memory.embed.registry import Embedders, MeteredEmbedder
    from memory.schema.space import Space
    from memory.store import Generation, Store


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
    *,
    moment: datetime,
    batch: int = 32,
    overlap: int = 50,
    keep: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Reindexed:
    """
    Embed every chunk without a vector in the configured model's space, then let that space answer.

    Until then the old vectors answer, with their own model. Batches are committed as they are made: after any
    interruption, the next call continues where this one stopped. Memories that anyone saves meanwhile are included.
    The vectors that answered until now are kept until the next reindex to another model.

    Args:
        batch: Chunks embedded and committed together.
        overlap: The most tokens of preceding text embedded with a chunk; see `memory.text.tokens.passage`.
        keep: Remove no generation, however old.
        progress: Called after each batch with how many chunks, and of how many, have a vector.

    Raises:
        EmbedError: The model cannot be used; what was embedded is kept.
        StoreBusy: Another reindex, to another model, began meanwhile: only one is built at a time.
    """
    with purpose(REINDEX):
        embedder = embedders.fresh()
        wanted = space(embedder)  # the first request to a server
        before = active(store.generations.every())
        if before is not None and before.space != wanted and not keep:
            _drop_retired(store, wanted)
        generation = store.generations.begin(wanted, moment)
        exchanged = _exchanged(store, generation, embedder)
        try:
            counts = _Build(store, generation, embedder, moment, batch, overlap).until_it_answers(progress)
        except NotFound as error:
            hint = "Run `memory status` to see which model answers, and `memory reindex` again if it is not the one you want."
            raise StoreBusy("another reindex, to another model, took over", hint=hint) from error
    embedders.write()
    return Reindexed(before.space if before else None, wanted, *counts, exchanged)


def _drop_retired(store: Store, wanted: Space) -> None:
    """Remove the vectors of earlier models, except those of the space that is wanted again."""
    for old in store.generations.every():
        if old.state is State.RETIRED and old.space != wanted:
            store.generations.drop(old.id)


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
    answering = active(store.generations.every())
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
    former = store.generations.fingerprint(generation.id)
    exchanged = former is not None and not same_model(former, fingerprint)
    if exchanged:
        store.vectors.clear(generation.id)
    store.generations.mark(generation.id, fingerprint)
    return exchanged


class _Build(NamedTuple):
    """A generation, and what its vectors are made with."""

    store: Store
    generation: Generation
    embedder: MeteredEmbedder
    moment: datetime
    batch: int
    overlap: int

    def until_it_answers(self, progress: Callable[[int, int], None]) -> tuple[int, int, str]:
        """
        Embed what has no vector in it, activate it, and embed what was saved meanwhile.

        Returns:
            As `embed_missing`, for both rounds.
        """
        counts, generations, id = self.embed_missing(progress), self.store.generations, self.generation.id
        while (answering := active(generations.every())) is None or answering.id != id:
            if generations.activate(id, instead_of=answering.id if answering else None):
                late = self.embed_missing(lambda _done, _total: None)
                counts = (counts[0] + late[0], late[1], late[2])
        return counts

    def embed_missing(self, progress: Callable[[int, int], None]) -> tuple[int, int, str]:
        """Embed what has no vector in it; returns how many chunks got one, how many failed, and why."""
        store, id = self.store, self.generation.id
        total, before = store.counts().embeddable, store.vectors.embedded_count(id)
        done, failed, error = 0, 0, ""
        after = ChunkId(0)
        while excerpts := store.vectors.pending(id, after, self.batch):
            found = isolated(excerpts, self.embedder, self.overlap)
            done += store_isolated(found, store, id, self.moment)
            failed += len(found.failed)
            error = str(found.failed[-1][1]) if found.failed else error
            after = excerpts[-1].id
            progress(before + done, max(total, before + done))
        return done, failed, error

"""Reindexing: a second generation of vectors is built beside the first, then takes its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.embed import embedded, space
from memory.errors import NotFound, StoreBusy
from memory.record import ChunkId
from memory.space import Window
from memory.store import State
from memory.text.passage import passage

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.embed import Embedder
    from memory.space import Space
    from memory.store import Generation, Store


@dataclass(frozen=True, slots=True)
class Reindexed:
    """
    Attributes:
        before: The space that answered until now; None if nothing was embedded.
        after: The space that answers from now on.
        embedded: Chunks that were embedded by this call; fewer than all when an earlier one was interrupted.
    """

    before: Space | None
    after: Space
    embedded: int


def reindex(
    store: Store,
    embedder: Embedder,
    *,
    batch: int = 32,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Reindexed:
    """
    Embed every chunk that has no vector in the embedder's space, then let that space answer.

    Until then the old vectors answer. Batches are kept as they are made: interrupted in any way, the next call
    goes on where this one stopped. Memories saved meanwhile, by anyone, are included.

    Args:
        batch: Chunks that are embedded and committed together.
        progress: Told after each batch how many chunks of how many have a vector.

    Raises:
        EmbedError: The embedder failed; what it gave before is kept.
        StoreBusy: Another reindex, to another model, began meanwhile: only one is built at a time.
    """
    wanted = space(embedder)
    before = _active(store)
    for old in store.generations():
        if old.state is State.RETIRED:
            store.drop(old.id)
    generation = store.begin(wanted)
    try:
        done = _fill(store, generation, embedder, batch, progress)
        while (active := _active(store)) is None or active.id != generation.id:
            if store.activate(generation.id, instead_of=active.id if active else None):
                done += _fill(store, generation, embedder, batch, lambda _done, _total: None)
    except NotFound as error:
        hint = (
            "Run `memory status` to see which model answers, and `memory reindex` again if it is not the one you want."
        )
        raise StoreBusy("another reindex, to another model, took over", hint=hint) from error
    return Reindexed(before.space if before else None, wanted, done)


def _active(store: Store) -> Generation | None:
    return next((generation for generation in store.generations() if generation.state is State.ACTIVE), None)


def _fill(
    store: Store, generation: Generation, embedder: Embedder, batch: int, progress: Callable[[int, int], None]
) -> int:
    total = store.counts().chunks
    before = store.filled(generation.id)
    done = 0
    after = ChunkId(0)
    while excerpts := store.pending(generation.id, after, batch):
        made = embedded(embedder, [passage(excerpt) for excerpt in excerpts])
        windows = [Window(excerpts[w.chunk].id, w.window, w.row) for w in made.windows]
        done += store.fill(generation.id, made.vectors, windows)
        after = excerpts[-1].id
        progress(before + done, max(total, before + done))
    return done

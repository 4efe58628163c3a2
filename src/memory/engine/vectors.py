"""The part of an engine for vectors: embedding, reindexing, the usage log, vectors that a program supplies."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from memory.engine.background import Background, quiet, told
from memory.schema.errors import Refused, midnight
from memory.store.narrow import rounded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.schema.holder import Backfilled
    from memory.schema.memory import Embedding, Memory, MemoryId
    from memory.schema.query import Scope
    from memory.schema.space import Space, UsageEntry, Vectors as Rows, Window
    from memory.vectors.reindex import Forecast as Forecast, Reindexed as Reindexed, RolledBack

    Progress: TypeAlias = Callable[[int, int], None]


class Vectors(Background):
    """Embeds memories, and replaces vectors when the model changes. `memory.engine.Engine.vectors` is one."""

    def embed(self, progress: Progress = quiet, *, memories: Sequence[MemoryId] | None = None) -> Backfilled:
        """
        Embed all waiting chunks, including those that failed before.

        Args:
            progress: Called with the number of finished chunks and the total.
            memories: Embed these instead, even if they have vectors.

        Raises:
            EmbedError: The model cannot be used; vectors made until then are saved.
            SpaceMismatch: The stored vectors are not of the configured model; run `reindex`.
        """
        from memory.schema.step import EMBED
        from memory.vectors.backfill import drain, reembed

        backfill = self.backfill_policy(patient=True)._replace(seconds=None)
        if memories is not None:
            return reembed(self._store, self.embedders, backfill, memories, progress=progress)
        result = drain(self._store, self.embedders, backfill, of=EMBED, progress=progress)
        self._follow()
        return result

    def reindex(self, progress: Progress = quiet, *, keep: bool = False) -> Reindexed:
        """
        Embed everything with the configured model, then switch searches to the new vectors.

        Chunks that already have a vector of this model are not embedded again. Searches use the old vectors meanwhile.

        Args:
            progress: Called with the number of finished chunks and the total.
            keep: Keep the vectors of all earlier models.

        Raises:
            EmbedError: The model cannot be used; vectors made until then are saved, and the next call continues.
            StoreBusy: Another reindex, to another model, took over.
        """
        from memory.vectors.reindex import reindex

        done = reindex(
            self._store, self.embedders, self.backfill_policy(patient=True), self._prepare, keep=keep, progress=progress
        )
        self._follow(anew=done.before == done.after)
        return done

    def _prepare(self, generation: int) -> None:
        """Make what depends on the vectors of an index version before it becomes active; log a failure."""
        from memory.vectors.term_vectors.learn import learn

        self._renew_baseline(asked=True, building=generation)
        if self.learns:
            with told("learning term vectors"):
                learn(self._store, generation, prior=self.begins)

    def _follow(self, *, anew: bool = False) -> None:
        """Do what follows from new vectors. A failure here does not lose them."""
        self._renew_baseline(asked=True)
        self.try_learning(anew=anew)
        self._sign()

    def roll_back(self) -> RolledBack:
        """
        Switch searches back to the vectors, and the model, from before the last reindex.

        Raises:
            NotFound: There are no earlier vectors.
        """
        from memory.vectors.reindex import roll_back

        return roll_back(self._store)

    def estimate(self) -> Forecast:
        """
        Estimate the cost of `reindex`. Changes nothing and sends nothing.

        Raises:
            Refused: The configured model cannot be used.
        """
        from memory.vectors.reindex import estimate

        if not self.embedders.enabled:
            raise Refused("no embedder is configured", hint="Set `embedding.provider`, e.g. to `local`.")
        return estimate(self._store, self.embedders, self._config.embedding.batch_size, words=self.begins)

    def warm_up(self) -> None:
        """
        Load the configured model if it runs in this process and takes seconds to load; other models are called when
        needed.

        Raises:
            EmbedError: The model cannot be used.
        """
        if self.embedders.enabled and self.embedders.inside and not self.embedders.configured().warm:
            self.probe()

    def probe(self) -> Space:
        """
        Embed a short text with the configured model; returns the space of its vectors: provider, model and width.

        Raises:
            EmbedError: The model cannot be used; the error says why, and its hint what would help.
        """
        from memory.schema.step import PROBE, purpose
        from memory.vectors import FINGERPRINT_TEXT, space

        with purpose(PROBE):
            embedder = self.embedders.fresh()
            embedder.embed([FINGERPRINT_TEXT], "passage")
            return space(embedder)

    # Reading -------------------------------------------------------------

    def ledger(self, days: int = 30, *, each: bool = False) -> Sequence[UsageEntry]:
        """
        Embedding usage, latest first: one entry for each day (UTC), or for each request.

        Args:
            days: How many days back, including today.
            each: One entry for each request, at most 10,000, instead of daily sums.
        """
        self.embedders.write()
        since = midnight(self._now(), days)
        return self._store.usage.lines(since, daily=not each)

    def embedding(self, id: MemoryId) -> Embedding:
        """The state of a memory's embedding: "generated", "pending", "failed", "outdated", "none" or "excluded"."""
        from memory.engine.status import embedding

        return embedding(self._store, self.embedders, id)

    def embeddings(self, memories: Sequence[Memory]) -> Mapping[MemoryId, Embedding]:
        """The state of the embedding of several memories, by id; see `embedding`."""
        from memory.engine.status import embeddings

        return embeddings(self._store, self.embedders, memories)

    # Vectors that a program supplies ---------------------------------------------

    def set_vector(self, id: MemoryId, vector: Rows) -> None:
        """
        Use one vector for all chunks of a memory, until the memory is changed or embedded again.

        Args:
            vector: Shape (dimension,), float32, of length 1.

        Raises:
            DimensionMismatch: Its width differs from that of the stored vectors.
            EmbedError: Nothing is embedded yet, and the configured model cannot be used to find the width.
        """
        from memory.vectors import space

        generation = self._store.generations.active() or self._store.generations.begin(
            space(self.embedders.configured()), self._now()
        )
        generation.space.check_width(len(vector))
        with self._store.transaction(durable=False):
            done = self._store.vectors.set_vectors(generation.id, rounded(vector).reshape(1, -1), self._windows(id))
        self.stored(done)

    def drop_vectors(self, id: MemoryId) -> None:
        """Remove the vectors of a memory and queue it for new ones."""
        if (generation := self._store.generations.active()) is not None:
            with self._store.transaction():  # durable: nothing can make these vectors again
                self._store.vectors.set_vectors(generation.id, None, self._windows(id))

    def _windows(self, id: MemoryId) -> list[Window]:
        """A window for each chunk of a memory, all of them of the first row."""
        from memory.schema.space import Window

        return [Window(chunk, 0, 0) for chunk, _ in self._store.memories.outlines([id]).get(id, ())]

    def similarities(self, vector: Rows, scope: Scope) -> Mapping[MemoryId, float]:
        """
        The cosines of a vector with the memories in scope that have vectors.

        Args:
            vector: Shape (dimension,), float32, of length 1.

        Raises:
            DimensionMismatch: Its width differs from that of the stored vectors.
        """
        if (generation := self._store.generations.active()) is None:
            return {}
        generation.space.check_width(len(vector))
        return self._store.vectors.memory_similarities(generation.id, vector, scope)

"""Vectors: embedding, reindexing, learning, the ledger, background work: the engine's side of embedders."""

from __future__ import annotations

import threading
from functools import cached_property
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from memory.engine.learning import Learning
from memory.schema.errors import Refused, midnight
from memory.schema.holder import Backfilled
from memory.store import Generation, Store, active

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from memory.config.config import Config
    from memory.embed import Embedder
    from memory.embed.registry import Embedders
    from memory.schema.document import Embedding
    from memory.schema.memory import Memory, MemoryId
    from memory.schema.query import Scope
    from memory.schema.space import Call, Space, Vectors as Rows, Window
    from memory.write.backfill import Backfill, Background, Looks
    from memory.write.forecast import Forecast
    from memory.write.reindex import Reindexed, RolledBack

    Progress: TypeAlias = Callable[[int, int], None]


LOOK = 60.0
"""Seconds between two looks of a program that stays at what others left in the queue."""

PATIENT = 5
"""A save of many memories waits for their vectors this many times as long as a save of one."""


def quiet(_done: int, _total: int) -> None: ...


class Vectors:
    """What is embedded, by which model, and when. `memory.engine.Engine.vectors` is one."""

    def __init__(
        self,
        store: Store,
        config: Config,
        now: Callable[[], datetime],
        *,
        embedder: Embedder | None = None,
        key: str | None = None,
        lasting: bool = True,
    ) -> None:
        """For `embedder`, `key` and `lasting` see `memory.engine.Engine`."""
        self._store, self._config, self._now = store, config, now
        self._given, self._key, self._lasting = embedder, key, lasting
        self._background: Background | None = None
        self._starting = threading.Lock()
        self._looks: Looks | None = None
        self._next_look = monotonic() + LOOK
        self.learning = Learning(store, config, lasting=lasting)
        self.postponed = False  # True: what is saved waits for its vectors, whatever the settings say
        self.awaiting: list[MemoryId] = []  # what was saved meanwhile

    @cached_property
    def embedders(self) -> Embedders:
        """Made at first use: a search that keywords answer needs none."""
        from memory.embed.registry import Embedders

        settings, given = self._config.embedding, self._given
        return Embedders(settings, self._store, embedder=given, key=self._key, now=self._now)

    def embed(self, progress: Progress = quiet, *, memories: Sequence[MemoryId] | None = None) -> Backfilled:
        """
        Embed all that waits for a vector, also what failed before.

        Args:
            progress: Called with how many chunks are done, and of how many.
            memories: Embed these instead, even if they have vectors.

        Raises:
            EmbedError: The model cannot be used; what was embedded is kept.
            SpaceMismatch: The stored vectors are of another model than the configured one: `reindex` is needed.
        """
        from memory.embed import EMBED
        from memory.write.backfill import drain, reembed

        backfill = self.backfill_policy()._replace(seconds=None)
        if memories is not None:
            return reembed(self._store, self.embedders, backfill, memories, progress=progress)
        result = drain(self._store, self.embedders, backfill, of=EMBED, progress=progress)
        self._follow()
        return result

    def reindex(self, progress: Progress = quiet, *, keep: bool = False) -> Reindexed:
        """
        Embed what has no vector in the configured model's space, then let that space answer.

        Args:
            progress: Called with how many chunks are done, and of how many.
            keep: Remove no vectors of earlier models.

        Raises:
            EmbedError: The model cannot be used; what was embedded is kept, and the next call continues there.
            StoreBusy: Another reindex, to another model, took over.
        """
        from memory.write.reindex import reindex

        done = reindex(self._store, self.embedders, self.backfill_policy(), self._prepare, keep=keep, progress=progress)
        self._follow(anew=done.before == done.after)
        return done

    def _prepare(self, generation: int) -> None:
        """Make what follows from the vectors of a generation before it answers; if that fails, the log says why."""
        from memory.write.strangers import acquaint

        acquaint(self._store, self.embedders, asked=True, building=generation)
        self.learning.settle(generation)

    def _follow(self, *, anew: bool = False) -> None:
        """Do what follows from new vectors; these are kept whatever happens here."""
        from memory.write.backfill import sign
        from memory.write.strangers import acquaint

        acquaint(self._store, self.embedders, asked=True)
        self.learning.settle(anew=anew)
        sign(self._store)

    def roll_back(self) -> RolledBack:
        """
        Let the vectors answer that did before the last reindex, with their own model.

        Raises:
            NotFound: None are kept.
        """
        from memory.write.reindex import roll_back

        return roll_back(self._store)

    def estimate(self) -> Forecast:
        """
        What `reindex` would take. Nothing is changed and nothing leaves the process.

        Raises:
            Refused: The configured model cannot be used.
        """
        from memory.write.forecast import estimate

        if not self.embedders.enabled:
            raise Refused("no embedder is configured", hint="Set `embedding.provider`, e.g. to `local`.")
        return estimate(self._store, self.embedders, self._config.embedding.batch_size, words=self.learning.begins)

    def learn(self, *, anew: bool = False, whole: bool = True, going: Callable[[], bool] = lambda: True) -> int:
        """
        Learn what the words of this store mean to its model, so that fewer searches need the model (docs/ranking.md).

        Args:
            anew: Learn from all passages again, not just from those that were not learned from yet.
            whole: Learn also if so few wait that saves would leave them.
            going: Whether to continue; asked from time to time.

        Returns: From how many passages.
        """
        return self.learning.learn(anew=anew, whole=whole, going=going)

    def make_words(self, progress: Progress = quiet, *, going: Callable[[], bool] = lambda: True) -> None:
        """Make what term vectors begin with, once a model, and begin with it; if that fails, the log says why."""
        from memory.write.backfill import told
        from memory.write.words import make_words

        if self.learning.begins:
            with told("learned with word vectors"):
                make_words(self._store, self.embedders, progress=progress, going=going)
                self.learn(whole=False, going=going)

    def warm_up(self) -> None:
        """
        Load the configured model if it runs in this process and takes seconds to load; others are asked when needed.

        Raises:
            EmbedError: It cannot be used.
        """
        if self.embedders.enabled and self.embedders.inside and not self.embedders.configured().warm:
            self.probe()

    def probe(self) -> Space:
        """
        Ask the configured model for a vector, and say in which space it is.

        Raises:
            EmbedError: It cannot be used; the error says why, and what would help.
        """
        from memory.embed import FINGERPRINT_TEXT, PROBE, purpose, space

        with purpose(PROBE):
            embedder = self.embedders.fresh()
            embedder.embed([FINGERPRINT_TEXT], "passage")
            return space(embedder)

    # What is known of them -----------------------------------------------

    def ledger(self, days: int = 30, *, each: bool = False) -> Sequence[Call]:
        """
        What was embedded, latest first: summed over each day (UTC), or each request.

        Args:
            days: How many days back, including today.
            each: Every request instead of sums; at most 10,000.
        """
        self.embedders.write()
        since = midnight(self._now(), days)
        return self._store.usage.lines(since, daily=not each)

    def embedding(self, id: MemoryId) -> Embedding:
        """Whether a memory can be found by its meaning: "generated", "pending", "failed" or "outdated", and why."""
        from memory.engine.status import embedding

        return embedding(self._store, self.embedders, id)

    def embeddings(self, memories: Sequence[Memory]) -> Mapping[MemoryId, Embedding]:
        """The same of several, by their ids."""
        from memory.engine.status import embeddings

        return embeddings(self._store, self.embedders, memories)

    def active(self) -> Generation | None:
        """The active generation; None if nothing was embedded yet."""
        return active(self._store.generations.every())

    # Vectors that a program supplies ---------------------------------------------

    def set_vector(self, id: MemoryId, vector: Rows) -> None:
        """
        Use one vector for all chunks of a memory, until the memory is changed or embedded again.

        Args:
            vector: Shape (dimension,), float32, of length 1.

        Raises:
            DimensionMismatch: Its width differs from that of the stored vectors.
            EmbedError: Nothing is embedded yet, and the configured model cannot tell its space.
        """
        from memory.embed import space

        generation = self.active() or self._store.generations.begin(space(self.embedders.configured()), self._now())
        generation.space.check_width(len(vector))
        with self._store.transaction(durable=False):
            done = self._store.vectors.set_vectors(generation.id, vector.reshape(1, -1), self._windows(id))
        self.learning.stored(done)

    def drop_vectors(self, id: MemoryId) -> None:
        """Remove the vectors of a memory; it is queued for new ones."""
        if (generation := self.active()) is not None:
            with self._store.transaction():  # durable, unlike vectors that are made again
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
        if (generation := self.active()) is None:
            return {}
        generation.space.check_width(len(vector))
        return self._store.vectors.memory_similarities(generation.id, vector, scope)

    def backfill_policy(self, *, patient: bool = False) -> Backfill:
        """
        How saved memories are embedded, and for how long in passing.

        Args:
            patient: Many are saved at once: embed them for `PATIENT` times as long.
        """
        from memory.write.backfill import AT_ONCE, Backfill

        settings = self._config.embedding
        policy = "lazy" if self.postponed else settings.fill
        if policy == "auto":
            policy = "eager" if self.embedders.local else "background"
        if policy == "background" and not self._lasting:
            policy = "lazy"
        beside = self._lasting and policy != "lazy" and self.embedders.enabled
        return Backfill(
            policy,
            beside,
            AT_ONCE if beside and not patient else inf,
            settings.fill_seconds * (PATIENT if patient else 1),
            settings.backfill_threshold,
            settings.batch_size,
            self._config.chunking.overlap,
            self.learning.stored,
        )

    def backfill_queued(self, queued: int) -> Backfilled | None:
        """
        Embed the queue in passing, during a search; None if it is longer than a search takes on. If a thread beside
        embeds it, a search takes on no more than a save would, unless nothing has a vector yet.

        Args:
            queued: How many chunks wait.
        """
        from memory.write.backfill import drain

        backfill = self.backfill_policy()
        if backfill.beside and queued > backfill.own and self.active() is not None:
            self._start()
            return Backfilled(left=queued, more=True, beside=True)
        if queued > backfill.threshold:
            return None
        return drain(self._store, self.embedders, backfill)

    def backfill_awaited(self, queued: int) -> Backfilled | None:
        """
        The same for a search that compares vectors in any case: it takes `embedding.fill_seconds`, and waits as long for what
        is being embedded at the moment.
        """
        from memory.write.backfill import drain_awaited

        backfill = self.backfill_policy()
        if queued > backfill.threshold:
            return self.backfill_queued(queued)
        return drain_awaited(self._store, self.embedders, backfill)

    def wake(self) -> None:
        """Go on, in a thread beside, with what waits for a vector (see `embedding.fill`), and with what to learn from."""
        backfill = self.backfill_policy()
        if (backfill.beside and self._store.queue.queued()) or (self._lasting and self.learning.on):
            self._start()

    def stay(self) -> None:
        """
        Go on with what waits now, and look from time to time what other programs leave: this one stays. A command does
        neither.
        """
        from memory.write.backfill import Looks

        if self._lasting and self._looks is None:
            self._looks = Looks(self._look, LOOK)
            self.wake()

    def used(self) -> None:
        """The same look in passing, if the last one was long ago: for a program of which it is not known that it stays."""
        if self._lasting and monotonic() >= self._next_look:
            self._next_look = monotonic() + LOOK
            self._look()

    def _look(self) -> None:
        from memory.write.backfill import left_alone, told

        with told("looked for"):
            if self.backfill_policy().beside and left_alone(self._store, self._now()):
                self._start()

    def saved(self, ids: Sequence[MemoryId]) -> None:
        """
        After saves: what waits is for the thread beside, if there is one, and so are strangers that are due.

        Args:
            ids: What was saved, of an import: it waits for `Maintenance.catch_up`.
        """
        from memory.write.strangers import acquaint, due

        if self.postponed:
            self.awaiting += ids
            return
        backfill = self.backfill_policy()
        strangers = backfill.policy == "eager" and self._given is None and due(self._store)
        if backfill.beside:
            if strangers or self._store.queue.queued() or self._store.vectors.unsigned():
                self._start()
        elif self._lasting and self._store.vectors.unsigned():
            self._start()
        elif self.embedders.enabled and strangers:
            acquaint(self._store, self.embedders)

    def acquaint(self) -> None:
        """
        Embed strangers if they are due and the model runs in this process: a search whose answer they judge waits for them,
        once a store.
        """
        from memory.write.strangers import acquaint, due

        if self._given is None and self.embedders.local and self.embedders.enabled and due(self._store):
            acquaint(self._store, self.embedders)

    def _start(self) -> None:
        from memory.write.backfill import Background

        with self._starting:
            self._background = self._background or Background(self._work)
        self._background.wake()

    def _work(self, going: Callable[[], bool]) -> None:
        from memory.write.backfill import IN_PASSING, drain, sign, told
        from memory.write.strangers import acquaint

        backfill = self.backfill_policy()
        if backfill.beside:
            batch = min(IN_PASSING, backfill.batch) if self.embedders.local else backfill.batch  # searches ask it too
            with told("embedded"):
                drain(self._store, self.embedders, backfill._replace(seconds=None, batch=batch), going=going)
        if self.embedders.enabled and self._given is None and going():  # a program's own may be dear: only if asked
            acquaint(self._store, self.embedders, going=going)
        sign(self._store, going)
        if going():
            self.learning.settle(whole=False, going=going)  # even without the model: then they are needed most
            self.make_words(going=going)

    def rest(self) -> None:
        """Stop background work after the current batch."""
        if self._looks is not None:
            self._looks.close()
        if self._background is not None:
            self._background.close()

    def close(self) -> None:
        """Stop background work, write what is not in the log yet, and hang up."""
        self.rest()
        self.learning.rest()
        if "embedders" in self.__dict__:
            self.embedders.close()

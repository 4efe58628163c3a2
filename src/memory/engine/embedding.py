"""What goes on beside the use of a memory: embedding what waits, and learning from what was embedded."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from memory.schema.errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from datetime import datetime

    from memory.config.config import Config
    from memory.embed import Embedder
    from memory.embed.pool import Embedders
    from memory.schema.backfill import Backfilled
    from memory.store import Learned, Store
    from memory.write.backfill import Backfill
    from memory.write.background import Background

LOOK = 20
"""Saves after which a lasting engine looks whether its term vectors are due: looking counts all vectors."""


class Beside:
    """Base of `memory.engine.maintenance.Care`."""

    config: Config
    _store: Store
    _key: str | None
    _given: Embedder | None
    _now: Callable[[], datetime]
    _lasting: bool
    _background: Background | None
    _saves = 0

    @cached_property
    def _embedders(self) -> Embedders:
        """Made at first use: a search that keywords answer has none."""
        from memory.embed.pool import Embedders

        return Embedders(self.config.embedding, self._store, given=self._given, key=self._key)

    def wake(self) -> None:
        """Go on, in a thread beside, with what waits for a vector (see `embedding.fill`), and learn what is due."""
        backfill = self._backfill()
        self._saves += LOOK
        if (backfill.policy == "background" and self._store.queued()) or (self._lasting and self._learns):
            self._start()

    def learn(self, *, anew: bool = False) -> Learned | None:
        """
        Learn what the words of this store mean to its model, so that fewer searches need the model (docs/ranking.md).

        Args:
            anew: Also if it is not due.

        Returns:
            How it went; None if it was not due, there is too little to learn from, or somebody else was faster.
        """
        return self._learned(lambda: True, anew=anew)

    def _learned(self, going: Callable[[], bool], *, anew: bool) -> Learned | None:
        from memory.search.term_vectors.learn import due, learn
        from memory.write.reindex import active

        generation = active(self._store)
        if generation is None or not (anew or due(self._store, generation.id)):
            return None
        return learn(self._store, generation.id, moment=self._now(), going=going)

    @property
    def _learns(self) -> bool:
        return self.config.search.distilled != "off"

    def _backfill(self) -> Backfill:
        """When what is kept is embedded, and for how long in passing."""
        from memory.write.backfill import Backfill

        settings = self.config.embedding
        policy = settings.fill
        if policy == "auto":
            policy = "eager" if self._embedders.local else "background"
        if policy == "background" and not self._lasting:
            policy = "lazy"
        overlap = self.config.chunking.overlap
        return Backfill(policy, settings.fill_seconds, settings.backfill_threshold, settings.batch_size, overlap)

    def _backfill_queued(self, queued: int) -> Backfilled | None:
        """Embed what waits in passing, while a search does; None if it is more than a search takes on."""
        from memory.write.backfill import drain

        backfill = self._backfill()
        if queued > backfill.threshold:
            return None
        return drain(self._store, self._embedders, backfill, moment=self._now())

    def _wake(self, backfill: Backfill, saved: int = 1) -> None:
        """Something was saved."""
        if not self._embedders.enabled:
            return
        self._saves += saved
        if backfill.policy == "background" or (self._lasting and self._learns and self._saves >= LOOK):
            self._start()

    def _start(self) -> None:
        from memory.write.background import Background

        if self._background is None:
            self._background = Background(self._work)
        self._background.wake()

    def _work(self, going: Callable[[], bool]) -> None:
        from memory.write.backfill import drain

        backfill = self._backfill()._replace(seconds=None)
        if backfill.policy == "background" and self._embedders.enabled:
            with told("embedded"):
                drain(self._store, self._embedders, backfill, moment=self._now(), going=going)
        if self._learns and self._saves >= LOOK and going():
            self._saves = 0
            with told("learned from"):  # also where the model is away: then it is needed most
                self._learned(going, anew=False)


@contextmanager
def told(done: str) -> Generator[None]:
    """Say in the log why something was not done: whoever searches next is told by the search itself."""
    try:
        yield
    except Error as error:
        import logging

        logging.getLogger("memory").info("what is kept was not %s: %s", done, error)

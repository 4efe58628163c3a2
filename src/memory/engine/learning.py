"""When term vectors learn from what is stored. What they fail to learn from is kept, and waits."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from memory.store import active

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.config.config import Config
    from memory.store import Store
    from memory.write.backfill import Background


class Learning:
    """
    Attributes:
        on: Whether anything is learned.
        begins: Whether term vectors begin with what the model makes of single words.
    """

    def __init__(self, store: Store, config: Config, *, lasting: bool) -> None:
        """
        Args:
            lasting: Whether this program stays: then a thread learns from what is saved.
        """
        self._store, self._lasting = store, lasting
        self.on = config.search.distilled != "off"
        self.begins = self.on and config.embedding.words != "never"
        self._background: Background | None = None
        self._starting = threading.Lock()

    def learn(
        self,
        generation: int | None = None,
        *,
        anew: bool = False,
        whole: bool = True,
        going: Callable[[], bool] = lambda: True,
    ) -> int:
        """
        See `memory.search.term_vectors.learn.learn`.

        Args:
            generation: None is the one that answers.
        """
        from memory.search.term_vectors.learn import learn

        if generation is None and (generation := self._answering()) is None:
            return 0
        return learn(self._store, generation, anew=anew, prior=self.begins, whole=whole, going=going)

    def settle(
        self,
        generation: int | None = None,
        *,
        anew: bool = False,
        whole: bool = True,
        going: Callable[[], bool] = lambda: True,
    ) -> None:
        """The same if anything is learned; if it fails, the log says why."""
        from memory.write.backfill import told

        if self.on:
            with told("learned from"):
                self.learn(generation, anew=anew, whole=whole, going=going)

    def stored(self, count: int) -> None:
        """
        After chunks got vectors, learn from those that wait, once they are enough: here, or in a thread if this program
        stays, so that no save waits for it. If that fails, the log says why.
        """
        from memory.search.term_vectors.learn import learn_stored, pending
        from memory.write.backfill import Background, told

        if not self.on:
            return
        with told("learned from"):
            if (generation := self._answering()) is None:
                return
            if not self._lasting:
                learn_stored(self._store, generation, count, prior=self.begins)
            elif pending(self._store, generation):
                with self._starting:
                    self._background = self._background or Background(self._work)
                self._background.wake()

    def _work(self, going: Callable[[], bool]) -> None:
        from memory.search.term_vectors.learn import PAGE, learn_stored
        from memory.write.backfill import told

        with told("learned from"):
            generation = self._answering()
            while generation and learn_stored(self._store, generation, PAGE, prior=self.begins, going=going):
                pass

    def _answering(self) -> int | None:
        generation = active(self._store.generations.every())
        return generation and generation.id

    def rest(self) -> None:
        """End the thread. If it had no time to learn from what is due, some of that is learned from here, if it has ended."""
        if self._background is not None:
            ended = self._background.close()
            self._lasting, self._background = False, None
            if ended:
                self.stored(0)

"""When term vectors learn from what is stored. What they fail to learn from is kept, and waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.config.config import Config
    from memory.search.term_vectors import HeldWords
    from memory.store import Store


class Learning:
    """
    Attributes:
        on: Whether anything is learned.
        begins: Whether term vectors begin with what the model makes of single words.
    """

    def __init__(self, store: Store, config: Config) -> None:
        self._store = store
        self.on = config.search.distilled != "off"
        self.begins = self.on and config.embedding.words != "never"
        self._words: HeldWords | None = None
        self._waits = False  # passages did for axes of the store's own after the last save

    def learn(
        self,
        generation: int,
        *,
        anew: bool = False,
        whole: bool = True,
        going: Callable[[], bool] = lambda: True,
    ) -> int:
        """See `memory.search.term_vectors.learn.learn`."""
        from memory.search.term_vectors.learn import learn

        return learn(self._store, generation, anew=anew, prior=self.begins, whole=whole, going=going)

    def prepare(self, generation: int) -> None:
        """Learn from a generation before it answers; if that fails, the log says why."""
        from memory.write.backfill import told

        if self.on:
            with told("learned from"):
                self.learn(generation)

    def stored(self, count: int, *, settle: bool) -> bool:
        """
        After chunks got vectors; see `memory.search.term_vectors.learn.learn_stored`.

        Args:
            settle: Whether nothing may wait. Otherwise it may until the next time: a busy program leaves a thread beside
                no time for it.

        Returns:
            Whether passages wait for axes of the store's own.
        """
        from memory.search.term_vectors import HeldWords
        from memory.search.term_vectors.learn import learn_stored
        from memory.write.backfill import told

        if not self.on:
            return False
        self._words = self._words or HeldWords(self._store, prior=self.begins)
        with told("learned from"):
            self._waits = learn_stored(self._store, count, self._words, settle=settle or self._waits)
        return self._waits

    def rest(self) -> None:
        """Learn from what waits still, a page at most, and let go of files."""
        if self._waits:
            from memory.search.term_vectors.learn import PAGE

            self.stored(PAGE, settle=True)
        self._words = None

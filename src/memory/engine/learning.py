"""When term vectors learn from what is stored. What they fail to learn from is kept, and waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.store import active

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.config.settings import SearchSettings
    from memory.store import Store
    from memory.write.backfill import Background


class Learning:
    """
    Attributes:
        on: Whether anything is learned.
        begins: Whether term vectors begin with what the model makes of single words.
    """

    def __init__(self, store: Store, settings: SearchSettings, *, lasting: bool) -> None:
        """
        Args:
            lasting: Whether this program stays: then a thread learns from what is saved.
        """
        self._store, self._lasting = store, lasting
        self.on = settings.distilled != "off"
        self.begins = self.on and settings.word_prior != "off"
        self._background: Background | None = None

    def learn(self, *, anew: bool = False, whole: bool = True, going: Callable[[], bool] = lambda: True) -> int:
        """See `memory.search.term_vectors.learn.learn`: in the generation that answers."""
        generation = active(self._store.generations.every())
        return 0 if generation is None else self._learn(generation.id, anew=anew, whole=whole, going=going)

    def _learn(
        self, generation: int, *, anew: bool = False, whole: bool = True, going: Callable[[], bool] = lambda: True
    ) -> int:
        from memory.search.term_vectors.learn import learn

        return learn(self._store, generation, anew=anew, prior=self.begins, whole=whole, going=going)

    def prepare(self, generation: int) -> None:
        """Learn from a generation before it answers; if that fails, the log says why."""
        from memory.write.backfill import told

        if self.on:
            with told("learned from"):
                self._learn(generation)

    def settle(self, *, anew: bool = False, whole: bool = True, going: Callable[[], bool] = lambda: True) -> None:
        """Learn from what waits, if anything is learned, as long as `going` says so; if that fails, the log says why."""
        from memory.write.backfill import told

        if self.on:
            with told("learned from"):
                self.learn(anew=anew, whole=whole, going=going)

    def stored(self, count: int) -> None:
        """
        After chunks got vectors, learn from those that wait, once they are enough: here, or in a thread if this program
        stays, so that no save waits for it. If that fails, the log says why.
        """
        from memory.search.term_vectors.learn import learn_stored, pending
        from memory.write.backfill import Background, told

        generation = active(self._store.generations.every()) if self.on else None
        if generation is None:
            return
        with told("learned from"):
            if not self._lasting:
                learn_stored(self._store, generation.id, count, prior=self.begins)
            elif pending(self._store, generation.id):
                self._background = self._background or Background(self._work)
                self._background.wake()

    def _work(self, going: Callable[[], bool]) -> None:
        from memory.search.term_vectors.learn import PAGE, learn_stored
        from memory.write.backfill import told

        with told("learned from"):
            generation = active(self._store.generations.every())
            while going() and generation and learn_stored(self._store, generation.id, PAGE, prior=self.begins):
                pass

    def rest(self) -> None:
        """End the thread. If it had no time to learn from what is due, some of that is learned from here."""
        if self._background is not None:
            self._background.close()
            self._lasting, self._background = False, None
            self.stored(0)

"""Background work of an engine, and what follows from new vectors: embedding the queue, learning, making signatures."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from memory.schema.errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from datetime import datetime

    from memory.config import Config
    from memory.schema.holder import Backfilled
    from memory.schema.memory import MemoryId
    from memory.store import Generation, Store
    from memory.vectors import Embedder
    from memory.vectors.backfill import Backfill
    from memory.vectors.registry import Embedders

LOOK = 60.0
"""Seconds after which a long-running program looks again for chunks that other processes have queued."""

FIRST, EVERY = 3, 200
"""
A long-running program checks after FIRST searches, and then after every EVERY searches, whether to build index files.
"""

ALL = 1 << 40
"""More chunks than any store has."""

PATIENT = 5
"""A save of many memories may embed this many times as long as a save of one."""

AT_THE_END = 0.5
"""Seconds that closing waits for other writers."""

PATIENCE = 2.0
"""Seconds that closing waits for the current batch."""

NICE = 5
"""
By how much the priority of a background thread is below its program's. Not the lowest: other writers wait for the
thread while it holds the write lock.
"""


def quiet(_done: int, _total: int) -> None: ...


@contextmanager
def told(task: str) -> Generator[None]:
    """Log an error raised inside instead of raising it: the next search reports it to its caller."""
    try:
        yield
    except Error as error:
        import logging

        logging.getLogger("memory").info("a task in the background failed (%s): %s", task, error)


class Background:
    """
    The part of `memory.engine.vectors.Vectors` that works in the background.

    A long-running program has a thread for it; a command does this work itself, after its own writes.
    """

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
        self._worker = Worker()
        self._looks: Looks | None = None
        self._next_look, self._next_round = monotonic() + LOOK, 0.0
        self._woken = self._outdated = self._embeds = self._rounds = False  # what the thread does besides learning
        self._searches = 0
        self.learns = config.search.distilled != "off"
        self.begins = self.learns and config.embedding.words != "never"
        self.postponed = False  # during an import, saves embed nothing
        self.awaiting: list[MemoryId] = []  # memories saved by the import
        self._met = False  # whether a save found the baseline complete

    @cached_property
    def embedders(self) -> Embedders:
        """The embedders of this engine. Made at first use: a search answered by keywords needs none."""
        from memory.vectors.registry import Embedders

        settings, given = self._config.embedding, self._given
        return Embedders(settings, self._store, embedder=given, key=self._key, now=self._now)

    def backfill_policy(self, *, patient: bool = False) -> Backfill:
        """
        How chunks are embedded, and for how long within a call.

        Args:
            patient: For many memories: embed in whole batches, for `PATIENT` times as long.
        """
        from memory.vectors.backfill import AT_ONCE, IN_PASSING, Backfill

        settings = self._config.embedding
        policy = "lazy" if self.postponed else settings.fill
        if policy == "auto":
            policy = "eager" if self.embedders.local else "background"
        if policy == "background" and not self._lasting:
            policy = "lazy"
        background = self._lasting and policy != "lazy" and self.embedders.enabled
        return Backfill(
            policy,
            background,
            AT_ONCE if background and not patient else inf,
            settings.fill_seconds * (PATIENT if patient else 1),
            settings.backfill_threshold,
            settings.batch_size if patient else min(IN_PASSING, settings.batch_size),
            self._config.chunking.overlap,
            self.stored,
        )

    # What follows from vectors ---------------------------------------------

    def learn(self, *, anew: bool = False, whole: bool = True, going: Callable[[], bool] = lambda: True) -> int:
        """
        Learn term vectors from the model's vectors, so that fewer searches call the model (docs/ranking.md).

        Args:
            anew: Discard the term vectors and learn from all passages.
            whole: Learn even from a few new passages, for which saves would not learn.
            going: Called between pages; False stops.

        Returns:
            Number of passages learned from.
        """
        from memory.vectors.term_vectors.learn import learn

        if (generation := self._store.generations.active()) is None:
            return 0
        return learn(self._store, generation.id, anew=anew, prior=self.begins, whole=whole, going=going)

    def try_learning(self, *, anew: bool = False, whole: bool = True, going: Callable[[], bool] = lambda: True) -> None:
        """Call `learn` if this store learns at all; log a failure."""
        if self.learns:
            with told("learning term vectors"):
                self.learn(anew=anew, whole=whole, going=going)

    def stored(self, count: int) -> None:
        """Learn after `count` chunks got vectors: in the thread of a long-running program, else here."""
        if self.learns and self._lasting:
            self._start(embeds=False)
        else:
            self._met = _has_baseline(self._learn_waiting(count))

    def _learn_waiting(self, count: int, **how: Any) -> Generation | None:
        """
        Learn from pending chunks, once there are enough.

        Args:
            how: See `memory.vectors.term_vectors.learn.learn_stored`.

        Returns:
            The active index version.
        """
        generation = None
        with told("learning term vectors"):
            generation = self._store.generations.active()
            if self.learns and generation is not None:
                from memory.vectors.term_vectors.learn import learn_stored
                from memory.vectors.words import word_vectors

                words = partial(word_vectors, self._store.path, generation) if self.begins else lambda: None
                learn_stored(self._store, generation.id, count, words, **how)
        return generation

    def make_words(
        self,
        progress: Callable[[int, int], None] = quiet,
        *,
        going: Callable[[], bool] = lambda: True,
        few: bool = False,
    ) -> None:
        """
        Make the word vectors with which term vectors begin, once for each model, and use them; log a failure.

        Args:
            few: See `memory.vectors.words.make_words`.
        """
        from memory.vectors.words import make_words

        if self.begins:
            with told("learning word vectors"):
                make_words(self._store, self.embedders, progress=progress, going=going, few=few)
                self.learn(whole=False, going=going)

    def renew_baseline(self) -> None:
        """
        Embed the baseline questions if they are due and the model runs in this process. A search that needs them waits
        for this, once for each store.
        """
        if self._given is None and self.embedders.local and self.embedders.enabled:
            self._renew_baseline()

    def _renew_baseline(self, **how: Any) -> None:
        """Embed the baseline questions if they are due, see `memory.vectors.baseline.renew_baseline`; log a failure."""
        from memory.vectors.baseline import renew_baseline

        with told("comparing with unrelated texts"):
            renew_baseline(self._store, self.embedders, **how)

    def _sign(self, going: Callable[[], bool] = lambda: True) -> None:
        """Make signatures of the vectors in a store large enough for them; log a failure."""
        with told("signatures"):
            self._store.vectors.sign(going)

    # Called by saves and searches --------------------------------------------

    def backfill_queued(self, queued: int) -> Backfilled | None:
        """
        Embed the queue during a search; None if it is longer than a search may embed. If a background thread embeds it,
        a search embeds no more than a save would, unless the store has no vectors yet.

        Args:
            queued: Number of waiting chunks.
        """
        from memory.schema.holder import Backfilled
        from memory.vectors.backfill import drain

        backfill = self.backfill_policy()
        if backfill.background and queued > backfill.own and self._store.generations.active() is not None:
            self._start()
            return Backfilled(left=queued, more=True, background=True)
        if queued > backfill.threshold:
            return None
        return drain(self._store, self.embedders, backfill)

    def backfill_awaited(self, queued: int) -> Backfilled | None:
        """
        Embed the queue for a search that compares vectors in any case: for up to `embedding.fill_seconds`, and wait as
        long for chunks that are being embedded.
        """
        from memory.vectors.backfill import drain_awaited

        backfill = self.backfill_policy()
        if queued > backfill.threshold:
            return self.backfill_queued(queued)
        return drain_awaited(self._store, self.embedders, backfill)

    def saved(self, ids: Sequence[MemoryId], *, embeds: bool = True) -> None:
        """
        Do what follows from saves: wake the background thread if there is one, else embed baseline questions that are
            due.

        Args:
            ids: The saved memories; those of an import wait for `Maintenance.catch_up`.
            embeds: Whether some of their chunks may wait for vectors.
        """
        if self.postponed:
            self.awaiting += ids
            return
        backfill = self.backfill_policy()
        if backfill.background or (self._lasting and self._store.vectors.unsigned()):
            import memory.vectors.term_vectors.learn  # noqa: F401  # the thread would take as long as some saves for it

            now = monotonic()
            if whole := embeds or not backfill.background or now >= self._next_round:
                self._next_round = now + LOOK
            self._start(embeds=whole, rounds=whole)
        elif self.embedders.enabled and backfill.policy == "eager" and self._given is None and not self._met:
            self._renew_baseline()

    def searched(self) -> None:
        """
        Do what follows from a search in a long-running program: look for queued chunks if the last look was long ago,
        and sometimes whether to build index files beside the database.
        """
        if monotonic() >= self._next_look:
            self._next_look = monotonic() + LOOK
            self._look()
        self._searches += 1
        if self._searches % EVERY == FIRST and self._store.outdated():
            self._outdated = True
            self._start(embeds=False)

    # The thread --------------------------------------------------------------

    def wake(self) -> None:
        """Embed waiting chunks (see `embedding.fill`) and learn from pending ones, in the background thread."""
        backfill = self.backfill_policy()
        if (backfill.background and self._store.queue.queued()) or (self._lasting and self.learns):
            self._woken = True
            self._start()

    def stay(self) -> None:
        """
        Start the background work of a long-running program: embed what waits now, and look regularly for chunks that
        other processes have queued. A command does neither.
        """
        if self._lasting and self._looks is None:
            self._looks = Looks(self._look, LOOK)
            self.wake()

    def _look(self) -> None:
        from memory.vectors.backfill import left_alone

        with told("looking for missing vectors"):
            if self.backfill_policy().background and left_alone(self._store, self._now()):
                self._start()

    def _start(self, *, embeds: bool = True, rounds: bool = True) -> None:
        """
        Args:
            embeds: Embed waiting chunks too.
            rounds: Renew baseline questions and signatures too; few saves make these due.
        """
        self._embeds, self._rounds = self._embeds or embeds, self._rounds or rounds
        self._worker.wake(self._work)

    def _work(self, going: Callable[[], bool]) -> None:
        """Do all pending work; log a failure."""
        with told("a reindex"):
            # small batches for a local model, which searches use in between
            store, backfill = self._store, self.backfill_policy(patient=not self.embedders.local)
            woken, self._woken = self._woken, False
            embeds, self._embeds = self._embeds, False
            rounds, self._rounds = self._rounds, False

            def short_done() -> bool:
                """Learn from what was saved meanwhile, because a step may take seconds; return whether to continue."""
                self._do_short(going)
                return going()

            generation = self._do_short(going)
            if not going() or (_has_baseline(generation) and not rounds):
                return
            if embeds and backfill.background and store.queue.queued():
                from memory.vectors.backfill import drain

                def learn(_count: int) -> None:
                    self._do_short(going)

                woken = True
                backfill = backfill._replace(seconds=None, learn=learn)
                with told("embedding"):
                    drain(store, self.embedders, backfill, going=going)
            own = self._given is None and (woken or backfill.policy != "lazy")  # it may cost money
            if own and self.embedders.enabled and going():
                self._renew_baseline(going=short_done)
            if (woken or store.vectors.unsigned()) and short_done():
                self._sign(short_done)
            if woken and going():
                self.try_learning(whole=False, going=going)  # also without the model, when term vectors matter most
                self.make_words(going=going, few=True)

    def _do_short(self, going: Callable[[], bool]) -> Generation | None:
        """Work that is done between the steps of a task that takes minutes; see `_learn_waiting`."""
        if self._outdated and going():
            self._outdated = False
            with told("files beside the database"):
                self._store.derive()
        return self._learn_waiting(ALL, going=going) if going() else None

    def rest(self) -> bool:
        """Stop background work after the current batch. Returns whether there was some and it has ended."""
        if self._looks is not None:
            self._looks.close()
        return self._worker.close()

    def close(self) -> None:
        """
        Stop background work, write pending usage entries, and close connections. If the thread had no time to learn
        from pending chunks, learn from some here, unless another process is writing.
        """
        if self.rest():
            self._learn_waiting(0, patience=AT_THE_END)
        if "embedders" in self.__dict__:
            self.embedders.close()


def _has_baseline(generation: Generation | None) -> bool:
    """
    Whether the baseline of an index version is current and exact, as it is at most saves: no nearest vector was
    deleted.
    """
    from memory.vectors.baseline import STAMP

    known = None if generation is None else generation.strangers
    return known is not None and known.stamp == STAMP and not known.loose


# Threads ----------------------------------------------------------------------


class Worker:
    """At most one thread, which lives only as long as there is work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._begun = self._again = self._closed = False
        self._process = os.getpid()

    def wake(self, work: Callable[[Callable[[], bool]], None]) -> None:
        """
        Start or continue the thread, because there is work.

        Args:
            work: Does all pending work, and asks before each step whether to continue. Must not raise. The thread alone
                refers to it, so that the owner of this object is freed without a garbage collection.
        """
        with self._lock:
            self._begun = self._again = True
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._loop, args=(work,), name="memory-fill", daemon=True)
                self._thread.start()

    def close(self) -> bool:
        """
        Stop after the current batch; the rest waits for another process. Returns whether there was a thread and it has
        ended.
        """
        if self._process != os.getpid():
            return self._begun  # a forked child inherits the lock, but no thread
        with self._lock:
            self._closed = True
            thread = self._thread
        if thread is not None:
            thread.join(PATIENCE)
        return self._begun and (thread is None or not thread.is_alive())

    def _loop(self, work: Callable[[Callable[[], bool]], None]) -> None:
        _step_back()
        while True:
            with self._lock:
                if not self._again or self._closed:
                    self._thread = None
                    return
                self._again = False
            try:
                work(lambda: not self._closed)
            except BaseException:
                with self._lock:  # after any error, the next `wake` starts a new thread
                    self._thread = None
                raise


def _step_back() -> None:
    """Lower the priority of this thread and of threads it starts, on systems where threads have priorities of their own."""
    if sys.platform == "linux":
        import numpy as np  # noqa: F401  # its threads serve all callers and inherit the priority of the first importer

        with suppress(OSError):  # a sandbox may forbid it
            os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + NICE)  # 0 is this thread


class Looks:
    """A thread that calls a function at intervals."""

    def __init__(self, look: Callable[[], None], every: float) -> None:
        """
        Args:
            look: The function; must not raise.
            every: Seconds between two calls.
        """
        self._look, self._every, self._closed = look, every, threading.Event()
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._loop, name="memory-look", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop, and wait for a running call."""
        if self._process == os.getpid():  # a forked child has no such thread
            self._closed.set()
            self._thread.join(PATIENCE)

    def _loop(self) -> None:
        while not self._closed.wait(self._every):
            self._look()

"""What a program does beside its callers, and what follows from new vectors: embedding what waits, learning, signing."""

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

    from memory.config.config import Config
    from memory.schema.holder import Backfilled
    from memory.schema.memory import MemoryId
    from memory.store import Generation, Store
    from memory.vectors import Embedder
    from memory.vectors.backfill import Backfill
    from memory.vectors.registry import Embedders

LOOK = 60.0
"""Seconds between two looks of a program that stays at what others left in the queue."""

FIRST, EVERY = 3, 200
"""After so many searches, and after each so many further ones, it is looked at whether something is to be made."""

ALL = 1 << 40
"""More chunks than any store has."""

PATIENT = 5
"""A save of many memories waits for their vectors this many times as long as a save of one."""

AT_THE_END = 0.5
"""Seconds that closing waits for others that write."""

PATIENCE = 2.0
"""Seconds that closing waits for the current batch."""

NICE = 5
"""
How much lower than its program's the priority of a thread in the background is. Not the lowest: it holds the write lock
now and then, and other writers wait for it.
"""


def quiet(_done: int, _total: int) -> None: ...


@contextmanager
def told(done: str) -> Generator[None]:
    """Log why something was not done, without raising: the next search tells its caller itself."""
    try:
        yield
    except Error as error:
        import logging

        logging.getLogger("memory").info("what is kept was not %s: %s", done, error)


class Background:
    """
    The side of `memory.engine.vectors.Vectors` that works without being asked.

    A program that stays has a thread for it; what follows from vectors that a command stored is done in the command.
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
        self._woken = self._outdated = self._embeds = self._rounds = False  # what the thread is to do beside learning
        self._searches = 0
        self.learns = config.search.distilled != "off"
        self.begins = self.learns and config.embedding.words != "never"
        self.postponed = False  # True: what is saved waits for its vectors, whatever the settings say
        self.awaiting: list[MemoryId] = []  # what was saved meanwhile
        self._met = False  # whether the baseline was whole when a save last learned

    @cached_property
    def embedders(self) -> Embedders:
        """Made at first use: a search that keywords answer needs none."""
        from memory.vectors.registry import Embedders

        settings, given = self._config.embedding, self._given
        return Embedders(settings, self._store, embedder=given, key=self._key, now=self._now)

    def backfill_policy(self, *, patient: bool = False) -> Backfill:
        """
        How saved memories are embedded, and for how long in passing.

        Args:
            patient: Many are embedded at once, whole batches for `PATIENT` times as long.
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
            anew: Learn from all passages again, not only from new ones.
            whole: Learn even from a few new passages, for which saves would not learn.
            going: Called from time to time; False stops.

        Returns:
            Number of passages learned from.
        """
        from memory.vectors.term_vectors.learn import learn

        if (generation := self._store.generations.active()) is None:
            return 0
        return learn(self._store, generation.id, anew=anew, prior=self.begins, whole=whole, going=going)

    def try_learning(self, *, anew: bool = False, whole: bool = True, going: Callable[[], bool] = lambda: True) -> None:
        """`learn`, if this store learns at all; if it fails, the log says why."""
        if self.learns:
            with told("learned from"):
                self.learn(anew=anew, whole=whole, going=going)

    def stored(self, count: int) -> None:
        """After so many chunks got vectors, learn from those that wait: in the thread, if this program stays, else here."""
        if self.learns and self._lasting:
            self._start(embeds=False)
        else:
            self._met = _has_baseline(self._learn_waiting(count))

    def _learn_waiting(self, count: int, **how: Any) -> Generation | None:
        """
        Learn from chunks that wait, once they are enough.

        Args:
            how: See `memory.vectors.term_vectors.learn.learn_stored`.

        Returns:
            The generation that answers.
        """
        generation = None
        with told("learned from"):
            generation = self._store.generations.active()
            if self.learns and generation is not None:
                from memory.vectors.term_vectors.learn import learn_stored
                from memory.vectors.words import word_vectors

                words = partial(word_vectors, self._store.path, generation) if self.begins else lambda: None
                learn_stored(self._store, generation.id, count, words, **how)
        return generation

    def make_words(
        self, progress: Callable[[int, int], None] = quiet, *, going: Callable[[], bool] = lambda: True
    ) -> None:
        """Make what term vectors begin with, once a model, and begin with it; if that fails, the log says why."""
        from memory.vectors.word_list import make_words

        if self.begins:
            with told("learned with word vectors"):
                make_words(self._store, self.embedders, progress=progress, going=going)
                self.learn(whole=False, going=going)

    def renew_baseline(self) -> None:
        """
        Embed strangers if they are due and the model runs in this process: a search whose answer they judge waits for them,
        once a store.
        """
        if self._given is None and self.embedders.local and self.embedders.enabled:
            self._renew_baseline()

    def _renew_baseline(self, **how: Any) -> None:
        """Embed strangers if they are due, see `memory.vectors.baseline.renew_baseline`; if that fails, the log says why."""
        from memory.vectors.baseline import renew_baseline

        with told("compared with strangers"):
            renew_baseline(self._store, self.embedders, **how)

    def _sign(self, going: Callable[[], bool] = lambda: True) -> None:
        """Make signatures of the vectors, where they pay; the log says why if that fails."""
        with told("signed"):
            self._store.vectors.sign(going)

    # What is asked of callers ------------------------------------------------

    def backfill_queued(self, queued: int) -> Backfilled | None:
        """
        Embed the queue in passing, during a search; None if it is longer than a search takes on. If a thread beside
        embeds it, a search takes on no more than a save would, unless nothing has a vector yet.

        Args:
            queued: How many chunks wait.
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
        The same for a search that compares vectors in any case: it takes `embedding.fill_seconds`, and waits as long for what
        is being embedded at the moment.
        """
        from memory.vectors.backfill import drain_awaited

        backfill = self.backfill_policy()
        if queued > backfill.threshold:
            return self.backfill_queued(queued)
        return drain_awaited(self._store, self.embedders, backfill)

    def saved(self, ids: Sequence[MemoryId], *, embeds: bool = True) -> None:
        """
        After saves: the thread beside does what follows, if there is one; if not, strangers that are due are embedded here.

        Args:
            ids: What was saved, of an import: it waits for `Maintenance.catch_up`.
            embeds: Whether something of it may wait for its vector.
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
        After a search, in a program that may stay: the same look, if the last one was long ago, and seldom one whether what
        makes searches quicker is to be made beside the database.
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
        """Go on, in a thread beside, with what waits for a vector (see `embedding.fill`), and with what to learn from."""
        backfill = self.backfill_policy()
        if (backfill.background and self._store.queue.queued()) or (self._lasting and self.learns):
            self._woken = True
            self._start()

    def stay(self) -> None:
        """
        Go on with what waits now, and look from time to time what other programs leave: this one stays. A command does
        neither.
        """
        if self._lasting and self._looks is None:
            self._looks = Looks(self._look, LOOK)
            self.wake()

    def _look(self) -> None:
        from memory.vectors.backfill import left_alone

        with told("looked for"):
            if self.backfill_policy().background and left_alone(self._store, self._now()):
                self._start()

    def _start(self, *, embeds: bool = True, rounds: bool = True) -> None:
        """
        Args:
            embeds: Also what waits for a vector is embedded.
            rounds: Also strangers and signatures are looked after, which few saves make due.
        """
        self._embeds, self._rounds = self._embeds or embeds, self._rounds or rounds
        self._worker.wake(self._work)

    def _work(self, going: Callable[[], bool]) -> None:
        """Do what waits; if that fails, the log says why."""
        with told("gone on with"):
            store, backfill = self._store, self.backfill_policy(patient=not self.embedders.local)  # searches ask it too
            woken, self._woken = self._woken, False
            embeds, self._embeds = self._embeds, False
            rounds, self._rounds = self._rounds, False

            def short_done() -> bool:
                """Whether to go on, once what was saved meanwhile is learned from: a step may take seconds."""
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
                with told("embedded"):
                    drain(store, self.embedders, backfill, going=going)
            own = self._given is None and (woken or backfill.policy != "lazy")  # a program's may be dear: only if asked
            if own and self.embedders.enabled and going():
                self._renew_baseline(going=short_done)
            if (woken or store.vectors.unsigned()) and short_done():
                self._sign(short_done)
            if woken and going():
                self.try_learning(whole=False, going=going)  # even without the model: then they are needed most
                self.make_words(going=going)

    def _do_short(self, going: Callable[[], bool]) -> Generation | None:
        """What does not wait until a step of the thread that takes minutes is done; see `_learn_waiting`."""
        if self._outdated and going():
            self._outdated = False
            with told("put into files beside the database"):
                self._store.derive()
        return self._learn_waiting(ALL, going=going) if going() else None

    def rest(self) -> bool:
        """Stop background work after the current batch. Whether there was some, and it has ended."""
        if self._looks is not None:
            self._looks.close()
        return self._worker.close()

    def close(self) -> None:
        """
        Stop background work, write what is not in the log yet, and hang up. If the thread had no time to learn from what is
        due, some of that is learned from here, unless somebody else is writing: then it stays pending.
        """
        if self.rest():
            self._learn_waiting(0, patience=AT_THE_END)
        if "embedders" in self.__dict__:
            self.embedders.close()


def _has_baseline(generation: Generation | None) -> bool:
    """Whether its strangers are those of today, and none lost the vector that was nearest to it: so it is at most saves."""
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
            work: Does all pending work, and asks before each step whether to continue. Must not raise. Always the same: it is
                not kept longer than the thread, so that whoever has this object can be freed without a collection.
        """
        with self._lock:
            self._begun = self._again = True
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._loop, args=(work,), name="memory-fill", daemon=True)
                self._thread.start()

    def close(self) -> bool:
        """Stop after the current batch; the rest waits for another process. Whether there was a thread, and it has ended."""
        if self._process != os.getpid():
            return self._begun  # a forked child has its parent's lock, but not its thread
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
                with self._lock:  # whatever it was, the next `wake` gets a new thread
                    self._thread = None
                raise


def _step_back() -> None:
    """Let this thread and those it starts run below the priority of the program, where a thread has one of its own."""
    if sys.platform == "linux":
        import numpy as np  # noqa: F401  # its threads serve all callers and inherit the priority of the first importer

        with suppress(OSError):  # a sandbox may forbid it
            os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + NICE)  # 0 is this thread


class Looks:
    """A thread that looks from time to time whether there is something to do."""

    def __init__(self, look: Callable[[], None], every: float) -> None:
        """
        Args:
            look: Must not raise.
            every: Seconds from one look to the next.
        """
        self._look, self._every, self._closed = look, every, threading.Event()
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._loop, name="memory-look", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop; wait for a look that is under way."""
        if self._process == os.getpid():  # a forked child has no such thread
            self._closed.set()
            self._thread.join(PATIENCE)

    def _loop(self) -> None:
        while not self._closed.wait(self._every):
            self._look()

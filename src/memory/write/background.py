"""A thread that embeds the queue while the program continues."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 2.0  # seconds that closing waits for the current batch


class Background:
    """At most one thread, which lives only as long as there is work."""

    def __init__(self, work: Callable[[Callable[[], bool]], None]) -> None:
        """
        Args:
            work: Does all pending work, and asks before each step whether to continue. Must not raise.
        """
        self._work = work
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._again = self._closed = False
        self._process = os.getpid()

    def wake(self) -> None:
        """Start or continue the thread, because there is work."""
        with self._lock:
            self._again = True
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._loop, name="memory-fill", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop after the current batch; the rest waits for another process."""
        if self._process != os.getpid():
            return  # a forked child has its parent's lock, but not its thread
        with self._lock:
            self._closed = True
            thread = self._thread
        if thread is not None:
            thread.join(PATIENCE)

    def _loop(self) -> None:
        while True:
            with self._lock:
                if not self._again or self._closed:
                    self._thread = None
                    return
                self._again = False
            try:
                self._work(lambda: not self._closed)
            except BaseException:
                with self._lock:  # whatever it was, the next `wake` gets a new thread
                    self._thread = None
                raise

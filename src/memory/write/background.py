"""A thread that embeds what waits, while the program goes on."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 2.0  # seconds that closing waits for a batch that was begun


class Background:
    """One thread at most, there only as long as there is work."""

    def __init__(self, work: Callable[[Callable[[], bool]], None]) -> None:
        """
        Args:
            work: Does what there is to do, and asks before each step whether to go on. It does not raise.
        """
        self._work = work
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._again = self._closed = False
        self._process = os.getpid()

    def wake(self) -> None:
        """There is something to do."""
        with self._lock:
            self._again = True
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._loop, name="memory-fill", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop after the batch at hand; what is left waits for another process."""
        if self._process != os.getpid():
            return  # a child has no thread of its parent's, but perhaps its lock
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
                with self._lock:  # whatever it was, the next one to wake it gets a new thread
                    self._thread = None
                raise

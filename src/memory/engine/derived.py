"""What stands beside the database to make searches quicker: made by programs that stay, once they search."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.store import Store
    from memory.write.backfill import Background

FIRST, EVERY = 3, 200
"""After so many searches, and after each so many further ones, it is looked at whether something is to be made."""


class Derived:
    """Makes it in a thread of its own, so that no search waits."""

    def __init__(self, store: Store) -> None:
        self._store, self._searches = store, 0
        self._background: Background | None = None

    def searched(self) -> None:
        """A search was answered."""
        self._searches += 1
        if self._searches % EVERY == FIRST and self._store.outdated():
            from memory.write.backfill import Background

            self._background = self._background or Background(self._derive)
            self._background.wake()

    def _derive(self, _going: Callable[[], bool]) -> None:
        from memory.write.backfill import told

        with told("put into files beside the database"):
            self._store.derive()

    def close(self) -> None:
        """Wait for what is being made; what was not begun is left to another process."""
        if self._background is not None:
            self._background.close()

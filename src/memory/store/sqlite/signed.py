"""The vectors of a large generation: most in a file, as signatures, and those that are newer in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memory.store.sqlite.held import LARGE_SHARE, Owned, VectorTable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from memory.schema.space import Vectors
    from memory.store.sqlite.held import Added, Inside
    from memory.store.sqlite.signatures import Signatures


class Signed(NamedTuple):
    """Vectors in a file, and those that are newer in memory: what `VectorTable` is to a small generation."""

    file: Signatures
    newer: VectorTable

    @property
    def alive(self) -> int:
        return self.file.alive + self.newer.alive

    @property
    def gone(self) -> int:
        return self.newer.gone

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return self.newer.size

    @property
    def last(self) -> int:
        return max(self.file.last, self.newer.last)

    def without(self, chunks: Collection[int]) -> Signed:
        return Signed(self.file.without(chunks), self.newer.without(chunks))

    def plus(self, added: Added) -> Signed:
        return self._replace(newer=self.newer.plus(added))

    def nearest(self, vector: bytes, count: int, inside: Inside | None) -> NDArray[np.int64] | None:
        """See `VectorTable.nearest`; nearly the most similar."""
        if inside is not None and count * LARGE_SHARE >= len(inside):
            return None  # the database compares them exactly, in less time than it takes to find their rows
        among = None if inside is None else self.file.owned(np.sort(inside))
        if count * LARGE_SHARE >= (self.alive if among is None else len(among)):
            return None
        return np.concatenate((self.file.nearest(vector, count, among), self.newer.first(vector, count, inside)))

    def rows_of(self, chunks: Sequence[int], read: Callable[[NDArray[np.int64]], Vectors]) -> Owned:
        """
        The rows of some chunks.

        Args:
            read: The vectors of these rows of the file.
        """
        file, newer, rows = self.file, self.newer.rows_of(chunks), self.file.order.of(chunks)
        if file.there is not None:
            rows = rows[file.there[rows]]
        return Owned(
            np.concatenate((file.chunks[rows], newer.chunks)),
            np.concatenate((file.memories[rows], newer.memories)),
            np.concatenate((read(rows), newer.rows)),
        )

    def memory_similarities(self, _vector: bytes, _memories: Sequence[int]) -> None:
        """The database knows them exactly."""
        return

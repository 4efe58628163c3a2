"""Where vectors of chunks are kept that are not embedded to their end: a part of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from memory.schema.memory import ChunkId
    from memory.schema.space import Vectors


class Begun(Protocol):
    """
    The first windows of chunks that have too many to be embedded at once. They answer no search: a chunk has the
    vectors of all its windows, or none. They go with the chunk, with the generation, and when `Store.set_vectors` gives the chunk
    its vectors.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def vectors(self, generation: int, chunk: ChunkId, stamp: int) -> Vectors | None:
        """
        What is there so far, shape (windows, dimension), in their order; None if that is nothing.

        Args:
            stamp: Of the text that is embedded: what is there of another does not count.
        """
        ...

    def add(self, generation: int, chunk: ChunkId, stamp: int, first: int, vectors: Vectors) -> bool:
        """
        Keep the vectors of further windows. What is there of another text goes.

        Args:
            first: Number of the first window, from 0.

        Returns:
            Whether they are kept: not if the generation or the chunk is gone, or if `first` is not how many are there,
            for then somebody else goes on with it.
        """
        ...

"""Chunks that wait for a vector: a part of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memory.schema.memory import ChunkId, Excerpt, MemoryId
    from memory.schema.space import Vectors
    from memory.store.values import Claim, Waiting


class Queue(Protocol):
    """
    Chunks that wait for a vector in the active generation, who embeds them at the moment, and the first windows of chunks
    that have too many to be embedded at once. Those answer no search: a chunk has the vectors of all its windows, or none.
    They go with the chunk, with the generation, and when `VectorIndex.set_vectors` gives the chunk its vectors.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def queued(self) -> int:
        """How many chunks are in the queue."""
        ...

    def claim(
        self, limit: int, tried_before: datetime | None = None, *, now: datetime, until: datetime, by: str
    ) -> Sequence[Excerpt]:
        """
        Chunks in the queue that nobody claims `now`, those with the fewest failures first, of these the lowest id. They
        are claimed `until` then, so that two who backfill do not both embed them; a vector, a failure or `release` ends
        a claim.

        Args:
            tried_before: Leaves out those that failed at this moment or later; None takes only those never tried.
            by: Who claims them, as `claims` says it again.
        """
        ...

    def claims(self, now: datetime) -> Sequence[Claim]:
        """What is claimed `now`: a line for each holder, in their order; the nameless one, of a former version, first."""
        ...

    def release(self, ids: Sequence[ChunkId] = (), *, by: Sequence[str] = ()) -> None:
        """Give up the claims of some chunks, and all claims of some holders; others are skipped."""
        ...

    def failed(self, ids: Sequence[ChunkId], error: str, moment: datetime) -> None:
        """Note on queued chunks that embedding them failed; others are skipped."""
        ...

    def unembedded(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Waiting]:
        """Of these memories those that have a chunk in the queue."""
        ...

    def failures(self, limit: int) -> Sequence[Waiting]:
        """Memories with a chunk whose embedding failed, the latest failure first, of those at one moment the lowest id."""
        ...

    def begun(self, generation: int, chunk: ChunkId, stamp: int) -> Vectors | None:
        """
        The vectors that are there so far of a chunk that is not embedded to its end, shape (windows, dimension), in their order; None if that is nothing.

        Args:
            stamp: Of the text that is embedded: what is there of another does not count.
        """
        ...

    def add_begun(self, generation: int, chunk: ChunkId, stamp: int, vectors: Vectors, *, first: int) -> bool:
        """
        Keep the vectors of further windows. What is there of another text goes.

        Args:
            first: Number of the first window, from 0.

        Returns:
            Whether they are kept: not if the generation or the chunk is gone, or if `first` is not how many are there,
            for then somebody else goes on with it.
        """
        ...

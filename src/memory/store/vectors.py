"""Where the vectors of chunks are kept and compared: a part of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.answer import Ranking
    from memory.schema.memory import ChunkId, Excerpt, MemoryId
    from memory.schema.query import Scope
    from memory.schema.space import Vectors, Window


class VectorIndex(Protocol):
    """
    The vectors of chunks, in generations. A generation that is gone is NotFound, where nothing else is said.

    A chunk either has a vector in the active generation or is queued, unless its memory is found by keyword only: then it
    has neither, in no generation.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def embedded_count(self, generation: int) -> int:
        """How many chunks have a vector in it; 0 if it is gone."""
        ...

    def pending(self, generation: int, after: ChunkId, limit: int) -> Sequence[Excerpt]:
        """Chunks without a vector in the generation whose id is above `after`, lowest first."""
        ...

    def set_vectors(self, generation: int, vectors: Vectors, windows: Sequence[Window]) -> int:
        """
        Add vectors, shape (n, dimension), in place of those their chunks had. Chunks that are gone are skipped.
        In the active generation this takes chunks off the queue.

        Returns:
            How many chunks got vectors; 0 if the generation is gone.
        """
        ...

    def clear(self, generation: int, ids: Sequence[ChunkId] | None = None) -> None:
        """
        Take all vectors of a generation away, its fingerprint and its term vectors; of the active one, queue all chunks.

        Args:
            ids: Only the vectors of these chunks; fingerprint and term vectors stay.
        """
        ...

    def by_vector(self, generation: int, vector: Vectors, scope: Scope, k: int) -> Ranking:
        """
        The k most similar chunks in scope, exactly: scope narrows before k counts, any k. A chunk's best window counts.

        Args:
            vector: Shape (dimension,), length 1.
        """
        ...

    def memory_similarities(self, generation: int, vector: Vectors, scope: Scope) -> Mapping[MemoryId, float]:
        """
        Cosine of each memory in scope with `vector`, by its most similar window, up to 1e-5; what has no vector is left
        out.
        """
        ...

    def cosines(
        self, generation: int, vector: Vectors, other: Vectors, ids: Sequence[ChunkId]
    ) -> Mapping[ChunkId, tuple[float, float]]:
        """Cosine of each chunk's window that is most similar to `vector`: with it, and with `other`."""
        ...

    def centre(self, generation: int) -> tuple[Vectors, int]:
        """The sum of all vectors of a generation, shape (dimension,), float64, and how many there are."""
        ...

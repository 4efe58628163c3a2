"""Where the vectors of chunks are kept and compared: a part of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memory.store.values import State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memory.schema.answer import Ranking
    from memory.schema.memory import ChunkId, Excerpt, MemoryId
    from memory.schema.query import Scope
    from memory.schema.space import Space, Vectors, Window
    from memory.store.values import Generation


class VectorIndex(Protocol):
    """
    Generations of vectors. At most one is active: it answers. One that is gone is NotFound, where nothing else is said.

    A chunk either has a vector in the active generation or is queued, unless its memory is found by keyword only: then it
    has neither, in no generation.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def generations(self) -> Sequence[Generation]:
        """Oldest first."""
        ...

    def embedded_count(self, generation: int) -> int:
        """How many chunks have a vector in it; 0 if it is gone."""
        ...

    def begin(self, space: Space, moment: datetime) -> Generation:
        """
        The living (active, else building) generation of a space, made if there is none: active if no other is,
        else building. Only one is being built: another that was begun is dropped. A retired generation of the
        space, the latest, is taken up again with its vectors and its fingerprint instead of making one.
        """
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

    def activate(self, generation: int, *, instead_of: int | None, former: State = State.RETIRED) -> bool:
        """
        Let a generation answer, if the active one is still the one named (compare and set).

        Chunks that have no vector in it are queued; what failed for another generation has not failed for this.
        To activate the active one changes nothing.

        Args:
            former: What becomes of the one that answered until now: RETIRED, or BUILDING, so that it can be taken
                up again; another that was being built is then dropped.
        """
        ...

    def fingerprint(self, generation: int) -> Vectors | None:
        """How the model answered a fixed text when the generation was new, shape (dimension,); None if not known."""
        ...

    def mark(self, generation: int, fingerprint: Vectors) -> None:
        """Remember it, unless there is one already or the generation is gone."""
        ...

    def clear(self, generation: int, ids: Sequence[ChunkId] | None = None) -> None:
        """
        Take all vectors of a generation away, its fingerprint and its term vectors; of the active one, queue all chunks.

        Args:
            ids: Only the vectors of these chunks; fingerprint and term vectors stay.
        """
        ...

    def drop(self, generation: int) -> None:
        """Remove a generation with its vectors; the active one stays, one that is gone is no matter."""
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

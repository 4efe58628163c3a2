"""Where the vectors of chunks are kept: a part of every store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from memory.store import strangers
from memory.store.generations import every, there, total
from memory.store.shared import Part
from memory.store.strangers import Comparison, against

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.schema.answer import Ranking
    from memory.schema.memory import ChunkId, Excerpt, MemoryId
    from memory.schema.query import Scope
    from memory.schema.space import Plain, Vectors, Window


class VectorIndex(Part, ABC):
    """
    The vectors of chunks, in generations. A generation that is gone is NotFound, where nothing else is said.

    A chunk either has a vector in the active generation or is queued, unless its memory is found by keyword only: then it
    has neither, in no generation.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    @abstractmethod
    def pending(self, generation: int, after: ChunkId, limit: int) -> Sequence[Excerpt]:
        """Chunks without a vector in the generation whose id is above `after`, lowest first."""

    @abstractmethod
    def set_vectors(self, generation: int, vectors: Vectors | None, windows: Sequence[Window]) -> int:
        """
        Add vectors, shape (n, dimension), in place of those their chunks had. Chunks that are gone are skipped.
        In the active generation this takes chunks off the queue.

        Args:
            vectors: None takes away those the chunks of the windows had; in the active generation these are queued.

        Returns:
            How many chunks got vectors; 0 if the generation is gone.
        """

    def set_strangers(self, generation: int, vectors: Vectors | None, *, right: float = 0.0, stamp: int = 0) -> bool:
        """
        Keep questions that are strangers to the store in place of those that were kept, and compare them with all vectors
        of the generation: what comes of it is among `Generations.every`. From then on every vector that is added, by
        whatever method, is compared with them in the same transaction. They go with the generation, and when it is emptied.

        What is compared is compared in pieces, and nobody waits for the whole: until its end, those that were known stay
        as they were, whether they are compared anew or others follow them. If there were none, there are none until then.

        Args:
            vectors: Of the questions, shape (n, dimension), n at least 1. None compares those that are there anew.
            right, stamp: See `memory.schema.space.Strangers`.

        Returns:
            Whether there are strangers now; False if the generation is gone.
        """
        # Several transactions: to compare a million vectors takes seconds, for which nobody should wait with the lock.
        if vectors is not None and self.strangers(generation) is not None:  # these serve until the new ones are known
            removal, done = self._removal(), self._whole(generation, against(vectors))
            return self._switch(generation, done, removal, right=right, stamp=stamp)
        comparison = self._begin(generation, vectors, right, stamp)
        return comparison is not None and self._end(generation, self._whole(generation, comparison))

    def _whole(self, generation: int, comparison: Comparison) -> Comparison:
        """A comparison at its end."""
        while (further := self._compared(generation, comparison)) is not None:
            comparison = further
        return comparison

    def _removal(self) -> int:
        with self._db.read() as db:
            return db.removal()

    def _switch(self, generation: int, done: Comparison, removal: int, *, right: float, stamp: int) -> bool:
        with self._db.write(durable=False) as db:
            if not there(db, generation):
                return False
            strangers.keep(db, generation, done.strangers, right, stamp)
            # Another vector may have the number of one that went: then all are compared in here, 0.4 s of 30,000, once.
            whole = db.removal() == removal
            return strangers.meet_anew(db, generation, total(db, generation)[0], done if whole else None)

    def _begin(self, generation: int, vectors: Vectors | None, right: float, stamp: int) -> Comparison | None:
        with self._db.write(durable=False) as db:  # lost, they are embedded again
            if not there(db, generation):
                return None
            if vectors is not None:
                strangers.keep(db, generation, vectors, right, stamp)
            return strangers.begun(db, generation)

    def _compared(self, generation: int, comparison: Comparison) -> Comparison | None:
        with self._db.read() as db:
            return strangers.compared(db, generation, comparison) if there(db, generation) else None

    def _end(self, generation: int, comparison: Comparison) -> bool:
        with self._db.write(durable=False) as db:
            if not there(db, generation):
                return False
            return strangers.ended(db, generation, comparison, total(db, generation)[0])

    def strangers(self, generation: int) -> Vectors | None:
        """The questions that were kept, shape (n, dimension), once they are among `every`; None if there are none."""
        with self._db.read() as db:
            known = any(one.id == generation and one.strangers is not None for one in every(db))
            return held.strangers if known and (held := strangers.kept(db, generation)) else None

    @abstractmethod
    def by_vector(self, generation: int, vector: Vectors | Plain, scope: Scope, k: int) -> Ranking:
        """
        The k most similar chunks in scope, exactly: scope narrows before k counts, any k. A chunk's best window counts.
        Their cosines are exact too. Where vectors are `signed`, some of those at the end may be missed and the next ones
        named instead; of the first ten, at a million, less than two in a hundred.

        Args:
            vector: Shape (dimension,), float32, length 1.
        """

    @abstractmethod
    def memory_similarities(self, generation: int, vector: Vectors, scope: Scope) -> Mapping[MemoryId, float]:
        """
        Cosine of each memory in scope with `vector`, by its most similar window, up to 1e-5; what has no vector is left
        out.
        """

    @abstractmethod
    def cosines(
        self,
        generation: int,
        vector: Vectors | Plain,
        ids: Sequence[ChunkId],
        *,
        other: Vectors | Plain | None = None,
        shown: Vectors | Plain | None = None,
    ) -> Mapping[ChunkId, tuple[float, float, float]]:
        """
        Cosines of each chunk: of its window that is most similar to `vector`, with that and with `other`; and of the one
        that is most similar to `shown`, with that.

        Args:
            other, shown: None stands for `vector`.
        """

    @abstractmethod
    def heads(self, generation: int, after: MemoryId, limit: int) -> tuple[Sequence[MemoryId], Vectors]:
        """
        Memories whose id is above `after`, lowest first, those that have it with the vector of their first chunk, by its
        first window: shape (n, dimension).
        """

    @abstractmethod
    def unsigned(self) -> bool:
        """
        Whether the active generation is so large that signatures of its vectors pay, and has none, or too many vectors are
        newer.
        """

    @abstractmethod
    def sign(self, going: Callable[[], bool] = lambda: True) -> bool:
        """
        Make signatures of the vectors of the active generation, by which the most similar are found without comparing all.
        They stand beside the store, or are an index of a server: without them everything is compared. Does nothing unless it is
        `unsigned`, or if another process is about it.

        Args:
            going: Whether to continue; asked from time to time, or before a server begins.

        Returns:
            Whether they were made.
        """

    @abstractmethod
    def signed(self, generation: int) -> int:
        """How many vectors of a generation had signatures when these were made; 0 if none are asked."""

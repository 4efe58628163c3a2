"""Where vectors are kept, of chunks and of terms, and what waits for one: parts of every store."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from memory.store.values import Claim, Failure, Generation, Size, State, Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from memory.schema.answer import Ranking
    from memory.schema.memory import ChunkId, Excerpt, MemoryId
    from memory.schema.query import Scope
    from memory.schema.space import Plain, Space, Vectors, Window
    from memory.store.learned import Asked, Learned, Progress, TermVector


class Generations(Protocol):
    """
    Generations of vectors. At most one is active: it answers. One that is gone is NotFound, where nothing else is said.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def every(self) -> Sequence[Generation]:
        """Oldest first."""

    def begin(self, space: Space, moment: datetime, *, alone: bool = False) -> Generation:
        """
        The living (active, else building) generation of a space, made if there is none: active if no other is,
        else building. Only one is being built: another that was begun is dropped. A retired generation of the
        space, the latest, is taken up again with its vectors and its fingerprint instead of making one.

        Args:
            alone: Retired generations of other spaces are dropped: removed with their vectors.
        """

    def activate(self, generation: int, *, instead_of: int | None, former: State = State.RETIRED) -> bool:
        """
        Let a generation answer, if the active one is still the one named (compare and set).

        Chunks that have no vector in it are queued; what failed for another generation has not failed for this.
        To activate the active one changes nothing.

        Args:
            former: What becomes of the one that answered until now: RETIRED, or BUILDING, so that it can be taken
                up again; another that was being built is then dropped.
        """

    def size(self, generation: int) -> Size:
        """How large it is; nothing if it is gone."""

    def mark(self, generation: int, fingerprint: bytes, *, instead_of: bytes = b"") -> None:
        """
        Remember how its model answers a fixed text, if it is known as `instead_of` until now (compare and set).

        Args:
            instead_of: Empty if it is not known. Otherwise the model is another one now: what the former one made goes,
                all vectors and term vectors of the generation, and of the active one all chunks are queued.
        """


class VectorIndex(Protocol):
    """
    The vectors of chunks, in generations. A generation that is gone is NotFound, where nothing else is said.

    A chunk either has a vector in the active generation or is queued, unless its memory is found by keyword only: then it
    has neither, in no generation.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def pending(self, generation: int, after: ChunkId, limit: int) -> Sequence[Excerpt]:
        """Chunks without a vector in the generation whose id is above `after`, lowest first."""

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

    def strangers(self, generation: int) -> Vectors | None:
        """The questions that were kept, shape (n, dimension), once they are among `every`; None if there are none."""

    def by_vector(self, generation: int, vector: Vectors | Plain, scope: Scope, k: int) -> Ranking:
        """
        The k most similar chunks in scope, exactly: scope narrows before k counts, any k. A chunk's best window counts.
        Their cosines are exact too. Where vectors are `signed`, some of those at the end may be missed and the next ones
        named instead; of the first ten, at a million, less than two in a hundred.

        Args:
            vector: Shape (dimension,), float32, length 1.
        """

    def memory_similarities(self, generation: int, vector: Vectors, scope: Scope) -> Mapping[MemoryId, float]:
        """
        Cosine of each memory in scope with `vector`, by its most similar window, up to 1e-5; what has no vector is left
        out.
        """

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

    def heads(self, generation: int, after: MemoryId, limit: int) -> tuple[Sequence[MemoryId], Vectors]:
        """
        Memories whose id is above `after`, lowest first, those that have it with the vector of their first chunk, by its
        first window: shape (n, dimension).
        """

    def unsigned(self) -> bool:
        """
        Whether the active generation is so large that signatures of its vectors pay, and has none, or too many vectors are
        newer.
        """

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

    def signed(self, generation: int) -> int:
        """How many vectors of a generation had signatures when these were made; 0 if none are asked."""

    def centre(self, generation: int) -> tuple[Plain, int]:
        """The sum of all vectors of a generation, an array of "d", and how many there are."""


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

    def claim(
        self,
        limit: int,
        tried_before: datetime | None = None,
        *,
        now: datetime,
        until: datetime,
        by: str,
        of: Sequence[MemoryId] | None = None,
    ) -> Sequence[Excerpt]:
        """
        Chunks in the queue that nobody claims `now`, those with the fewest failures first, of these the lowest id. They
        are claimed `until` then, so that two who backfill do not both embed them; a vector or `release` ends a claim.

        Args:
            tried_before: Leaves out those that failed at this moment or later; None takes only those never tried.
            by: Who claims them, as `claims` says it again.
            of: Only chunks of these memories.
        """

    def claims(self, now: datetime) -> Sequence[Claim]:
        """What is claimed `now`: a line for each holder, in their order; the nameless one, of a former version, first."""

    def release(self, ids: Sequence[ChunkId], failure: Failure | None = None) -> None:
        """Give up the claims of queued chunks, and note on each that embedding it failed, if it did; others are skipped."""

    def waiting(self, ids: Sequence[MemoryId] | None = None, *, limit: int | None = None) -> Sequence[Waiting]:
        """
        Memories with a chunk in the queue, the latest failure first, of those at one moment the lowest id.

        Args:
            ids: Only these; None takes those whose embedding failed.
        """

    def begun(self, generation: int, chunk: ChunkId, stamp: int) -> Vectors | None:
        """
        The vectors that are there so far of a chunk that is not embedded to its end, shape (windows, dimension), in their order; None if that is nothing.

        Args:
            stamp: Of the text that is embedded: what is there of another does not count.
        """

    def add_begun(self, generation: int, chunk: ChunkId, stamp: int, vectors: Vectors, *, first: int) -> bool:
        """
        Keep the vectors of further windows. What is there of another text goes.

        Args:
            first: Number of the first window, from 0.

        Returns:
            Whether they are kept: not if the generation or the chunk is gone, or if `first` is not how many are there,
            for then somebody else goes on with it.
        """


class TermVectors(Protocol):
    """
    A vector for each term of a store, learned from the vectors of one generation; asked instead of the model. A term is
    one stem, or two with a blank between them. A generation that is emptied or dropped takes its term vectors along.

    A chunk with a vector in the generation was learned from, or is a lesson.

    What is learned again stands beside what answers: in all methods but `answering`, minus the number of a generation is
    that of the term vectors beside, until `switch`. Whatever removes texts or vectors changes both.

    Nothing of a text that is removed or replaced stays but numbers. In the same transaction, and of every generation,
    those go whose term holds a word which no chunk holds any more, and those of two words that stood together in a chunk
    which was removed (`neighbours`), wherever else they do. What the text did to the numbers of other terms, and to what
    they have in common, stays until all is learned again.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def learned(self, generation: int) -> Learned | None:
        """What its term vectors have in common; None if it has none or is gone."""

    def asked(self, generation: int) -> Asked | None:
        """What a question needs of the same; None where `learned` is. Its numbers may be damaged."""

    def progress(self, generation: int, most: int | None = None) -> Progress:
        """
        How far they are; nothing if the generation is gone.

        Args:
            most: Lessons are counted up to this.
        """

    def answering(self) -> tuple[int, float | None]:
        """
        The active generation, 0 if there is none, and how well its term vectors fit, as `learned` says; None if it has
        none, or they learned from fewer than `LEAST` passages.
        """

    def learn(
        self,
        generation: int,
        learned: Learned | None,
        term_vectors: Sequence[TermVector] = (),
        chunks: Mapping[ChunkId, Sequence[str]] = MappingProxyType({}),
        *,
        most: int | None = None,
    ) -> None:
        """
        Keep what was learned from lessons, in the transaction that read them; nothing if the generation is gone.

        Args:
            learned: None forgets all term vectors of the generation: every chunk that has a vector is a lesson again.
            term_vectors: In place of those of the same terms, and if there are as many axes as before, beside the others.
                Their words are those of the lessons.
            chunks: Which were learned from, and are no lessons any more, each with the pairs of words that it was the
                first to say.
            most: If there are more terms now, nine tenths of so many stay. Terms of two words go first, then those that
                fewest chunks hold, then those that were met longest ago, then by name.

        Raises:
            Invalid: The basis is not as wide as the vectors, or a code has not as many numbers as there are axes.
        """

    def switch(self, generation: int) -> None:
        """
        Put the term vectors beside in the place of those that answer, in one transaction. Nothing happens if there are none
        beside: another process has put them there.
        """

    def of_terms(self, generation: int, terms: Sequence[str] | None, *, once: bool = False) -> Mapping[str, TermVector]:
        """
        Those that are known.

        Args:
            terms: None asks for all.
            once: Also pairs of words that have no vector, because only one chunk said them until now, of the last `HEARD`
                that were learned from. What a chunk said goes with it, and with its vectors. Once in a million times
                a pair was never said.
        """

    def lessons(
        self, generation: int, limit: int, *, after: ChunkId | None = None, learned: bool | None = False
    ) -> Sequence[tuple[Excerpt, Vectors]]:
        """
        Chunks with vectors that were not learned from yet, lowest id first, and the vectors of each, shape
        (windows, dimension); none if the generation is gone.

        Args:
            after: Only those whose id is above.
            learned: Those that were learned from instead; None asks for both.
        """

"""Where the vectors of terms are kept: a part of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.memory import ChunkId, Excerpt
    from memory.schema.space import Vectors
    from memory.store.values import Learned, TermVector


class TermVectors(Protocol):
    """
    A vector for each term of a store, learned from the vectors of one generation; asked instead of the model. A term is
    one stem, or two with a blank between them. A generation that is cleared or dropped takes its term vectors along.

    Nothing of a text that is removed or replaced stays in them. In the same transaction, and of every generation, those
    go whose term holds a word which no chunk holds any more, and those of two words that stood together in a chunk which
    was removed (`memory.store.neighbours`), wherever else they do: only the next learning knows.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def learned(self, generation: int) -> Learned | None:
        """How its term vectors were learned; None if it has none or is gone."""
        ...

    def answering(self) -> tuple[int, float | None]:
        """
        The active generation, 0 if there is none, and how well its term vectors fit, as `learned` says; None if it has
        none.
        """
        ...

    def learn(
        self, generation: int, learned: Learned, term_vectors: Sequence[TermVector], *, instead_of: Learned | None
    ) -> bool:
        """
        Keep term vectors in place of those there were. A term with a word that no chunk holds, perhaps not any more, is
        left out.

        Args:
            term_vectors: Of each term one.
            instead_of: How the former were learned, known by its time, if there were any: if somebody else has learned or
                forgotten meanwhile, nothing is written (compare and set).

        Returns:
            Whether it is kept; False also if the generation is gone.

        Raises:
            Invalid: The basis is not as wide as the vectors, or a code not as long as the basis has rows.
        """
        ...

    def of_terms(self, generation: int, terms: Sequence[str]) -> Mapping[str, TermVector]:
        """Those that are known."""
        ...

    def lessons(self, generation: int, after: ChunkId, limit: int) -> Sequence[tuple[Excerpt, Vectors]]:
        """
        Chunks with vectors in the generation whose id is above `after`, lowest first; the vectors of each, of shape
        (windows, dimension).

        Raises:
            NotFound: The generation is gone.
        """
        ...

    def size(self, generation: int) -> int:
        """How many terms are known; 0 if it is gone."""
        ...

"""`RamTermVectors`: the vectors of the terms of a store, the obvious way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memory.schema.errors import Invalid
from memory.store import State
from memory.store.vectors import neighbours
from oracle.ram_chunks import excerpt, vectors_of
from oracle.ram_data import Part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.memory import ChunkId, Excerpt
    from memory.schema.space import Vectors
    from memory.store import Learned, TermVector
    from oracle.ram_chunks import Words
    from oracle.ram_data import Data


class RamTermVectors(Part):
    """See `memory.store.vectors.TermVectors`."""

    def learned(self, generation: int) -> Learned | None:
        with self.data.lock:
            return self.data.learned.get(generation)

    def answering(self) -> tuple[int, float | None]:
        active = next((one.id for one in self.data.generations.values() if one.state is State.ACTIVE), 0)
        learned = self.learned(active)
        return active, None if learned is None else learned.fit

    def learn(
        self, generation: int, learned: Learned, term_vectors: Sequence[TermVector], *, instead_of: Learned | None
    ) -> bool:
        axes, width = learned.basis.shape
        if any(len(term_vector.code) != axes for term_vector in term_vectors):
            raise Invalid(f"a code of a lexicon of {axes} axes is {axes} bytes")
        with self.data.change() as data:
            before = data.learned.get(generation)
            if generation not in data.generations or (before and before.learned_at) != (
                instead_of and instead_of.learned_at
            ):
                return False
            if width != data.generations[generation].space.dimension:
                raise Invalid(f"generation {generation} has no vectors of {width} numbers")
            forget(data, generation)
            data.learned[generation] = learned._replace(basis=learned.basis.copy())
            data.term_vectors |= {(generation, term_vector.term): term_vector for term_vector in term_vectors}
            unlearn(data, [])
            return True

    def of_terms(self, generation: int, terms: Sequence[str]) -> Mapping[str, TermVector]:
        with self.data.lock:
            known = self.data.term_vectors
            return {term: known[generation, term] for term in terms if (generation, term) in known}

    def lessons(self, generation: int, after: ChunkId, limit: int) -> Sequence[tuple[Excerpt, Vectors]]:
        with self.data.lock:
            own = vectors_of(self.data, generation)
            ids = [id for id in sorted(own) if id > after][:limit]
            excerpts = {id: excerpt(self.data, id) for id in ids}
            return [(excerpts[id], np.stack(own[id])) for id in ids]


def forget(data: Data, generation: int) -> None:
    """Take the term vectors of a generation away."""
    data.learned.pop(generation, None)
    data.term_vectors = {key: term_vector for key, term_vector in data.term_vectors.items() if key[0] != generation}


def unlearn(data: Data, removed: Sequence[Words]) -> None:
    """
    Take away the terms with a word that no chunk holds, and those of two that stand together in one that was removed.

    Args:
        removed: The words of each such chunk, by columns.
    """
    held = {word for piece in data.pieces.values() for column in piece.words for word in column}
    together = {pair for columns in removed for pair in neighbours(columns)}
    data.term_vectors = {
        (generation, term): term_vector
        for (generation, term), term_vector in data.term_vectors.items()
        if held.issuperset(term.split(" ")) and term not in together
    }

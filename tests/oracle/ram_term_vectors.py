"""`RamTermVectors`: the vectors of the terms of a store, the obvious way."""

from __future__ import annotations

from array import array
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from memory.schema.errors import Invalid
from memory.store import HEARD, Asked, LearningState, TermVector
from memory.store.learned import neighbours
from memory.store.term_vectors import PendingPage
from oracle.ram_chunks import embedded, excerpt, total, vectors_of
from oracle.ram_data import Part

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from memory.schema.memory import ChunkId, Excerpt
    from memory.schema.space import Vectors
    from memory.store import Learned
    from oracle.ram_chunks import Words
    from oracle.ram_data import Data


class RamTermVectors(Part):
    """See `memory.store.term_vectors.TermVectors`."""

    def learned(self, generation: int) -> Learned | None:
        with self.data.lock:
            return self.data.learned.get(generation)

    def asked(self, generation: int) -> Asked | None:
        if (learned := self.learned(generation)) is None:
            return None
        basis = None if learned.basis is None else learned.basis.astype("<f4").tobytes()
        return Asked(learned.passages, array("d", learned.spread.tobytes()), basis, learned.prior.scale)

    def progress(self, generation: int, most: int | None = None) -> LearningState:
        with self.data.lock:
            waiting = len(self.pending(generation, len(self.data.vectors) if most is None else most))
            if (learned := self.data.learned.get(generation)) is None:
                return LearningState(waiting=waiting)
            terms = sum(own == generation for own, _ in self.data.term_vectors)
            return LearningState(learned.passages, terms, waiting)

    def learn(
        self,
        generation: int,
        learned: Learned | None,
        term_vectors: Sequence[TermVector] = (),
        chunks: Mapping[ChunkId, Sequence[str]] = MappingProxyType({}),
        *,
        most: int | None = None,
    ) -> None:
        with self.data.change() as data:
            if abs(generation) not in data.generations:
                return
            if learned is None:
                forget(data, generation)
                return
            axes, width = len(learned.spread), data.generations[abs(generation)].space.dimension
            if any(len(term_vector.code) != axes for term_vector in term_vectors):
                raise Invalid(f"a term vector along {axes} axes has {axes} bytes")
            if learned.basis is not None and learned.basis.shape != (axes, width):
                raise Invalid(f"generation {generation} has no vectors of {width} numbers")
            if generation not in data.learned:
                data.pending |= {(generation, chunk): None for chunk in embedded(data, abs(generation))}
            former = data.learned.get(generation)
            if former is not None and len(former.spread) != axes:
                data.term_vectors = {key: one for key, one in data.term_vectors.items() if key[0] != generation}
            data.learned[generation] = learned
            data.term_vectors |= {(generation, term_vector.term): term_vector for term_vector in term_vectors}
            self._remember(generation, chunks)
            if most is not None:
                self._drop_rarest(generation, most)

    def _remember(self, generation: int, chunks: Mapping[ChunkId, Sequence[str]]) -> None:
        self.data.pending = {key: None for key in self.data.pending if key[0] != generation or key[1] not in chunks}
        for chunk, pairs in chunks.items():
            self.data.pairs.pop((generation, chunk), None)
            if pairs:
                self.data.pairs[generation, chunk] = tuple(pairs)
        own = [key for key in self.data.pairs if key[0] == generation]
        for key in own[: max(0, len(own) - HEARD)]:
            del self.data.pairs[key]

    def _drop_rarest(self, generation: int, most: int) -> None:
        own = [term_vector for key, term_vector in self.data.term_vectors.items() if key[0] == generation]
        if len(own) <= most:
            return
        own.sort(key=lambda one: (" " not in one.term, one.passages, one.last, one.term))
        for one in own[: len(own) - most * 9 // 10]:
            del self.data.term_vectors[generation, one.term]

    def switch(self, generation: int) -> None:
        with self.data.change() as data:
            beside = data.learned.get(-generation)
            if beside is None:
                return
            forget(data, generation)
            data.learned[generation] = beside
            for name in ("term_vectors", "pending", "pairs"):
                own = {(abs(key[0]), key[1]): one for key, one in getattr(data, name).items() if key[0] == -generation}
                getattr(data, name).update(own)
            forget(data, -generation)

    def of_terms(self, generation: int, terms: Sequence[str] | None, *, once: bool = False) -> Mapping[str, TermVector]:
        with self.data.lock:
            known = {term: one for (own, term), one in self.data.term_vectors.items() if own == generation}
            if terms is None:
                return known
            said = [own for key, own in self.data.pairs.items() if once and key[0] == generation]
            heard = {
                pair: TermVector(pair, 1, place - len(said), 0.0, 0.0, b"")
                for place, own in enumerate(said)
                for pair in own
            }
            return {term: (heard | known)[term] for term in terms if term in heard | known}

    def page(self, generation: int, limit: int) -> PendingPage:
        with self.data.lock:
            if abs(generation) not in self.data.generations:
                return PendingPage(None, (), array("d"), 0)
            pending = self.pending(generation, limit)
            return PendingPage(self.learned(generation), pending, *total(self.data, abs(generation)))

    def pending(
        self, generation: int, limit: int, *, after: ChunkId | None = None, learned: bool | None = False
    ) -> Sequence[tuple[Excerpt, Vectors]]:
        with self.data.lock:
            if abs(generation) not in self.data.generations:
                return []
            own = vectors_of(self.data, abs(generation))
            waiting = {id for id in own if generation not in self.data.learned or (generation, id) in self.data.pending}
            wanted = {None: set(own), False: waiting, True: set(own) - waiting}[learned]
            ids = [id for id in sorted(wanted) if id > (after or 0)][:limit]
            return [(excerpt(self.data, id), np.stack(own[id])) for id in ids]


def forget(data: Data, generation: int) -> None:
    """Take the term vectors of a generation away."""
    data.learned.pop(generation, None)
    for name in ("term_vectors", "pending", "pairs"):
        setattr(data, name, {key: value for key, value in getattr(data, name).items() if key[0] != generation})


def take_pending(data: Data, generation: int, chunks: Collection[ChunkId], *, again: bool) -> None:
    """What chunks said for the first time is forgotten; if they have new vectors, they are pending again."""
    for own in (generation, -generation):
        for chunk in chunks:
            data.pending.pop((own, chunk), None)
            data.pairs.pop((own, chunk), None)
            if again and own in data.learned:
                data.pending[own, chunk] = None


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

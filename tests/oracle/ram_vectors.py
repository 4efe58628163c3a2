"""`RamVectors`: the vectors of chunks, the obvious way."""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING

import numpy as np

from memory.schema.answer import Ranking, Scored
from memory.schema.memory import ChunkId, MemoryId
from memory.schema.space import Strangers
from memory.store import State
from oracle.ram_chunks import embeddable, embedded, excerpt
from oracle.ram_data import Part, inside
from oracle.ram_queue import requeue
from oracle.ram_term_vectors import take_pending

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.schema.memory import Excerpt
    from memory.schema.query import Scope
    from memory.schema.space import Plain, Vectors, Window


class RamVectors(Part):
    """See `memory.store.vectors.VectorIndex`."""

    def pending(self, generation: int, after: ChunkId, limit: int) -> Sequence[Excerpt]:
        with self.data.lock:
            self.data.generation(generation)
            ids = sorted(embeddable(self.data) - embedded(self.data, generation))
            return [excerpt(self.data, id) for id in ids if id > after][:limit]

    def set_vectors(self, generation: int, vectors: Vectors | None, windows: Sequence[Window]) -> int:
        with self.data.change() as data:
            if generation not in data.generations:
                return 0
            alive = {ChunkId(window.chunk) for window in windows} & embeddable(data)
            kept = {key: old for key, old in data.vectors.items() if key[0] != generation or key[1] not in alive}
            take_pending(data, generation, alive, again=vectors is not None)
            if vectors is None:
                data.vectors = kept
                if data.generations[generation].state is State.ACTIVE:
                    requeue(data, generation)
                return 0
            new = {(generation, ChunkId(w.chunk), w.window): vectors[w.row].copy() for w in windows if w.chunk in alive}
            data.vectors = kept | new
            data.begun = {key: one for key, one in data.begun.items() if key[0] != generation or key[1] not in alive}
            if data.generations[generation].state is State.ACTIVE:
                data.queue = {id: waiting for id, waiting in data.queue.items() if id not in alive}
            return len(alive)

    def set_strangers(self, generation: int, vectors: Vectors | None, *, right: float = 0.0, stamp: int = 0) -> bool:
        with self.data.change() as data:
            if vectors is not None and generation in data.generations:
                data.strangers[generation] = (Strangers(stamp, right, ()), vectors.copy())
            if generation not in data.strangers:
                return False
            known, rows = data.strangers[generation]
            data.strangers[generation] = (known._replace(nearest=(-1.0,) * len(rows)), rows)
            return True

    def by_vector(self, generation: int, vector: Vectors | Plain, scope: Scope, k: int) -> Ranking:
        with self.data.lock:
            self.data.generation(generation)
            best: dict[ChunkId, float] = {}
            for (own, chunk, _), stored in self.data.vectors.items():
                if own == generation and inside(self.data, self.data.memories[self.data.pieces[chunk].memory], scope):
                    best[chunk] = max(best.get(chunk, -2.0), _cosine(stored, vector))
            ranked = sorted(best, key=lambda chunk: (-best[chunk], -chunk))[:k]
            return Ranking.of(Scored(id, self.data.pieces[id].memory, best[id], cosine=best[id]) for id in ranked)

    def memory_similarities(self, generation: int, vector: Vectors, scope: Scope) -> Mapping[MemoryId, float]:
        with self.data.lock:
            self.data.generation(generation)
            best: dict[MemoryId, float] = {}
            for (own, chunk, _), stored in self.data.vectors.items():
                memory = self.data.pieces[chunk].memory
                if own == generation and inside(self.data, self.data.memories[memory], scope):
                    best[memory] = max(best.get(memory, -2.0), _cosine(stored, vector))
            return best

    def cosines(
        self,
        generation: int,
        vector: Vectors | Plain,
        ids: Sequence[ChunkId],
        *,
        other: Vectors | Plain | None = None,
        shown: Vectors | Plain | None = None,
    ) -> Mapping[ChunkId, tuple[float, float, float]]:
        with self.data.lock:
            self.data.generation(generation)
            along, seen = (vector if one is None else one for one in (other, shown))
            found: dict[ChunkId, list[tuple[float, float, float]]] = {}
            for (own, chunk, _), stored in self.data.vectors.items():
                if own == generation and chunk in ids:
                    compared = (_cosine(stored, vector), _cosine(stored, along), _cosine(stored, seen))
                    found.setdefault(chunk, []).append(compared)
            return {chunk: (*max(all)[:2], max(one[2] for one in all)) for chunk, all in found.items()}

    def first_window(self, generation: int, id: ChunkId) -> Plain | None:
        with self.data.lock:
            stored = self.data.vectors.get((generation, id, 0))
            return None if stored is None else array("f", np.asarray(stored, np.float32).tobytes())

    def heads(self, generation: int, after: MemoryId, limit: int) -> tuple[Sequence[MemoryId], Vectors]:
        with self.data.lock:
            dimension = self.data.generation(generation).space.dimension
            found = {
                self.data.pieces[chunk].memory: stored
                for (own, chunk, window), stored in self.data.vectors.items()
                if own == generation and window == 0 and self.data.pieces[chunk].chunk.index == 0
            }
            ids = sorted(id for id in found if id > after)[:limit]
            return ids, np.asarray([found[id] for id in ids], np.float32).reshape(len(ids), dimension)

    def unsigned(self) -> bool:
        return False

    def sign(self, going: Callable[[], bool] = lambda: True) -> bool:
        return False

    def signed(self, generation: int) -> int:
        return 0


def _cosine(left: Vectors, right: Vectors | Plain) -> float:
    a, b = np.asarray(left, np.float64), np.asarray(right, np.float64)
    return float(a @ b / math.sqrt((a @ a) * (b @ b)))

"""`RamBegun`: vectors of chunks that are not embedded to their end, the obvious way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from memory.schema.memory import ChunkId
    from memory.schema.space import Vectors
    from oracle.ram import RamStore


class RamBegun:
    """See `memory.store.begun.Begun`."""

    def __init__(self, store: RamStore) -> None:
        self._store = store

    def vectors(self, generation: int, chunk: ChunkId, stamp: int) -> Vectors | None:
        with self._store.lock:
            known, vectors = self._store.data.begun.get((generation, chunk), (stamp, None))
            return vectors if known == stamp else None

    def add(self, generation: int, chunk: ChunkId, stamp: int, first: int, vectors: Vectors) -> bool:
        with self._store.change() as data:
            known, before = data.begun.pop((generation, chunk), (stamp, None))
            if before is not None and known == stamp:
                data.begun[generation, chunk] = (stamp, before)
            there = 0 if before is None or known != stamp else len(before)
            if generation not in data.generations or chunk not in data.pieces or there != first:
                return False
            joined = vectors.copy() if before is None or not there else np.concatenate([before, vectors])
            data.begun[generation, chunk] = (stamp, joined)
            return True

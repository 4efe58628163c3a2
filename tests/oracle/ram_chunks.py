"""Chunks: what each says, and which have vectors."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from memory.schema.draft import properties
from memory.schema.memory import OVERLAP, Chunk, ChunkId, ChunkType, Excerpt, Memory, MemoryId
from memory.text.fold import fold

if TYPE_CHECKING:
    from memory.schema.space import Plain, Vectors
    from oracle.ram_data import Data

Words: TypeAlias = "tuple[tuple[str, ...], ...]"
"""The tokens of each column of a chunk."""


@dataclass(frozen=True)
class Piece:
    memory: MemoryId
    chunk: Chunk
    words: Words

    @property
    def length(self) -> int:
        return sum(map(len, self.words))


def excerpt(data: Data, id: ChunkId) -> Excerpt:
    piece = data.pieces[id]
    memory, body, chunk = data.memories[piece.memory], data.bodies[piece.memory], piece.chunk
    before = body[max(0, chunk.start - OVERLAP) : chunk.start]
    said = (memory.title, memory.what, memory.why, memory.impact, memory.tags)
    return Excerpt(id, memory.id, chunk, _text(memory, body, chunk), before, *said)


def columns(memory: Memory, body: str, chunk: Chunk, grams: str) -> tuple[str, ...]:
    """What is indexed of a chunk, in the order of `WEIGHTS`."""
    heading = " ".join(header.lstrip("# ") for header in chunk.header_path)
    tags = " ".join((*memory.tags, *properties(memory.kind, memory.metadata)))
    files = " ".join(memory.related_files)
    names = (memory.category or "", memory.project or "", memory.source or "")
    whole = (memory.why, memory.impact, tags, *names, files) if chunk.index == 0 else ("",) * 7
    return tuple(map(fold, (memory.title, heading, _text(memory, body, chunk), *whole, grams)))


def _text(memory: Memory, body: str, chunk: Chunk) -> str:
    return memory.what if chunk.type is ChunkType.HEAD else body[chunk.start : chunk.stop]


def embeddable(data: Data) -> set[ChunkId]:
    return {id for id, piece in data.pieces.items() if not data.memories[piece.memory].keyword_only}


def embedded(data: Data, generation: int) -> set[ChunkId]:
    return {chunk for own, chunk, _ in data.vectors if own == generation}


def vectors_of(data: Data, generation: int) -> dict[ChunkId, list[Vectors]]:
    """Of each chunk those of its windows, in order."""
    data.generation(generation)
    found: dict[ChunkId, list[Vectors]] = {}
    for (own, chunk, _), vector in sorted(data.vectors.items(), key=lambda item: item[0]):
        if own == generation:
            found.setdefault(chunk, []).append(vector)
    return found


def total(data: Data, generation: int) -> tuple[Plain, int]:
    """The sum of a generation's vectors, and how many there are."""
    dimension = data.generation(generation).space.dimension
    own = [vector for key, vector in data.vectors.items() if key[0] == generation]
    return array("d", np.asarray(own, dtype=np.float64).reshape(-1, dimension).sum(axis=0).tobytes()), len(own)

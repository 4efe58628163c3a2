"""Vectors, and the spaces in which they compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:  # numpy costs 70 ms to import; a keyword search never pays it
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]
    """Shape (n, dimension), C order, float32, finite, every row of length 1. One vector: shape (dimension,)."""


class Space(NamedTuple):
    """
    Vectors compare only within a space: one provider, one model, one passage recipe, one width.

    Attributes:
        recipe: Which text is embedded for a chunk: see `recipe`.
        dimension: Width of a vector, from 1.
    """

    provider: str
    model: str
    recipe: int
    dimension: int

    def __str__(self) -> str:
        version, prefix = self.recipe & 255, self.recipe >> 8
        recipe = f"{version}-{prefix:08x}" if prefix else f"{version}"
        return f"{self.provider}:{self.model} ({self.dimension} dimensions, recipe {recipe})"


RECIPE = 2
"""Version of `memory.text.tokens.passage`. Vectors of different recipes do not compare, so a change makes a new space."""


def recipe(prefix: str) -> int:
    """The recipe of passages with a model's prefix before them; `RECIPE` if the prefix is empty."""
    if not prefix:
        return RECIPE
    from zlib import crc32  # 0.3 ms that most starts need not spend

    return RECIPE + (crc32(prefix.encode()) << 8)


class Window(NamedTuple):
    """The place of a vector in the array that comes with it: of which chunk and which of its windows it is."""

    chunk: int  # ChunkId for `set_vectors`, index of the chunk in an `Entry`
    window: int  # from 0
    row: int  # of the array


class Embedded(NamedTuple):
    """
    Vectors made for an entry before it is written.

    Attributes:
        vectors: Shape (n, space.dimension).
        windows: For each row, its chunk and window; `chunk` is the index within the entry.
    """

    space: Space
    vectors: Vectors
    windows: tuple[Window, ...]

"""How near strangers come to vectors, in numbers: what every store works out of them."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.space import Strangers, Vectors
    from memory.store.records import Row

    Rows: TypeAlias = NDArray[np.int64]

FEW = 16
"""Up to so many vectors are compared without BLAS, which may wait milliseconds for a second processor that is taken."""

ROUNDING = 1e-5
"""Sums of float32 taken in another order differ by less."""


class Comparison(NamedTuple):
    """
    Strangers that are being compared with all vectors of a generation, a block at a time.

    Attributes:
        id: Tells it from others, which may begin before it ends.
        loose: How many were noted as loose when it began.
        strangers: Shape (n, dimension).
        nearest: Shape (n,): of each the highest cosine until now; -1 before the first block.
        rows: Shape (n,): the row of that vector, 0 if there is none.
        last: The last row that was compared; 0 before the first block.
    """

    id: int
    loose: int
    strangers: Vectors
    nearest: Vectors
    rows: Rows
    last: int = 0


def against(strangers: Vectors, id: int = 0, loose: int = 0) -> Comparison:
    """A comparison before the first block."""
    import numpy as np

    return Comparison(id, loose, strangers, farthest(len(strangers)), np.zeros(len(strangers), np.int64))


def further(comparison: Comparison, ids: Sequence[int], block: Vectors) -> Comparison:
    """A comparison after the next block of vectors, in rows with these ids."""
    import numpy as np

    cosines = cosines_of(comparison.strangers, block)
    highest = cosines.max(axis=1)
    nearer = highest > comparison.nearest
    return comparison._replace(
        nearest=np.where(nearer, highest, comparison.nearest),
        rows=np.where(nearer, np.array(ids)[cosines.argmax(axis=1)], comparison.rows),
        last=ids[-1],
    )


def lost_to(cosines: Vectors, nearest: Vectors, rising: Vectors) -> int:
    """
    How many strangers lost what was nearest to them to vectors that go.

    Args:
        cosines: With these vectors, shape (strangers, vectors).
        nearest, rising: As they are noted, shape (strangers,) each, or of length 0.
    """
    import numpy as np

    loose = np.zeros(len(cosines), np.bool_)
    if len(nearest):
        loose |= cosines.max(axis=1) >= nearest - ROUNDING
    if len(rising):
        loose |= (np.abs(cosines - rising[:, None]) <= ROUNDING).any(axis=1)
    return int(loose.sum())


def known(rows: Iterable[Row]) -> dict[int, Strangers]:
    """
    What is known of the strangers of each generation; those of damaged numbers are as if not there.

    Args:
        rows: Generation, stamp, right, nearest, products, loose, and how many vectors the generation has.
    """
    from memory.schema.space import Strangers

    found = {}
    for id, stamp, right, nearest, products, loose, vectors in rows:
        cosines = struct.unpack(f"<{len(nearest) // 4}f", nearest)
        mean = products / (len(cosines) * vectors) if vectors else 0.0
        if math.isfinite(sum(cosines) + mean):
            # It is counted on beyond how many there are: a comparison asks how many were added since it began.
            found[id] = Strangers(stamp, right, cosines, mean, min(len(cosines), loose))
    return found


def farthest(count: int) -> Vectors:
    import numpy as np

    return np.full(count, -1, "<f4")


def cosines_of(strangers: Vectors, vectors: Vectors) -> Vectors:
    """Shape (strangers, vectors); -1 where a vector's numbers are damaged."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        found = np.vecdot(strangers[:, None], vectors[None]) if len(vectors) <= FEW else strangers @ vectors.T
        cosines: Vectors = np.where(np.abs(found) <= 1 + ROUNDING, found, np.float32(-1))
    return cosines

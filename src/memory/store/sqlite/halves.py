"""Numbers that SQLite itself compares with nothing, in 16 bits each where they lose nothing by that, else in 32."""

from __future__ import annotations

import struct
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.schema.space import Vectors

BYTES = "({count} * 4, {count} * 2 + 1)"
"""The lengths of so many numbers: the odd one is of 16 bits each, behind an empty byte."""


def halved(numbers: Vectors) -> bytes:
    """Little-endian, as `widened` reads them."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        halves = numbers.astype("<f2")
    return b"\0" + halves.tobytes() if (halves == numbers).all() else numbers.astype("<f4").tobytes()


def widened(packed: bytes) -> bytes:
    """Float32, little-endian. Without numpy, which takes longer to import than a search."""
    if len(packed) % 2 == 0:
        return packed
    return array("f", struct.unpack(f"<x{len(packed) // 2}e", packed)).tobytes()

"""
Vectors in 14 bits a number, which counts steps: a step is a power of 2, for each vector its own.

First comes the exponent of the step, as float32 has it. Then come, of each number plus 8,192, the middle 8 bits, byte after
byte; the lowest 4, of two numbers in a byte; the highest 2, of four. Tables put these into the bytes of float32 without
numpy, which takes longer to import than a search takes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from memory.schema import np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from memory.schema.space import Vectors

MOST_STEPS = (1 << 13) - 1
"""From 0 to the largest number of a vector that is `rounded`."""

ZERO = 1 + 2**-6
"""What 0 is `raised` to."""

_BIAS, _BIASED = 127, MOST_STEPS + 1  # what is added to an exponent, and to a number
_LARGEST = _BIAS - 12  # a larger step is of no vector of length 1

# Where in a byte the bits of two numbers stand, and of four: the first half of all comes first, or the first quarter.
_LOW, _HIGH = (4, 0), (6, 4, 2, 0)
_LOW_BYTES = [bytes(byte >> shift << 4 & 0xF0 for byte in range(256)) for shift in _LOW]
_HIGH_BYTES = [bytes(0x80 | byte >> shift & 3 for byte in range(256)) for shift in _HIGH]

BYTES = "(1 + {count} + ({count} + 1) / 2 + ({count} + 3) / 4)"
"""`size`, in SQL."""


def rounded(vectors: Vectors) -> Vectors:
    """
    Vectors, shape (…, dimension), as every store can keep them: each number is so many of the vector's `steps`. A cosine
    changes by less than 1e-4, mostly by 1e-5. Whoever gives vectors to a store rounds them before, so that all stores have
    the same; otherwise the store does.
    """
    exponents = steps(vectors)
    numbers = np.rint(np.ldexp(vectors, -exponents)) + np.float32(0)  # no -0
    return np.ldexp(numbers, exponents).astype(np.float32)


def steps(vectors: Vectors) -> NDArray[np.int32]:
    """Of each vector the exponent of the least power of 2 of which no number has more than `MOST_STEPS`, shape (…, 1)."""
    bits = MOST_STEPS.bit_length()
    mantissas, exponents = np.frexp(np.abs(vectors).max(axis=-1, keepdims=True))
    least = exponents - bits + (np.rint(np.ldexp(mantissas, bits)) > MOST_STEPS)
    found: NDArray[np.int32] = np.maximum(least, -126)  # no smaller one is a float32
    return found


def narrowed(vectors: Vectors) -> list[bytes]:
    """
    Each of some vectors, as `rounded`; one with a number that is none, or too large, is all of those.

    Args:
        vectors: Shape (n, dimension).
    """
    count = vectors.shape[1]
    sound = np.isfinite(vectors).all(axis=1, keepdims=True)
    given = np.where(sound, vectors, np.float32(0))
    exponents = steps(given)
    numbers = np.full((len(vectors), count + -count % 4), _BIASED, np.int16)
    numbers[:, :count] += np.rint(np.ldexp(given, -exponents)).astype(np.int16)
    low = np.split(numbers[:, : count + count % 2] & 15, 2, axis=1)
    high = np.split(numbers >> 12, 4, axis=1)
    parts = (
        np.where(sound, exponents + _BIAS, 255),
        (numbers >> 4 & 255)[:, :count],
        low[0] << 4 | low[1],
        high[0] << 6 | high[1] << 4 | high[2] << 2 | high[3],
    )
    return [row.tobytes() for row in np.concatenate(parts, axis=1).astype(np.uint8)]


def stored(vectors: Vectors) -> tuple[Vectors, list[bytes]]:
    """Vectors as a store keeps them: `rounded`, and `narrowed`."""
    kept = rounded(vectors)
    return kept, narrowed(kept)


def widened(packed: bytes, dimension: int) -> Vectors:
    """Narrowed vectors, one after the other, as float32 of shape (n, dimension)."""
    each = np.frombuffer(packed, np.uint8).reshape(-1, size(dimension))
    exponents, middle, low, high = np.split(each, np.cumsum(_parts(dimension)), axis=1)
    numbers = middle.astype(np.int16) << 4
    numbers |= np.concatenate([low >> shift & 15 for shift in _LOW], axis=1)[:, :dimension]
    numbers |= np.concatenate([high >> shift & 3 for shift in _HIGH], axis=1)[:, :dimension].astype(np.int16) << 12
    found = (numbers - np.int16(_BIASED)).astype(np.float32)
    found *= np.ldexp(np.float32(1), np.minimum(exponents, _LARGEST).astype(np.int32) - _BIAS)
    found[exponents[:, 0] > _LARGEST] = np.nan
    return found


def opened(narrow: Sequence[bytes]) -> Vectors:
    """Narrowed vectors of one length as float32, shape (n, dimension); (0, 1) if there are none."""
    return widened(b"".join(narrow), numbers_in(len(narrow[0])) if narrow else 1)


@lru_cache(512)  # of a store with fewer, each search scans all, and looks at some of them again
def raised(packed: bytes) -> bytes:
    """A narrowed vector in float32, little-endian, each number above `ZERO` by 2^-19 for each of its steps."""
    count = numbers_in(len(packed))
    if packed[0] > _LARGEST:
        return b"\0\0\xc0\x7f" * count  # NaN
    numbers = bytearray(b"\0\0\x80\x3f") * count
    end = sum(_parts(count))
    low, high = packed[count + 1 : end], packed[end:]
    numbers[::4] = b"".join([low.translate(table) for table in _LOW_BYTES])[:count]
    numbers[1::4] = packed[1 : count + 1]
    numbers[2::4] = b"".join([high.translate(table) for table in _HIGH_BYTES])[:count]
    return bytes(numbers)


def plain(packed: bytes, dimension: int) -> bytes:
    """As `widened`, without numpy, little-endian."""
    from array import array

    numbers, own = array("f"), size(dimension)
    for start in range(0, len(packed), own):
        vector = packed[start : start + own]
        step = 2.0 ** (vector[0] + 19 - _BIAS)
        numbers.extend([(number - ZERO) * step for number in array("f", raised(vector))])
    return numbers.tobytes()


def size(dimension: int) -> int:
    """Bytes of a narrowed vector."""
    return sum(_parts(dimension)) + (dimension + 3) // 4


def numbers_in(bytes: int) -> int:
    """The dimension of a narrowed vector of that size."""
    return (bytes - 1) * 4 // 7


def _parts(dimension: int) -> tuple[int, int, int]:
    """Bytes of what a narrowed vector begins with: the exponent, the middle bits, the lowest."""
    return 1, dimension, (dimension + 1) // 2

"""Numbers in 16 bits where they lose nothing by it."""

from __future__ import annotations

import numpy as np
import pytest

from memory.store.sqlite.halves import halved, widened

NUMBERS = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)


@pytest.mark.parametrize(
    ("numbers", "length"),
    [
        (NUMBERS, 4 * 15),
        (NUMBERS.astype(np.float16).astype(np.float32), 2 * 15 + 1),
        (np.eye(2, dtype=np.float32), 2 * 4 + 1),
        (np.array([1e30, 1.0], np.float32), 4 * 2),
        (np.array([np.nan, np.inf], np.float32), 4 * 2),
    ],
    ids=["32 bits", "rounded before", "axes", "too large", "damaged"],
)
def test_what_is_read_is_what_was_given_to_the_bit(numbers: np.ndarray, length: int) -> None:
    packed = halved(numbers)

    assert (len(packed), widened(packed)) == (length, numbers.tobytes())

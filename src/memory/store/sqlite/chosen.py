"""Which of many ids are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SPARSE = 8  # times as high as there are many, ids need no mask


def chosen(ids: NDArray[np.int64], some: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_]:
    """
    A mask of the ids that are among some: as `np.isin`, in a fifth of its time where ids are dense.

    Args:
        ids: Shape (n,), not negative.
        some: Not negative, in any order.
    """
    wanted = np.asarray(some, np.int64)
    most = int(wanted.max(initial=0))
    if most > SPARSE * len(ids):
        return np.isin(ids, wanted)
    mask = np.zeros(most + 2, np.bool_)  # its end stands for all higher ids
    mask[wanted] = True
    found: NDArray[np.bool_] = mask.take(ids, mode="clip")
    return found

"""Where the entities of a small graph stand in a picture: related ones near each other, none on top of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROUNDS = 200
STEP = 0.12  # of the picture, that an entity moves at most in the first round
APART = 0.9  # of the distance at which entities would fill the picture evenly


def placed(count: int, pairs: Sequence[tuple[int, int]]) -> list[tuple[float, float]]:
    """
    Places in the unit square, by forces (Fruchterman and Reingold, "Graph Drawing by Force-directed Placement", 1991).
    The same graph gives the same picture.

    Args:
        count: Of entities; some dozens.
        pairs: Which are related.
    """
    import numpy as np

    if count < 2:
        return [(0.5, 0.5)] * count
    turn = np.arange(count) * np.pi * (3 - np.sqrt(5))  # a sunflower: no two stand alike, and nothing is drawn by lot
    at = 0.5 + 0.4 * np.sqrt((np.arange(count) + 0.5) / count)[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    related = np.zeros((count, count))
    for one, other in pairs:
        related[one, other] = related[other, one] = float(one != other)
    ideal = APART / np.sqrt(count)
    for left in range(ROUNDS, 0, -1):
        between = at[:, None] - at[None]
        far = np.maximum(np.sqrt((between**2).sum(axis=2)), 1e-4)
        push = (ideal / far) ** 2 - related * far / ideal  # apart from all, together with what is related
        force = (between * push[:, :, None]).sum(axis=1) - (at - 0.5) * 0.4  # and to the middle, or parts drift away
        size = np.maximum(np.sqrt((force**2).sum(axis=1, keepdims=True)), 1e-9)
        at = at + force / size * np.minimum(size, STEP * left / ROUNDS)
    low, high = at.min(axis=0), at.max(axis=0)
    inside = (at - low) / np.where(high > low, high - low, 1.0)
    return [(float(x), float(y)) for x, y in inside]

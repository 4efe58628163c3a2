"""What a user can expect of a setting that was chosen on other questions than theirs: `search.effort`, one set left out."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from evaluation.systems import EFFORTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.measures import OfSet

CALLS = 0.35
"""The usual budget: the most calls, as a share of the questions, that an effort may cost on the sets it is chosen on."""


class LeftOut(NamedTuple):
    """
    One set, and the effort chosen without it.

    Attributes:
        relative, calls: Of the set: nDCG@10 as a share of that of hybrid minmax, and the share of calls.
        others_relative, others_calls: The means over the sets on which the effort was chosen.
    """

    name: str
    effort: float
    others_relative: float
    others_calls: float
    relative: float
    calls: float


class LeaveOneOut(NamedTuple):
    """
    Attributes:
        budget: See `CALLS`.
        sets: In their order, without those in which hybrid minmax finds nothing.
        relative, calls, worst: The means over these sets, and the lowest `relative`; None if there are fewer than two.
    """

    budget: float
    sets: tuple[LeftOut, ...]
    relative: float | None
    calls: float | None
    worst: float | None


class _Points(NamedTuple):
    """Of a set, by effort."""

    name: str
    relative: tuple[float, ...]
    calls: tuple[float, ...]


def leave_one_out(sets: Sequence[OfSet], budget: float) -> LeaveOneOut:
    """
    For each set, the highest effort that keeps to the budget on all others.

    Quality has no say in it: most sets are hardly better for a call, and the one that is away may be like none of them.
    Only a budget that is spent protects it (docs/decisions/speed-and-bench.md). Effort 0 never calls the model, so there
    is always one.

    Args:
        sets: With their frontiers.
        budget: 0..1.
    """
    points = []
    for one in sets:
        relative = tuple(line.relative for line in one.frontier if line.relative is not None)
        if len(relative) == len(EFFORTS):
            points.append(_Points(one.name, relative, tuple(line.calls.mean for line in one.frontier)))
    if len(points) < 2:
        return LeaveOneOut(budget, (), None, None, None)
    found = tuple(_left_out(one, [other for other in points if other is not one], budget) for one in points)
    relatives = [one.relative for one in found]
    return LeaveOneOut(budget, found, fmean(relatives), fmean(one.calls for one in found), min(relatives))


def _left_out(one: _Points, others: Sequence[_Points], budget: float) -> LeftOut:
    relative = [fmean(values) for values in zip(*(other.relative for other in others), strict=True)]
    calls = [fmean(values) for values in zip(*(other.calls for other in others), strict=True)]
    highest = max(number for number in range(len(EFFORTS)) if calls[number] <= budget)
    return LeftOut(
        one.name, EFFORTS[highest], relative[highest], calls[highest], one.relative[highest], one.calls[highest]
    )

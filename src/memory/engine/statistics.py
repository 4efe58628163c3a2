"""Statistics of recorded searches."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from memory.schema.answer import Searched

BINS = 5  # per decade
EDGES = tuple(10 ** (step / BINS) for step in range(-4 * BINS, 2 * BINS + 1))
"""Bounds of the bins in seconds, from 0.0001 to 100, evenly spaced on a logarithmic scale."""


class OfTier(NamedTuple):
    """The number of searches that ended at a tier, and their share of all, 0..1."""

    name: str
    searches: int
    share: float


class OfType(NamedTuple):
    """
    Searches of one type.

    Attributes:
        p50, p95: Median and 95th percentile of the duration, in seconds.
        slow_share: Share of slow searches, 0..1.
        results: Average number of results.
    """

    name: str
    searches: int
    p50: float
    p95: float
    slow_share: float
    results: float


class Bin(NamedTuple):
    """The number of searches that took at least `low` and less than `high` seconds."""

    low: float
    high: float
    searches: int


class Statistics(NamedTuple):
    """
    Statistics of logged searches.

    Attributes:
        since: Time of the oldest search, UTC; None if there is none.
        p50, p95: Median and 95th percentile of the duration, in seconds.
        slow, slow_share: Number of searches that took longer than `search.slow_seconds`, and their share, 0..1.
        tiers, types: Searches by tier and by type, most frequent first; ties by name.
        times: A histogram of the durations; see `bins`.
    """

    searches: int
    since: datetime | None
    p50: float
    p95: float
    slow: int
    slow_share: float
    slow_seconds: float
    tiers: tuple[OfTier, ...]
    types: tuple[OfType, ...]
    times: tuple[Bin, ...]


def statistics(found: Sequence[Searched], slow_seconds: float) -> Statistics:
    """
    The statistics of searches; if there are none, all numbers are 0.

    Args:
        slow_seconds: A search that takes longer is slow.
    """
    taken = [one.seconds for one in found]
    slow = sum(one > slow_seconds for one in taken)
    of_tiers = [OfTier(name, len(mine), len(mine) / len(found)) for name, mine in _grouped(found, "tier")]
    of_types = [_of_type(name, mine, slow_seconds) for name, mine in _grouped(found, "type")]
    return Statistics(
        searches=len(found),
        since=min((one.moment for one in found), default=None),
        p50=percentile(taken, 50),
        p95=percentile(taken, 95),
        slow=slow,
        slow_share=slow / max(1, len(taken)),
        slow_seconds=slow_seconds,
        tiers=tuple(of_tiers),
        types=tuple(of_types),
        times=bins(taken),
    )


def percentile(seconds: Iterable[float], percent: int) -> float:
    """
    The smallest value that at least `percent` percent of the values do not exceed; 0 if there are none.

    This is the nearest rank: nothing is interpolated between two values.

    Args:
        percent: 1..100.
    """
    ordered = sorted(seconds)
    rank = -(-percent * len(ordered) // 100)
    return ordered[rank - 1] if ordered else 0.0


def bins(seconds: Sequence[float]) -> tuple[Bin, ...]:
    """
    A histogram of times with five bins per decade, from the decade of the shortest time to that of the longest.

    The first bin, from 0.0001 seconds, also counts shorter times, and the last, to 100 seconds, longer ones.
    """
    if not seconds:
        return ()
    places = [min(max(bisect_right(EDGES, one) - 1, 0), len(EDGES) - 2) for one in seconds]
    first, last = min(places) // BINS * BINS, (max(places) // BINS + 1) * BINS
    return tuple(Bin(EDGES[place], EDGES[place + 1], places.count(place)) for place in range(first, last))


def _grouped(found: Sequence[Searched], field: str) -> list[tuple[str, list[Searched]]]:
    """Searches grouped by a field, largest group first; ties by name."""
    groups: dict[str, list[Searched]] = {}
    for one in found:
        groups.setdefault(getattr(one, field), []).append(one)
    return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))


def _of_type(name: str, found: Sequence[Searched], slow_seconds: float) -> OfType:
    taken = [one.seconds for one in found]
    return OfType(
        name=name,
        searches=len(found),
        p50=percentile(taken, 50),
        p95=percentile(taken, 95),
        slow_share=sum(one > slow_seconds for one in taken) / len(found),
        results=sum(one.results for one in found) / len(found),
    )

"""What searches took, as the dictionary that becomes JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.operations.render.data import document
from memory.schema.times import iso

if TYPE_CHECKING:
    from memory.engine.statistics import Statistics


def statistics(found: Statistics) -> dict[str, Any]:
    """Times in seconds, shares 0..1; the bins of `times` are those of `memory.engine.statistics.bins`."""
    return document(
        "stats",
        found._asdict()
        | {
            "since": found.since and iso(found.since),
            "tiers": [tier._asdict() for tier in found.tiers],
            "types": [type._asdict() for type in found.types],
            "times": [bin._asdict() for bin in found.times],
        },
    )

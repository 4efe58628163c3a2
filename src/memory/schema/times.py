"""Moments as the text that is stored and shown."""

from __future__ import annotations

from datetime import UTC, datetime


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with microseconds and a Z: texts of equal length, which sort as the moments do."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")  # %Y does not pad

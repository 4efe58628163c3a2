"""Moments as the text that is stored and shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with microseconds and a Z: texts of equal length, which sort as the moments do."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")  # %Y does not pad


def midnight(moment: datetime, days: int = 1) -> datetime:
    """When the first of so many days (UTC) began, the last of which is that of a moment."""
    today = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=min(max(1, days), 36_500) - 1)

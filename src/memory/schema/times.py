"""Moments as the texts that are stored and shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with microseconds and a Z: all texts have the same length and sort like the moments."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")  # %Y does not pad


def midnight(moment: datetime, days: int = 1) -> datetime:
    """Midnight (UTC) at the start of the period of `days` days that ends with the day of `moment`; 1..36,500 days."""
    today = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=min(max(1, days), 36_500) - 1)

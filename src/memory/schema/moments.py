"""
Moments as people write and read them: in local time, that of the environment variable TZ or else of the machine.

What programs read and what is stored is in UTC and says so: see `memory.schema.errors.iso`.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import NamedTuple

from memory.schema.errors import Invalid, in_utc

FORMS = "Write 2026-03-01, 2026-03-01T10:30, 7d, 12h or 2w."
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def _shown(form: str, moment: datetime) -> str:
    return f"{moment.astimezone():{form}}"


day = partial(_shown, "%Y-%m-%d")
minute = partial(_shown, "%Y-%m-%d %H:%M")
second = partial(_shown, "%Y-%m-%d %H:%M:%S")
clock = partial(_shown, "%H:%M")


class Span(NamedTuple):
    """A time in UTC: `since` is part of it, `until` is not; None is no bound."""

    since: datetime | None
    until: datetime | None


def span(since: str | None, until: str | None) -> Span:
    """
    The time between two moments as people write them: a date, a time (local unless it has an offset), or how long ago it
    was: 90m, 12h, 7d, 2w. A date is that whole local day, at both ends.

    Raises:
        Invalid: One is none of them, or `until` is before `since`.
    """
    first = _first(since) if since is not None else None
    end = _end(until) if until is not None else None
    if first is not None and end is not None and end <= first:
        raise Invalid(f"until {until!r} is before since {since!r}", hint="Exchange them.")
    return Span(first, end)


def _first(text: str) -> datetime:
    """The moment at which what a text names begins."""
    try:
        if found := re.fullmatch(r"(\d{1,6})([mhdw])", text.strip()):
            return datetime.now(UTC) - timedelta(**{UNITS[found[2]]: int(found[1])})
        return in_utc(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError) as error:
        raise Invalid(f"{text!r} is neither a date nor an age", hint=FORMS) from error


def _end(text: str) -> datetime:
    """The moment right after what a text names: the next midnight after a date."""
    try:
        following = date.fromisoformat(text.strip()) + timedelta(days=1)
        return in_utc(datetime.combine(following, time()))
    except ValueError:
        return _first(text) + timedelta(microseconds=1)
    except OverflowError:  # after the last day there is
        return datetime.max.replace(tzinfo=UTC)

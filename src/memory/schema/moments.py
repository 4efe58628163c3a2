"""
Moments as people write and read them: in local time, by the environment variable TZ or else the machine's zone.

Stored times, and times for programs, are in UTC with a Z: see `memory.schema.errors.iso`.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import NamedTuple

from memory.schema.errors import Invalid, in_utc

FORMS = "Write 2026-03-01, 2026-03-01T10:30, 7d, 12h or 2w."
AGE = r"(\d{1,6})([mhdw])"
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def _shown(form: str, moment: datetime) -> str:
    return f"{moment.astimezone():{form}}"


day = partial(_shown, "%Y-%m-%d")
minute = partial(_shown, "%Y-%m-%d %H:%M")
second = partial(_shown, "%Y-%m-%d %H:%M:%S")
clock = partial(_shown, "%H:%M")


class Span(NamedTuple):
    """A span of time in UTC: `since` is inclusive, `until` exclusive; None is no bound."""

    since: datetime | None
    until: datetime | None


def span(since: str | None, until: str | None) -> Span:
    """
    The span between two moments as people write them: a date, a time (local unless it has an offset), or an age: 90m,
        12h,
    7d, 2w. A date includes its whole local day at either end.

    Raises:
        Invalid: A text has none of these forms, or `until` is before `since`.
    """
    first = beginning(since) if since is not None else None
    end = _end(until) if until is not None else None
    if first is not None and end is not None and end <= first:
        raise Invalid(f"until {until!r} is before since {since!r}", hint="Swap them.")
    return Span(first, end)


def beginning(text: str) -> datetime:
    """
    The beginning of a date, time or age, as for the `since` of `span`. It also reads when something happened.

    Raises:
        Invalid: The text is not a date, a time or an age.
    """
    try:
        if found := re.fullmatch(AGE, text.strip()):
            return datetime.now(UTC) - timedelta(**{UNITS[found[2]]: int(found[1])})
        return in_utc(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError) as error:
        raise Invalid(f"{text!r} is neither a date nor an age", hint=FORMS) from error


def ending(text: str) -> datetime:
    """
    The exclusive end of a validity: after the whole local day of a date, or the time itself. "2w" is in two weeks.

    Raises:
        Invalid: The text is not a date, a time or a duration.
    """
    now = datetime.now(UTC)
    if re.fullmatch(AGE, text.strip()):
        try:
            return now + (now - beginning(text))
        except OverflowError as error:
            raise Invalid(f"{text!r} is out of range", hint=FORMS) from error
    return _end(text) if re.fullmatch(r"\d{4}-\d\d-\d\d|\d{8}", text.strip()) else beginning(text)


LATELY, WEEKS = 14, 9
"""`ago` counts up to so many days, then up to so many weeks; anything older is a date."""


def ago(moment: datetime, now: datetime | None = None) -> str:
    """A moment by local days, as people say it: "today", "3 days ago", "5 weeks ago", "2026-03-14"."""
    today, own = (one.astimezone().date() for one in (now or datetime.now(UTC), moment))
    days = (today - own).days
    if -1 <= days <= 1:
        return ("today", "yesterday", "tomorrow")[days]
    if 0 < days < LATELY:
        return f"{days} days ago"
    return f"{days // 7} weeks ago" if 0 < days < 7 * WEEKS else day(moment)


def dated(moment: datetime, now: datetime | None = None) -> str:
    """The date, and how long ago that was, because a reader (a model) may not know today's date."""
    date, said = day(moment), ago(moment, now)
    return date if said == date else f"{date}, {said}"


def written(moment: datetime | None, *, end: bool = False) -> str:
    """
    A moment as text that `beginning` reads, or `ending`: a date if it falls on midnight; empty for None.

    Args:
        end: Write it for `ending`.
    """
    if moment is None:
        return ""
    local = moment.astimezone()
    if local.time() == time():
        return last(moment) if end else day(moment)
    return local.replace(tzinfo=None).isoformat(timespec="auto")


def last(end: datetime) -> str:
    """The last local day before an end."""
    return day(end - timedelta(microseconds=1))


def bounds(end: datetime | None) -> str:
    """The end of a validity: "until 2026-12-31", or "ended 2026-12-31" if it is past; empty if no end is known."""
    return f"{'ended' if end <= datetime.now(UTC) else 'until'} {last(end)}" if end else ""


def last_moment(text: str) -> datetime:
    """
    The last moment of a date, time or age, as `span` reads it.

    Raises:
        Invalid: The text is not a date, a time or an age.
    """
    return _end(text) - timedelta(microseconds=1)


def day_or_minute(moment: datetime) -> str:
    """A moment as people write it; the last moment of a local day is written as that day."""
    return day(moment) if second(moment).endswith("23:59:59") else minute(moment)


def _end(text: str) -> datetime:
    """The moment right after a date, time or age; after a date, the next midnight."""
    try:
        following = date.fromisoformat(text.strip()) + timedelta(days=1)
        return in_utc(datetime.combine(following, time()))
    except ValueError:
        return beginning(text) + timedelta(microseconds=1)
    except OverflowError:  # after the last day of datetime
        return datetime.max.replace(tzinfo=UTC)

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
AGE = r"(\d{1,6})([mhdw])"
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
    first = beginning(since) if since is not None else None
    end = _end(until) if until is not None else None
    if first is not None and end is not None and end <= first:
        raise Invalid(f"until {until!r} is before since {since!r}", hint="Swap them.")
    return Span(first, end)


def beginning(text: str) -> datetime:
    """
    The moment at which what a text names begins: as the `since` of `span`, and as people write when something happened.

    Raises:
        Invalid: It is neither a date nor a time nor an age.
    """
    try:
        if found := re.fullmatch(AGE, text.strip()):
            return datetime.now(UTC) - timedelta(**{UNITS[found[2]]: int(found[1])})
        return in_utc(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError) as error:
        raise Invalid(f"{text!r} is neither a date nor an age", hint=FORMS) from error


def ending(text: str) -> datetime:
    """
    The moment from which on something has ended: after the whole local day of a date; a time itself; 2w is in two weeks.

    Raises:
        Invalid: It is none of them.
    """
    now = datetime.now(UTC)
    if re.fullmatch(AGE, text.strip()):
        try:
            return now + (now - beginning(text))
        except OverflowError as error:
            raise Invalid(f"{text!r} is out of range", hint=FORMS) from error
    return _end(text) if re.fullmatch(r"\d{4}-\d\d-\d\d|\d{8}", text.strip()) else beginning(text)


LATELY, WEEKS = 14, 9
"""Days that are counted, and weeks; what is longer ago has a date."""


def ago(moment: datetime, now: datetime | None = None) -> str:
    """When it was by local days, as people say it: "today", "3 days ago", "5 weeks ago", "2026-03-14"."""
    today, own = (one.astimezone().date() for one in (now or datetime.now(UTC), moment))
    days = (today - own).days
    if -1 <= days <= 1:
        return ("today", "yesterday", "tomorrow")[days]
    if 0 < days < LATELY:
        return f"{days} days ago"
    return f"{days // 7} weeks ago" if 0 < days < 7 * WEEKS else day(moment)


def dated(moment: datetime, now: datetime | None = None) -> str:
    """The date, and how long ago that was: who reads it may not know today's."""
    date, said = day(moment), ago(moment, now)
    return date if said == date else f"{date}, {said}"


def written(moment: datetime | None, *, end: bool = False) -> str:
    """
    A moment as `beginning` reads it, or `ending`: a date where that is all there is to say; empty of none.

    Args:
        end: It is one from which on something has ended.
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
    """Until when something holds, "until 2026-12-31", or that it has "ended 2026-12-31"; empty if no end is known."""
    return f"{'ended' if end <= datetime.now(UTC) else 'until'} {last(end)}" if end else ""


def last_moment(text: str) -> datetime:
    """
    The last moment of what a text names, as `span` reads it.

    Raises:
        Invalid: It is neither a date, nor a time, nor an age.
    """
    return _end(text) - timedelta(microseconds=1)


def day_or_minute(moment: datetime) -> str:
    """A moment as people write it: the last of a local day as that day."""
    return day(moment) if second(moment).endswith("23:59:59") else minute(moment)


def _end(text: str) -> datetime:
    """The moment right after what a text names: the next midnight after a date."""
    try:
        following = date.fromisoformat(text.strip()) + timedelta(days=1)
        return in_utc(datetime.combine(following, time()))
    except ValueError:
        return beginning(text) + timedelta(microseconds=1)
    except OverflowError:  # after the last day there is
        return datetime.max.replace(tzinfo=UTC)

"""How long texts may be, what counts as text, bounds of numbers, and moments as texts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from memory.schema.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterable

TITLE_LIMIT = 200  # characters
LINE_LIMIT = 10_000  # characters of what, why, impact, description
BODY_LIMIT = 500_000  # characters (CAP D10)
NAME_LIMIT = 200  # characters of a project, a source, a tag, a file, ...
TAGS_LIMIT = 100
WHAT_OF_BODY = 200  # characters of a body that serve as `what` where a kind has none (CAP X3)
CLIP = 80  # characters of a wrong value that an error repeats
DEPTH_LIMIT = 64  # levels of nested metadata
DISTANCE_LIMIT = 10  # relations: beyond it, proximity is below a thousandth
AROUND = 100  # chunks on either side of one that is expanded, at most


def check_text(name: str, text: object, limit: int) -> None:
    """
    Check that a value is text within a limit.

    Raises:
        Invalid: It is not text, is longer than the limit, or contains a NUL or a lone surrogate.
    """
    if not isinstance(text, str):
        raise Invalid(f"{name} must be text, not {type(text).__name__}")
    if len(text) > limit:
        raise Invalid(f"{name} has {len(text):,} characters; at most {limit:,} are taken")
    if "\0" in text:
        raise Invalid(f"{name} has a NUL at position {text.index(chr(0))}: this looks like binary data, not text")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise Invalid(f"{name} has a lone surrogate at position {error.start}: it is not valid Unicode") from error


def check_texts(texts: Iterable[tuple[str, object, int]]) -> None:
    """`check_text` for several texts, each with its name and limit."""
    for name, text, limit in texts:
        check_text(name, text, limit)


def checked_name(field: str, name: object) -> str:
    """
    A required name, without white space around it.

    Raises:
        Invalid: It is not text, is longer than `NAME_LIMIT`, or blank.
    """
    check_text(field, name, NAME_LIMIT)
    if not (found := str(name).strip()):
        raise Invalid(f"{field} is blank")
    return found


def check_distance(value: object) -> int:
    """
    Check a distance in the graph.

    Raises:
        Invalid: It is not a whole number of relations from 0 to `DISTANCE_LIMIT`.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= DISTANCE_LIMIT:
        raise Invalid(f"a distance is 0..{DISTANCE_LIMIT} relations, a whole number, not {value!r}")
    return value


def clipped_repr(value: object) -> str:
    """The repr of a value, short enough for an error message."""
    text = repr(value)
    return text if len(text) <= CLIP else f"{text[:CLIP]}…"


def iteration(value: int | str | None) -> int | None:
    """
    The number of a session's iteration, written 1, "1" or "v1" (CAP X8).

    Raises:
        Invalid: It is not a number from 1 on.
    """
    if value is None:
        return None
    text = str(value).strip().lower().removeprefix("v")
    if isinstance(value, bool) or not (text.isascii() and text.isdigit() and len(text) < 11 and 1 <= int(text) < 2**31):
        raise Invalid(f"session_iter is a number from 1 on, such as 1 or v1, not {clipped_repr(value)}")
    return int(text)


def printable(name: str) -> str:
    """A name from the file system as one line of valid Unicode."""
    return " ".join(name.encode("utf-8", "replace").decode().split())


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with microseconds and a Z: all texts have the same length and sort like the moments."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")  # %Y does not pad


def midnight(moment: datetime, days: int = 1) -> datetime:
    """Midnight (UTC) at the start of the period of `days` days that ends with the day of `moment`; 1..36,500 days."""
    today = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=min(max(1, days), 36_500) - 1)

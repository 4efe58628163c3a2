"""The values of YAML front matter, as JSON, within limits, so that no file can use up the memory."""

from __future__ import annotations

from datetime import date
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.schema.memory import Json

BYTES = 1 << 16
"""The longest front matter whose values are read."""

VALUES = 5_000
"""The most values that are read: a few bytes of aliases of aliases stand for more than fit into memory."""

DEEPEST = 16
"""Levels of a value that are read; a page written by a person has three or four."""


def yaml_values(text: str, *, typed: bool = True) -> dict[str, Json] | None:
    """
    The values of front matter by their keys, dates and times as ISO 8601; None if they are not YAML, or too many.

    Args:
        typed: False leaves every number, date and truth value as the text it is written as, so that 1.10 stays 1.10.
    """
    if len(text.encode("utf-8", "replace")) > BYTES:
        return None
    import yaml

    try:
        plain = yaml.SafeLoader if typed else yaml.BaseLoader
        loader = getattr(yaml, "CSafeLoader" if typed else "CBaseLoader", plain)
        found = yaml.load(text, Loader=loader)  # noqa: S506  # all of them are safe
        return (
            {str(key): _json(value, [VALUES], 0) for key, value in found.items()} if isinstance(found, dict) else None
        )
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
        return None


def _json(value: object, room: list[int], depth: int) -> Json:
    """
    Args:
        room: How many more values may follow.

    Raises:
        ValueError: There are too many, or they are nested too deep.
    """
    room[0] -= 1
    if room[0] < 0 or depth > DEEPEST:
        raise ValueError("too many values")
    match value:
        case dict():
            return {str(key): _json(item, room, depth + 1) for key, item in value.items()}
        case list() | tuple() | set():
            return [_json(item, room, depth + 1) for item in value]
        case date():  # a datetime is one too
            return value.isoformat()
        case float() if not isfinite(value):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
    return str(value)

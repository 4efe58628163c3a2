"""
Text of others as it may be shown: to an agent, on a terminal, on one line.

What an error repeats of a value, and a name that the file system gave, are `memory.schema.limits.clipped_repr` and
`printable`: the vocabulary needs them itself.
"""

from __future__ import annotations

import re
from functools import cache

_JOINS = "\u034f\u180b-\u180d\u200c-\u200f\u2800\ufe00-\ufe0f"
"""Unseen, but part of writing: joiners of Persian and of emoji, marks of direction, variants of a sign, Braille's blank."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@cache
def _invisible() -> re.Pattern[str]:
    """Characters that a person does not see and a model reads. Compiled at first use: a keyword search has none."""
    return re.compile(
        "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # what a terminal would obey
        "\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u180f\u200b\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"  # of no width
        "\ufff9-\ufffb\U0001d173-\U0001d17a"  # around annotations and beams
        "\U000e0000-\U000e0fff]"  # tags and further variants: they spell whole texts
        f'|(?<![^\\x00-"$-)+-/:-\\x7f])[{_JOINS}]'  # joins nothing: only what is not ASCII, a digit, # and * have variants
        f"|(?<=[{_JOINS}]{{2}})[{_JOINS}]"  # or joins nothing any more
    )


def escape_invisible(text: str) -> str:
    """Text in which every character that nobody would see is U+FFFD, but for those that belong to a script or a sign."""
    return _invisible().sub("\ufffd", text)


def escape_controls(text: str) -> str:
    """
    Text without what a terminal would obey: a control character, or one that turns the direction of what follows,
    becomes U+FFFD, but for newline and tab.
    """
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Text as one line, whatever breaks it, with `escape_invisible`."""
    return " ".join(escape_invisible(text).split())

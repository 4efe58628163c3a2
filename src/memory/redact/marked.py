"""What the caller marked as secret, and the markers that stand where something was taken out."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from memory.schema.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from memory.redact.rule import Span

MARKED = "marked"
"""The name under which what stood between the tags is reported."""


def marker(name: str) -> str:
    return "[redacted]" if name == MARKED else f"[redacted:{name}]"


def marked(text: str, field: str) -> list[Span]:
    """
    The outermost `<redacted>…</redacted>` of a text, tags included.

    Tags of one kind alone are text: logs and examples write `<redacted>` for what they leave out.

    Raises:
        Invalid: One is never closed, though another is.
    """
    found, depth, start = [], 0, 0
    tags = list(_tags().finditer(text))
    if not any(tag[1] for tag in tags):
        return []
    for tag in tags:
        if tag[1]:
            if depth == 1:
                found.append((start, tag.end()))
            depth = max(0, depth - 1)
        else:
            start = start if depth else tag.start()
            depth += 1
    if depth:
        raise Invalid(
            f"{field} has a <redacted> at position {start} that is not closed",
            hint="Close each with </redacted>, or leave the tag out.",
        )
    return found


def between(text: str, names: Container[str]) -> Iterator[Span]:
    """What of a text is not a marker: the stretches between those that name a known rule, or none."""
    start = 0
    for match in _markers().finditer(text):
        if match[1] is None or match[1] in names or re.fullmatch(r"memoryignore:\d{1,6}", match[1]):
            yield start, match.start()
            start = match.end()
    yield start, len(text)


@cache
def _tags() -> re.Pattern[str]:
    return re.compile(r"<(/?)redacted\s{0,8}>", re.IGNORECASE)


@cache
def _markers() -> re.Pattern[str]:
    return re.compile(r"\[redacted(?::([^\[\]\s]{1,64}))?\]")

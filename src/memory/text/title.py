"""A title for a text that was given none."""

from __future__ import annotations

from memory.limits import TITLE_LIMIT

LINES = 200  # that are looked at


def title(text: str) -> str:
    """The first heading of the first level with a number sign, at most `TITLE_LIMIT` characters; empty without one."""
    for line in text.removeprefix("\ufeff").splitlines()[:LINES]:
        if line.startswith("# ") and line[2:].strip():
            return line[2:].strip().rstrip("#").strip()[:TITLE_LIMIT]
    return ""

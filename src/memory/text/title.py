"""A title for a text that was given none."""

from __future__ import annotations

from itertools import islice

from memory.text.outline import LINE, outline

LINES = 200  # that are looked at


def title(text: str) -> str:
    """What the first heading of the first level says, at most `TITLE_LIMIT` characters; empty without one."""
    lines = [found[0] for found in islice(LINE.finditer(text), LINES)]
    if not any(line.lstrip(" \ufeff").startswith(("#", "=")) for line in lines):
        return ""  # no parser is imported for it
    titles = (heading.path[-1].removeprefix("#").lstrip() for heading in outline(lines).headings if heading.level == 1)
    return next(filter(None, titles), "")

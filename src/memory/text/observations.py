"""
The body of an entity: a Markdown list with an item for each observation.

Any text can be an observation: its further lines are indented by two spaces, as in Markdown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import Invalid
from memory.schema.limits import LINE_LIMIT, check_text

if TYPE_CHECKING:
    from collections.abc import Iterable

MARK, INDENT = "- ", "  "


def listed(observations: Iterable[str]) -> str:
    """The body with these observations; `observations` is the inverse."""
    return "\n".join(MARK + text.replace("\n", f"\n{INDENT}") for text in observations)


def observations(body: str) -> tuple[str, ...]:
    """
    The observations of a body, in order and without white space around them, so each can be named for removal.

    In a body written by hand, a line that is neither an item nor its continuation is an observation of its own.
    Blank items are skipped.
    """
    found: list[list[str]] = []
    for line in body.split("\n") if body else ():
        if line.startswith(MARK):
            found.append([line.removeprefix(MARK)])
        elif found and line.startswith(INDENT):
            found[-1].append(line.removeprefix(INDENT))
        elif line.strip():
            found.append([line])
    return tuple(filter(None, ("\n".join(lines).strip() for lines in found)))


def checked(texts: Iterable[str]) -> list[str]:
    """
    Observations as they are stored: without white space around them.

    Raises:
        Invalid: One is blank, too long or not a text; or a single text is given in place of a list.
    """
    if isinstance(texts, str):
        raise Invalid("observations are a list of texts, not one text", hint="Put it in brackets.")
    found = list(texts)
    for text in found:
        check_text("an observation", text, LINE_LIMIT)
        if not text.strip():
            raise Invalid("an observation is blank")
    return [text.strip() for text in found]


def together(texts: tuple[str, ...]) -> tuple[str, ...]:
    """
    These observations, each free of secrets, if they can share a body.

    Raises:
        Invalid: One opens a `<redacted>` and another closes one: in one body, everything between would be redacted.
    """
    said = "\n".join(texts).lower()
    if "<redacted" in said and "</redacted" in said:
        hint = "Between them all that is known would be taken out: put both into one observation."
        raise Invalid("one observation has a <redacted> and another a </redacted>", hint=hint)
    return texts

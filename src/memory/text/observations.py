"""
What is known of an entity as its body: a Markdown list, an item for each observation.

Any text can be an observation: its further lines are indented by two blanks, as Markdown has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import Invalid
from memory.schema.limits import LINE_LIMIT, check_text

if TYPE_CHECKING:
    from collections.abc import Iterable

MARK, INDENT = "- ", "  "


def listed(observations: Iterable[str]) -> str:
    """The body that says these; `observations` takes it apart again."""
    return "\n".join(MARK + text.replace("\n", f"\n{INDENT}") for text in observations)


def observations(body: str) -> tuple[str, ...]:
    """
    The observations of a body, in order, each as `checked` gives it: so it can be named to be removed.

    A body that was written by hand may have lines that are neither items nor their continuation: each that says
    something is one by itself. Items that say nothing are none.
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
    Observations as they are kept: without blanks around them.

    Raises:
        Invalid: One is blank, too long, or no text.
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
    These observations, which are without secrets each, if they can be one body.

    Raises:
        Invalid: One opens a `<redacted>` and another closes one: in one body, all between them would be taken out.
    """
    said = "\n".join(texts).lower()
    if "<redacted" in said and "</redacted" in said:
        hint = "Between them all that is known would be taken out: put both into one observation."
        raise Invalid("one observation has a <redacted> and another a </redacted>", hint=hint)
    return texts

"""
What is known of an entity as its body: a Markdown list, an item for each observation.

Any text can be an observation: its further lines are indented by two blanks, as Markdown has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MARK, INDENT = "- ", "  "


def listed(observations: Iterable[str]) -> str:
    """The body that says these; `observations` takes it apart again."""
    return "\n".join(MARK + text.replace("\n", f"\n{INDENT}") for text in observations)


def observations(body: str) -> tuple[str, ...]:
    """
    The observations of a body, in order.

    A body that was written by hand may have lines that are neither items nor their continuation: each that says
    something is one by itself.
    """
    found: list[list[str]] = []
    for line in body.split("\n") if body else ():
        if line.startswith(MARK):
            found.append([line.removeprefix(MARK)])
        elif found and line.startswith(INDENT):
            found[-1].append(line.removeprefix(INDENT))
        elif line.strip():
            found.append([line])
    return tuple("\n".join(lines) for lines in found)

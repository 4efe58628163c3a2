"""One small wrong change."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """
    Attributes:
        text: What stands exactly once in the modules and scripts of `src/memory`, wherever that is.
        instead: What takes its place.
        tests: Names of files below `tests`, with blanks between.
        only: An expression of pytest's `-k`, where not all of them are needed.
    """

    name: str
    text: str
    instead: str
    tests: str
    only: str = ""

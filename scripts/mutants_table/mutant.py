"""One small wrong change."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """
    Attributes:
        place: The function, class or constant that is broken, as `module:name` below `memory`; or a file of SQL.
        text: The operator, name or number that is wrong, as it stands there exactly once.
        instead: What takes its place.
        tests: Names of files below `tests`, with blanks between.
        only: An expression of pytest's `-k`, where not all of them are needed.
    """

    name: str
    place: str
    text: str
    instead: str
    tests: str
    only: str = ""

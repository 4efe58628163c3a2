"""What is compared: ways to search, each a name for some settings."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.errors import Invalid
from memory.schema.query import Mode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.config.settings import SearchSettings


class Change(NamedTuple):
    """A search setting that is another one than the user's."""

    setting: str
    value: Any


class System(NamedTuple):
    """
    Attributes:
        mode: None reads the files instead, as grep would.
        changes: To the settings it is asked with.
        dense: Whether it cannot answer without a model.
    """

    name: str
    mode: Mode | None
    changes: tuple[Change, ...] = ()

    def settings(self, own: SearchSettings) -> SearchSettings:
        """The user's settings with the changes of this system."""
        return replace(own, **{change.setting: change.value for change in self.changes})

    @property
    def dense(self) -> bool:
        return self.mode in (Mode.VECTOR, Mode.HYBRID)

    @property
    def embeds(self) -> bool:
        """Whether it may ask a model, or look at what one has made."""
        return self.mode not in (None, Mode.KEYWORD)


GREP, KEYWORDS, HYBRID, COUNT, NO_CALL, TIERED = (
    "grep",
    "keywords",
    "hybrid minmax",
    "count gate",
    "no call",
    "tiered",
)
FRONTIER = "frontier"
"""In place of a system's name: all efforts, one after the other."""

SYSTEMS = (
    System(GREP, None),
    System(KEYWORDS, Mode.KEYWORD),
    System("vectors", Mode.VECTOR),
    System(HYBRID, Mode.HYBRID, (Change("merge", "minmax"),)),
    System("hybrid max", Mode.HYBRID, (Change("merge", "max"),)),
    System("hybrid rrf", Mode.HYBRID, (Change("merge", "rrf"),)),
    System(  # as the seed system is documented, whatever the user has set
        COUNT,
        Mode.TIERED,
        (
            Change("gate", "count"),
            Change("min_fts_results", 3),
            Change("merge", "max"),
            Change("candidates", 10),
            Change("keyword_weight", 0.3),
            Change("vector_weight", 0.7),
            Change("distilled", "off"),
            Change("neighbours", False),
        ),
    ),
    System(NO_CALL, Mode.TIERED, (Change("gate", "never"),)),
    System(TIERED, Mode.TIERED),
)

EFFORTS = tuple(step / 10 for step in range(11))


def effort(value: float) -> System:
    """A point of the frontier."""
    return System(f"effort {value:.1f}", Mode.TIERED, (Change("gate", "auto"), Change("effort", value)))


class Chosen(NamedTuple):
    systems: tuple[System, ...]
    frontier: bool


def chosen(names: Sequence[str]) -> Chosen:
    """
    The systems of those names, in the order of the table.

    Raises:
        Invalid: None is named, or there is none of a name; the nearest is suggested.
    """
    known = [*(system.name for system in SYSTEMS), FRONTIER]
    every = f"There are: {', '.join(known)}."
    if not names:
        raise Invalid("no system is named", hint=every)
    for name in names:
        if name not in known:
            suggestions = get_close_matches(name, known, n=1)
            raise Invalid(f"no system {name!r}", hint=f"Did you mean {suggestions[0]!r}?" if suggestions else every)
    return Chosen(tuple(system for system in SYSTEMS if system.name in names), FRONTIER in names)

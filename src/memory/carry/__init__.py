"""
In and out: what others keep, pages, migrations, and what a session may have left.

Here is what became of all that was found: found = saved + updated + already there + left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Notice

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memory.carry.formats.items import LeftOut


SAVED, UPDATED, THERE = "saved", "updated", "already there"

LISTED = 10
"""How many of what was left out are named to a person; a document names all of them."""


SKIPPED = 50
"""How many of what is wrong the first version of a document named."""


class Sum(NamedTuple):
    """
    The sum of an import or sync: how much was found, and how much of it is new, changed, unchanged or left out.

    Attributes:
        left_out: Omissions with their reasons; faults come before those of a rule.
        unnamed: Number of further omissions that are not named.
    """

    found: int
    saved: int
    updated: int
    there: int
    left_out: tuple[LeftOut, ...] = ()
    unnamed: int = 0

    def __str__(self) -> str:
        parts = f"{self.saved:,} saved, {self.updated:,} updated, {self.there:,} already there"
        return f"found {self.found:,}: {parts}, {self.left:,} left out"

    @property
    def left(self) -> int:
        """Number of all omissions."""
        return len(self.left_out) + self.unnamed

    @property
    def faults(self) -> int:
        """Number of omissions because of a fault."""
        return self.unnamed + sum(not one.ruled for one in self.left_out)

    @property
    def told(self) -> list[Notice]:
        """Notices about omissions: the first `LISTED`, each with its reason, and the number of the rest."""
        named = [Notice(f"left out: {one.notice.text}", one.hint) for one in self.left_out[:LISTED]]
        more = self.left - len(named)
        return named + ([Notice(f"left out: {more:,} more, which --json names")] if more else [])

    @property
    def values(self) -> dict[str, object]:
        """The counts by name, as `--json` prints them."""
        found, kept, updated, known, left_out, unnamed = self
        every = [{"name": one.name, "why": one.why, "hint": one.hint} for one in left_out]
        numbers = {"found": found, "kept": kept, "updated": updated, "known": known}
        wrong = [{"text": one.notice.text, "hint": one.hint} for one in left_out if not one.ruled]
        return numbers | {"left_out": every, "unnamed": unnamed, "skipped": wrong[:SKIPPED], "skips": self.faults}


class Outcomes:
    """The outcome for each file that several looks at a folder have found."""

    def __init__(self) -> None:
        self._of: dict[str, str | LeftOut] = {}

    def found(self, names: Iterable[str], left: Iterable[LeftOut]) -> None:
        """Set the files that exist now; outcomes of files that existed before stay."""
        self._of = {name: self._of.get(name, THERE) for name in names} | {one.name: one for one in left}

    def __contains__(self, name: str) -> bool:
        return name in self._of

    def note(self, name: str, became: str | LeftOut) -> bool:
        """
        Record the outcome for a file; returns whether the file was found and the outcome is new.

        A file that was new in this run stays new if it changes later.
        """
        was = self._of.get(name)
        stays = became == UPDATED and was == SAVED
        if was is None or was == became or stays or (became == THERE and isinstance(was, str)):
            return False
        self._of[name] = became
        return True

    def move(self, name: str, to: str) -> None:
        """Record that a file has another name now."""
        if name in self._of:
            self._of[to] = self._of.pop(name)

    def sum(self) -> Sum:
        """The sum of all outcomes so far."""
        every = list(self._of.values())
        left = sorted((one for one in every if not isinstance(one, str)), key=lambda one: (one.ruled, one.name))
        return Sum(len(every), every.count(SAVED), every.count(UPDATED), every.count(THERE), tuple(left))

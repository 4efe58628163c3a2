"""
What waits for a person's review: proposals in a file beside the database, and the digests of what was reviewed.

Not a table: a proposal is no memory, and must not be found, counted or exported as one. The file is replaced whole, so
that what was dropped is no longer in it, and what a kill interrupts is as it was before.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memory.config.files import contents, folders, locked, write_file
from memory.config.unfinished import sweep
from memory.schema.errors import Ambiguous, NotFound, StoreError, explained

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

SCHEMA = "memory.review/1"
LIMIT = 16 << 20  # bytes; what may stand in it at most is a tenth of that

WAITING = 200
"""Proposals that wait at most: the oldest make room, because a list that nobody reads is worth nothing."""

SETTLED = 10_000
"""Digests of reviewed proposals that are kept, the latest."""

SHOWN = 8
"""Characters of an id that are shown, and are usually enough to name it."""


class Proposed(NamedTuple):
    """
    A proposal that waits.

    Attributes:
        id: `memory.carry.capture.digest` of what was proposed, also after an edit.
        sort, what, why, role, line, time: See `memory.carry.capture.Proposal`.
        file: The transcript.
        session: As its agent calls it; empty if unknown.
        project: None if it belongs to none.
    """

    id: str
    sort: str
    what: str
    why: str
    role: str
    file: str
    line: int | None
    time: str
    session: str
    project: str | None


class Review:
    """The file of one database. Made with the first proposal; only its owner may read it."""

    def __init__(self, database: str) -> None:
        self.path = f"{database}-review"

    def waiting(self) -> list[Proposed]:
        """
        What waits, oldest first.

        Raises:
            StoreError: The file cannot be read.
        """
        return self._read()[0]

    def one(self, reference: str) -> Proposed:
        """
        What an id, or its beginning, names.

        Raises:
            NotFound, Ambiguous: Nothing that waits, or several.
        """
        found = [one for one in self.waiting() if reference and one.id.startswith(reference.strip().lower())]
        if not found:
            raise NotFound(
                f"nothing with the id {reference!r} waits for review", hint="`memory review list` shows ids."
            )
        if len(found) > 1:
            raise Ambiguous(reference, [one.id for one in found])
        return found[0]

    def unknown(self, ids: Sequence[str]) -> set[str]:
        """Of some ids those that neither wait nor were reviewed."""
        waiting, settled = self._read()
        return {*ids}.difference(settled, (one.id for one in waiting))

    def add(self, several: Sequence[Proposed]) -> list[Proposed]:
        """Let proposals wait; which of them are new."""
        added: list[Proposed] = []

        def change(waiting: list[Proposed], settled: list[str]) -> None:
            known = {*settled, *(one.id for one in waiting)}
            added.extend(one for one in {one.id: one for one in several}.values() if one.id not in known)
            waiting += added
            settled += [one.id for one in waiting[:-WAITING]]
            del waiting[:-WAITING]

        if several:
            self._change(change)
        return added

    def settle(self, id: str) -> None:
        """It was kept or dropped: only its digest stays, so that it is not proposed again."""

        def change(waiting: list[Proposed], settled: list[str]) -> None:
            waiting[:] = [one for one in waiting if one.id != id]
            settled.append(id)

        self._change(change)

    def replace(self, changed: Proposed) -> None:
        """Let it say something else, or belong to another project; it waits as before."""

        def change(waiting: list[Proposed], _settled: list[str]) -> None:
            waiting[:] = [changed if one.id == changed.id else one for one in waiting]

        self._change(change)

    def _change(self, change: Callable[[list[Proposed], list[str]], None]) -> None:
        with self._alone():
            waiting, settled = self._read()
            change(waiting, settled)
            values = {"schema": SCHEMA, "waiting": waiting, "settled": [*dict.fromkeys(settled)][-SETTLED:]}
            write_file(self.path, json.dumps(values).encode(), private=True)

    @contextmanager
    def _alone(self) -> Generator[None]:
        folder = Path(self.path).parent
        with explained(StoreError, f"cannot write {self.path}"), folders(folder, private=True), locked(str(folder)):
            sweep(folder)  # what was dropped is not in what a kill left, either
            yield

    def _read(self) -> tuple[list[Proposed], list[str]]:
        with explained(StoreError, f"cannot read {self.path}"):
            if not Path(self.path).exists():
                return [], []
            content = contents(self.path, LIMIT)
        try:
            found = json.loads(content)
            lists = {SCHEMA: found}[found["schema"]]
            return [Proposed(*one) for one in lists["waiting"]], [str(one) for one in lists["settled"]]
        except (ValueError, LookupError, TypeError) as error:
            hint = "Move it away: what waits in it is lost, memories are not."
            raise StoreError(f"{self.path} is damaged, or of another version", hint=hint) from error

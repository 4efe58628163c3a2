"""Moving a store into another, row by row: it may be interrupted anywhere, and repeated."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.schema.errors import Invalid, StoreBusy, StoreReadOnly
from memory.store.tables import GENERATIONS, LINKS, MEMORIES, QUEUE, USED, Arrival, Table, following, owned

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from memory.store.records import Row
    from memory.store.tables import Key, Movable

    Progress: TypeAlias = Callable[[int, int], None]

BATCH = 500
"""Rows that are compared, and written in one transaction."""

FEW = 1_000
"""So many rows are caught up while writers to the source wait."""

SAYING = ("memories", "trash", "tool_calls")
"""Tables with texts: what the source has no longer may have been taken for good there, and is here too."""

ROUNDS = 5
"""Times that what was written meanwhile is caught up before writers have to wait, however much it is."""


class Moved(NamedTuple):
    """
    What a move has done.

    Attributes:
        memories: How many there are now.
        written, removed: Rows of all tables that this run wrote, or took away since the source had them no longer.
        rounds: How often it went through everything.
    """

    memories: int
    written: int
    removed: int
    rounds: int


def migrate(source: Movable, target: Movable, name: str, progress: Progress) -> Moved:
    """
    Make a store equal to another, with all ids, times and vectors, in batches that each are one transaction.

    The source may be written to meanwhile: what came and went is caught up, at the end while its writers wait.
    Both may be read. Whoever interrupts it calls it again, which writes what is missing. No bytes are left of what it takes
    away; `Counts.unwiped` tells where somebody still reads them.

    Args:
        name: The source's, by which a target is known again that was begun.
        progress: Called with how many memories are done, and of how many.

    Raises:
        Invalid: The target holds something else. It was not changed.
        StoreBusy: Another process moves into the target.
        StoreError: One of them cannot be read or written. What was written stays.
    """
    copy = _Copy(source, target, _begun(source, target, name))
    rounds = 1
    with source.snapshot():
        copy.all_rows(progress)
    while copy.changed > FEW and rounds < ROUNDS:
        rounds += 1
        with source.snapshot():
            copy.all_rows()
    with _still(source):
        copy.all_rows(last=True)
        copy.end()
    if target.counts().unwiped:
        target.wipe()
    return Moved(target.tables.count(MEMORIES), copy.written, copy.removed, rounds + 1)


def _begun(source: Movable, target: Movable, name: str) -> Arrival:
    """
    Mark the target as one that is filled from this source.

    Raises:
        Invalid: It holds something else.
    """
    arrival = Arrival(name, os.urandom(16).hex())
    with target.transaction():
        former = target.tables.arrival()
        if former is None and any(target.tables.rows(one, one.key, limit=1) for one in _every(target)):
            raise Invalid(
                "the target holds memories, or a log of its own, that did not come from a move which can go on",
                hint="Choose an empty one. `memory export` and `memory import` bring memories into a store that has some.",
            )
        if former is not None and former.source != name:
            raise Invalid(f"the target is filled from {former.source}", hint="Choose another one.")
        if former is not None and target.highest() > source.highest():
            raise Invalid(
                f"the target came from {name}, which has given fewer ids since: that is another store now",
                hint="Choose an empty target.",
            )
        # One that had ended stays so until something is written.
        ended = former is not None and former.ended
        target.tables.set_arrival(arrival._replace(ended=ended))
    return arrival


def _every(store: Movable) -> list[Table]:
    return [GENERATIONS, *following(_generations(store))]


def _generations(store: Movable) -> list[int]:
    return [id for (id,) in store.tables.rows(GENERATIONS, GENERATIONS.key)]


@contextmanager
def _still(source: Movable) -> Generator[None]:
    """Nobody writes to the source meanwhile; if it can only be read, nobody else's writing is seen."""
    with ExitStack() as stack:
        try:
            stack.enter_context(source.transaction(durable=False))
        except StoreReadOnly:
            stack.enter_context(source.snapshot())
        yield


class _Copy:
    """
    Attributes:
        written, removed: See `Moved`.
        changed: How many rows the last round wrote or removed.
    """

    def __init__(self, source: Movable, target: Movable, arrival: Arrival) -> None:
        self.written = self.removed = self.changed = 0
        self._source, self._target = source, target
        self._from, self._to = source.tables, target.tables
        self._arrival = arrival

    def all_rows(self, progress: Progress = lambda _done, _total: None, *, last: bool = False) -> None:
        """
        Make all rows of the target those of the source, of one moment.

        Args:
            last: Also the queue.
        """
        before = self.written + self.removed
        self._remove(GENERATIONS)
        self._add(GENERATIONS, progress)
        self._living = _generations(self._source)
        tables = [table for table in following(self._living) if last or table != QUEUE]
        for table in reversed(tables):  # first what refers to others
            if table != LINKS:  # no rows of their own
                self._remove(table)
        for table in tables:
            if table in USED:
                with self._target.transaction(durable=False):  # lest a search there writes in between
                    self._remove(table)
                    self._add(table, progress)
            else:
                self._add(table, progress)
        self.changed = self.written + self.removed - before

    def end(self) -> None:
        """From now on the target is a store like any other, whose ids go on where the source's do."""
        with self._filling(ended=True):
            self._to.skip(self._from.numbers())

    def _remove(self, table: Table) -> None:
        """Take away what the source has no longer."""
        columns = table.key if table.lasting else table.key + table.fixed
        after: Key | None = None
        while rows := self._to.rows(table, columns, after=after, limit=BATCH):
            upto = rows[-1][: len(table.key)]
            there = set(self._from.rows(table, columns, after=after, upto=upto))
            if gone := [row[: len(table.key)] for row in rows if row not in there]:
                with self._filling():
                    self._to.remove(table, gone)
                    if table.name in SAYING:
                        self._target.trash.remove([], purged=True)
                self.removed += len(gone)
            after = upto

    def _add(self, table: Table, progress: Progress) -> None:
        """Write what the target lacks, and what has changed."""
        columns = table.key + table.changing
        total = self._from.count(table) if table == MEMORIES else 0
        done = 0
        after: Key | None = None
        while rows := self._from.rows(table, columns, after=after, limit=BATCH):
            upto = rows[-1][: len(table.key)]
            if self._differing(table, rows, after, upto) != ([], []):
                self._write(table, rows, after, upto)
            after = upto
            if total:
                done += len(rows)
                progress(done, total)

    def _differing(
        self, table: Table, rows: Sequence[Row], after: Key | None, upto: Key
    ) -> tuple[list[Key], list[Row]]:
        """Keys that the target lacks, and rows that it has otherwise."""
        width = len(table.key)
        there = {row[:width]: row for row in self._to.rows(table, table.key + table.changing, after=after, upto=upto)}
        lacking = [row[:width] for row in rows if row[:width] not in there]
        return lacking, [row for row in rows if there.get(row[:width], row) != row]

    def _write(self, table: Table, rows: Sequence[Row], after: Key | None, upto: Key) -> None:
        with self._filling():
            lacking, changed = self._differing(table, rows, after, upto)  # it may have been read, and counted that
            if changed:
                self._to.change(table, changed)
            if lacking:
                wanted = set(lacking)
                whole = self._from.rows(table, table.columns, after=after, upto=upto)
                self._to.insert(table, [row for row in whole if row[: len(table.key)] in wanted])
            for own in owned(self._living) if lacking and table == MEMORIES else ():
                if belonging := self._from.owned(own, [id for (id,) in lacking]):
                    self._to.insert(own, belonging)
                    self.written += len(belonging)
        self.written += len(lacking) + len(changed)

    @contextmanager
    def _filling(self, *, ended: bool = False) -> Generator[None]:
        """
        A transaction that may change the target.

        Raises:
            StoreBusy: Another process moves into it by now, or it was changed.
        """
        with self._target.transaction(durable=ended):  # which keeps all that was written before, too
            found = self._to.arrival()
            if found is None or found._replace(ended=False) != self._arrival:
                raise StoreBusy("another process has changed the target, or moves into it", hint="Look at both.")
            self._to.set_arrival(None)
            yield
            self._to.set_arrival(self._arrival._replace(ended=ended))

"""Moving a store into another, row by row: it may be interrupted anywhere, and repeated."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from memory.schema.errors import Invalid, StoreBusy, StoreReadOnly
from memory.store.tables import GENERATIONS, LINKS, MEMORIES, QUEUE, READ, USED, MigrationMark, Table, following, owned

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from memory.store.records import Row
    from memory.store.tables import Key, Movable

    Progress: TypeAlias = Callable[[int, int], None]
    from collections.abc import Callable, Iterator, Mapping

    from memory.schema.memory import MemoryId
    from memory.store.tables import Tables


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


def _begun(source: Movable, target: Movable, name: str) -> MigrationMark:
    """
    Mark the target as one that is filled from this source.

    Raises:
        Invalid: It holds something else.
    """
    mark = MigrationMark(name, os.urandom(16).hex())
    with target.transaction():
        former = target.tables.migration_mark()
        if former is None and any(target.tables.rows(one, one.key, limit=1) for one in _every(target)):
            raise Invalid(
                "the target holds memoriesthat do not come from this move",
                hint="Choose an empty one. `memory export` and `memory import` bring memories into a store that has some.",
            )
        if former is not None and former.source != name:
            raise Invalid(f"the target is filled from {former.source}", hint="Choose another one.")
        if former is not None and target.highest() > source.highest():
            raise Invalid(
                f"the target came from {name}, which has since become another store",
                hint="Choose an empty target.",
            )
        # One that had ended stays so until something is written.
        ended = former is not None and former.ended
        target.tables.set_migration_mark(mark._replace(ended=ended))
    return mark


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

    def __init__(self, source: Movable, target: Movable, mark: MigrationMark) -> None:
        self.written = self.removed = self.changed = 0
        self._source, self._target = source, target
        self._from, self._to = source.tables, target.tables
        self._mark = mark

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
            found = self._to.migration_mark()
            if found is None or found._replace(ended=False) != self._mark:
                raise StoreBusy(
                    "another process has changed the target, or moves into it",
                    hint="Run `memory migrate` again when it has finished.",
                )
            self._to.set_migration_mark(None)
            yield
            self._to.set_migration_mark(self._mark._replace(ended=ended))


# Comparing both ------------------------------------------------------------------


_SAID = tuple(name for name in MEMORIES.columns if name not in READ)


class Compared(NamedTuple):
    """
    Two stores, beside each other.

    Attributes:
        counts: Rows of each table, of the one and of the other. Tables of vectors are named by their generation.
        memories: Ids of those that differ, with what belongs to them, or that only one store has.
        tables: Other tables that differ, besides the usage log.
    """

    counts: Mapping[str, tuple[int, int]]
    memories: Sequence[MemoryId]
    tables: Sequence[str]

    @property
    def same(self) -> bool:
        return not self.memories and not self.tables


def compare(one: Movable, other: Movable, progress: Callable[[int, int], None]) -> Compared:
    """
    Compare all that two stores hold but what reading changes: how often a memory was read, the usage log, of which rows are
    only counted. Each is read as of one moment.

    Args:
        progress: Called with how many memories are done, and of how many.
    """
    with one.snapshot(), other.snapshot():
        stores = (one.tables, other.tables)
        generations = [[id for (id,) in store.rows(GENERATIONS, GENERATIONS.key)] for store in stores]
        living = [id for id in generations[0] if id in generations[1]]
        tables = [GENERATIONS, *following(living)]
        counts = {table.name: (stores[0].count(table), stores[1].count(table)) for table in tables}
        memories = _differing(stores, living, max(counts["memories"]), progress)
        beside = [table for table in tables if not table.owner and table not in (MEMORIES, LINKS, *USED)]
        return Compared(counts, memories, [table.name for table in beside if len({*_hashes(stores, table)}) > 1])


def _hashes(stores: Sequence[Tables], table: Table) -> Iterator[bytes]:
    """A hash of all rows of a table in each store."""
    for store in stores:
        found = sha256()
        for rows in _pages(store, table, table.columns):
            found.update(repr(rows).encode("utf-8", "surrogatepass"))
        yield found.digest()


def _pages(store: Tables, table: Table, columns: Sequence[str]) -> Iterator[Sequence[Row]]:
    after: Key | None = None
    while rows := store.rows(table, columns, after=after, limit=BATCH):
        yield rows
        after = rows[-1][: len(table.key)]


def _differing(
    stores: Sequence[Tables], living: Sequence[int], total: int, progress: Callable[[int, int], None]
) -> list[MemoryId]:
    found: list[MemoryId] = []
    after, done = 0, 0
    while ends := [page[-1][0] for page in (_page(store, after) for store in stores) if page]:
        upto = min(ends)
        hashed = [_of_memories(store, living, after, upto) for store in stores]
        ids = sorted(hashed[0].keys() | hashed[1].keys())
        found += [id for id in ids if hashed[0].get(id) != hashed[1].get(id)]
        after, done = upto, done + len(ids)
        progress(min(done, total), total)
    return found


def _page(store: Tables, after: int) -> Sequence[Row]:
    return store.rows(MEMORIES, MEMORIES.key, after=(after,), limit=BATCH)


def _of_memories(store: Tables, living: Sequence[int], after: int, upto: int) -> Mapping[MemoryId, bytes]:
    """A hash of each memory behind an id and up to another: of its row, its links, its text, its history and vectors."""
    hashes: dict[MemoryId, Any] = {}
    for table, columns in ((MEMORIES, _SAID), (LINKS, LINKS.columns)):
        for id, *rest in store.rows(table, columns, after=(after,), upto=(upto,)):
            hashes.setdefault(id, sha256()).update(repr(rest).encode("utf-8", "surrogatepass"))
    owners: dict[int, MemoryId] = {}
    for table in owned(living):
        place = itemgetter(table.columns.index(table.owner))
        for row in store.owned(table, list(hashes)):
            if table.name == "chunks":
                owners[row[0]] = row[1]
            owner = place(row) if table.owner == "memory_id" else owners[place(row)]
            hashes[owner].update(repr((table.name, row)).encode("utf-8", "surrogatepass"))
    return {id: found.digest() for id, found in hashes.items()}

"""Whether two stores hold the same: how many rows of each table, and a hash of each memory."""

from __future__ import annotations

from hashlib import sha256
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.store.tables import GENERATIONS, LINKS, MEMORIES, READ, USED, Table, following, owned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memory.schema.memory import MemoryId
    from memory.store.records import Row
    from memory.store.tables import Key, Movable, Tables

BATCH = 500

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

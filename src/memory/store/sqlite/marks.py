"""
Which chunks a filter leaves: of each value of a field the chunks of the memories that have it, beside the postings.

What is filtered by never changes while a memory keeps its chunks: whoever rewrites it writes them anew.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from memory.schema.draft import tag_key
from memory.schema.query import FILTERS, NONE, Scope
from memory.store.sqlite.bm25 import FEW_SHARE, met

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import apsw
    from numpy.typing import NDArray

    from memory.store.sqlite.bm25 import Rows

COLUMNS = tuple(sorted(FILTERS.keys() - {"status", "author", "owner"}))
"""What a memory is filtered by, one value each; and by its `TAGS`. In a file, which is one person's, no author has many."""

TAGS = "tags"

AT_ONCE = 100_000  # ids read at once

_NONE: Rows = np.empty(0, np.int32)


def groups(scope: Scope) -> list[list[bytes]]:
    """What a scope asks of each field: a group of values of which a memory has one; it has one of each group."""
    fields = [(column, getattr(scope, FILTERS[column])) for column in COLUMNS]
    return [
        *([key(column, value) for value in values] for column, values in fields if values),
        *([key(TAGS, tag_key(tag))] for tag in scope.tags),
    ]


def key(field: str, value: object) -> bytes:
    return f"{field}\0{value}".encode(errors="surrogatepass")


def keys(values: Mapping[str, Any], tags: str) -> Iterator[bytes]:
    """
    Those of a memory.

    Args:
        values: By column.
        tags: As JSON.
    """
    yield from (key(column, value) for column, value in values.items() if value is not None)
    if values["project"] is None:
        yield key("project", NONE)
    try:
        yield from {key(TAGS, tag_key(tag)) for tag in json.loads(tags) if isinstance(tag, str)}
    except ValueError:  # damaged
        return


class Lists:
    """As they were when a file was made."""

    def __init__(
        self, texts: NDArray[np.uint8], ends: NDArray[np.int64], starts: NDArray[np.int64], rows: Rows
    ) -> None:
        """
        Args:
            texts, ends: All keys in bytes, sorted, one after the other; where each ends.
            starts: Where the rows of each begin, and where the last ones end.
            rows: Of each key, ascending.
        """
        self._texts, self._ends, self._starts, self._rows = texts, ends, starts, rows

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, place: int) -> bytes:
        first = self._ends[place - 1] if place else 0
        return self._texts[first : self._ends[place]].tobytes()

    def of(self, key: bytes) -> Rows:
        place = bisect_left(self, key)
        there = place < len(self) and self[place] == key
        return self._rows[self._starts[place] : self._starts[place + 1]] if there else _NONE


class Marks:
    """Those of a file, and of what came since. Not for two threads at once."""

    def __init__(self, lists: Lists) -> None:
        self._lists = lists
        self._later: dict[bytes, list[int]] = {}

    def add(self, row: int, keys: Iterable[bytes]) -> None:
        """A chunk came, with a row above all others."""
        for one in keys:
            self._later.setdefault(one, []).append(row)

    def rows(self, groups: Sequence[Sequence[bytes]], count: int) -> Rows:
        """
        The rows that have a key of each group, ascending, whether they went since or not.

        Args:
            count: Of all rows.
        """
        fewest, *others = sorted((self._any(group) for group in groups), key=len)
        for other in others:
            if len(fewest) * FEW_SHARE < len(other):
                fewest = fewest[met(fewest, other)[0]]
            else:
                mask = np.zeros(count, np.bool_)
                mask[other] = True
                fewest = fewest[mask[fewest]]
        return fewest

    def _any(self, group: Sequence[bytes]) -> Rows:
        parts = [part for one in group for part in (self._lists.of(one), self._later.get(one)) if part is not None]
        found: Rows = np.concatenate([np.asarray(part, np.int32) for part in parts])
        return np.sort(found) if len(group) > 1 else found


# How they are read from the database ---------------------------------------------


class Read(NamedTuple):
    """What `Lists` are made of, and what they are in a file."""

    texts: NDArray[np.uint8]
    ends: NDArray[np.int64]
    starts: NDArray[np.int64]
    rows: Rows


def read(db: apsw.Connection, owners: NDArray[np.int64]) -> Read:
    """
    Args:
        owners: Of each row its memory.
    """
    order = np.argsort(owners, kind="stable")
    sorted_owners, names = owners[order], list[bytes]()
    counts, rows = [np.zeros(1, np.int64)], [_NONE]
    for field in sorted((*COLUMNS, TAGS)):
        for keys, often, ids in _parts(db, field):
            first, after = (np.searchsorted(sorted_owners, ids, side) for side in ("left", "right"))
            chunks = after - first
            places = np.arange(chunks.sum()) + np.repeat(first - (chunks.cumsum() - chunks), chunks)
            found, groups = order[places], np.repeat(np.repeat(np.arange(len(keys)), often), chunks)
            names += keys
            rows.append(found[np.lexsort((found, groups))].astype(np.int32))
            counts.append(np.bincount(groups, minlength=len(keys)))
    ends = np.cumsum([len(name) for name in names], dtype=np.int64)
    starts = np.cumsum(np.concatenate(counts))
    return Read(np.frombuffer(b"".join(names), np.uint8), ends, starts, np.concatenate(rows))


def _parts(db: apsw.Connection, field: str) -> Iterator[tuple[list[bytes], list[int], NDArray[np.int64]]]:
    """Keys of a field in order, some at a time; how many memories have each, and which."""
    rows = iter(_values(db, field))
    while True:
        keys, often, texts = list[bytes](), list[int](), list[str]()
        for value, count, ids in rows:
            keys.append(field.encode() + b"\0" + value)
            often.append(count)
            texts.append(ids)
            if sum(often[-1:]) + len(often) > AT_ONCE:
                break
        if not keys:
            return
        yield keys, often, np.fromstring(",".join(texts), np.int64, sep=",")


def _values(db: apsw.Connection, field: str) -> Iterable[tuple[bytes, int, str]]:
    """The values of a field in order, how many memories have each, and their ids."""
    if field == TAGS:
        sql = """select cast(t.value as blob), count(distinct m.id), group_concat(distinct m.id)
                 from memories m, json_each(iif(json_valid(m.tags), m.tags, '[]')) t
                 where t.type = 'text' group by t.value order by 1"""
    else:
        value = f"ifnull(project, '{NONE}')" if field == "project" else field
        sql = f"""select cast({value} as blob), count(*), group_concat(id) from memories
                  where {value} is not null group by {value} order by 1"""
    return db.execute(sql)

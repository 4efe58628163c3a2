"""`Data`: all that a `RamStore` holds. Its parts share it."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np

from memory.schema.draft import tag_key
from memory.schema.errors import NotFound, StoreError
from memory.schema.query import NONE
from memory.text.fold import fold
from memory.text.lookup import stems

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from datetime import datetime

    from memory.schema.memory import ChunkId, Memory, MemoryId, Revision
    from memory.schema.query import Scope
    from memory.schema.space import Strangers, Vectors
    from memory.store import Generation, Learned, TermVector, ToolCall
    from memory.store.journal import Noted, Trashed, Undoable
    from oracle.ram_chunks import Piece
    from oracle.ram_queue import QueueEntry


@dataclass
class Data:
    """
    Values are never changed, so that copies of the dictionaries are a snapshot.

    Attributes:
        holes: Whether ids that were given in a transaction that failed are not given again, as by a server. No store
            promises either.
    """

    holes: bool = False
    memories: dict[MemoryId, Memory] = field(default_factory=dict)
    bodies: dict[MemoryId, str] = field(default_factory=dict)
    history: dict[MemoryId, tuple[Revision, ...]] = field(default_factory=dict)
    pieces: dict[ChunkId, Piece] = field(default_factory=dict)
    queue: dict[ChunkId, QueueEntry] = field(default_factory=dict)
    generations: dict[int, Generation] = field(default_factory=dict)
    vectors: dict[tuple[int, ChunkId, int], Vectors] = field(default_factory=dict)
    begun: dict[tuple[int, ChunkId], tuple[int, Vectors]] = field(default_factory=dict)
    strangers: dict[int, tuple[Strangers, Vectors]] = field(default_factory=dict)
    learned: dict[int, Learned] = field(default_factory=dict)
    term_vectors: dict[tuple[int, str], TermVector] = field(default_factory=dict)
    pending: dict[tuple[int, ChunkId], None] = field(default_factory=dict)
    pairs: dict[tuple[int, ChunkId], tuple[str, ...]] = field(default_factory=dict)
    relations: dict[tuple[MemoryId, MemoryId, str], datetime] = field(default_factory=dict)
    attached: dict[tuple[MemoryId, MemoryId], datetime] = field(default_factory=dict)
    calls: dict[int, ToolCall] = field(default_factory=dict)
    trash: dict[tuple[str, datetime], Trashed] = field(default_factory=dict)
    unwiped: dict[str, None] = field(default_factory=dict)
    steps: dict[str, Undoable] = field(default_factory=dict)
    noted: dict[str, dict[int, Noted]] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)  # the last id of each sort
    lock: RLock = field(default_factory=RLock)
    depth: int = 0  # of transactions inside others
    failed: bool = False

    @contextmanager
    def change(self, *, durable: bool = True, frees: bool = False, patience: float | None = None) -> Generator[Data]:
        """A transaction: all of it is kept, or nothing; inside another, a part of that."""
        del durable, frees, patience  # nothing is durable, there is room, and nobody else writes
        with self.lock:
            before = {name: dict(value) for name, value in vars(self).items() if isinstance(value, dict)}
            if self.holes:
                del before["used"]
            self.depth += 1
            try:
                yield self
                if self.memories != before["memories"]:
                    self._name()
                self._meet()
                self._check_whole()
            except BaseException:
                vars(self).update(before)
                self.failed = True
                raise
            finally:
                self.depth -= 1
                self.failed = self.failed and self.depth > 0

    def _name(self) -> None:
        """Each memory is shown by as much of its uid as no other begins with."""
        alike = Counter(one.uid[:8] for one in self.memories.values())
        for id, one in self.memories.items():
            name = one.uid[:8]
            if alike[name] > 1:
                others = [two.uid for two in self.memories.values() if two is not one]
                sizes = (n for n in range(8, 33) if not any(uid.startswith(one.uid[:n]) for uid in others))
                name = one.uid[: next(sizes, 32)]
            if one.short_id != name:
                self.memories[id] = one._replace(short_id=name)
        for id, one in self.memories.items():
            parent, later = (self.memories.get(link) for link in (one.parent_id, one.superseded_by))
            links = (parent and parent.uid, later and later.uid, later and later.short_id)
            if (one.parent_uid, one.successor_uid, one.successor) != links:
                self.memories[id] = one._replace(parent_uid=links[0], successor_uid=links[1], successor=links[2])

    def _meet(self) -> None:
        """The strangers of each generation come as near as its vectors let them, and never farther again."""
        for id, (known, rows) in self.strangers.items():
            own = [vector for key, vector in self.vectors.items() if key[0] == id]
            cosines = rows @ np.asarray(own, np.float32).reshape(-1, rows.shape[1]).T
            now = cosines.max(axis=1, initial=-1.0).tolist()
            nearest = tuple(map(max, known.nearest, now))
            mean = float(cosines.mean()) if own else 0.0
            loose = sum(high > true for high, true in zip(nearest, now, strict=True))
            self.strangers[id] = (known._replace(nearest=nearest, mean=mean, loose=loose), rows)

    def _check_whole(self) -> None:
        if self.failed and self.depth == 1:
            raise StoreError("a part of this transaction failed")

    def next(self, sort: str) -> int:
        self.used[sort] = self.used.get(sort, 0) + 1
        return self.used[sort]

    def memory(self, id: MemoryId) -> Memory:
        if id not in self.memories:
            raise NotFound(f"no memory {id}")
        return self.memories[id]

    def generation(self, id: int) -> Generation:
        if id not in self.generations:
            raise NotFound(f"no generation {id} of vectors")
        return self.generations[id]


class Part:
    """A part of the store: promises about what all of them share."""

    def __init__(self, data: Data) -> None:
        self.data = data


def inside(data: Data, memory: Memory, scope: Scope) -> bool:
    allowed = (
        (scope.kinds, memory.kind),
        (scope.projects, memory.project or NONE),
        (scope.sources, memory.source),
        (scope.categories, memory.category),
        (scope.agents, memory.agent_id),
        (scope.sessions, memory.session_id),
        (scope.iterations, memory.session_iter),
        (scope.tasks, memory.task_code),
        (scope.runs, memory.query_id),
        (scope.statuses, memory.status),
        (scope.authors, memory.author),
        (scope.owners, memory.owner or NONE),
    )
    return (
        all(not values or value in values for values, value in allowed)
        and (scope.among is None or memory.id in scope.among)
        and (memory.pinned or not scope.pinned)
        and {*map(tag_key, scope.tags)} <= {*map(tag_key, memory.tags)}
        and (scope.since is None or memory.updated_at >= scope.since)
        and (scope.until is None or memory.updated_at < scope.until)
        and (scope.happened_since is None or memory.happened >= scope.happened_since)
        and (scope.happened_until is None or memory.happened < scope.happened_until)
        and not any(_holds(data, memory.id, stems(fold(text))) for text in scope.without)
    )


def _holds(data: Data, memory: MemoryId, phrase: tuple[str, ...]) -> bool:
    """Whether a chunk of a memory says these words side by side."""
    columns = [column for piece in data.pieces.values() if piece.memory == memory for column in piece.words]
    wide = len(phrase)
    return wide > 0 and any(
        column[start : start + wide] == phrase for column in columns for start in range(len(column) - wide + 1)
    )


def tally(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """How often each name occurs, the most frequent first."""
    return tuple(sorted(Counter(map(str, names)).items(), key=lambda item: (-item[1], item[0])))

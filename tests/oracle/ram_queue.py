"""`RamQueue`: chunks that wait for a vector, the obvious way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

import numpy as np

from memory.store import Claim, Waiting
from oracle.ram_chunks import embeddable, embedded, excerpt
from oracle.ram_data import Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from memory.schema.memory import ChunkId, Excerpt, MemoryId
    from memory.schema.space import Vectors
    from memory.store import Failure
    from oracle.ram_data import Data


@dataclass(frozen=True)
class QueueEntry:
    """In the queue."""

    attempts: int = 0
    error: str = ""
    tried_at: datetime | None = None
    claimed_until: datetime | None = None
    claimed_by: str = ""

    def due(self, tried_before: datetime | None) -> bool:
        return self.tried_at is None or (tried_before is not None and self.tried_at < tried_before)


class RamQueue(Part):
    """See `memory.store.vectors.Queue`."""

    def queued(self) -> int:
        with self.data.lock:
            return len(self.data.queue)

    def claim(
        self,
        limit: int,
        tried_before: datetime | None = None,
        *,
        now: datetime,
        until: datetime,
        by: str,
        of: Sequence[MemoryId] | None = None,
    ) -> Sequence[Excerpt]:
        with self.data.change() as data:
            free = [
                (entry.attempts, id)
                for id, entry in data.queue.items()
                if entry.due(tried_before)
                and (entry.claimed_until is None or entry.claimed_until <= now)
                and (of is None or data.pieces[id].memory in of)
            ]
            ids = [id for _, id in sorted(free)[:limit]]
            data.queue |= {id: replace(data.queue[id], claimed_until=until, claimed_by=by) for id in ids}
            return [excerpt(data, id) for id in ids]

    def claims(self, now: datetime) -> Sequence[Claim]:
        held: dict[str, dict[ChunkId, datetime]] = {}
        with self.data.lock:
            for id, entry in sorted(self.data.queue.items(), key=itemgetter(0)):
                if entry.claimed_until is not None and entry.claimed_until > now:
                    held.setdefault(entry.claimed_by, {})[id] = entry.claimed_until
        return [Claim(by, tuple(own), max(own.values())) for by, own in sorted(held.items())]

    def release(self, ids: Sequence[ChunkId], failure: Failure | None = None) -> None:
        with self.data.change() as data:
            for id in set(ids) & set(data.queue):
                entry = replace(data.queue[id], claimed_until=None, claimed_by="")
                if failure is not None:
                    entry = QueueEntry(entry.attempts + 1, *failure)
                data.queue[id] = entry

    def waiting(self, ids: Sequence[MemoryId] | None = None, *, limit: int | None = None) -> Sequence[Waiting]:
        with self.data.lock:
            every = sorted(unembedded(self.data).values())
        found = [one for one in every if (one.failed if ids is None else one.memory in ids)]
        latest = sorted((one for one in found if one.tried_at), key=attrgetter("tried_at"), reverse=True)
        return [*latest, *(one for one in found if not one.tried_at)][:limit]

    def partial(self, generation: int, chunk: ChunkId, stamp: int) -> Vectors | None:
        with self.data.lock:
            known, vectors = self.data.begun.get((generation, chunk), (stamp, None))
            return vectors if known == stamp else None

    def add_partial(self, generation: int, chunk: ChunkId, stamp: int, vectors: Vectors, *, first: int) -> bool:
        with self.data.change() as data:
            known, before = data.begun.pop((generation, chunk), (stamp, None))
            if before is not None and known == stamp:
                data.begun[generation, chunk] = (stamp, before)
            there = 0 if before is None or known != stamp else len(before)
            if generation not in data.generations or chunk not in data.pieces or there != first:
                return False
            joined = vectors.copy() if before is None or not there else np.concatenate([before, vectors])
            data.begun[generation, chunk] = (stamp, joined)
            return True


def requeue(data: Data, active: int) -> None:
    """Queue what has no vector in the active generation, and nothing else."""
    missing = sorted(embeddable(data) - embedded(data, active))
    data.queue = {id: data.queue.get(id, QueueEntry()) for id in missing}


def unembedded(data: Data) -> dict[MemoryId, Waiting]:
    """Each memory of which a chunk waits."""
    queued: dict[MemoryId, list[ChunkId]] = {}
    for id in data.queue:
        queued.setdefault(data.pieces[id].memory, []).append(id)
    found: dict[MemoryId, Waiting] = {}
    for memory, chunks in queued.items():
        tried = failed_chunks(data, chunks)
        at, _, error = max(tried, default=(None, 0, ""))
        found[memory] = Waiting(memory, len(chunks), len(tried), error, at)
    return found


def failed_chunks(data: Data, chunks: Iterable[ChunkId]) -> list[tuple[datetime, ChunkId, str]]:
    """Of these chunks those that failed; the latest failure is the greatest."""
    entries = [(id, data.queue[id]) for id in chunks]
    return [(entry.tried_at, id, entry.error) for id, entry in entries if entry.tried_at is not None]

"""
`RamStore`: the promises of the store in dictionaries, the slow and plain way.

It is the oracle that the SQLite store is compared with, and a store for tests. Nothing here is indexed, cached or
clever: every answer is worked out from everything that is there. Each part stands in a module of its own, to be read
beside its protocol, and all of them share one `Data`; the usage log alone has its own, as it is a file of its own.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memory.schema.memory import MemoryId, Standing
from memory.store import Counts, Salvaged
from oracle.ram_chunks import embeddable
from oracle.ram_data import Data, tally
from oracle.ram_generations import RamGenerations
from oracle.ram_graph import RamGraph
from oracle.ram_keywords import RamKeywords
from oracle.ram_memories import RamMemories
from oracle.ram_queue import RamQueue, failed_chunks, unembedded
from oracle.ram_runs import RamRuns
from oracle.ram_sessions import RamSessions
from oracle.ram_term_vectors import RamTermVectors
from oracle.ram_trash import RamSteps, RamTrash
from oracle.ram_usage import RamUsage
from oracle.ram_vectors import RamVectors

if TYPE_CHECKING:
    from collections.abc import Sequence


class RamStore:
    """The store in dictionaries. See `memory.store.Store`."""

    path = ""
    user = ""
    shared = False

    def __init__(self, *, holes: bool = False) -> None:
        """
        Args:
            holes: See `Data`.
        """
        self.data = Data(holes)
        self.transaction = self.data.change
        self.snapshot = lambda: self.data.lock  # nobody else writes meanwhile
        self.memories = RamMemories(self.data)
        self.sessions = RamSessions(self.data)
        self.keywords = RamKeywords(self.data)
        self.generations = RamGenerations(self.data)
        self.vectors = RamVectors(self.data)
        self.queue = RamQueue(self.data)
        self.term_vectors = RamTermVectors(self.data)
        self.graph = RamGraph(self.data)
        self.runs = RamRuns(self.data)
        self.trash = RamTrash(self.data)
        self.steps = RamSteps(self.data)
        self.usage = RamUsage()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def highest(self) -> MemoryId:
        return MemoryId(self.data.used.get("memory", 0))

    def counts(self) -> Counts:
        with self.data.lock:
            memories = self.data.memories.values()
            waiting = unembedded(self.data)
            failed = [one for one in waiting.values() if one.failed]
            return Counts(
                memories=len(memories),
                superseded=sum(memory.status is Standing.SUPERSEDED for memory in memories),
                chunks=len(self.data.pieces),
                keyword_only=len(self.data.pieces) - len(embeddable(self.data)),
                queued=len(self.data.queue),
                failed=sum(one.failed for one in failed),
                last_error=max(failed_chunks(self.data, self.data.queue), default=(None, 0, ""))[2],
                waiting_memories=len(waiting),
                failed_memories=len(failed),
                kinds=tally(str(memory.kind) for memory in memories),
                projects=tally(memory.project for memory in memories if memory.project is not None)[:20],
                bytes=0,
                trashed=sum(not one.replaced for one in self.data.trash.values()),
                trash_bytes=sum(len(one.line.encode()) for one in self.data.trash.values()),
                unwiped=bool(self.data.unwiped),
            )

    def check(self, *, quick: bool = False) -> Sequence[str]:
        del quick  # nothing can be missing
        return ()

    def repair(self) -> None:
        """Nothing is derived that could differ."""

    def outdated(self) -> bool:
        return False

    def derive(self) -> bool:
        return False

    def wipe(self) -> bool:
        with self.data.change() as data:
            data.unwiped.clear()
        return True

    def salvaged(self, after: MemoryId, limit: int) -> Sequence[Salvaged]:
        with self.data.lock:
            ids = sorted(id for id in self.data.memories if id > after)[:limit]
            return [Salvaged(id, self.memories.details(id)) for id in ids]

    def close(self) -> None:
        """Nothing is held."""

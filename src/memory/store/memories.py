"""Where memories, their bodies and their chunks are kept: a part of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memory.schema.document import Details
    from memory.schema.memory import Chunk, ChunkId, Excerpt, Memory, MemoryId, Revision
    from memory.schema.query import Scope
    from memory.store.values import Entry, Match


class Memories(Protocol):
    """
    Memories with their bodies and chunks.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def find(self, matches: Sequence[Match]) -> Sequence[Memory | None]:
        """
        For each the memory that it asks for; None if there is none.

        Raises:
            StoreDamaged: One of them cannot be read: no default stands for what is lost.
        """
        ...

    def insert(self, entry: Entry) -> Memory:
        """
        Keep an entry as a new memory with its history, whatever is there already.

        The first vectors of a store found its active generation. Vectors of a space that has no living generation are
        not kept; their chunks are queued.
        """
        ...

    def rewrite(
        self, id: MemoryId, entry: Entry, former: Revision | None = None, *, revisions: int | None = None
    ) -> bool:
        """
        Put an entry's texts, chunks and vectors in place of a memory's; id, uid, creation time, status and counts stay.

        Args:
            former: Goes to its history.
            revisions: If its history has another length, nothing is written and the answer is False (compare and set).

        Raises:
            NotFound: No such memory.
        """
        ...

    def set_links(self, memories: Sequence[Memory]) -> None:
        """Set the status, successor and parent of memories to those of the values; nothing else of them is written."""
        ...

    def superseded(self, *, by: Sequence[MemoryId]) -> Sequence[Memory]:
        """The memories that have one of these for their successor, lowest id first."""
        ...

    def delete(self, ids: Sequence[MemoryId]) -> int:
        """
        Remove memories with all that was derived from them; how many there were.

        Those that descend from one have no parent any more, and those that one superseded no successor.
        """
        ...

    def resolve(self, reference: str) -> Sequence[tuple[MemoryId, str]]:
        """
        Ids and uids, at most 10, that a reference may mean: an id in digits, a uid, or at least 8 characters
        of the beginning of one. Nothing else names a memory.
        """
        ...

    def by_id(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Memory]:
        """Those that are there."""
        ...

    def bodies(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, str]:
        """The verbatim bodies of those that are there."""
        ...

    def details(self, id: MemoryId) -> Details | None:
        """A memory with its body and its history, as they were at one moment; None if there is no such memory."""
        ...

    def touch(self, ids: Sequence[MemoryId], moment: datetime) -> None:
        """
        Count an access to each. Not worth waiting for:

        Raises:
            StoreBusy: Somebody else is writing at the moment.
        """
        ...

    def recent(self, scope: Scope, limit: int, after: Memory | None = None) -> Sequence[Memory]:
        """Last changed first, of those at one moment the latest id; `after` continues a page behind its last memory."""
        ...

    def count(self, scope: Scope) -> int:
        """How many memories are in scope."""
        ...

    def excerpts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, Excerpt]:
        """Those that are there."""
        ...

    def outlines(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Sequence[tuple[ChunkId, Chunk]]]:
        """All chunks of each memory that is there, in order."""
        ...

"""Where memories, their bodies and their chunks are kept: a part of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memory.schema.document import Details
    from memory.schema.draft import Saved
    from memory.schema.memory import Chunk, ChunkId, Excerpt, Memory, MemoryId
    from memory.schema.query import Scope
    from memory.store.values import Entry, Links


class Memories(Protocol):
    """
    Memories with their bodies and chunks.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def write_entries(self, entries: Sequence[Entry]) -> Sequence[Saved]:
        """
        Keep entries, all in one transaction. The first vectors of a store found its active generation.

        An entry whose uid is there is known, whatever it says, and so is one of which its kind has only one. One that
        renews another says the new in its place, as `replace` does; one that says the same already is renewed first, and
        keeps no history of that. Vectors of a space that has no living generation
        are not kept; their chunks are queued.

        Raises:
            NotFound: An entry supersedes or descends from a memory, or is about an entity, that is not there.
            Invalid: It supersedes one that was superseded already, or an entity; or it is an entity about another.
        """
        ...

    def known(self, entries: Sequence[Entry]) -> Sequence[MemoryId | None]:
        """For each entry the memory that `write_entries` would answer it with instead of keeping it, as things stand now."""
        ...

    def replace(self, id: MemoryId, entry: Entry, *, former: Details | None = None) -> Saved | None:
        """
        Put new texts in place of a memory's; id, uid, creation time, status and counts stay, the old texts go to
        its history, unless the entry has only grown.

        Args:
            former: What the caller knows of it. If it has another body or more revisions by now, somebody else was
                faster: nothing is written and the answer is None (compare and set).

        Raises:
            NotFound: No such memory, or it descends from one that is not there.
            Invalid: There is another memory of which its kind has only one, or it would become of such a kind.
        """
        ...

    def link(self, links: Sequence[Links]) -> None:
        """
        Point restored memories to their parents and successors.

        What is set already stays; a successor is for superseded memories only. Uids that are not there are skipped.
        """
        ...

    def delete(self, id: MemoryId) -> bool:
        """
        Remove a memory with all that was derived from it.

        What it superseded inherits its status: it holds again, or belongs to the successor of the one removed.
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

    def page(self, after: MemoryId, limit: int) -> Sequence[Memory]:
        """Memories whose id is above `after`, lowest first."""
        ...

    def excerpts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, Excerpt]:
        """Those that are there."""
        ...

    def outline(self, id: MemoryId) -> Sequence[tuple[ChunkId, Chunk]]:
        """All chunks of a memory, in order."""
        ...

    def outlines(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Sequence[tuple[ChunkId, Chunk]]]:
        """The same of several; those that are there."""
        ...

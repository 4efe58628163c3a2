"""Where memories are kept and found: parts of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memory.store.values import Entry, Match, Order, Run, Session, ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memory.schema.answer import Ranking
    from memory.schema.document import Details
    from memory.schema.memory import Chunk, ChunkId, Excerpt, Memory, MemoryId, Revision
    from memory.schema.query import Scope, Term


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

    def insert(self, entry: Entry) -> Memory:
        """
        Keep an entry as a new memory with its history, whatever is there already. Its id is above all that were ever
        given, but perhaps not the next.

        The first vectors of a store found its active generation. Vectors of a space that has no living generation are
        not kept; their chunks are queued.
        """

    def insert_all(self, entries: Sequence[Entry]) -> Sequence[Memory]:
        """The same for several, one after the other, at least one."""

    def rewrite(
        self,
        id: MemoryId,
        entry: Entry,
        former: Revision | None = None,
        *,
        revisions: int | None = None,
        undone: int = 0,
    ) -> bool:
        """
        Put an entry's texts, chunks and vectors in place of a memory's; id, uid, creation time, status and counts stay.

        Args:
            former: Goes to its history.
            revisions: If its history has another length, nothing is written and the answer is False (compare and set).
            undone: So many revisions of its history go, the latest first.

        Raises:
            NotFound: No such memory.
        """

    def set_links(self, memories: Sequence[Memory]) -> None:
        """Set the status, successor, parent and pin of memories to those of the values; nothing else of them is written."""

    def delete(self, ids: Sequence[MemoryId]) -> int:
        """
        Remove memories with all that was derived from them; how many there were.

        Those that descend from one have no parent any more, and those that one superseded no successor.
        """

    def resolve(self, reference: str) -> Sequence[tuple[MemoryId, str]]:
        """
        Ids and uids, at most 10, that a reference may mean: an id in digits, a uid, or at least 8 characters
        of the beginning of one. Nothing else names a memory.
        """

    def by_id(self, ids: Sequence[MemoryId], *, pointing: bool = False) -> Mapping[MemoryId, Memory]:
        """Those that are there; with `pointing`, also those that one of these superseded, or that descend from one."""

    def bodies(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, str]:
        """The verbatim bodies of those that are there."""

    def details(self, id: MemoryId) -> Details | None:
        """A memory with its body and its history, as they were at one moment; None if there is no such memory."""

    def touch(self, ids: Sequence[MemoryId], moment: datetime) -> None:
        """
        Count an access to each. Not worth waiting for:

        Raises:
            StoreBusy: Somebody else is writing at the moment.
        """

    def page(
        self, scope: Scope, limit: int, *, order: Order = Order.CHANGED, after: Memory | None = None
    ) -> Sequence[Memory]:
        """
        Memories in scope, in an order.

        Args:
            after: The last memory of the page before.
        """

    def count(self, scope: Scope, *, most: int | None = None) -> int:
        """How many memories are in scope; no more than `most` are counted."""

    def tags(self, scope: Scope) -> Sequence[tuple[str, int]]:
        """The tags of the memories in scope and how many memories have each: most first, ties by name."""

    def values(self, field: str, scope: Scope) -> Sequence[tuple[str, int]]:
        """
        The values of a field of the memories in scope and how many memories have each: most first, ties by name.

        Args:
            field: One of `memory.schema.query.FILTERS`, but no iteration.
        """

    def excerpts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, Excerpt]:
        """Those that are there."""

    def outlines(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Sequence[tuple[ChunkId, Chunk]]]:
        """All chunks of each memory that is there, in order."""


class Keywords(Protocol):
    """
    The keyword index over the chunks.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def weigh(self, terms: Sequence[Term]) -> tuple[Term, ...]:
        """
        The terms with what the store knows of them; of those that mean the same to it, in all their forms, the first.

        A word of at least 3 characters that no chunk holds becomes a prefix, if a chunk holds a `longer` one. In place of
        a term that no chunk holds in any form stand its parts, if a chunk holds one of them. The rarest are looked for
        first, as long as `memory.text.lookup.Allowance` allows; those that would read more are `cut`. The rule is
        `memory.text.lookup.weighed`: a store counts.
        """

    def by_keyword(
        self, terms: Sequence[Term], scope: Scope, k: int, *, ids: Sequence[ChunkId] | None = None
    ) -> Ranking:
        """
        The best k chunks in scope that hold any of the terms, by BM25. `terms` come from `weigh`.

        Args:
            ids: Only these chunks.
        """

    def texts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, str]:
        """What is indexed of chunks in words: title, heading, text, why, impact, a line each; those that are there."""


class Sessions(Protocol):
    """
    Where memories are read by session and age.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def latest(self, limit: int, *, id: str | None = None, agent: str | None = None) -> tuple[Sequence[Session], int]:
        """
        The sessions with the latest activity, latest first, of those at one moment by name; and how many there are.

        Args:
            id: Only the session of this name.
            agent: Counts the memories of this agent alone.
        """

    def aged(self, scope: Scope, before: datetime, limit: int | None = None) -> Sequence[tuple[MemoryId, int]]:
        """The memories in scope that were made before a moment, lowest id first, and how many chunks each has."""


class Runs(Protocol):
    """
    Research runs, and the tools used in them. A run is there as long as a memory of a research kind or a call names it.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def latest(self, limit: int, *, id: str | None = None) -> tuple[Sequence[Run], int]:
        """
        The runs with the latest activity, latest first, of those at one moment by name; and how many there are.

        Args:
            id: Only the run of this name.
        """

    def log(self, calls: Sequence[ToolCall]) -> Sequence[int]:
        """Keep calls, all in one transaction; their ids. One whose uid is there is not kept again."""

    def calls(
        self, run: str | None = None, *, agent: str | None = None, after: int = 0, limit: int = 1000
    ) -> Sequence[tuple[int, ToolCall]]:
        """
        Calls with an id above `after`, lowest first, with their ids.

        Args:
            run, agent: Only of this run, of this agent; None takes those of all, and of none.
        """

    def forget_calls(self, run: str | None, limit: int) -> int:
        """
        Remove calls, lowest ids first; how many there were.

        Args:
            run: Of this run; None takes those of all, and of none.
        """

"""Where what was deleted lies, and who did what, so that it can be taken back: parts of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from memory.schema.memory import Memory, MemoryId, Status
    from memory.store.values import Edge

STEPS = 1_000
"""How many steps can be taken back, those of agents included."""


class Thrown(NamedTuple):
    """
    A memory that was deleted and can be had back.

    Attributes:
        id: Its number; None if an import brought it.
        until: From this moment on it cannot be had back.
        line: The memory with what belongs to it, as a line of an export; see `memory.write.lines`.
        step: The key of the step that deleted it; empty if that was not noted, or an import brought it.
        user: Who did; empty likewise.
        replaced: It was not deleted: that is what it said before an undo, and only a redo looks for it.
    """

    uid: str
    id: MemoryId | None
    deleted_at: datetime
    until: datetime
    line: str
    step: str = ""
    user: str = ""
    replaced: bool = False


class Trash(Protocol):
    """
    What was deleted. No other part knows of it.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def put(self, thrown: Sequence[Thrown]) -> None:
        """Keep what was deleted. The same uid may lie there from several moments: an import had brought it back."""

    def page(
        self,
        limit: int,
        *,
        named: str | None = None,
        after: Thrown | None = None,
        ended: datetime | None = None,
        step: str | None = None,
        users: Collection[str] | None = None,
        replaced: bool | None = False,
    ) -> Sequence[Thrown]:
        """
        What was deleted, last deleted first, of those at one moment by uid.

        Args:
            named: Only what this may mean: a number in digits, a uid, or at least 8 characters of the beginning of one.
            after: The last of the page before.
            ended: Only what cannot be had back from this moment on.
            step: Only what the step of this key deleted.
            users: Only what one of them deleted; "" stands for those of whom nothing was noted.
            replaced: In place of what was deleted, what was replaced by an undo; None is both.
        """

    def remove(self, uids: Sequence[str], *, deleted_at: datetime | None = None, purged: bool = False) -> int:
        """
        Remove what has these uids; how many there were.

        Args:
            deleted_at: Only what was deleted at this moment.
            purged: For good: until `Store.wipe`, `Counts.unwiped` says that bytes may be left.
        """


HASH = 16
"""Characters of a hash that are noted."""


class Facts(NamedTuple):
    """
    What a memory must still be, so that a change of it can be taken back. It holds no text.

    Attributes:
        content_hash: `HASH` characters of it, which tell texts apart well enough.
    """

    content_hash: str
    body_size: int
    updated_at: datetime
    status: Status
    superseded_by: MemoryId | None
    parent_id: MemoryId | None
    pinned: bool

    @classmethod
    def of(cls, memory: Memory) -> Facts:
        facts = cls._make(getattr(memory, name) for name in cls._fields)
        return facts._replace(content_hash=facts.content_hash[:HASH])


class Change(NamedTuple):
    """
    What a step did to a memory.

    Attributes:
        before, after: None where it was not there.
        revisions: How many were added to its history.
        thrown_at: When it was deleted, of one that went to the trash.
    """

    id: MemoryId
    uid: str
    before: Facts | None
    after: Facts | None
    revisions: int = 0
    thrown_at: datetime | None = None


class Joined(NamedTuple):
    """What a step did to an edge; `before` and `after` differ in when it was made, and are None where it was not there."""

    before: Edge | None
    after: Edge | None


Noted: TypeAlias = Change | Joined


class Step(NamedTuple):
    """
    What somebody did, as one: a command, a call of a tool.

    Attributes:
        key: Tells it from all others, in every process.
        verb: The command or tool.
        by: The program that did it; empty if a person did with a command.
        size: How many changes there are of it.
        user: The person it was done for; empty if that was not noted.
        undone: It is an undo of such a step; a redo takes it back.
    """

    key: str
    verb: str
    by: str
    moment: datetime
    size: int = 0
    user: str = ""
    undone: bool = False


class Steps(Protocol):
    """
    The journal: what was done to memories and edges, without their texts.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def add(self, step: Step, noted: Sequence[Noted]) -> None:
        """
        Note what a step did, which is new, or did more. Of several changes of one memory the first `before` and the last
        `after` are kept, and nothing of one that was made and is gone again, or of an edge that was added and removed.

        Steps before the last `STEPS` that were ever noted are forgotten.
        """

    def add_all(self, steps: Sequence[tuple[Step, Sequence[Noted]]]) -> None:
        """The same for several, one after the other."""

    def recent(
        self,
        limit: int,
        *,
        by: str | None = None,
        id: MemoryId | None = None,
        users: Collection[str] | None = None,
        key: str | None = None,
        undone: bool | None = False,
    ) -> Sequence[Step]:
        """
        The last steps that did anything which was not taken back, the last first.

        Args:
            by: Only of this program.
            id: Only those that changed this memory.
            users: Only of one of them; "" stands for those of whom nothing was noted.
            key: Only those whose key begins with this.
            undone: In place of steps, undos of steps; None is both.
        """

    def changes(
        self, key: str, limit: int, *, after: int | None = None, id: MemoryId | None = None
    ) -> Sequence[tuple[int, Noted]]:
        """
        What a step did, the last first, each with its place.

        Args:
            after: The place of the last of the page before.
            id: Only to this memory, or to an edge that ends at it.
        """

    def since(self, key: str, ids: Sequence[MemoryId]) -> Sequence[tuple[Step, Noted]]:
        """What later steps than this one did to these memories, or to edges that end at one of them; `size` is 0."""

    def last(
        self,
        *,
        by: str | None = None,
        id: MemoryId | None = None,
        users: Collection[str] | None = None,
        undone: bool | None = False,
    ) -> Step | None:
        """The first of `recent`; None if there is none."""
        return next(iter(self.recent(1, by=by, id=id, users=users, undone=undone)), None)

    def remove(self, key: str, places: Sequence[int]) -> None:
        """Forget what was taken back of a step, and the step with the last of it."""

    def forget(self, ids: Sequence[MemoryId]) -> None:
        """Forget all that was ever done to memories, their edges included, and steps that did nothing else."""

"""What goes into a store and comes out of it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from memory.schema import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from memory.schema.answer import Notice
    from memory.schema.draft import Draft
    from memory.schema.memory import Chunk, ChunkId, Memory, MemoryId, Revision
    from memory.schema.space import Embedded, Space, Strangers

LEAST, UNAIDED = 5, 25
"""
Passages that term vectors learned from before they are asked; and if words do not begin with what the model makes of them.
"""


class State(StrEnum):
    """The state of an index version: it is filled while BUILDING, used by searches while ACTIVE, and stays when RETIRED."""

    BUILDING = "building"
    ACTIVE = "active"
    RETIRED = "retired"


class Order(StrEnum):
    """
    In which memories are listed: last CHANGED first, then by id, highest first; by ITERATION, then by creation, then by
    id, highest first, those of no iteration as the lowest; or ASCENDING, the other way round.
    """

    CHANGED = "changed"
    ITERATION = "iteration"
    ASCENDING = "ascending iteration"


class Generation(NamedTuple):
    """
    An index version: one full set of vectors of one model.

    Attributes:
        id: From 1, never reused.
        fingerprint: The vector of a fixed text when the index version was new: float32, little-endian; empty if
            unknown.
        strangers: Its baseline; None if the baseline questions are not embedded yet.
    """

    id: int
    space: Space
    state: State
    fingerprint: bytes = b""
    strangers: Strangers | None = None

    def __repr__(self) -> str:
        """Without what is kilobytes that nobody reads."""
        return f"Generation(id={self.id!r}, space={self.space!r}, state={self.state!r})"


class Size(NamedTuple):
    """How many chunks have a vector in a generation, and how many terms."""

    chunks: int
    terms: int


class Links(NamedTuple):
    """
    What a memory points to, by uids, which mean the same in every store.

    Attributes:
        uid: The memory that points.
    """

    uid: str
    parent: str | None = None
    superseded_by: str | None = None


class Match(NamedTuple):
    """
    Which memory is asked for: one whose fields have these values. None is a value like any other.

    Attributes:
        fields: By the names of `Memory`. Quick are an id, a uid, a content hash beside others, and a kind with the title
            of an entity, the place of an item or with a `query_id`.
        active: Only one that is active.
        latest: Of several the last changed, then the highest id; else the lowest id.
    """

    fields: Mapping[str, str | int | None]
    active: bool = False
    latest: bool = False


OPENING = 400
"""Characters of what a short memory says at most: a longer one says many things, of which another seldom replaces all."""


class Opening(NamedTuple):
    """
    What a short memory says.

    Attributes:
        changed: When it happened, or was last changed if it does not say.
        details: Whether it says more, in its body.
        text: Its title, and what it says.
    """

    memory: MemoryId
    project: str | None
    changed: datetime
    details: bool
    text: str


class Outset(NamedTuple):
    """
    What a search asks of a store before all else.

    Attributes:
        generation, fit: See `memory.store.generations.Generations.answering`.
        ends: When the first memory ends or ended, as `iso`; None if none has an end.
        waits: Whether a chunk waits for its vector.
    """

    generation: int = 0
    fit: float | None = None
    ends: str | None = None
    waits: bool = False


class Entry(NamedTuple):
    """
    Everything that one save writes, in one transaction.

    Attributes:
        chunks: At least one; they tile the draft's body.
        grams: For each chunk, extra index terms: pairs of characters for scripts without spaces, and parts of names in
            code.
        embedded: Its vectors; None queues the chunks.
        unless_known: Write nothing if an active memory of the same kind and scope has the same hash.
        supersedes: A memory to retire in the same transaction.
        restored: A memory of an import, whose times, status and counts are restored; `link` restores its references.
        number: The id to use again; None takes the next one.
        history: Earlier versions, latest first.
        flags: Warnings about its text; words without spaces.
        renews: Fields by which the active memory to replace is found: one of the same kind and scope with the same
            content, else the last changed one with equal values in these fields.
        notices: Remarks about the draft for the caller; not stored.
        grown: Whether the text contains all of the former text, so that the history need not have it.
        entities: The entities that the memory is about.
    """

    draft: Draft
    uid: str
    moment: datetime
    content_hash: str
    chunks: tuple[Chunk, ...]
    grams: tuple[str, ...]
    embedded: Embedded | None = None
    unless_known: bool = True
    supersedes: MemoryId | None = None
    restored: Memory | None = None
    number: MemoryId | None = None
    history: tuple[Revision, ...] = ()
    flags: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()
    renews: tuple[str, ...] = ()
    grown: bool = False
    entities: tuple[MemoryId, ...] = ()


class Counts(NamedTuple):
    """
    The numbers of memories and chunks, and the size on disk.

    Attributes:
        bytes: Size on disk; it may stay the same when something is deleted or undone.
    """

    memories: int
    superseded: int
    chunks: int
    keyword_only: int  # of the chunks, those that are never embedded
    queued: int
    failed: int  # of the queued, those whose embedding was tried and failed
    last_error: str  # of the latest failure
    waiting_memories: int  # with a chunk in the queue
    failed_memories: int  # with a chunk that was tried and failed
    kinds: tuple[tuple[str, int], ...]
    projects: tuple[tuple[str, int], ...]
    bytes: int
    postings: int = 0  # of the chunks, those in a file beside the database, for keyword searches of programs that stay
    trashed: int = 0  # memories that can be restored
    trash_bytes: int = 0  # of their lines
    unwiped: bool = False  # whether bytes of what was taken for good may be left in a file

    @property
    def embeddable(self) -> int:
        """Chunks that have a vector or wait for one."""
        return self.chunks - self.keyword_only


class Session(NamedTuple):
    """
    Counts and times of a session's memories.

    Attributes:
        agent_id: The agent that wrote the memory changed last.
        earliest, latest: When its first and its last memory were saved, UTC.
        active: When one of them was last changed, UTC.
        iteration: The highest iteration.
        kinds, agents: Pairs of a kind or an agent and its number of memories, most first.
    """

    id: str
    agent_id: str | None
    memories: int
    chunks: int
    earliest: datetime
    latest: datetime
    active: datetime
    iteration: int | None
    kinds: tuple[tuple[str, int], ...]
    agents: tuple[tuple[str, int], ...]


class Waiting(NamedTuple):
    """
    The chunks of a memory that have no vector yet.

    Attributes:
        chunks: Number of its chunks in the queue, from 1.
        failed: Number of these that the model refused.
        last_error: The reason of the latest failure.
        tried_at: Time of the latest failure, UTC.
    """

    memory: MemoryId
    chunks: int
    failed: int
    last_error: str
    tried_at: datetime | None


class Claim(NamedTuple):
    """
    What somebody is embedding.

    Attributes:
        holder: Who, as a text; empty if that is not known.
        chunks: Lowest id first; at least one.
        until: When the last of them are free again, if nothing comes of it.
    """

    holder: str
    chunks: tuple[ChunkId, ...]
    until: datetime


class Failure(NamedTuple):
    """Why a chunk was not embedded."""

    error: str
    moment: datetime


class Relation(NamedTuple):
    """
    A relation from one entity to another.

    Attributes:
        type: A word or a few: "depends_on".
    """

    source: MemoryId
    target: MemoryId
    type: str
    created_at: datetime


class Attached(NamedTuple):
    """A link: a memory is about an entity."""

    entity: MemoryId
    memory: MemoryId
    created_at: datetime


Edge: TypeAlias = Relation | Attached


class GraphCounts(NamedTuple):
    """
    How much there is in the graph.

    Attributes:
        types: How many relations of each type, most first; of as many by name.
        categories: The same of the entities' types; entities of none are left out.
        isolated: Entities without a relation.
        attached: Links between entities and memories.
    """

    entities: int
    relations: int
    attached: int
    isolated: int
    types: tuple[tuple[str, int], ...]
    categories: tuple[tuple[str, int], ...]


class ToolCall(NamedTuple):
    """
    A call of a tool by an agent.

    Attributes:
        uid: 32 hexadecimal digits, the same in every export.
        run: The research run; None if it belongs to none.
        type: "builtin", "http" or "mcp".
        parameters, result: Text, usually JSON.
    """

    uid: str
    run: str | None
    agent: str
    type: str
    tool: str
    parameters: str
    result: str
    success: bool
    moment: datetime


class Run(NamedTuple):
    """
    Counts and times of a research run.

    Attributes:
        memories: Number of memories of the seven research kinds.
        calls, failed_calls: Number of tool calls, and of those without success.
        earliest, latest: When its first memory was saved and its last one changed, UTC; if there are only tool calls,
            of these.
        kinds, agents: Pairs of a kind or an agent and its number of memories, most first; ties by name.
    """

    id: str
    memories: int
    calls: int
    failed_calls: int
    earliest: datetime
    latest: datetime
    kinds: tuple[tuple[str, int], ...]
    agents: tuple[tuple[str, int], ...]

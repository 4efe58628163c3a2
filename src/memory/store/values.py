"""What goes into a store and comes out of it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from memory.schema.answer import Notice
    from memory.schema.draft import Draft
    from memory.schema.memory import Chunk, ChunkId, Memory, MemoryId, Revision
    from memory.schema.space import Embedded, Space, Strangers


class State(StrEnum):
    """A generation is filled while BUILDING, answers while ACTIVE (at most one does), and is kept when RETIRED."""

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
    One full set of vectors in one space.

    Attributes:
        id: From 1, never used again.
        fingerprint: How the model answered a fixed text when it was new: float32, little-endian; empty if not known.
        strangers: None if they were not embedded in its space yet.
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
    Everything one save writes, whole or not at all.

    Attributes:
        chunks: At least one; they tile the draft's body.
        grams: For each chunk, what is indexed beside its text: pairs of characters, where its script has no spaces, and
            the parts of names of code.
        embedded: None queues the chunks to be embedded later.
        unless_known: Keep nothing if an active memory of the same kind and scope has the same hash.
        supersedes: Retire this memory in the same transaction.
        restored: An import brings back the times, the status and the counts of this one; `link` what it points to.
        number: It had this id, and has it again; None takes the next.
        history: What it said before, latest first.
        flags: What a reader should know of its text; words without spaces.
        renews: Put the draft in place of the active memory of its kind and scope that says the same, else of the last
            changed one that has these fields in common with it.
        notices: What was done to the draft, for whoever saves it; it is not kept.
        grown: It says all that the former said and more, so that nothing of that need go to the history.
        entities: The memory is about these entities.
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
    How much there is.

    Attributes:
        bytes: What it takes on the disk; may stay as large when something is removed or undone.
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
    What is kept of a session.

    Attributes:
        agent_id: Who wrote the memory that was changed last.
        earliest, latest: When its first and its last memory were made.
        active: When one was last changed.
        iteration: The highest there is.
        kinds, agents: How many memories of each, most first.
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
    What keeps a memory from being found by its meaning.

    Attributes:
        chunks: Of the memory, those in the queue; at least 1.
        failed: Of these, those whose embedding was tried and failed.
        last_error: Of the latest failure.
        tried_at: Time of the latest failure.
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
    That one entity has to do with another.

    Attributes:
        type: How, in a word or a few: "depends_on".
    """

    source: MemoryId
    target: MemoryId
    type: str
    created_at: datetime


class Attached(NamedTuple):
    """That a memory is about an entity."""

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
    A tool that an agent used.

    Attributes:
        uid: 32 hexadecimal digits, the same in every export.
        run: The research run; None if it belongs to none.
        type: One of "builtin", "http", "mcp".
        parameters, result: Text, as a rule JSON.
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
    What is kept of a research run.

    Attributes:
        memories: Of the seven research kinds.
        calls, failed_calls: Tools that were used, and those of them without success.
        earliest, latest: When its first memory was made, and its last changed; of a run of calls alone, of these.
        kinds, agents: How many memories of each, most first; of as many by name.
    """

    id: str
    memories: int
    calls: int
    failed_calls: int
    earliest: datetime
    latest: datetime
    kinds: tuple[tuple[str, int], ...]
    agents: tuple[tuple[str, int], ...]

"""
Memories, and the chunks by which they are searched; a memory read whole: its body, a chunk with its neighbours, and what an
agent needs to resume a session.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NewType, TypeAlias

from memory.schema import NamedTuple
from memory.schema.item import key_of, namespace_of
from memory.schema.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from memory.schema.answer import Notice
    from memory.schema.kinds import Kind

MemoryId = NewType("MemoryId", int)
ChunkId = NewType("ChunkId", int)

Reference: TypeAlias = "int | str"
"""A memory's id, its uid, or at least the first 8 characters of its uid."""

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


INSTRUCTIONS = "instructions"
"""The flag of a memory whose text looks like orders to the agent that reads it."""


DAMAGED = "damaged:"
"""Prefix of a flag that names a field of a memory in a damaged file: the field was unreadable and has its default."""


class Standing(StrEnum):
    """Whether a memory is active, or was superseded by another one."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"


class Memory(NamedTuple):
    """
    A saved memory without its body, which `Engine.details` loads. Fields not listed here are those of `Draft`.

    Attributes:
        id: Number in this store, from 1, never reused.
        uid: 32 hexadecimal digits, the same in every export.
        status: "active", or "superseded" once another memory replaced it.
        superseded_by: Id of the memory that replaced it; None if active.
        content_hash: SHA-256 of its content, in hexadecimal.
        created_at, updated_at: UTC.
        accessed_at: When its details were last read, UTC; None if never.
        access_count: How often its details were read.
        body_size: Length of the body in characters; 0 if there is none.
        flags: Warnings about its text: "instructions" if it looks like orders to an agent, "damaged:FIELD" if a field
            could not be read.
        keyword_only: Whether it is never embedded.
        pinned: Whether it comes first in every context.
        author: The person who saved it, in a shared store.
        owner: The only person whose contexts include it; None: everybody's.
        happened_at: When it happened, UTC; None if that is `created_at`.
        valid_until: The end of its validity, UTC, exclusive; None if it has no known end.
        short_id: The shortest unambiguous beginning of the uid, at least 8 characters.
        parent_uid, successor_uid: Uids of `parent_id` and `superseded_by`, if those memories exist.
        successor: Short id of the memory that replaced it; None in a revision.
    """

    id: MemoryId
    uid: str
    kind: Kind
    category: str | None
    title: str
    what: str
    why: str
    impact: str
    description: str
    tags: tuple[str, ...]
    related_files: tuple[str, ...]
    metadata: Mapping[str, Json]
    project: str | None
    source: str | None
    agent_id: str | None
    session_id: str | None
    session_iter: int | None
    task_code: str | None
    query_id: str | None
    parent_id: MemoryId | None
    status: Standing
    superseded_by: MemoryId | None
    content_hash: str
    created_at: datetime
    updated_at: datetime
    accessed_at: datetime | None
    access_count: int
    body_size: int
    flags: tuple[str, ...] = ()
    keyword_only: bool = False
    pinned: bool = False
    author: str | None = None
    owner: str | None = None
    happened_at: datetime | None = None
    valid_until: datetime | None = None
    short_id: str = ""
    parent_uid: str | None = None
    successor_uid: str | None = None
    successor: str | None = None

    @property
    def has_details(self) -> bool:
        """Whether the memory has a body."""
        return self.body_size > 0

    @property
    def happened(self) -> datetime:
        """When it happened, UTC: `happened_at`, else `created_at`."""
        return self.happened_at or self.created_at

    @property
    def namespace(self) -> str | None:
        """The namespace of an item, as a path (`memory.schema.item`); None for other kinds."""
        return namespace_of(self.metadata) if self.kind == "item" else None

    @property
    def key(self) -> str | None:
        """The key of an item; None for other kinds."""
        return key_of(self.metadata) if self.kind == "item" else None

    def ended(self, moment: datetime) -> bool:
        """Whether its validity has ended at a moment (UTC)."""
        return self.valid_until is not None and self.valid_until <= moment


UID_PREFIX = 8
"""Characters of a uid that are shown, and the fewest that a reference needs."""


class Revision(NamedTuple):
    """An earlier version of a memory's fields, with the time it was replaced (UTC)."""

    replaced_at: datetime
    memory: Memory
    body: str


def unread(memory: Memory) -> tuple[str, ...]:
    """The names of the fields that could not be read."""
    return tuple(flag.removeprefix(DAMAGED) for flag in memory.flags if flag.startswith(DAMAGED))


class ChunkType(StrEnum):
    """What a chunk covers. A note's HEAD is its `what` and covers nothing of the body."""

    HEAD = "head"
    SECTION = "section"
    TEXT = "text"
    CODE_BLOCK = "code_block"


@record(frozen=True)
class Chunk:
    """
    A slice of a body, which is indexed and embedded.

    The chunks of a memory, in order, tile its body: nothing is lost, nothing overlaps.

    Attributes:
        index: From 0.
        start, stop: Code points into the body; `body[start:stop]`.
        header_path: The headings above it with their marks, outermost first: ("# Guide", "## Setup").
        level: Level of the innermost heading, 1..6; 0 without one.
        token_count: Tokens in the slice: counted by the model's tokenizer where that was necessary, else estimated.
    """

    index: int
    start: int
    stop: int
    type: ChunkType
    header_path: tuple[str, ...] = ()
    level: int = 0
    token_count: int = 0

    @property
    def section(self) -> tuple[str, ...]:
        """
        The section that the chunk belongs to: the first two headings above it, or only the first if its level is 2.

        So an H3 belongs to its H2 even without an H1.
        """
        return self.header_path[: 1 if self.header_path and self.header_path[0].partition(" ")[0] == "##" else 2]


OVERLAP = 1_600
"""Characters of the body before a chunk that an `Excerpt` includes: about 400 tokens."""


class Excerpt(NamedTuple):
    """
    A chunk with the texts around it, from which a passage is made.

    Attributes:
        text: The slice of the body; for a note's head, its `what`.
        before: Up to `OVERLAP` characters of the body before the slice.
    """

    id: ChunkId
    memory: MemoryId
    chunk: Chunk
    text: str
    before: str
    title: str
    what: str
    why: str
    impact: str
    tags: tuple[str, ...]


# A memory read whole -----------------------------------------------------------------


class Piece(NamedTuple):
    """A chunk with its text."""

    id: ChunkId
    chunk: Chunk
    text: str


class Expanded(NamedTuple):
    """
    A chunk with its neighbours.

    Attributes:
        target: The requested chunk.
        pieces: That chunk and its neighbours, in order.
        text: The slice of the body that they cover. If a note's head is among them, the note's `what` comes first.
    """

    memory: Memory
    target: Chunk
    pieces: tuple[Piece, ...]
    text: str


class Document(NamedTuple):
    """
    A memory with its body, verbatim.

    Attributes:
        chunks: Number of its chunks; None if not counted.
        whole: Whether their slices join to the body; None if not checked.
    """

    memory: Memory
    body: str
    chunks: int | None = None
    whole: bool | None = None


class Embedding(NamedTuple):
    """
    The state of a memory's embedding: whether it can be found by meaning.

    Attributes:
        state: "generated": all chunks have vectors; "pending": some wait; "failed": the model refused some;
            "outdated": the vectors are of another model than the settings name; "none": no model is configured;
            "excluded": it is found by keyword only.
        chunks: Number of chunks without a vector that wait for one.
        error: The reason of the latest failure; empty if there was none.
    """

    state: str
    chunks: int = 0
    error: str = ""


class Details(NamedTuple):
    """
    A memory with its body, its history and the state of its embedding.

    Attributes:
        body: The verbatim text; "" if there is none.
        history: Earlier versions, each with the time it was replaced (UTC).
        notices: What went wrong on the way, e.g. that this access was not counted.
        embedding: Whether it can be found by meaning; None if not looked up.
    """

    memory: Memory
    body: str
    history: tuple[Revision, ...]
    notices: tuple[Notice, ...] = ()
    embedding: Embedding | None = None


class Resumed(NamedTuple):
    """
    What an agent needs to resume a session; memories of each kind newest first.

    Attributes:
        context: The newest `session_context` of the iteration, or of an earlier one if it has none.
        prompts: Every `input_prompt` of the session.
        reports, observations, working: The newest of each kind, from any iteration.
    """

    context: Memory | None
    prompts: tuple[Memory, ...]
    reports: tuple[Memory, ...]
    observations: tuple[Memory, ...]
    working: tuple[Memory, ...]

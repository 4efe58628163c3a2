"""What is remembered: drafts are kept as memories, and memories are searched by their chunks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, NewType, TypeAlias

from memory.errors import Invalid
from memory.kinds import RULES, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

MemoryId = NewType("MemoryId", int)
ChunkId = NewType("ChunkId", int)

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"

TITLE_LIMIT = 200  # characters
LINE_LIMIT = 10_000  # characters of what, why, impact, description
BODY_LIMIT = 500_000  # characters (CAP D10)
NAME_LIMIT = 200  # characters of a project, a source, a tag, a file, ...
TAGS_LIMIT = 100


class Status(StrEnum):
    """Whether a memory still holds."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """
    What a caller asks to keep.

    Text is kept as given: Unicode without NUL and without lone surrogates. A blank text counts as absent.

    Attributes:
        title: One line that names it; at most `TITLE_LIMIT` characters.
        what, why, impact: What is the case, why, and what follows: shown with every result.
        description: A sentence about the body, for kinds that have no `what`.
        body: The verbatim details, at most `BODY_LIMIT` characters; loaded only when asked for.
        metadata: JSON values by name.
        source: The program it came from, e.g. "claude-code".
        agent_id: The agent that wrote it.
        session_iter: Iteration of the session, from 1.
        query_id: The research run it belongs to.

    Raises:
        Invalid: A text is too long or is not text, or the kind demands what is missing.
    """

    title: str = ""
    what: str = ""
    why: str = ""
    impact: str = ""
    description: str = ""
    body: str = ""
    kind: Kind = Kind.NOTE
    category: str | None = None
    tags: tuple[str, ...] = ()
    related_files: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))
    project: str | None = None
    source: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    session_iter: int | None = None
    task_code: str | None = None
    query_id: str | None = None
    parent_id: MemoryId | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kind, Kind):
            raise Invalid(f"kind must be a Kind, not {self.kind!r}", hint="`memory.kinds.kind` finds one by its name.")
        _check_texts(self)
        _check_names(self)
        _check_values(self)
        rule = RULES[self.kind]
        for name in rule.required:
            if not str(getattr(self, name) or "").strip():
                raise Invalid(f"a {self.kind} needs a {name}")
        if self.category is not None and rule.categories is not None and self.category not in rule.categories:
            raise Invalid(
                f"no category {self.category!r} of a {self.kind}", hint=f"One of {', '.join(rule.categories)}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """
    A draft that was kept. Its body is not here: `Engine.details` loads it.

    Attributes:
        id: From 1, never used again.
        uid: 32 hexadecimal digits, the same in every export.
        body_size: Characters of the body; 0 when there are no details.
        superseded_by: The memory that took its place.
        content_hash: SHA-256 over what was said, in hexadecimal.
        created_at, updated_at, accessed_at: UTC.
        access_count: How often its details were asked for.
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
    status: Status
    superseded_by: MemoryId | None
    content_hash: str
    created_at: datetime
    updated_at: datetime
    accessed_at: datetime | None
    access_count: int
    body_size: int

    @property
    def has_details(self) -> bool:
        return self.body_size > 0


SHARED = tuple(f.name for f in fields(Draft) if f.name != "body")
"""The fields that a draft and the memory made of it have in common."""


class ChunkType(StrEnum):
    """What a chunk is a slice of. A note's HEAD is its `what`; it covers nothing of the body."""

    HEAD = "head"
    SECTION = "section"
    TEXT = "text"
    CODE_BLOCK = "code_block"


@dataclass(frozen=True, slots=True)
class Chunk:
    """
    A slice of a body: what is indexed and embedded.

    The chunks of a memory, in order, tile its body: nothing is lost, nothing overlaps.

    Attributes:
        index: From 0.
        start, stop: Code points into the body; `body[start:stop]`.
        header_path: The headings above it with their marks, outermost first: ("# Guide", "## Setup").
        level: Level of the innermost heading, 1..6; 0 without one.
        token_count: Estimated size of the slice, in tokens.
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
        """The first two headings above it: an H3 belongs to its H2 (CAP A23, A31)."""
        return self.header_path[:2]


OVERLAP = 200
"""Characters of the body before a chunk that an `Excerpt` carries along."""


class Excerpt(NamedTuple):
    """
    A chunk with the texts around it: what a passage is made of.

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


_TEXTS = {
    "title": TITLE_LIMIT,
    "what": LINE_LIMIT,
    "why": LINE_LIMIT,
    "impact": LINE_LIMIT,
    "description": LINE_LIMIT,
    "body": BODY_LIMIT,
}
_NAMES = ("category", "project", "source", "agent_id", "session_id", "task_code", "query_id")


def check_text(name: str, text: object, limit: int) -> None:
    """
    Raises:
        Invalid: It is not text, longer than the limit, or holds a NUL or a lone surrogate.
    """
    if not isinstance(text, str):
        raise Invalid(f"{name} must be text, not {type(text).__name__}")
    if len(text) > limit:
        raise Invalid(f"{name} has {len(text):,} characters; at most {limit:,} are taken")
    if "\0" in text:
        raise Invalid(f"{name} has a NUL at position {text.index(chr(0))}: this looks like binary data, not text")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise Invalid(f"{name} has a lone surrogate at position {error.start}: it is not valid Unicode") from error


def _check_texts(draft: Draft) -> None:
    for name, limit in _TEXTS.items():
        check_text(name, getattr(draft, name), limit)
    if "\n" in draft.title.strip() or "\r" in draft.title.strip():
        raise Invalid("a title is one line", hint="Put the rest into `what` or the details.")


def _check_names(draft: Draft) -> None:
    for name in _NAMES:
        if (value := getattr(draft, name)) is not None:
            check_text(name, value, NAME_LIMIT)
            if not value.strip():
                raise Invalid(f"{name} is blank", hint="Leave it out instead.")
    for name, values in (("tags", draft.tags), ("related_files", draft.related_files)):
        if isinstance(values, str) or len(values) > TAGS_LIMIT:
            raise Invalid(f"{name} must be a list of at most {TAGS_LIMIT} texts")
        for value in values:
            check_text(name, value, LINE_LIMIT)
            if not value.strip():
                raise Invalid(f"{name} holds a blank one")


def _check_values(draft: Draft) -> None:
    iteration = draft.session_iter
    if iteration is not None and (isinstance(iteration, bool) or not isinstance(iteration, int) or iteration < 1):
        raise Invalid(f"session_iter is a whole number from 1, not {iteration!r}")
    if not draft.metadata:
        return
    try:
        text = json.dumps(dict(draft.metadata), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"metadata must be JSON values by name: {error}") from error
    check_text("metadata", text, BODY_LIMIT)

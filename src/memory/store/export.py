"""
Everything that a store holds, as values that mean the same in every database: uids take the place of ids. And these
values as an export writes them, as JSON, which `jsonl` reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from memory.schema.draft import MOMENTS
from memory.schema.errors import StoreDamaged, iso
from memory.schema.memory import Memory, MemoryId, Revision
from memory.store import Attached, Relation, Salvaged, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from memory.schema.memory import Details
    from memory.schema.space import Space
    from memory.store import ToolCall

SALVAGED = 50  # memories with their bodies and histories read at once
PAGE = 500  # relations or links read at once

SCHEMA = "memory.memory/1"
RELATION, ATTACHED, CALL = "memory.relation/1", "memory.attached/1", "memory.tool_call/1"
STRANGERS = "memory.strangers/1"
TRASH = "memory.trash/1"

_PORTABLE = (
    "kind title what why impact category tags project source agent_id status created_at description related_files metadata "
    "session_id session_iter task_code query_id updated_at accessed_at access_count keyword_only pinned"
).split()
"""What of a memory means the same in every database."""


T = TypeVar("T")


def every(store: Store, lost: Callable[[str], None] | None = None) -> Iterator[Details]:
    """
    Every memory with its body and its history, oldest first.

    Args:
        lost: Called with a sentence for each part of a damaged store that cannot be read; the rest is returned. Bytes
            that are not text become U+FFFD.

    Raises:
        StoreDamaged: Something cannot be read, and `lost` is None.
    """
    after = MemoryId(0)
    while page := store.salvaged(after, SALVAGED):
        for one in page:
            if lost is not None:
                _report(one, lost)
            elif one.fault is not None:
                raise one.fault
            elif one.lost:
                raise StoreDamaged(_lacking(one))
            if one.details is not None:
                yield one.details
        after = page[-1].id


def _report(one: Salvaged, lost: Callable[[str], None]) -> None:
    if one.details is None:
        why = str(one.fault)
        lost(why if f"memory {one.id} " in why else f"memory {one.id} cannot be read: {why}")
    elif one.lost:
        lost(f"{_lacking(one)}; the rest is exported")


def _lacking(one: Salvaged) -> str:
    uid = "" if one.details is None else one.details.memory.uid
    return f"memory {one.id} ({uid}): {', '.join(one.lost)} cannot be read, or not all of it"


@dataclass(frozen=True, slots=True)
class Record:
    """
    A memory with its body, history and links, for an export. Uids replace ids, which mean nothing in another database.

    Attributes:
        parent, superseded_by: Uids of the memories that it refers to.
    """

    memory: Memory
    body: str
    history: tuple[Revision, ...]
    parent: str | None
    superseded_by: str | None


def exported(store: Store, lost: Callable[[str], None] | None = None) -> Iterator[Record]:
    """
    Every memory, oldest first.

    Args:
        lost: Called with a sentence for each part of a damaged store that cannot be read; the rest is exported. Bytes
            that are not text become U+FFFD.

    Raises:
        StoreDamaged: Something cannot be read, and `lost` is None.
    """
    for found in every(store, lost):
        memory = found.memory
        yield Record(*found[:3], _uid_of(store, memory.parent_id), _uid_of(store, memory.superseded_by))


def _uid_of(store: Store, id: MemoryId | None) -> str | None:
    try:
        return None if id is None else next((found.uid for found in store.memories.by_id([id]).values()), None)
    except StoreDamaged:  # reported with that memory itself
        return None


# Relations and links ----------------------------------------------------------


class RelationLine(NamedTuple):
    """A relation between two entities, by their uids."""

    source: str
    target: str
    type: str
    created_at: datetime


class LinkLine(NamedTuple):
    """A link between an entity and a memory about it, by their uids."""

    entity: str
    memory: str
    created_at: datetime


EdgeLine: TypeAlias = RelationLine | LinkLine


class StrangersLine(NamedTuple):
    """
    The strangers of the generation that answers, whose cosines with their right answers tell what its model is like.

    How near they come to a store is found out there, from its own vectors.

    Attributes:
        fingerprint: See `memory.store.Generation`.
        right, stamp: See `memory.schema.space.Strangers`.
        embeddings: Of the strangers, float32, little-endian: a row of `space.dimension` for each.
    """

    space: Space
    fingerprint: bytes
    right: float
    stamp: int
    embeddings: bytes


def strangers_line(store: Store) -> StrangersLine | None:
    """The strangers that a store judges by; None if it has none."""
    with store.snapshot():
        generation = store.generations.active()
        if generation is None or (known := generation.strangers) is None:
            return None
        embeddings = store.generations.strangers(generation.id)
    if embeddings is None:
        return None
    rows = embeddings.astype("<f4").tobytes()
    return StrangersLine(generation.space, generation.fingerprint, known.right, known.stamp, rows)


def edge_lines(store: Store) -> Iterator[EdgeLine]:
    """Every relation, then every link between an entity and a memory, read page by page."""
    for page in pages(partial(store.graph.edges, Relation)):
        uids = _uids(store, page)
        for one in page:
            if one.source in uids and one.target in uids:  # neither end was deleted meanwhile
                yield RelationLine(uids[one.source], uids[one.target], one.type, one.created_at)
    for links in pages(partial(store.graph.edges, Attached)):
        uids = _uids(store, links)
        for link in links:
            if link.entity in uids and link.memory in uids:
                yield LinkLine(uids[link.entity], uids[link.memory], link.created_at)


def pages(read: Callable[..., Sequence[T]], limit: int = PAGE) -> Iterator[Sequence[T]]:
    """All that a read gives, a page at a time, each after the last of the page before."""
    after: T | None = None
    while page := read(after=after, limit=limit):
        yield page
        after = page[-1]


def _uids(store: Store, edges: Sequence[Relation] | Sequence[Attached]) -> dict[MemoryId, str]:
    ids = {id for one in edges for id in one[:2]}
    return {id: memory.uid for id, memory in store.memories.by_id(sorted(ids)).items()}


# As JSON -----------------------------------------------------------------------


def memory_line(found: Record) -> dict[str, Any]:
    """All of a memory, without numbers of this database."""
    history = [
        {"replaced_at": iso(revision.replaced_at), **_portable(revision.memory), "body": revision.body}
        for revision in found.history
    ]
    links = {"parent": found.parent, "superseded_by": found.superseded_by}
    return {"schema": SCHEMA, **_portable(found.memory), **links, "body": found.body, "history": history}


def _portable(memory: Memory) -> dict[str, Any]:
    values = {name: getattr(memory, name) for name in _PORTABLE}
    moments = {name: values[name] and iso(values[name]) for name in ("created_at", "updated_at", "accessed_at")}
    plain = {"kind": str(memory.kind), "status": str(memory.status), "metadata": dict(memory.metadata)}
    lists = {"tags": list(memory.tags), "related_files": list(memory.related_files)}
    people = {name: who for name in ("author", "owner") if (who := getattr(memory, name)) is not None}
    said = {name: iso(moment) for name in MOMENTS if (moment := getattr(memory, name)) is not None}
    return {"id": memory.uid, "uid": memory.uid, **values, **moments, **plain, **lists, **people, **said}


def edge(one: EdgeLine) -> dict[str, Any]:
    """What joins two memories."""
    schema = RELATION if "type" in one._fields else ATTACHED
    return {"schema": schema, **one._asdict(), "created_at": iso(one.created_at)}


def trashed(
    found: Record,
    edges: Sequence[EdgeLine],
    *,
    superseded: Sequence[str],
    children: Sequence[str],
    deleted_at: datetime,
    until: datetime,
) -> dict[str, Any]:
    """
    A memory that was deleted, with what it was to others.

    Args:
        superseded, children: Uids of what it superseded, and of what descends from it.
        until: From then on it cannot be restored.
    """
    moments = {"deleted_at": iso(deleted_at), "until": iso(until)}
    others = {"edges": [edge(one) for one in edges], "superseded": list(superseded), "children": list(children)}
    return {"schema": TRASH, **moments, "memory": memory_line(found), **others}


def tool_call(call: ToolCall) -> dict[str, Any]:
    """A tool that was used."""
    return {"schema": CALL, **call._asdict(), "moment": iso(call.moment)}


def strangers(line: StrangersLine) -> dict[str, Any]:
    """The strangers that a store judges by."""
    from base64 import b64encode

    coded = {name: b64encode(getattr(line, name)).decode() for name in ("fingerprint", "embeddings")}
    return {"schema": STRANGERS, **line.space._asdict(), "right": line.right, "stamp": line.stamp, **coded}

"""What an export wrote: lines of JSON as memories, relations, links, tool calls and strangers."""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from memory.keep.rules import join, note, set_links
from memory.schema.draft import NAMES, SHARED, Draft, content_hash
from memory.schema.errors import BODY_LIMIT, NAME_LIMIT, Invalid, check_text, checked_whole, clipped_repr, did_you_mean
from memory.schema.kinds import TOOL_TYPES, kind
from memory.schema.memory import Memory, MemoryId, Revision, Standing
from memory.schema.space import Space
from memory.store import Attached, Links, Match, Relation, Store, ToolCall
from memory.store.export import (
    ATTACHED,
    CALL,
    RELATION,
    SCHEMA,
    STRANGERS,
    TRASH,
    EdgeLine,
    LinkLine,
    RelationLine,
    StrangersLine,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


EDGES = (RELATION, ATTACHED, CALL)
MOST = 2**53  # within what a store counts, and what every JSON reader takes for a whole number

_BODY = ("body", "details", "content")
"""The names of the long text: in an export, in `memory save`, and in tools for sessions and runs."""

_TEXTS = {field.name for field in fields(Draft)} - {"parent_id"}
_KEPT = {"id", "uid", "status", "created_at", "updated_at", "accessed_at", "access_count", "pinned"}
_LINKS = {"parent", "superseded_by"}
FIELDS = _TEXTS | {*_BODY} | _KEPT | _LINKS | {"schema", "history", "replaced_at"}


class MemoryLine(NamedTuple):
    """
    A memory as an export has it.

    Attributes:
        memory: Restores uid, times and status; None if the line has no uid.
        history: Its former versions, newest first.
        links: What it points to, if it has a uid.
        renews: See `memory.store.Entry`.
        foreign: It comes from another program, whose ids mean nothing here: it is known by what it says, too.
    """

    draft: Draft
    memory: Memory | None = None
    history: tuple[Revision, ...] = ()
    links: Links | None = None
    renews: tuple[str, ...] = ()
    foreign: bool = False


class TrashLine(NamedTuple):
    """
    A memory that was deleted, as an export has it.

    Attributes:
        links: What it points to.
        edges: Its relations and links.
        superseded, children: Uids of what it superseded, and of what descends from it.
        until: From then on it cannot be restored.
    """

    memory: MemoryLine
    links: Links
    edges: tuple[EdgeLine, ...]
    superseded: tuple[str, ...]
    children: tuple[str, ...]
    deleted_at: datetime
    until: datetime


Line: TypeAlias = "MemoryLine | EdgeLine | ToolCall | StrangersLine | TrashLine"
"""A line of an export: a memory, a relation or link, a tool call, the strangers, or what was deleted."""


def parsed(line: str, *, place: str) -> Line:
    """
    Parse one line of an export, or a draft's fields as a JSON object.

    Args:
        place: Where the line is, for the error: "notes.jsonl:12".

    Raises:
        Invalid: It is not such a line; the message begins with the place.
    """
    try:
        return _line(json.loads(line))
    except Invalid as error:
        raise Invalid(f"{place}: {error}", hint=error.hint) from error
    except json.JSONDecodeError as error:
        raise Invalid(f"{place}: not JSON: {error.msg} at column {error.colno}") from error
    except RecursionError as error:
        raise Invalid(f"{place}: not a memory: nested too deeply") from error
    except KeyError as error:
        raise Invalid(f"{place}: the field {error} is missing") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Invalid(f"{place}: not a memory: {error}") from error


def _line(values: Any) -> Line:
    if not isinstance(values, dict):
        raise Invalid(f"expected an object, not {type(values).__name__}")
    schema = values.get("schema", SCHEMA)
    if schema in EDGES:
        return _edge(schema, values)
    if schema == STRANGERS:
        return _strangers(values)
    if schema == TRASH:
        return _trashed(values)
    if schema != SCHEMA:
        raise Invalid(f"schema {schema!r} is not {SCHEMA}", hint="Was it made by a newer version?")
    if unknown := sorted(set(values) - FIELDS):
        raise Invalid(f"no field {unknown[0][:60]!r}", hint=did_you_mean(unknown[0], sorted(FIELDS)))
    draft = _draft(values)
    if not (values.keys() & {"id", "uid"}):
        return MemoryLine(draft)
    restored = _memory(values, draft)
    history = tuple(_revision(revision) for revision in values.get("history", []))
    links = Links(restored.uid, _uid(values.get("parent")), _uid(values.get("superseded_by")))
    return MemoryLine(draft, restored, history, links)


def _trashed(values: Mapping[str, Any]) -> TrashLine:
    fields = {"schema", *TrashLine._fields} - {"links"}
    if unknown := sorted(set(values) - fields):
        raise Invalid(f"no field {unknown[0][:60]!r}", hint=did_you_mean(unknown[0], fields, ""))
    memory, edges = _line(values["memory"]), tuple(_line(one) for one in values["edges"])
    if not isinstance(memory, MemoryLine) or memory.links is None:
        raise Invalid("`memory` is not a memory with an id")
    lists = [values["superseded"], values["children"]]
    if not all(isinstance(some, list) and all(map(_uid, some)) for some in lists):
        raise Invalid("`superseded` and `children` are lists of uids")
    superseded, children = map(tuple, lists)
    moments = _time(values["deleted_at"]), _time(values["until"])
    return TrashLine(memory, memory.links, tuple(map(_joining, edges)), superseded, children, *moments)


def _joining(one: Line) -> EdgeLine:
    if isinstance(one, RelationLine | LinkLine):
        return one
    raise Invalid("`edges` are relations and links")


def _draft(values: Mapping[str, Any]) -> Draft:
    texts = {name: value for name, value in values.items() if name in _TEXTS and not (name in NAMES and value == "")}
    said = [name for name in _BODY if values.get(name)]
    if len(said) > 1:
        raise Invalid(f"{' and '.join(said)} mean the same field", hint="Give one of them.")
    if said:
        texts["body"] = values[said[0]]
    for name in ("tags", "related_files"):
        if name in texts:
            if not isinstance(texts[name], list):
                raise Invalid(f"{name} must be a list of texts, not {texts[name]!r}")
            texts[name] = tuple(texts[name])
    if not isinstance(texts.get("metadata", {}), dict):
        raise Invalid(f"metadata must be an object, not {texts['metadata']!r}")
    _number("session_iter", texts.get("session_iter") or 0)
    if "kind" in texts:
        texts["kind"] = kind(texts["kind"])
    return Draft(**texts)


def _memory(values: Mapping[str, Any], draft: Draft) -> Memory:
    uid = _uid(values.get("uid", values.get("id")))
    if uid is None:
        raise Invalid("id is null")
    if values.get("id", uid) != uid:
        raise Invalid(f"id {values['id']!r} is not the uid", hint="Both name the same memory; give one.")
    shared = {name: getattr(draft, name) for name in SHARED}
    accessed = values.get("accessed_at")
    return Memory(
        **shared,
        id=MemoryId(0),
        uid=uid,
        status=Standing(values.get("status", Standing.ACTIVE)),
        superseded_by=None,
        content_hash=content_hash(draft),
        created_at=_moment(values["created_at"]),
        updated_at=_moment(values["updated_at"]),
        accessed_at=_moment(accessed) if accessed else None,
        access_count=_number("access_count", values.get("access_count", 0)),
        body_size=len(draft.body),
        pinned=_flag("pinned", values.get("pinned", False)),
    )


def _revision(values: Mapping[str, Any]) -> Revision:
    draft = _draft(values)
    return Revision(_moment(values["replaced_at"]), _memory(values, draft), draft.body)


def _uid(value: object) -> str | None:
    if value is None or (isinstance(value, str) and len(value) == 32 and set(value) <= set("0123456789abcdef")):
        return value
    raise Invalid(f"uid {value!r} is not 32 hexadecimal digits")


def _number(name: str, value: object) -> int:
    return checked_whole(value, 0, MOST, f"{name} is a whole number from 0 to {MOST}")


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise Invalid(f"{name} is true or false, not {value!r}")
    return value


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def link_memories(store: Store, links: Sequence[Links], moment: datetime) -> None:
    """
    Point restored memories to their parents and successors.

    What is set already stays; a successor is for superseded memories only. Uids that are not there are skipped.
    """
    pointing = [one for one in links if one.parent or one.superseded_by]
    uids = sorted({uid for one in pointing for uid in one if uid is not None})
    if not uids:
        return
    with store.transaction():
        found = store.memories.find([Match({"uid": uid}) for uid in uids])
        there = {one.uid: one for one in found if one is not None}
        ids = {uid: one.id for uid, one in there.items()}
        linked = dict(there)
        for uid, parent, successor in pointing:
            if uid in there:
                linked[uid] = _linked(linked[uid], ids.get(parent or ""), ids.get(successor or ""))
        note(store, set_links(store, [(there[uid], linked[uid]) for uid in sorted(there)]), moment)


def _linked(memory: Memory, parent: MemoryId | None, successor: MemoryId | None) -> Memory:
    if memory.parent_id is None:
        memory = memory._replace(parent_id=parent)
    if memory.superseded_by is None and memory.status is Standing.SUPERSEDED:
        memory = memory._replace(superseded_by=successor)
    return memory


# Relations, links and tool calls ------------------------------------------------


def _edge(schema: str, values: Mapping[str, Any]) -> EdgeLine | ToolCall:
    made: EdgeLine | ToolCall
    texts = {name: value for name, value in values.items() if name not in {"schema", "created_at", "moment"}}
    try:
        moment = _time(values["moment" if schema == CALL else "created_at"])
        if schema == CALL:
            made = ToolCall(**{"run": None} | texts, moment=moment)
        else:
            made = (RelationLine if schema == RELATION else LinkLine)(**texts, created_at=moment)
    except KeyError as error:
        raise Invalid(f"no field {error.args[0]!r}") from error
    except TypeError as error:  # names the field that is missing or unknown
        raise Invalid(str(error).partition(" ")[2] or str(error)) from error
    for name, value in texts.items():
        if name == "success" and not isinstance(value, bool):
            raise Invalid(f"success is true or false, not {value!r}")
        if name != "success" and not (name == "run" and value is None):
            content = name in {"parameters", "result"}
            check_text(name, value, BODY_LIMIT if content else NAME_LIMIT)
            if not (content or value.strip()):
                raise Invalid(f"{name} is blank")
    if isinstance(made, ToolCall) and made.type not in TOOL_TYPES:
        raise Invalid(f"no tool type {clipped_repr(made.type)}", hint=f"One of {', '.join(TOOL_TYPES)}.")
    return made


def _time(text: object) -> datetime:
    try:
        return _moment(str(text))
    except (ValueError, OverflowError) as error:
        raise Invalid(f"{text!r} is not a time") from error


# Strangers ------------------------------------------------------------------------

UNIT = 1e-3
"""How far the length of a vector may be from 1."""


def _strangers(values: Mapping[str, Any]) -> StrangersLine:
    fields = {"schema", *Space._fields, *StrangersLine._fields} - {"space"}
    if missing := sorted(fields - set(values)):
        raise Invalid(f"no field {missing[0]!r}")
    if unknown := sorted(set(values) - fields):
        raise Invalid(f"no field {unknown[0][:60]!r}", hint=did_you_mean(unknown[0], fields, ""))
    for name in ("provider", "model"):
        check_text(name, values[name], NAME_LIMIT)
        if not values[name].strip():
            raise Invalid(f"{name} is blank")
    dimension = checked_whole(values["dimension"], 1, MOST, f"dimension is a whole number from 1 to {MOST}")
    space = Space(values["provider"], values["model"], _number("recipe", values["recipe"]), dimension)
    right, stamp = values["right"], _number("stamp", values["stamp"])
    if isinstance(right, bool) or not isinstance(right, int | float) or not -1 <= right <= 1:
        raise Invalid(f"right is a cosine, from -1 to 1, not {clipped_repr(right)}")
    fingerprint = _unit_vectors("fingerprint", values["fingerprint"], space.dimension)
    if len(fingerprint) > 4 * space.dimension:
        raise Invalid("fingerprint is more than one vector")
    embeddings = _unit_vectors("embeddings", values["embeddings"], space.dimension)
    if not embeddings:
        raise Invalid("embeddings are empty")
    return StrangersLine(space, fingerprint, float(right), stamp, embeddings)


def _unit_vectors(name: str, text: object, dimension: int) -> bytes:
    """Vectors of length 1 from Base64, a row of `dimension` numbers each, float32, little-endian; or none."""
    check_text(name, text, BODY_LIMIT)
    try:
        rows = b64decode(str(text), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Invalid(f"{name} is not Base64: {error}") from error
    if len(rows) % (4 * dimension):
        raise Invalid(f"{name} has {len(rows):,} bytes, which do not make vectors of {dimension:,} dimensions")
    import numpy as np

    lengths = np.linalg.norm(np.frombuffer(rows, "<f4").reshape(-1, dimension).astype(np.float64), axis=1)
    if not bool((np.abs(lengths - 1) <= UNIT).all()):  # also what is no number
        raise Invalid(f"{name} has vectors whose length is not 1")
    return rows


class EdgesAdded(NamedTuple):
    """The number of new relations and links, and the relations and links with an end that does not exist here."""

    new: int
    dangling: Sequence[EdgeLine]


def add_edges(store: Store, lines: Sequence[EdgeLine], ids: Mapping[str, MemoryId]) -> EdgesAdded:
    """
    Add relations and links; those that exist stay as they are.

    Args:
        ids: The ids of the memories imported with them, by uid: an entity that existed here under its name has another
            uid.
    """
    known = dict(ids)
    for uid in {uid for one in lines for uid in one[:2]} - known.keys():
        known |= {uid: id for id, uid in store.memories.resolve(uid)}
    whole = [one for one in lines if one[0] in known and one[1] in known]
    relations = [Relation(known[a], known[b], *more) for a, b, *more in whole if len(more) > 1]
    links = [Attached(known[a], known[b], *more) for a, b, *more in whole if len(more) == 1]
    dangling = [one for one in lines if not (one[0] in known and one[1] in known)]
    return EdgesAdded(sum(join(store, [*relations, *links])), dangling)

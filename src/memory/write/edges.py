"""
Relations, links and tool calls carried from one database to another.

Ids mean nothing in another database, so uids replace them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from memory.schema.errors import Invalid
from memory.schema.kinds import TOOL_TYPES
from memory.schema.limits import BODY_LIMIT, NAME_LIMIT, check_text, clipped_repr
from memory.store import Attached, Relation, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memory.schema.memory import MemoryId
    from memory.store import Store


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
RELATION, ATTACHED, CALL = "memory.relation/1", "memory.attached/1", "memory.tool_call/1"
SCHEMAS = (RELATION, ATTACHED, CALL)
PAGE = 1000  # entities, relations or links at a time


class EdgesAdded(NamedTuple):
    """How many relations and links are new, and how many have an end that does not exist here."""

    new: int
    dangling: int


def edge_lines(store: Store) -> Iterator[EdgeLine]:
    """Every relation, then every link between an entity and a memory, read page by page."""
    relation: Relation | None = None
    while relations := store.graph.relations(after=relation, limit=PAGE):
        uids = _uids(store, [id for one in relations for id in one[:2]])
        for relation in relations:
            if relation.source in uids and relation.target in uids:  # neither end was deleted meanwhile
                yield RelationLine(uids[relation.source], uids[relation.target], relation.type, relation.created_at)
    link: Attached | None = None
    while links := store.graph.attached(after=link, limit=PAGE):
        uids = _uids(store, [id for one in links for id in one[:2]])
        for link in links:
            if link.entity in uids and link.memory in uids:
                yield LinkLine(uids[link.entity], uids[link.memory], link.created_at)


def _uids(store: Store, ids: Sequence[MemoryId]) -> dict[MemoryId, str]:
    return {id: memory.uid for id, memory in store.memories.by_id(sorted(set(ids))).items()}


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
    new = [*store.graph.relate(relations), *store.graph.attach(links)]
    return EdgesAdded(sum(new), len(lines) - len(whole))


def parsed(schema: str, values: Mapping[str, Any]) -> EdgeLine | ToolCall:
    """
    Parse a relation, a link or a tool call of an export.

    Raises:
        Invalid: It is not such a line.
    """
    made: EdgeLine | ToolCall
    texts = {name: value for name, value in values.items() if name not in {"schema", "created_at", "moment"}}
    try:
        moment = _moment(values["moment" if schema == CALL else "created_at"])
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


def _moment(text: object) -> datetime:
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Invalid(f"{text!r} is no time") from error

"""
Other servers of memories: mem0, mcp-memory-service, and the reference server of the Model Context Protocol.

mem0 and mcp-memory-service keep short texts with tags and times, a note each. mem0: what `Memory.get_all` gives, as JSON, or
the `history.db` it keeps beside its vectors. https://docs.mem0.ai, 2.2. mcp-memory-service: its export in JSON, or its
database. https://github.com/doobidoo/mcp-memory-service, 12.2.

The reference server keeps a graph: a line of JSON an entity, then a line a relation. `memory graph export` writes the same
with links to memories. Older servers, and what a tool of theirs answers, are one document with `entities` and `relations`.
https://github.com/modelcontextprotocol/servers/tree/main/src/memory
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.carry.formats.items import (
    About,
    ImportTarget,
    Item,
    LeftOut,
    NamedRelation,
    Read,
    left_out,
    moment_of,
    one_line,
    own_uid,
    tags_of,
    uid_of,
)
from memory.carry.formats.reading import Source, elements, objects, parsed
from memory.schema.draft import Draft
from memory.schema.errors import LINE_LIMIT, NAME_LIMIT, Invalid
from memory.schema.kinds import CATEGORIES, Kind
from memory.text.markdown import checked, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Row = Mapping[str, Any]
    Parser = Callable[[Row, ImportTarget], Item]

MEM0, SERVICE = "mem0", "mcp-memory-service"

MEM0_TABLE = "history"
MEM0_COLUMNS = ("memory_id", "new_memory", "event", "created_at", "updated_at", "is_deleted", "actor_id", "role")

SERVICE_COLUMNS = (
    *("content", "content_hash", "tags", "memory_type", "metadata"),
    *("created_at", "updated_at", "created_at_iso", "updated_at_iso"),
)


def mem0(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The memories of an export of mem0: an array of them, or an object that has one."""
    return _of_json(source, target, of_mem0, "results", "memories")


def service(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The memories of an export of mcp-memory-service."""
    return _of_json(source, target, of_service, "memories")


def _of_json(source: Source, target: ImportTarget, parse: Parser, *keys: str) -> Iterator[Read]:
    with source.opened() as file:
        for number, found in enumerate(elements(file, source.name, *keys)):
            yield found if isinstance(found, LeftOut) else _made(f"{source.name}[{number}]", found, target, parse)


def rows(found: Iterable[Row], name: str, target: ImportTarget, parse: Parser) -> Iterator[Read]:
    """The memories of a database."""
    for number, row in enumerate(found, start=1):
        yield _made(f"{name}, row {number}", row, target, parse)


def _made(place: str, row: Row, target: ImportTarget, parse: Parser) -> Read:
    try:
        return parse(row, target)
    except Invalid as error:
        return left_out(place, error)


def of_mem0(row: Row, target: ImportTarget) -> Item:
    """
    A memory of mem0.

    Raises:
        Invalid: It says nothing.
    """
    text = target.text(row.get("memory") or row.get("new_memory") or row.get("data"))
    metadata = _facts(row.get("metadata"))
    whose = {key: row[key] for key in ("user_id", "agent_id", "run_id", "actor_id", "role") if row.get(key)}
    key = row.get("id") or row.get("memory_id")
    tags = tags_of(target.clean, row.get("categories") or (), metadata.get("tags") or ())
    return Item(
        _draft(text, MEM0, target, tags=tags, facts=metadata | whose),
        own_uid(key) or (uid_of(MEM0, key) if key else None),
        moment_of(row.get("created_at")),
        moment_of(row.get("updated_at")),
    )


def last_events(found: Iterable[Row]) -> Iterator[Row]:
    """Of a history of mem0, in its order, what holds of each memory in the end: not those that were deleted."""
    last: dict[object, Row] = {}
    for row in found:
        former = last.get(row["memory_id"], {})
        last[row["memory_id"]] = {**row, "created_at": former.get("created_at") or row["created_at"]}
    for row in last.values():
        if row["event"] != "DELETE" and not row["is_deleted"]:
            yield row


def of_service(row: Row, target: ImportTarget) -> Item:
    """
    A memory of mcp-memory-service.

    Raises:
        Invalid: It says nothing.
    """
    metadata = row.get("metadata")
    if isinstance(metadata, str):
        metadata = parsed(metadata) if metadata.strip() else {}
    type = one_line(target.text(row.get("memory_type")), NAME_LIMIT)
    more = {"memory_type": type} if type else {}
    draft = _draft(
        target.text(row.get("content")),
        SERVICE,
        target,
        tags=tags_of(target.clean, row.get("tags") or ()),
        facts=_facts(metadata) | more,
        category=type if type in CATEGORIES else None,
    )
    created = moment_of(row.get("created_at_iso")) or moment_of(row.get("created_at"))
    updated = moment_of(row.get("updated_at_iso")) or moment_of(row.get("updated_at"))
    return Item(draft, uid_of(SERVICE, row.get("content_hash") or draft.what), created, updated)


def _facts(metadata: object) -> dict[str, Any]:
    return metadata if isinstance(metadata, dict) else {}


def _draft(
    text: str, program: str, target: ImportTarget, *, tags: tuple[str, ...], facts: Row, category: str | None = None
) -> Draft:
    """A short text without secrets as a note; what is longer than a line may be goes to its details."""
    text = text.strip()
    long = len(text) > LINE_LIMIT
    return Draft(
        title=one_line(text),
        what=f"{text[: LINE_LIMIT - 1]}…" if long else text,
        body=text if long else "",
        category=category,
        tags=tags,
        metadata=dict(facts),
        project=target.of(None),
        source=program,
    )


# The graph of the reference server ---------------------

ENTITY, RELATION, LINK = "entity", "relation", "link"
GRAPH_SORTS = frozenset({ENTITY, RELATION, LINK})

NAMES = ("name",)
TYPES = ("entityType", "entity_type")
FACTS = ("observations", "obs")
FROM, TO = ("from", "source"), ("to", "target")
RELATED = ("relationType", "relation", "relation_type", "type")


def graph_lines(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The graph in lines."""
    with source.opened() as file:
        for found in objects(file, source.name):
            if isinstance(found, LeftOut):
                yield found
            else:
                number, row = found
                yield _of_graph(f"{source.name}:{number}", str(row.get("type")), row, target)


def graph_document(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The graph in a document: its entities first, wherever they stand."""
    for key, sort in (("entities", ENTITY), ("relations", RELATION)):
        with source.opened() as file:
            for number, found in enumerate(elements(file, source.name, key)):
                place = f"{source.name}, {key}[{number}]"
                yield found if isinstance(found, LeftOut) else _of_graph(place, sort, found, target)


def _of_graph(place: str, sort: str, row: Mapping[str, Any], target: ImportTarget) -> Read:
    made = _MAKERS.get(sort)
    if made is None:
        return left_out(place, f"{sort!r} is neither an entity nor a relation")
    try:
        return made(row, target)
    except Invalid as error:
        return left_out(place, error)


def _relation(row: Mapping[str, Any], target: ImportTarget) -> NamedRelation:
    """
    Raises:
        Invalid: It lacks an end or a type.
    """
    # Earlier servers wrote `"type": "relation"` beside the relation's own type.
    own = row if row.get("type") != RELATION else {name: value for name, value in row.items() if name != "type"}
    first, second, type = (one_line(target.text(_first(own, names)), NAME_LIMIT) for names in (FROM, TO, RELATED))
    if not (first and second and type):
        raise Invalid("a relation needs two names and a type")
    return NamedRelation(first, second, type)


def _about(row: Mapping[str, Any], target: ImportTarget) -> About:
    """
    Raises:
        Invalid: It lacks an entity or a memory.
    """
    name, uid = one_line(target.text(row.get("entity"))), own_uid(row.get("memory"))
    if not name or uid is None:
        raise Invalid("a link needs an entity and the uid of a memory")
    return About(name, uid)


def _entity(row: Mapping[str, Any], target: ImportTarget) -> Item:
    """
    Raises:
        Invalid: It has no name, or an observation is no text.
    """
    observations = _first(row, FACTS)
    texts = [observations] if isinstance(observations, str) else observations or []
    draft = Draft(
        kind=Kind.ENTITY,
        title=one_line(target.text(_first(row, NAMES))),
        category=one_line(target.text(_first(row, TYPES)), NAME_LIMIT) or None,
        body=listed(checked(text for text in texts if not isinstance(text, str) or text.strip())),
        source="import",
        keyword_only=row.get("embed") is False,
    )
    return Item(draft)


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)


_MAKERS: Mapping[str, Callable[[Mapping[str, Any], ImportTarget], Read]] = {
    ENTITY: _entity,
    RELATION: _relation,
    LINK: _about,
}

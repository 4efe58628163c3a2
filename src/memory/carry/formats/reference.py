"""
The reference server of the Model Context Protocol keeps a graph: a line of JSON an entity, then a line a relation.

`memory graph export` writes the same with links to memories. Older servers, and what a tool of theirs answers, are one
document with `entities` and `relations`. https://github.com/modelcontextprotocol/servers/tree/main/src/memory
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.carry.formats import Belongs, Format
from memory.carry.formats.items import (
    About,
    ImportTarget,
    Item,
    LeftOut,
    NamedRelation,
    Read,
    left_out,
    one_line,
    own_uid,
)
from memory.carry.formats.reading import elements, objects
from memory.schema.draft import Draft
from memory.schema.errors import NAME_LIMIT, Invalid
from memory.schema.kinds import Kind
from memory.text.markdown import checked, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from memory.carry.formats import Beginning
    from memory.carry.formats.reading import Source

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


def _of_lines(look: Beginning) -> bool:
    first = next(look.shapes, None)
    return first is not None and first.type in GRAPH_SORTS and bool(first.outer & ENDS)


ENDS = frozenset({"name", "from", "to", "source", "target", "entity"})

FORMATS = (
    Format("graph of entities", "graphs of entities", "the graph", graph_lines, _of_lines, belongs=Belongs.NEVER),
    Format(
        "graph of entities",
        "graphs of entities",
        "the graph",
        graph_document,
        lambda look: bool(look.keys & {"entities", "relations"} and look.wrapped & ENDS),
        belongs=Belongs.NEVER,
    ),
)

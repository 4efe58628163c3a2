"""
The graph as lines of JSON and back, and for Graphviz.

The lines of an export are those of the reference memory server of the Model Context Protocol, with a few more fields:
https://github.com/modelcontextprotocol/servers/tree/main/src/memory
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.answer import Notice
from memory.schema.errors import Invalid, NotFound, clipped_repr, iso, kept_before, placed
from memory.text.display import escape_controls, one_line
from memory.tools.graph import relate, rows
from memory.tools.graph.keep import create_described

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from memory.engine import Engine
    from memory.engine.graph import Relation, Triple
    from memory.schema.memory import Memory, MemoryId
    from memory.tools.arguments import Parameter
    from memory.tools.graph.declare import GraphTools

PAGE = 500
"""Entities, or relations, of one transaction."""

NAMED = 3  # of what is left out
_UID = re.compile("[0-9a-f]{32}")
SORTS = ("entity", "relation", "link")


class Link(NamedTuple):
    """A link between an entity, by its name, and a memory, by its uid."""

    entity: str
    memory: str


class Carried(NamedTuple):
    """The graph in a file."""

    entities: list[rows.Described]
    triples: list[Triple]
    links: list[Link]


class GraphImport(NamedTuple):
    """How much is new, and how much existed already."""

    entities: int
    observations: int
    relations: int
    links: int
    known: int
    notices: tuple[Notice, ...]


def exported(engine: Engine) -> Iterator[dict[str, Any]]:
    """A line for each entity, then for each relation, then for each link to a memory, read a page at a time."""
    names: dict[MemoryId, str] = {}
    graph = engine.graph
    for page in rows.paged(graph.every()):
        said = graph.known(page)
        for one in page:
            names[one.id] = one.title
            never = {"embed": False} if one.keyword_only else {}
            yield {
                "type": "entity",
                "name": one.title,
                "entityType": one.category or "",
                "observations": list(said[one.id]),
                **never,
                "uid": one.uid,
                "created_at": iso(one.created_at),
            }
    for relation in graph.all_relations():
        if {relation.source, relation.target} <= names.keys():  # else it is newer than the list of entities
            ends = {"from": names[relation.source], "to": names[relation.target]}
            yield {"type": "relation", **ends, "relationType": relation.type}
    for links in rows.paged(graph.all_attached()):
        memories = graph.there(link.memory for link in links)
        for link in links:
            if link.memory in memories and link.entity in names:
                yield {"type": "link", "entity": names[link.entity], "memory": memories[link.memory].uid}


def parsed(text: str) -> Carried:
    """
    The graph in a file: lines of an export or of the reference server, or one document with `entities` and `relations`.

    Raises:
        Invalid: A line is something else; the message names it.
    """
    found = Carried([], [], [])
    for place, sort, row in _records(text):
        with placed(place):
            match sort:
                case "entity":
                    found.entities.extend(rows.described([_known(row, rows.ENTITIES)]))
                case "relation":
                    found.triples.extend(relate.triples([_known(row, relate.RELATIONS)]))
                case "link":
                    found.links.append(_link(row))
    return found


def _link(row: Mapping[str, Any]) -> Link:
    entity, memory = row.get("entity"), row.get("memory")
    if not isinstance(entity, str):
        raise Invalid(f"a link needs an entity, its name, not {clipped_repr(entity)}")
    if not isinstance(memory, str) or not _UID.fullmatch(memory):
        raise Invalid(f"a link needs a memory, its uid of 32 hexadecimal digits, not {clipped_repr(memory)}")
    return Link(entity, memory)


def _known(row: Mapping[str, Any], taken: Parameter) -> dict[str, Any]:
    """The fields that are known; other programs may add their own."""
    return {name: row[name] for one in taken.fields for name in (one.name, *one.also) if name in row}


def _records(text: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """For each row its place, whether it is an entity, a relation or a link, and its fields."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and whole.get("type") not in SORTS and whole.keys() & {"entities", "relations"}:
        for name, sort in (("entities", "entity"), ("relations", "relation")):
            found = [] if whole.get(name) is None else whole[name]
            for number, row in enumerate(found if isinstance(found, list) else [found]):
                place = f"{name}[{number}]"
                told = dict(_object(place, row))
                own = any(told.get(other) is not None for other in ("relationType", "relation"))
                if own and told.get("type") == sort:  # as earlier reference servers wrote
                    del told["type"]
                yield place, sort, told
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _said(f"line {number}", line)


def _said(place: str, line: str) -> tuple[str, str, Mapping[str, Any]]:
    try:
        row = dict(_object(place, json.loads(line)))
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{place} is not JSON: {error}") from error
    sort = row.pop("type", None)
    if sort not in SORTS:
        raise Invalid(f"{place} has the type {clipped_repr(sort)}", hint=f"There are: {', '.join(SORTS)}.")
    return place, sort, row


def _object(place: str, row: object) -> Mapping[str, Any]:
    if not isinstance(row, dict):
        raise Invalid(f"{place} must be an object, not {clipped_repr(row)}")
    return row


def imported(
    graph: GraphTools, said: Carried, progress: Callable[[int, int], None] = lambda _done, _total: None
) -> GraphImport:
    """
    Save the graph of a file, some hundreds of rows in a transaction. Nothing is saved twice, so an import may be repeated.

    Relations and links whose ends do not exist are left out, and a notice says so.

    Raises:
        StoreError: The rest cannot be saved; the hint says how much was.
    """
    notices: list[Notice] = []
    made = observed = related = linked = known = done = 0
    total = len(said.entities) + len(said.triples)
    with kept_before(lambda: f"{done:,} of {total:,} were saved before. Repeat the import to continue."):
        for page in rows.paged(iter(said.entities), PAGE):
            found = create_described(graph, page)
            made, known = made + len(found.created), known + len(found.known)
            observed += sum(len(one.changed) for one in found.known)
            notices += found.notices
            done += len(page)
            progress(done, total)
        for triples in rows.paged(iter(_joined(graph.engine, said.triples, notices)), PAGE):
            _, answers = graph.engine.graph.relate(triples)
            related, known = related + sum(answers), known + len(answers) - sum(answers)
            done += len(triples)
            progress(done, total)
        for new in _attached(graph.engine, said.links, notices):
            linked, known = linked + new, known + (not new)
    return GraphImport(made, observed, related, linked, known, tuple(dict.fromkeys(notices)))


def _joined(engine: Engine, triples: Sequence[Triple], notices: list[Notice]) -> list[Triple]:
    """Relations by the ids of their ends, which a file knows by name only."""
    ids = engine.store.graph.named([str(end).strip() for *ends, _ in triples for end in ends])
    found: list[Triple] = []
    lost = []
    for source, target, type in triples:
        ends = [ids.get(str(end).strip()) for end in (source, target)]
        if ends[0] is None or ends[1] is None:
            lost.append(f"{source} {type} {target}")
        else:
            found.append((ends[0], ends[1], type))
    _tell(notices, lost, "relations lead to entities that are not there")
    return found


def _attached(engine: Engine, links: Sequence[Link], notices: list[Notice]) -> Iterator[bool]:
    ids, lost = engine.store.graph.named([link.entity.strip() for link in links]), []
    for link in links:
        entity = ids.get(link.entity.strip())  # never tried as an id: the file comes from another database
        if entity is not None:
            with suppress(NotFound, Invalid):  # Invalid: what goes by that uid here is an entity itself
                yield from engine.graph.attach(entity, [link.memory])
                continue
        lost.append(f"{link.entity}: {link.memory}")
    _tell(notices, lost, "links are to memories, or of entities, that are not there")


def _tell(notices: list[Notice], lost: Sequence[str], why: str) -> None:
    if lost:
        more = ", …" if len(lost) > NAMED else ""
        notices.append(Notice(f"{len(lost):,} {why}: {', '.join(map(clipped_repr, lost[:NAMED]))}{more}"))


# Graphviz ----------------------------------------------------------------


def dot(entities: Iterable[Memory], relations: Iterable[Relation]) -> Iterator[str]:
    """
    The graph in the language of Graphviz (https://graphviz.org/doc/info/lang.html), line by line.

    Nodes are named by their ids, so that an entity's name is only ever a label.
    """
    yield "digraph memory {"
    for one in entities:
        type = f"\\n({_label(one.category)})" if one.category else ""
        yield f'  n{one.id} [label="{_label(one.title)}{type}"];'
    for relation in relations:
        yield f'  n{relation.source} -> n{relation.target} [label="{_label(relation.type)}"];'
    yield "}"


def _label(text: str) -> str:
    """A text in a label, where backslashes and ampersands have a meaning too."""
    return one_line(escape_controls(text)).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")

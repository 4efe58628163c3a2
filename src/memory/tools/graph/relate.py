"""How entities are joined: to each other, and to the memories that are about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.query import Mode, Query, Scope, check_limit
from memory.tools.arguments import brief
from memory.tools.graph import rows
from memory.tools.graph.declare import ENTITY, PAGE, QUERY, GraphTools, command, distance, limit, reading, tool
from memory.tools.operation import Given as Arguments, Option
from memory.tools.render import data

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory.engine import Engine
    from memory.engine.graph import Relation, Triple
    from memory.schema.memory import MemoryId
    from memory.tools.graph.rows import Given, Name, Values

# Relations ----------------------------------------------------------------

RELATIONS = rows.taken(
    "relations",
    "The relations.",
    brief("from", "id", "Name or id of the entity it starts from.", required=True, also=("source",)),
    brief("to", "id", "Name or id of the entity it leads to.", required=True, also=("target",)),
    brief("relationType", "string", 'Say how: "depends_on".', required=True, named=True, also=("relation", "type")),
)
rows.SHAPES["relations"] = RELATIONS.schema  # a relation is answered as it is taken


@tool("Relate entities", "created:relations duplicates:relations", RELATIONS)
def create_relations(self: GraphTools, relations: Given) -> Values:
    """Say how entities are related, in active voice: "depends_on". Both must exist."""
    return _related(self, triples(relations))


def triples(given: object) -> list[Triple]:
    """
    Raises:
        Invalid: It is not a list of relations; the message names the place.
    """
    return [(one["from"], one["to"], one["relationType"]) for _, one in rows.objects(RELATIONS, given)]


def relation_rows(engine: Engine, relations: Sequence[Relation]) -> list[Values]:
    """Relations by the names of their ends; an end that was deleted meanwhile by its id."""
    ends = engine.graph.there(end for one in relations for end in one[:2])

    def name(id: MemoryId) -> str:
        return ends[id].title if id in ends else str(id)

    return [{"from": name(source), "to": name(target), "relationType": type} for source, target, type, _ in relations]


@command("link SOURCE TYPE TARGET")
def link(graph: GraphTools, a: Arguments) -> Values:
    """
    Relate two entities. Both must exist.

    \b
        memory graph link checkout-api uses Redis
    """
    return _related(graph, [(a["source"], a["target"], a["type"])])


def _related(graph: GraphTools, wanted: Sequence[Triple]) -> Values:
    related, new = graph.engine.graph.relate(wanted)
    return _parted(relation_rows(graph.engine, related), new, "created", "duplicates")


@tool("Remove relations", "deleted:relations unknown:relations", RELATIONS, destroys=True)
def delete_relations(self: GraphTools, relations: Given) -> Values:
    """Remove relations."""
    return _unrelated(self, triples(relations))


@command("unlink SOURCE TYPE TARGET")
def unlink(graph: GraphTools, a: Arguments) -> Values:
    """
    Remove a relation between two entities.

    \b
        memory graph unlink checkout-api uses Redis
    """
    return _unrelated(graph, [(a["source"], a["target"], a["type"])])


def _unrelated(graph: GraphTools, wanted: Sequence[Triple]) -> Values:
    related, gone = graph.engine.graph.unrelate(wanted)
    return _parted(relation_rows(graph.engine, related), gone, "deleted", "unknown")


@reading(
    "Find a path",
    "source target found:flag length:number? path:texts relations:relations",
    brief("source", "id", "Name or id of one entity.", required=True),
    brief("target", "id", "Name or id of the other.", required=True),
)
def find_path(self: GraphTools, source: Name, target: Name) -> Values:
    """A shortest path between two entities, in either direction."""
    start, end = self.engine.graph.entities([source, target])
    path = self.engine.graph.path(start.id, end.id)
    names = [start.title]
    related = relation_rows(self.engine, path or ())
    for row in related:
        names.append(row["to"] if row["from"] == names[-1] else row["from"])
    return {
        "source": start.title,
        "target": end.title,
        "found": path is not None,
        "length": None if path is None else len(path),
        "path": [] if path is None else names,
        "relations": related,
        "notices": [],
    }


@command("path SOURCE TARGET")
def path(graph: GraphTools, a: Arguments) -> Values:
    """
    Show a shortest path between two entities. It has at most ten relations, in either direction.

    \b
        memory graph path checkout-api Redis
    """
    return find_path(graph, a["source"], a["target"])


# Memories ----------------------------------------------------------------

MEMORIES = brief("memory_ids", "ids", "Ids of the memories.", required=True, also=("ids",))


@tool("Link memories", "entity linked:pointers duplicates:pointers", ENTITY, MEMORIES)
def link_memories(self: GraphTools, entity: Name, memory_ids: Sequence[Name]) -> Values:
    """
    Link memories to the entity they are about: search_near and entity_memories find them.

    Raises:
        Invalid: One of the memories is an entity itself; relate those instead. Nothing was linked.
    """
    return _linked(self.engine, entity, memory_ids, "linked", "duplicates")


@tool("Unlink memories", "entity unlinked:pointers unknown:pointers", ENTITY, MEMORIES, destroys=True)
def unlink_memories(self: GraphTools, entity: Name, memory_ids: Sequence[Name]) -> Values:
    """Unlink memories from an entity. They stay."""
    return _linked(self.engine, entity, memory_ids, "unlinked", "unknown")


def _linked(engine: Engine, name: Name, references: Sequence[Name], done: str, other: str) -> Values:
    entity = engine.graph.entity(name)
    wanted = rows.references("memory_ids", references)
    memories = {memory.id: memory for memory in map(engine.documents.get, wanted)}
    change = engine.graph.attach if done == "linked" else engine.graph.detach
    changed = change(entity.id, list(memories))
    return {"entity": entity.title, **_parted(map(data.pointer, memories.values()), changed, done, other)}


def _parted(found: Iterable[Values], changed: Sequence[bool], done: str, other: str) -> Values:
    """An answer: rows under two names, by whether they were changed."""
    parts: Values = {done: [], other: [], "notices": []}
    for row, one in zip(found, changed, strict=True):
        parts[done if one else other].append(row)
    return parts


@reading(
    "Search memories near an entity",
    "query tier outcome worth entity max_distance:number near:number hits:hits",
    QUERY,
    ENTITY,
    distance(1),
    limit(5),
)
def search_near(self: GraphTools, query: str, entity: Name, max_distance: int = 1, limit: int | None = None) -> Values:
    """
    Find memories about an entity or its neighbours.

    Args:
        max_distance: In relations, 0..10.
    """
    settings, near = self.engine.config, self.engine.graph.entity(entity)
    among = self.engine.graph.near([near.id], max_distance)
    limit = settings.search.limit if limit is None else limit
    wanted = Query(query, limit, mode=Mode(settings.search.mode), scope=Scope(among=among))
    found = data.answer(self.engine.search(wanted))
    said = {name: found[name] for name in ("query", "tier", "outcome", "worth", "hits", "notices")}
    return {"entity": near.title, "max_distance": max_distance, "near": len(among), **said}


@reading("List memories of an entity", "entity memories:pointers total_memories:number", ENTITY, limit(20))
def entity_memories(self: GraphTools, entity: Name, limit: int = 20) -> Values:
    """Memories about an entity, last changed first."""
    check_limit(limit)
    found = self.engine.graph.entity(entity)
    linked = self.engine.graph.there(link.memory for link in self.engine.graph.attached([found.id]))
    latest = sorted(linked.values(), key=lambda one: (one.updated_at, one.id), reverse=True)
    pointers = [data.pointer(memory) for memory in latest[:limit]]
    return {"entity": found.title, "memories": pointers, "total_memories": len(linked), "notices": []}


@command("about NAME [ID]...", Option("--remove", "Unlink them instead."), PAGE)
def about(graph: GraphTools, a: Arguments) -> Values:
    """
    Link memories to an entity, or show those linked to it. Without an ID it shows them.

    \b
        memory graph about Redis 6225d224
        memory graph about Redis
    """
    if not a["id"]:
        return entity_memories(graph, a["name"], a["limit"])
    return (unlink_memories if a["remove"] else link_memories)(graph, a["name"], a["id"])

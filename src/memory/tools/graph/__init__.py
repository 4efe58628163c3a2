"""The memory of agents as a graph: entities, what is known about them and how they are related."""

from __future__ import annotations

from memory.tools.graph import find, keep, relate
from memory.tools.graph.declare import DECLARED, GraphTools
from memory.tools.operation import group


class EntityGraph(GraphTools):
    """
    A knowledge graph over an engine: the graph tools as methods, under names that other memory servers use.

        >>> with Engine.open() as engine:
        ...     graph = EntityGraph(engine)
        ...     graph.create_entities([{"name": "Python", "entityType": "language", "obs": ["high-level language"]}])
        ...     graph.create_entities([{"name": "CPython", "obs": ["the usual interpreter"]}])
        ...     graph.create_relations([{"from": "CPython", "to": "Python", "relationType": "runs"}])
        ...     graph.search_hybrid("programming language", context_nodes=["CPython"])["entities"]

    Entities are dictionaries with `name`, `entityType`, `observations` and `embed`; relations with `from`, `to` (names
    or ids) and `relationType`; observations with `entityName` and `contents` (to delete them, also `observations`).
    Every method returns JSON values. Safe to use from several threads.

    Raises:
        NotFound, Ambiguous: From any method: an entity or memory does not exist, or several match. Nothing was changed.
            Methods whose result has `unknown` list the missing ones there instead.
        Invalid: From any method: an argument is not valid, e.g. a blank query, or a limit outside 1..10,000. Nothing
            was changed.
    """

    create_entities = keep.create_entities
    create_relations = relate.create_relations
    add_observations = keep.add_observations
    rename_entity = keep.rename_entity
    link_memories = relate.link_memories
    unlink_memories = relate.unlink_memories
    delete_entities = keep.delete_entities
    delete_observations = keep.delete_observations
    delete_relations = relate.delete_relations
    generate_embeddings = keep.generate_embeddings
    create_described = keep.create_described

    search_nodes = find.search_nodes
    search_entities_semantic = find.search_entities_semantic
    search_hybrid = find.search_hybrid
    search_near = relate.search_near
    open_nodes = find.open_nodes
    read_graph = find.read_graph
    find_path = relate.find_path
    entity_memories = relate.entity_memories
    get_stats = find.get_stats


@group("graph", "stats")
def graph() -> None:
    """
    Manage a graph of entities, facts and relations. It also links entities to the memories about them.

    \b
        memory graph add Redis --type database --observation "holds sessions"
        memory graph link checkout-api uses Redis
        memory graph search "where do sessions live" --near checkout-api
        memory graph export --format dot | dot -Tsvg > graph.svg

    NAME is the name of an entity, or its id; names are tried first.
    """


OPERATIONS = tuple(DECLARED[name] for name in vars(EntityGraph) if name in DECLARED)
COMMANDS = (
    *(graph, keep.add, keep.observe, keep.forget, relate.link, relate.unlink, keep.rename, keep.delete, relate.about),
    *(find.show, find.search, relate.path, find.stats),
)

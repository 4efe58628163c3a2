"""The verbs of the entity graph, by the documented names and those that other memory servers use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.operations.arguments import Parameter
from memory.operations.graph import declare
from memory.operations.graph.declare import command, distance, limit, reading, tool
from memory.operations.operation import Option, but
from memory.schema.query import MOST

if TYPE_CHECKING:
    from memory.operations.graph import EntityGraph
    from memory.operations.graph.rows import Values
    from memory.operations.operation import Given


@tool(
    "Make entities",
    "created:entities duplicates:grown",
    declare.ENTITIES,
    repeats=True,
)
def create_entities() -> None:
    """
    Keep things that will come up again, each as an entity: a person, a service, a library, a concept, with what is
    known of it as short observations, one fact each. Search first: a thing should have one name. An entity that is
    there already stays as it is and gets the observations that are new. Known forms of secrets are taken out.
    """


@command(
    "add",
    "Make an entity, or add to one.",
    Option("NAME", blank=False),
    Option("--type TEXT", "What sort of thing it is, in a word."),
    Option("--observation TEXT", "What is known; may be repeated.", several=True, blank=False),
    Option("--keyword-only/--embed", "Never hand its text to a model: it is found by words only."),
)
def add(graph: EntityGraph, a: Given) -> Values:
    """Make an entity; one of that name that is there gets the observations that are new to it."""
    embed = None if a["keyword_only"] is None else not a["keyword_only"]
    row = {"name": a["name"], "entityType": a["type"], "observations": list(a["observation"]), "embed": embed}
    return graph.create_entities([row])


@tool("Relate entities", "created:relations duplicates:relations", declare.RELATIONS, repeats=True)
def create_relations() -> None:
    """
    Say how entities have to do with each other. Both must be there; if one is not, none of the relations is made. Those
    that are there already are reported.
    """


@command("link SOURCE TYPE TARGET", "Relate two entities.")
def link(graph: EntityGraph, a: Given) -> Values:
    """Say how an entity has to do with another; both must be there."""
    return graph.create_relations([declare.relation(a)])


@tool(
    "Add to what is known",
    "results:entities",
    declare.OBSERVATIONS,
    repeats=True,
)
def add_observations() -> None:
    """Add facts to entities that are there. What is known already is reported, and type and name stay."""


@command("observe NAME", "Add to what is known of an entity.", declare.TEXTS)
def observe(graph: EntityGraph, a: Given) -> Values:
    """Add to what is known of an entity, a fact each."""
    return graph.add_observations([{"entityName": a["name"], "contents": a["text"]}])


@tool(
    "Rename an entity",
    "entity:entity former_name",
    Parameter("name", "id", "Its name, or its id.", required=True),
    Parameter("new_name", "string", "The new name, which no other has.", required=True),
)
def rename_entity() -> None:
    """Give an entity another name. What is known of it, its relations and its memories stay."""


@command("rename NAME NEW", "Give an entity another name.")
def rename(graph: EntityGraph, a: Given) -> Values:
    """Give an entity another name; what is known of it, its relations and its memories stay."""
    return graph.rename_entity(a["name"], a["new"])


@tool(
    "Say what memories are about",
    "entity linked:pointers duplicates:pointers",
    declare.ENTITY,
    declare.MEMORIES,
    repeats=True,
)
def link_memories() -> None:
    """Link memories to an entity they are about, so that search_near and entity_memories find them by it."""


@tool(
    "Take links back",
    "entity unlinked:pointers unknown:pointers",
    declare.ENTITY,
    declare.MEMORIES,
    destroys=True,
    repeats=True,
)
def unlink_memories() -> None:
    """Say that memories are not about an entity after all. The memories stay."""


@tool(
    "Delete entities for good",
    "deleted:names unknown:references",
    but(declare.NAMES, also=("entityNames", "entity_names")),
    destroys=True,
    repeats=True,
)
def delete_entities() -> None:
    """
    Remove entities with all that is known of them and all their relations; it cannot be undone. Memories that are about
    them stay. Unknown names are reported.
    """


@command("delete NAME", "Remove an entity for good.")
def delete(graph: EntityGraph, a: Given) -> Values:
    """Remove an entity for good, with what is known of it and its relations. Memories that are about it stay."""
    return graph.delete_entities([graph.engine.graph.entity(a["name"]).id])


@tool(
    "Remove what no longer holds",
    "results:entities",
    declare.DELETIONS,
    destroys=True,
    repeats=True,
)
def delete_observations() -> None:
    """Remove facts from entities, by their exact text. What is not there is reported."""


@command("forget NAME", "Remove what is known of an entity.", declare.TEXTS)
def forget(graph: EntityGraph, a: Given) -> Values:
    """Remove facts from what is known of an entity, by their exact text."""
    return graph.delete_observations([{"entityName": a["name"], "observations": a["text"]}])


@tool("Remove relations", "deleted:relations unknown:relations", declare.RELATIONS, destroys=True, repeats=True)
def delete_relations() -> None:
    """Remove relations by their ends and type. What is not there is reported."""


@command("unlink SOURCE TYPE TARGET", "Take a relation away.")
def unlink(graph: EntityGraph, a: Given) -> Values:
    """Take a relation between two entities away."""
    return graph.delete_relations([declare.relation(a)])


@tool(
    "Embed entities",
    "generated:number failed:failed unchanged:number excluded:number model:text?",
    Parameter("entity_ids", "ids", "Names or ids; all, if there are none."),
    Parameter("force_refresh", "boolean", "Also those that have vectors; default false."),
    repeats=True,
)
def generate_embeddings() -> None:
    """
    Make the vectors by which entities are found by their meaning, where they are missing. Searches do that by
    themselves for some hundreds; call it after keeping thousands.
    """


@reading("Search entities", "query tier outcome worth entities:found relations:relations", declare.QUERY, limit(10))
def search_nodes() -> None:
    """
    Find entities by name, type or what is known of them: words first, meaning if they are not enough. The answer has
    the relations among them too.
    """


@command(
    "search",
    "Find entities.",
    Option("TEXT..."),
    Option("--near NAME", "An entity that it should be near to; may be repeated.", several=True),
    Option("--distance N", "Relations that count as near; usually 3.", takes=(0, 10)),
    Option("--vector-weight W", "0 is the graph alone, 1 the meaning alone.", takes=float),
    Option("--keyword-weight W", "Share of words in the score.", takes=float),
    Option("-n --limit N", "At most; usually as configured (graph.limit).", takes=(1, MOST)),
)
def search(graph: EntityGraph, a: Given) -> Values:
    """
    Find entities: by words first, by meaning if they are not enough.

    With --near, or a weight, always by meaning, and by how few relations there are to those named.
    """
    words, weights = " ".join(a["text"]), {name: a[name] for name in ("vector_weight", "keyword_weight")}
    if a["near"] or a["distance"] is not None or any(weight is not None for weight in weights.values()):
        return graph.search_hybrid(words, a["near"], a["distance"], limit=a["limit"], **weights)
    return graph.search_nodes(words, a["limit"])


@reading(
    "Search entities by meaning",
    "query tier threshold:real? outcome:text? worth entities:alike",
    declare.QUERY,
    limit(10),
    Parameter(
        "threshold",
        "number",
        "Cosine that an entity needs, 0 to 1; without one, what likely fits is shown, or nothing.",
    ),
    Parameter("include_observations", "boolean", "Show what is known of them; default true."),
)
def search_entities_semantic() -> None:
    """
    Find entities that are alike in meaning, whatever their words. If no model can be used, words are looked for, and
    the answer says so.
    """


@reading(
    "Search near entities",
    "query tier context_nodes:texts entities:near",
    declare.QUERY,
    Parameter("context_nodes", "ids", "Names or ids of the entities at hand; without any, nothing is near."),
    distance(3),
    Parameter("vector_weight", "number", "0 is the graph alone, 1 the meaning alone; usually 0.5."),
    limit(10),
    Parameter("keyword_weight", "number", "Share of words in the score, 0 to 1; usually 0."),
)
def search_hybrid() -> None:
    """
    Find entities that are alike in meaning and near, in the graph, to those you work with. Weights say what counts: w *
    likeness + (1 - w) / 2^distance.
    """


@reading(
    "Search memories near an entity",
    "query tier outcome worth entity max_distance:number near:number hits:hits",
    declare.QUERY,
    declare.ENTITY,
    distance(1),
    limit(5),
)
def search_near() -> None:
    """Find memories that are about an entity or about one that is near it, and these entities themselves."""


@reading("Read entities", "entities:known relations:relations total_relations:number unknown:references", declare.NAMES)
def open_nodes() -> None:
    """Read entities by name: what is known of them and all their relations. Unknown names are reported."""


@reading(
    "Read the graph",
    "entities:known relations:relations total_entities:number total_relations:number offset:number",
    limit(100, 1000),
    Parameter("offset", "integer", "Entities to leave out at the beginning.", low=0, high=1_000_000_000),
)
def read_graph() -> None:
    """Read all entities and relations, a page at a time. It may be large: search instead, if you know what you look for."""


@command(
    "show [NAME]",
    "Show an entity, or all of them by name.",
    declare.PAGE,
    Option("--offset N", "Entities to leave out at the beginning.", takes=(0, None)),
)
def show(graph: EntityGraph, a: Given) -> Values:
    """Show an entity with all its relations; without NAME all entities by name, a page at a time."""
    if a["name"] is None:
        return graph.read_graph(a["limit"], a["offset"] or 0)
    return graph.open_nodes([graph.engine.graph.entity(a["name"]).id])


@reading(
    "Find a path",
    "source target found:flag length:number? path:texts relations:relations",
    Parameter("source", "id", "Name or id of the one.", required=True),
    Parameter("target", "id", "Name or id of the other.", required=True),
)
def find_path() -> None:
    """How two entities are connected: a shortest path of at most ten relations, whichever way they point."""


@command("path SOURCE TARGET", "Show how two entities are connected.")
def path(graph: EntityGraph, a: Given) -> Values:
    """Show a shortest path between two entities, of at most ten relations, whichever way they point."""
    return graph.find_path(a["source"], a["target"])


@reading("List memories of an entity", "entity memories:pointers total_memories:number", declare.ENTITY, limit(20))
def entity_memories() -> None:
    """The memories that are about an entity, last changed first."""


@command(
    "about NAME [ID]...",
    "Say which memories are about an entity, or show them.",
    Option("--remove", "Say that they are not."),
    declare.PAGE,
)
def about(graph: EntityGraph, a: Given) -> Values:
    """Say that the memories of these ids are about an entity; without ids, show those that are."""
    if not a["id"]:
        return graph.entity_memories(a["name"], a["limit"])
    return (graph.unlink_memories if a["remove"] else graph.link_memories)(a["name"], a["id"])


@reading(
    "Count the graph",
    "total_entities:number total_relations:number total_observations:number linked_memories:number "
    "isolated_entities:number entity_types:object relation_types:object embedding_status:object",
)
def get_stats() -> None:
    """How much there is in the graph, by type."""


@command("stats", "Show how much there is.")
def stats(graph: EntityGraph, _: Given) -> Values:
    """Show how much there is in the graph, by type, and of how many entities the meaning can be searched."""
    return graph.get_stats()


OPERATIONS = (
    *(
        create_entities,
        create_relations,
        add_observations,
        rename_entity,
        link_memories,
        unlink_memories,
        delete_entities,
    ),
    *(delete_observations, delete_relations, generate_embeddings),
    *(search_nodes, search_entities_semantic, search_hybrid, search_near, open_nodes, read_graph, find_path),
    *(entity_memories, get_stats),
)
COMMANDS = (declare.graph, add, observe, forget, link, unlink, rename, delete, about, show, search, path, stats)

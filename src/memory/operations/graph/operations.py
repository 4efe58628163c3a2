"""The verbs of the entity graph, by the documented names and those that other memory servers use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.operations.arguments import Parameter
from memory.operations.graph import given
from memory.operations.graph.declare import (
    ENTITY,
    GROUP,
    MEMORIES,
    NAMES,
    OF,
    PAGE,
    QUERY,
    RELATIONS,
    TEXTS,
    about,
    command,
    distance,
    field,
    limit,
    operation,
    read,
    rows,
    searched,
)
from memory.operations.operation import Option, but
from memory.schema.query import MOST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memory.operations.graph import EntityGraph
    from memory.operations.graph.rows import Values


def _made(graph: EntityGraph, a: Mapping[str, Any]) -> Values:
    embed = None if a["keyword_only"] is None else not a["keyword_only"]
    row = {"name": a["name"], "entityType": a["type"], "observations": list(a["observation"]), "embed": embed}
    return graph.create_entities([row])


def _related(a: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"from": a["source"], "to": a["target"], "relationType": a["type"]}]


_KEEPING = (
    operation(
        "create_entities",
        "Make entities",
        "Keep things that will come up again, each as an entity: a person, a service, a library, a concept, with what is "
        "known of it as short observations, one fact each. Search first: a thing should have one name. An entity that is "
        "there already stays as it is and gets the observations that are new. Known forms of secrets are taken out.",
        rows(
            "entities",
            "The entities.",
            field(given.NAME, "string", "What it is called, one line: no two have the same name.", required=True),
            field(given.TYPE, "string", "What sort of thing it is, in a word."),
            field(given.OBSERVATIONS, "strings", "What is known of it."),
            field(given.EMBED, "boolean", "False: never hand its text to a model; it is found by words only."),
        ),
        "created:entities duplicates:grown",
        command=command(
            "add",
            "Make an entity, or add to one.",
            "Make an entity; one of that name that is there gets the observations that are new to it.",
            Option("NAME", blank=False),
            Option("--type TEXT", "What sort of thing it is, in a word."),
            Option("--observation TEXT", "What is known; may be repeated.", several=True, blank=False),
            Option("--keyword-only/--embed", "Never hand its text to a model: it is found by words only."),
            run=_made,
        ),
        repeats=True,
    ),
    operation(
        "create_relations",
        "Relate entities",
        "Say how entities have to do with each other. Both must be there; if one is not, none of the relations is made. "
        "Those that are there already are reported.",
        RELATIONS,
        "created:relations duplicates:relations",
        command=command(
            "link SOURCE TYPE TARGET",
            "Relate two entities.",
            "Say how an entity has to do with another; both must be there.",
            run=lambda graph, a: graph.create_relations(_related(a)),
        ),
        repeats=True,
    ),
    operation(
        "add_observations",
        "Add to what is known",
        "Add facts to entities that are there. What is known already is reported, and type and name stay.",
        rows(
            "observations",
            "What is to be added, by entity.",
            OF,
            field(given.CONTENTS, "strings", "The facts, short.", required=True),
        ),
        "results:entities",
        command=command(
            "observe NAME",
            "Add to what is known of an entity.",
            "Add to what is known of an entity, a fact each.",
            TEXTS,
            run=lambda graph, a: graph.add_observations([{"entityName": a["name"], "contents": a["text"]}]),
        ),
        repeats=True,
    ),
    operation(
        "rename_entity",
        "Rename an entity",
        "Give an entity another name. What is known of it, its relations and its memories stay.",
        (
            Parameter("name", "id", "Its name, or its id.", required=True),
            Parameter("new_name", "string", "The new name, which no other has.", required=True),
        ),
        "entity:entity former_name",
        command=command(
            "rename NAME NEW",
            "Give an entity another name.",
            "Give an entity another name; what is known of it, its relations and its memories stay.",
            run=lambda graph, a: graph.rename_entity(a["name"], a["new"]),
        ),
    ),
    operation(
        "link_memories",
        "Say what memories are about",
        "Link memories to an entity they are about, so that search_near and entity_memories find them by it.",
        (ENTITY, MEMORIES),
        "entity linked:pointers duplicates:pointers",
        repeats=True,
    ),
    operation(
        "unlink_memories",
        "Take links back",
        "Say that memories are not about an entity after all. The memories stay.",
        (ENTITY, MEMORIES),
        "entity unlinked:pointers unknown:pointers",
        destroys=True,
        repeats=True,
    ),
    operation(
        "delete_entities",
        "Delete entities for good",
        "Remove entities with all that is known of them and all their relations; it cannot be undone. Memories that are "
        "about them stay. Unknown names are reported.",
        (but(NAMES, also=("entityNames", "entity_names")),),
        "deleted:names unknown:references",
        command=command(
            "delete NAME",
            "Remove an entity for good.",
            "Remove an entity for good, with what is known of it and its relations. Memories that are about it stay.",
            run=lambda graph, a: graph.delete_entities([graph.engine.graph.entity(a["name"]).id]),
        ),
        destroys=True,
        repeats=True,
    ),
    operation(
        "delete_observations",
        "Remove what no longer holds",
        "Remove facts from entities, by their exact text. What is not there is reported.",
        rows(
            "deletions",
            "What is to be removed, by entity.",
            OF,
            field(("observations", "contents"), "strings", "The facts.", required=True),
        ),
        "results:entities",
        command=command(
            "forget NAME",
            "Remove what is known of an entity.",
            "Remove facts from what is known of an entity, by their exact text.",
            TEXTS,
            run=lambda graph, a: graph.delete_observations([{"entityName": a["name"], "observations": a["text"]}]),
        ),
        destroys=True,
        repeats=True,
    ),
    operation(
        "delete_relations",
        "Remove relations",
        "Remove relations by their ends and type. What is not there is reported.",
        RELATIONS,
        "deleted:relations unknown:relations",
        command=command(
            "unlink SOURCE TYPE TARGET",
            "Take a relation away.",
            "Take a relation between two entities away.",
            run=lambda graph, a: graph.delete_relations(_related(a)),
        ),
        destroys=True,
        repeats=True,
    ),
    operation(
        "generate_embeddings",
        "Embed entities",
        "Make the vectors by which entities are found by their meaning, where they are missing. Searches do that by "
        "themselves for some hundreds; call it after keeping thousands.",
        (
            Parameter("entity_ids", "ids", "Names or ids; all, if there are none."),
            Parameter("force_refresh", "boolean", "Also those that have vectors; default false."),
        ),
        "generated:number failed:failed unchanged:number excluded:number model:text?",
        repeats=True,
    ),
)

_READING = (
    operation(
        "search_nodes",
        "Search entities",
        "Find entities by name, type or what is known of them: words first, meaning if they are not enough. The answer has "
        "the relations among them too.",
        (QUERY, limit(10)),
        "query tier outcome worth entities:found relations:relations",
        command=command(
            "search",
            "Find entities.",
            """
            Find entities: by words first, by meaning if they are not enough.

            With --near, or a weight, always by meaning, and by how few relations there are to those named.
            """,
            Option("TEXT..."),
            Option("--near NAME", "An entity that it should be near to; may be repeated.", several=True),
            Option("--distance N", "Relations that count as near; usually 3.", takes=(0, 10)),
            Option("--vector-weight W", "0 is the graph alone, 1 the meaning alone.", takes=float),
            Option("--keyword-weight W", "Share of words in the score.", takes=float),
            Option("-n --limit N", "At most; usually as configured (graph.limit).", takes=(1, MOST)),
            run=searched,
        ),
    ),
    operation(
        "search_entities_semantic",
        "Search entities by meaning",
        "Find entities that are alike in meaning, whatever their words. If no model can be used, words are looked for, and "
        "the answer says so.",
        (
            QUERY,
            limit(10),
            Parameter(
                "threshold",
                "number",
                "Cosine that an entity needs, 0 to 1; without one, what likely fits is shown, or nothing.",
            ),
            Parameter("include_observations", "boolean", "Show what is known of them; default true."),
        ),
        "query tier threshold:real? outcome:text? worth entities:alike",
    ),
    operation(
        "search_hybrid",
        "Search near entities",
        "Find entities that are alike in meaning and near, in the graph, to those you work with. Weights say what counts: "
        "w * likeness + (1 - w) / 2^distance.",
        (
            QUERY,
            Parameter("context_nodes", "ids", "Names or ids of the entities at hand; without any, nothing is near."),
            distance(3),
            Parameter("vector_weight", "number", "0 is the graph alone, 1 the meaning alone; usually 0.5."),
            limit(10),
            Parameter("keyword_weight", "number", "Share of words in the score, 0 to 1; usually 0."),
        ),
        "query tier context_nodes:texts entities:near",
    ),
    operation(
        "search_near",
        "Search memories near an entity",
        "Find memories that are about an entity or about one that is near it, and these entities themselves.",
        (QUERY, ENTITY, distance(1), limit(5)),
        "query tier outcome worth entity max_distance:number near:number hits:hits",
    ),
    operation(
        "open_nodes",
        "Read entities",
        "Read entities by name: what is known of them and all their relations. Unknown names are reported.",
        (NAMES,),
        "entities:known relations:relations total_relations:number unknown:references",
    ),
    operation(
        "read_graph",
        "Read the graph",
        "Read all entities and relations, a page at a time. It may be large: search instead, if you know what you look for.",
        (
            limit(100, 1000),
            Parameter("offset", "integer", "Entities to leave out at the beginning.", low=0, high=1_000_000_000),
        ),
        "entities:known relations:relations total_entities:number total_relations:number offset:number",
        command=command(
            "show [NAME]",
            "Show an entity, or all of them by name.",
            "Show an entity with all its relations; without NAME all entities by name, a page at a time.",
            PAGE,
            Option("--offset N", "Entities to leave out at the beginning.", takes=(0, None)),
            run=read,
        ),
    ),
    operation(
        "find_path",
        "Find a path",
        "How two entities are connected: a shortest path of at most ten relations, whichever way they point.",
        (
            Parameter("source", "id", "Name or id of the one.", required=True),
            Parameter("target", "id", "Name or id of the other.", required=True),
        ),
        "source target found:flag length:number? path:texts relations:relations",
        command=command(
            "path SOURCE TARGET",
            "Show how two entities are connected.",
            "Show a shortest path between two entities, of at most ten relations, whichever way they point.",
            run=lambda graph, a: graph.find_path(a["source"], a["target"]),
        ),
    ),
    operation(
        "entity_memories",
        "List memories of an entity",
        "The memories that are about an entity, last changed first.",
        (ENTITY, limit(20)),
        "entity memories:pointers total_memories:number",
        command=command(
            "about NAME [ID]...",
            "Say which memories are about an entity, or show them.",
            "Say that the memories of these ids are about an entity; without ids, show those that are.",
            Option("--remove", "Say that they are not."),
            PAGE,
            run=about,
        ),
    ),
    operation(
        "get_stats",
        "Count the graph",
        "How much there is in the graph, by type.",
        (),
        "total_entities:number total_relations:number total_observations:number linked_memories:number "
        "isolated_entities:number entity_types:object relation_types:object embedding_status:object",
        command=command(
            "stats",
            "Show how much there is.",
            "Show how much there is in the graph, by type, and of how many entities the meaning can be searched.",
            run=lambda graph, _: graph.get_stats(),
        ),
    ),
)

OPERATIONS = (*_KEEPING, *(but(one, reads=True, repeats=True) for one in _READING))
COMMANDS = (GROUP, *(one.command for one in OPERATIONS if one.command))

"""The tools of the entity graph, by the documented names and those that other memory servers use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.operations import shapes
from memory.operations.graph import EntityGraph, given
from memory.operations.render import graph_text
from memory.operations.tool import Parameter, Result, Tool
from memory.text.fence import INTRODUCTION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memory.operations.tool import Call, Schema, Sort

MOST = 100  # results of a search (CAP X23)


def _runner(name: str) -> Callable[[Call, Mapping[str, Any]], Result]:
    def answer(call: Call, arguments: Mapping[str, Any]) -> Result:
        graph = EntityGraph(call.engine, source=call.client or None)
        more = {"progress": call.progress} if name == "generate_embeddings" else {}
        values = getattr(graph, name)(**arguments, **more)
        return Result({**values, "about": INTRODUCTION}, graph_text.answer(values))

    return answer


def _tool(
    name: str, title: str, description: str, parameters: tuple[Parameter, ...], output: Schema, **hints: bool
) -> Tool:
    return Tool(
        name=name,
        toolset="graph",
        title=title,
        description=description,
        parameters=parameters,
        output=output,
        run=_runner(name),
        project_argument="",  # there is one graph, whatever the project
        problem=None,
        **hints,
    )


def _field(names: tuple[str, ...], sort: Sort, meaning: str, *, required: bool = False) -> Parameter:
    return Parameter(names[0], sort, meaning, required=required, also=names[1:])


def _limit(usual: int, most: int = MOST) -> Parameter:
    return Parameter("limit", "integer", f"Results at most; usually {usual}.", low=1, high=most)


def _rows(name: str, meaning: str, *fields: Parameter) -> Parameter:
    return Parameter(name, "objects", meaning, required=True, fields=fields)


_QUERY = Parameter("query", "string", "What to look for: words, or a question.", required=True)
_ENTITY = Parameter("entity", "id", "The entity: its name, or its id.", required=True)
_MEMORIES = Parameter("memory_ids", "ids", "Ids of the memories.", required=True)
_OF = _field(given.ENTITY, "id", "The entity's name, or its id.", required=True)


def _distance(usual: int) -> Parameter:
    return Parameter(
        "max_distance", "integer", f"Relations away at most; usually {usual}.", low=0, high=10, strict=True
    )


def _relations(meaning: str) -> Parameter:
    return _rows(
        "relations",
        meaning,
        _field(given.SOURCE, "id", "Name or id of the entity it begins at.", required=True),
        _field(given.TARGET, "id", "Name or id of the entity it leads to.", required=True),
        _field(given.RELATION, "string", 'How, in active voice: "depends_on".', required=True),
    )


KEEPING = (
    _tool(
        "create_entities",
        "Make entities",
        "Keep things that will come up again, each as an entity: a person, a service, a library, a concept, with what is "
        "known of it as short observations, one fact each. Search first: a thing should have one name. An entity that is "
        "there already stays as it is and gets the observations that are new. Known forms of secrets are taken out.",
        (
            _rows(
                "entities",
                "The entities.",
                _field(given.NAME, "string", "What it is called, one line: no two have the same name.", required=True),
                _field(given.TYPE, "string", "What sort of thing it is, in a word."),
                _field(given.OBSERVATIONS, "strings", "What is known of it."),
                _field(given.EMBED, "boolean", "False: never hand its text to a model; it is found by words only."),
            ),
        ),
        shapes.CREATED,
        repeats=True,
    ),
    _tool(
        "create_relations",
        "Relate entities",
        "Say how entities have to do with each other. Both must be there; if one is not, none of the relations is made. "
        "Those that are there already are reported.",
        (_relations("The relations."),),
        shapes.RELATED,
        repeats=True,
    ),
    _tool(
        "add_observations",
        "Add to what is known",
        "Add facts to entities that are there. What is known already is reported, and type and name stay.",
        (
            _rows(
                "observations",
                "What is to be added, by entity.",
                _OF,
                _field(given.CONTENTS, "strings", "The facts, short.", required=True),
            ),
        ),
        shapes.OBSERVED,
        repeats=True,
    ),
    _tool(
        "rename_entity",
        "Rename an entity",
        "Give an entity another name. What is known of it, its relations and its memories stay.",
        (
            Parameter("name", "id", "Its name, or its id.", required=True),
            Parameter("new_name", "string", "The new name, which no other has.", required=True),
        ),
        shapes.RENAMED,
    ),
    _tool(
        "link_memories",
        "Say what memories are about",
        "Link memories to an entity they are about, so that search_near and entity_memories find them by it.",
        (_ENTITY, _MEMORIES),
        shapes.LINKED,
        repeats=True,
    ),
    _tool(
        "unlink_memories",
        "Take links back",
        "Say that memories are not about an entity after all. The memories stay.",
        (_ENTITY, _MEMORIES),
        shapes.UNLINKED,
        destroys=True,
        repeats=True,
    ),
    _tool(
        "delete_entities",
        "Delete entities for good",
        "Remove entities with all that is known of them and all their relations; it cannot be undone. Memories that are "
        "about them stay. Unknown names are reported.",
        (Parameter("names", "ids", "Names or ids.", required=True, also=("entityNames", "entity_names")),),
        shapes.REMOVED,
        destroys=True,
        repeats=True,
    ),
    _tool(
        "delete_observations",
        "Remove what no longer holds",
        "Remove facts from entities, by their exact text. What is not there is reported.",
        (
            _rows(
                "deletions",
                "What is to be removed, by entity.",
                _OF,
                _field(("observations", "contents"), "strings", "The facts.", required=True),
            ),
        ),
        shapes.OBSERVED,
        destroys=True,
        repeats=True,
    ),
    _tool(
        "delete_relations",
        "Remove relations",
        "Remove relations by their ends and type. What is not there is reported.",
        (_relations("The relations."),),
        shapes.UNRELATED,
        destroys=True,
        repeats=True,
    ),
    _tool(
        "generate_embeddings",
        "Embed entities",
        "Make the vectors by which entities are found by their meaning, where they are missing. Searches do that by "
        "themselves for some hundreds; call it after keeping thousands.",
        (
            Parameter("entity_ids", "ids", "Names or ids; all, if there are none."),
            Parameter("force_refresh", "boolean", "Also those that have vectors; default false."),
        ),
        shapes.GENERATED,
        repeats=True,
    ),
)


def _reading(name: str, title: str, description: str, parameters: tuple[Parameter, ...], output: Schema) -> Tool:
    return _tool(name, title, description, parameters, output, reads=True, repeats=True)


READING = (
    _reading(
        "search_nodes",
        "Search entities",
        "Find entities by name, type or what is known of them: words first, meaning if they are not enough. The answer has "
        "the relations among them too.",
        (_QUERY, _limit(10)),
        shapes.NODES,
    ),
    _reading(
        "search_entities_semantic",
        "Search entities by meaning",
        "Find entities that are alike in meaning, whatever their words. If no model can be used, words are looked for, and "
        "the answer says so.",
        (
            _QUERY,
            _limit(10),
            Parameter(
                "threshold",
                "number",
                "Cosine that an entity needs, 0 to 1; without one, what likely fits is shown, or nothing.",
            ),
            Parameter("include_observations", "boolean", "Show what is known of them; default true."),
        ),
        shapes.ALIKE,
    ),
    _reading(
        "search_hybrid",
        "Search near entities",
        "Find entities that are alike in meaning and near, in the graph, to those you work with. Weights say what counts: "
        "w * likeness + (1 - w) / 2^distance.",
        (
            _QUERY,
            Parameter("context_nodes", "ids", "Names or ids of the entities at hand; without any, nothing is near."),
            _distance(3),
            Parameter("vector_weight", "number", "0 is the graph alone, 1 the meaning alone; usually 0.5."),
            _limit(10),
            Parameter("keyword_weight", "number", "Share of words in the score, 0 to 1; usually 0."),
        ),
        shapes.NEAR,
    ),
    _reading(
        "search_near",
        "Search memories near an entity",
        "Find memories that are about an entity or about one that is near it, and these entities themselves.",
        (_QUERY, _ENTITY, _distance(1), _limit(5)),
        shapes.AROUND,
    ),
    _reading(
        "open_nodes",
        "Read entities",
        "Read entities by name: what is known of them and all their relations. Unknown names are reported.",
        (Parameter("names", "ids", "Names or ids.", required=True),),
        shapes.OPENED,
    ),
    _reading(
        "read_graph",
        "Read the graph",
        "Read all entities and relations, a page at a time. It may be large: search instead, if you know what you look for.",
        (
            _limit(100, 1000),
            Parameter("offset", "integer", "Entities to leave out at the beginning.", low=0, high=1_000_000_000),
        ),
        shapes.READ,
    ),
    _reading(
        "find_path",
        "Find a path",
        "How two entities are connected: a shortest path of at most ten relations, whichever way they point.",
        (
            Parameter("source", "id", "Name or id of the one.", required=True),
            Parameter("target", "id", "Name or id of the other.", required=True),
        ),
        shapes.PATH,
    ),
    _reading(
        "entity_memories",
        "List memories of an entity",
        "The memories that are about an entity, last changed first.",
        (_ENTITY, _limit(20)),
        shapes.ABOUT,
    ),
    _reading("get_stats", "Count the graph", "How much there is in the graph, by type.", (), shapes.GRAPH),
)

TOOLS = (*KEEPING, *READING)

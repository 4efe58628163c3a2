"""How a verb of the entity graph is declared: its tool is a call of `EntityGraph` by name, its command calls it too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.operations.arguments import Parameter
from memory.operations.graph import EntityGraph, given
from memory.operations.graph.rows import SHAPES
from memory.operations.graph.text import answer, head, shown
from memory.operations.operation import Command, Group, Operation, Option, Result, Shown
from memory.operations.shapes import answer as record
from memory.schema.query import MOST
from memory.text.display import escape_controls
from memory.text.fence import INTRODUCTION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memory.operations.arguments import Schema, Sort
    from memory.operations.graph.rows import Values
    from memory.operations.operation import Call

USUAL = 100  # results of a search at most (CAP X23)


def operation(
    name: str,
    title: str,
    description: str,
    parameters: tuple[Parameter, ...],
    returns: str,
    *,
    command: Command | None = None,
    **hints: Any,
) -> Operation:
    """
    A tool of `EntityGraph`, by its name.

    Args:
        returns: Its fields, between those that all answers have.
    """

    def run(call: Call, arguments: Mapping[str, Any]) -> Result:
        graph = EntityGraph(call.engine, source=call.client or None)
        more = {"progress": call.progress} if name == "generate_embeddings" else {}
        values = getattr(graph, name)(**arguments, **more)
        return Result({**values, "about": INTRODUCTION}, answer(values))

    schema: Schema = record(f"about {returns} notices:notices", **SHAPES)
    return Operation(name, title, description, parameters, schema, toolset="graph", run=run, command=command, **hints)


def command(
    usage: str,
    short: str,
    help: str,
    *options: Option,
    run: Callable[[EntityGraph, Mapping[str, Any]], Values],
) -> Command:
    """A command of `memory graph`: rows on standard output, what became of it and notices beside."""

    def printed(call: Call, given: Mapping[str, Any]) -> Shown:
        values = run(EntityGraph(call.engine), given)
        notes = (head(values), *(f"{one['text']} {one['hint']}".rstrip() for one in values["notices"]))
        return Shown(values, shown(values), tuple(map(escape_controls, filter(None, notes))))

    return Command(f"graph {usage}", short, help, *options, run=printed)


def field(names: tuple[str, ...], sort: Sort, meaning: str, *, required: bool = False) -> Parameter:
    return Parameter(names[0], sort, meaning, required=required, also=names[1:])


def limit(usual: int, most: int = USUAL) -> Parameter:
    return Parameter("limit", "integer", f"Results at most; usually {usual}.", low=1, high=most)


def rows(name: str, meaning: str, *fields: Parameter) -> tuple[Parameter]:
    return (Parameter(name, "objects", meaning, required=True, fields=fields),)


QUERY = Parameter("query", "string", "What to look for: words, or a question.", required=True)
ENTITY = Parameter("entity", "id", "The entity: its name, or its id.", required=True)
MEMORIES = Parameter("memory_ids", "ids", "Ids of the memories.", required=True)
NAMES = Parameter("names", "ids", "Names or ids.", required=True)
OF = field(given.ENTITY, "id", "The entity's name, or its id.", required=True)
RELATIONS = rows(
    "relations",
    "The relations.",
    field(given.SOURCE, "id", "Name or id of the entity it begins at.", required=True),
    field(given.TARGET, "id", "Name or id of the entity it leads to.", required=True),
    field(given.RELATION, "string", 'How, in active voice: "depends_on".', required=True),
)


def distance(usual: int) -> Parameter:
    return Parameter(
        "max_distance", "integer", f"Relations away at most; usually {usual}.", low=0, high=10, strict=True
    )


TEXTS = Option("TEXT...", blank=False)
PAGE = Option("-n --limit N", takes=(1, MOST), usual=20)

GROUP = Group(
    "graph",
    "stats",
    "add observe forget link unlink rename delete about show search path stats import export",
    "Entities, what is known of them, how they are related.",
    """
    Entities, what is known of them, how they are related, and which memories are about them.

    \b
        memory graph add Redis --type database --observation "holds sessions"
        memory graph link checkout-api uses Redis
        memory graph search "where are sessions kept" --near checkout-api
        memory graph export --format dot | dot -Tsvg > graph.svg

    NAME is an entity's name, its id, its uid, or the first 8 characters of that; names come first.
    """,
)


def about(graph: EntityGraph, a: Mapping[str, Any]) -> Values:
    """What `memory graph about` asks for: to say so, to take it back, or what was said."""
    if not a["id"]:
        return graph.entity_memories(a["name"], a["limit"])
    return (graph.unlink_memories if a["remove"] else graph.link_memories)(a["name"], a["id"])


def read(graph: EntityGraph, a: Mapping[str, Any]) -> Values:
    """What `memory graph show` asks for: one of them, or a page of all."""
    if a["name"] is None:
        return graph.read_graph(a["limit"], a["offset"] or 0)
    return graph.open_nodes([graph.engine.graph.entity(a["name"]).id])


def searched(graph: EntityGraph, a: Mapping[str, Any]) -> Values:
    """What `memory graph search` asks for: by words first, or by what is near as well."""
    words, weights = " ".join(a["text"]), {name: a[name] for name in ("vector_weight", "keyword_weight")}
    if a["near"] or a["distance"] is not None or any(weight is not None for weight in weights.values()):
        return graph.search_hybrid(words, a["near"], a["distance"], limit=a["limit"], **weights)
    return graph.search_nodes(words, a["limit"])

"""How a verb of the entity graph is declared, as a tool and as a command, and what several of them take."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from memory.operations.arguments import Parameter
from memory.operations.graph import EntityGraph, given
from memory.operations.graph.rows import SHAPES
from memory.operations.graph.text import answer, head, shown
from memory.operations.operation import Command, Operation, Option, Result, Shown, group, told
from memory.operations.shapes import answer as record
from memory.schema.query import MOST
from memory.text.display import INTRODUCTION, escape_controls

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.operations.arguments import Sort
    from memory.operations.graph.rows import Values
    from memory.operations.operation import Call, Given


def tool(title: str, returns: str, *parameters: Parameter, **hints: Any) -> Callable[[Callable[[], None]], Operation]:
    """
    Declare a tool that is a method of `EntityGraph`: an empty function has its name, and what an agent is told of it.

    Args:
        returns: Its fields, between those that all answers have.
    """

    def declared(named: Callable[[], None]) -> Operation:
        def run(call: Call, arguments: Given) -> Result:
            graph = EntityGraph(call.engine, source=call.client or None)
            work = {"progress": call.progress} if named.__name__ == "generate_embeddings" else {}
            values = getattr(graph, named.__name__)(**arguments, **work)
            return Result({**values, "about": INTRODUCTION}, answer(values))

        schema = record(f"about {returns} notices:notices", **SHAPES)
        return Operation(named.__name__, title, told(named), parameters, schema, toolset="graph", run=run, **hints)

    return declared


reading = partial(tool, reads=True, repeats=True)


def command(usage: str, short: str, *options: Option) -> Callable[[Callable[[EntityGraph, Given], Values]], Command]:
    """Declare a command of `memory graph`: it prints rows, what became of them and notices."""

    def declared(run: Callable[[EntityGraph, Given], Values]) -> Command:
        def printed(call: Call, a: Given) -> Shown:
            values = run(EntityGraph(call.engine), a)
            notes = (head(values), *(f"{one['text']} {one['hint']}".rstrip() for one in values["notices"]))
            return Shown(values, shown(values), tuple(map(escape_controls, filter(None, notes))))

        return Command(f"graph {usage}", short, run.__doc__ or short, options, printed)

    return declared


def field(names: tuple[str, ...], sort: Sort, meaning: str, *, required: bool = False) -> Parameter:
    return Parameter(names[0], sort, meaning, required=required, also=names[1:])


def limit(usual: int, most: int = 100) -> Parameter:
    return Parameter("limit", "integer", f"Results at most; usually {usual}.", low=1, high=most)  # CAP X23


def rows(name: str, meaning: str, *fields: Parameter) -> Parameter:
    return Parameter(name, "objects", meaning, required=True, fields=fields)


def distance(usual: int) -> Parameter:
    return Parameter(
        "max_distance", "integer", f"Relations away at most; usually {usual}.", low=0, high=10, strict=True
    )


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
ENTITIES = rows(
    "entities",
    "The entities.",
    field(given.NAME, "string", "What it is called, one line: no two have the same name.", required=True),
    field(given.TYPE, "string", "What sort of thing it is, in a word."),
    field(given.OBSERVATIONS, "strings", "What is known of it."),
    field(given.EMBED, "boolean", "False: never hand its text to a model; it is found by words only."),
)
OBSERVATIONS = rows(
    "observations",
    "What is to be added, by entity.",
    OF,
    field(given.CONTENTS, "strings", "The facts, short.", required=True),
)
DELETIONS = rows(
    "deletions",
    "What is to be removed, by entity.",
    OF,
    field(("observations", "contents"), "strings", "The facts.", required=True),
)
TEXTS = Option("TEXT...", blank=False)
PAGE = Option("-n --limit N", takes=(1, MOST), usual=20)


def relation(a: Given) -> dict[str, Any]:
    """What SOURCE TYPE TARGET say."""
    return {"from": a["source"], "to": a["target"], "relationType": a["type"]}


@group("graph", "stats", "Entities, what is known of them, how they are related.")
def graph() -> None:
    """
    Entities, what is known of them, how they are related, and which memories are about them.

    \b
        memory graph add Redis --type database --observation "holds sessions"
        memory graph link checkout-api uses Redis
        memory graph search "where are sessions kept" --near checkout-api
        memory graph export --format dot | dot -Tsvg > graph.svg

    NAME is an entity's name, its id, its uid, or the first 8 characters of that; names come first.
    """

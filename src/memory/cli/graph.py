"""Commands that carry the graph in and out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from memory.cli.options import encoded, text_of, write_lines
from memory.config.files import BULK_BYTES, utf8
from memory.schema.errors import printable
from memory.tools.graph import EntityGraph
from memory.tools.graph.text import dot
from memory.tools.operation import OUTPUT, Call, Given, Option, Shown, command
from memory.tools.render import data
from memory.tools.render.text import counted, notice

if TYPE_CHECKING:
    from collections.abc import Iterator


@command("graph export", Option("--format", takes=("json", "dot"), usual="json"), *OUTPUT)
def export(call: Call, a: Given) -> Shown:
    """
    Print the graph as lines of JSON, or for Graphviz. A line is an entity, a relation or a link to a memory.

    `memory graph import` reads the lines back; so does the reference memory server.

    \b
        memory graph export --format dot | dot -Tsvg > graph.svg
    """
    from memory.tools.graph.carry import exported

    form, graph = a["format"], call.engine.graph
    if form == "json":
        stream = None if a["output"] else sys.stdout
        lines: Iterator[str] = (encoded(one, stream) for one in exported(call.engine))
    else:
        lines = dot(graph.every(), graph.all_relations())
    count = write_lines(a["output"], lines, call.engine.config.database, force=a["force"])
    if a["output"] is None:
        return Shown(None, "")
    values = {"file": a["output"], "format": form, "lines": count}
    return Shown(values, f"{counted(count, 'line')} in {printable(a['output'])}")


@command("graph import FILE|-", progress="importing")
def import_(call: Call, a: Given) -> Shown:
    """
    Import a graph from a file: an export, or the memory file of the reference memory server.

    Nothing is stored twice: an import may be repeated. An entity that exists gets what is new.
    """
    from memory.tools.graph.carry import imported, parsed

    file = a["file"]
    graph = parsed(utf8(file, "-") if isinstance(file, bytes) else text_of(file, BULK_BYTES))
    found = imported(EntityGraph(call.engine, source="import"), graph, call.progress)
    new = (
        counted(found.entities, "entity", "entities"),
        counted(found.relations, "relation"),
        counted(found.links, "link"),
    )
    more = f", {counted(found.observations, 'observation')} added to others" if found.observations else ""
    return Shown(
        found._asdict() | {"notices": data.notices(found.notices)},
        f"{', '.join(new)} kept{more}; {found.known:,} already kept",
        [*map(notice, found.notices)],
    )


COMMANDS = (import_, export)

"""Commands that carry the graph in and out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory.cli.options import PATH, as_json, encoded, opened, progress, show, standard_input, tell, write_lines
from memory.config.files import BULK_BYTES, contents, utf8
from memory.schema.errors import Invalid, explained
from memory.schema.limits import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.engine import Engine


@click.command(short_help="Print the graph as lines of JSON, or for Graphviz.")
@click.option("--format", "form", type=click.Choice(["json", "dot"]), default="json", show_default=True)
@click.option(
    "--output", "-o", type=PATH, metavar="FILE", help="Write to a file, which must not be there; else to stdout."
)
@as_json
@click.pass_context
def export(context: click.Context, /, form: str, output: str | None, *, as_json: bool) -> None:
    """
    Print the graph: a line of JSON for each entity, relation and link to a memory, or for Graphviz.

    `memory graph import` reads the lines back; so does the reference memory server.

    \b
        memory graph export --format dot | dot -Tsvg > graph.svg
    """
    with opened(context) as engine:
        lines = _lines(engine) if form == "json" else _dot(engine)
        if output is None:
            for line in lines:
                click.echo(line)
            return
        count = write_lines(Path(output), lines)
    if as_json:
        from memory.operations.render.data import document

        show(document("graph-export", {"file": output, "format": form, "lines": count}))
    else:
        from memory.operations.render.text import counted

        click.echo(f"{counted(count, 'line')} in {printable(output)}")


def _lines(engine: Engine) -> Iterator[bytes]:
    from memory.operations.graph.carry import exported

    return map(encoded, exported(engine))


def _dot(engine: Engine) -> Iterator[bytes]:
    from memory.operations.graph.text import dot

    return (line.encode() for line in dot(engine.graph.every(), engine.graph.all_relations()))


@click.command("import", short_help="Keep the graph that stands in a file.")
@click.argument("path", type=PATH, metavar="FILE|-")
@as_json
@click.pass_context
def import_(context: click.Context, /, path: str, *, as_json: bool) -> None:
    """
    Keep the graph that stands in a file: an export, or the memory file of the reference memory server.

    Nothing is kept twice: an import may be repeated. An entity that is there gets what is new.
    """
    from memory.operations.graph import EntityGraph
    from memory.operations.graph.carry import imported, parsed

    graph = parsed(_text(path))
    with opened(context) as engine, progress("importing") as report:
        found = imported(EntityGraph(engine, source="import"), graph, report)
    if as_json:
        from memory.operations.render import data

        show(data.document("graph-import", found._asdict() | {"notices": data.notices(found.notices)}))
        return
    from memory.operations.render.text import counted

    new = (
        counted(found.entities, "entity", "entities"),
        counted(found.relations, "relation"),
        counted(found.links, "link"),
    )
    more = f", {counted(found.observations, 'observation')} added to others" if found.observations else ""
    click.echo(f"{', '.join(new)} kept{more}; {found.known:,} already kept")
    tell(found.notices)


def _text(path: str) -> str:
    """
    Raises:
        Invalid: It cannot be read, or is not UTF-8 text.
    """
    with explained(Invalid, printable(path)):
        return utf8(standard_input(BULK_BYTES) if path == "-" else contents(path, BULK_BYTES), printable(path))

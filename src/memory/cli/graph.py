"""Commands of the entity graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memory.cli.graph_files import export, import_
from memory.cli.options import as_json, not_blank, opened, show, usually
from memory.schema.query import MOST

if TYPE_CHECKING:
    from memory.operations.graph import EntityGraph


@click.group(cls=usually("stats"), short_help="Entities, what is known of them, how they are related.")
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


FOUND = click.option(
    "-n", "--limit", type=click.IntRange(1, MOST), metavar="N", help="At most; usually as configured (graph.limit)."
)


def _graph(engine: Any) -> EntityGraph:
    from memory.operations.graph import EntityGraph

    return EntityGraph(engine)


def _answer(name: str, values: dict[str, Any], *, as_json: bool) -> None:
    """What the graph answered: rows on stdout, what became of it and notices on stderr."""
    if as_json:
        from memory.operations.render import graph_data

        show(graph_data.graph(name, values))
        return
    from memory.operations.render import graph_text
    from memory.text.display import escape_controls

    if text := graph_text.shown(values):
        click.echo(text)
    for line in (graph_text.head(values), *(f"{one['text']} {one['hint']}".rstrip() for one in values["notices"])):
        if line:
            click.echo(f"memory: {escape_controls(line)}", err=True)


@graph.command(short_help="Make an entity, or add to one.")
@click.argument("name", callback=not_blank)
@click.option("--type", metavar="TEXT", help="What sort of thing it is, in a word.")
@click.option(
    "--observation",
    "observations",
    multiple=True,
    callback=not_blank,
    metavar="TEXT",
    help="What is known; may be repeated.",
)
@click.option("--keyword-only/--embed", default=None, help="Never hand its text to a model: it is found by words only.")
@as_json
@click.pass_context
def add(
    context: click.Context,
    /,
    name: str,
    type: str | None,
    observations: tuple[str, ...],
    keyword_only: bool | None,
    *,
    as_json: bool,
) -> None:
    """Make an entity; one of that name that is there gets the observations that are new to it."""
    embed = None if keyword_only is None else not keyword_only
    row = {"name": name, "entityType": type, "observations": list(observations), "embed": embed}
    with opened(context) as engine:
        values = _graph(engine).create_entities([row])
    _answer("add", values, as_json=as_json)


@graph.command(short_help="Add to what is known of an entity.")
@click.argument("name")
@click.argument("texts", nargs=-1, required=True, callback=not_blank, metavar="TEXT...")
@as_json
@click.pass_context
def observe(context: click.Context, /, name: str, texts: tuple[str, ...], *, as_json: bool) -> None:
    """Add to what is known of an entity, a fact each."""
    with opened(context) as engine:
        values = _graph(engine).add_observations([{"entityName": name, "contents": list(texts)}])
    _answer("observe", values, as_json=as_json)


@graph.command(short_help="Remove what is known of an entity.")
@click.argument("name")
@click.argument("texts", nargs=-1, required=True, callback=not_blank, metavar="TEXT...")
@as_json
@click.pass_context
def forget(context: click.Context, /, name: str, texts: tuple[str, ...], *, as_json: bool) -> None:
    """Remove facts from what is known of an entity, by their exact text."""
    with opened(context) as engine:
        values = _graph(engine).delete_observations([{"entityName": name, "observations": list(texts)}])
    _answer("forget", values, as_json=as_json)


@graph.command(short_help="Relate two entities.")
@click.argument("source")
@click.argument("type")
@click.argument("target")
@as_json
@click.pass_context
def link(context: click.Context, /, source: str, type: str, target: str, *, as_json: bool) -> None:
    """Say how an entity has to do with another; both must be there."""
    with opened(context) as engine:
        values = _graph(engine).create_relations([{"from": source, "to": target, "relationType": type}])
    _answer("link", values, as_json=as_json)


@graph.command(short_help="Take a relation away.")
@click.argument("source")
@click.argument("type")
@click.argument("target")
@as_json
@click.pass_context
def unlink(context: click.Context, /, source: str, type: str, target: str, *, as_json: bool) -> None:
    """Take a relation between two entities away."""
    with opened(context) as engine:
        values = _graph(engine).delete_relations([{"from": source, "to": target, "relationType": type}])
    _answer("unlink", values, as_json=as_json)


@graph.command(short_help="Give an entity another name.")
@click.argument("name")
@click.argument("new_name", metavar="NEW")
@as_json
@click.pass_context
def rename(context: click.Context, /, name: str, new_name: str, *, as_json: bool) -> None:
    """Give an entity another name; what is known of it, its relations and its memories stay."""
    with opened(context) as engine:
        values = _graph(engine).rename_entity(name, new_name)
    _answer("rename", values, as_json=as_json)


@graph.command(short_help="Remove an entity for good.")
@click.argument("name")
@as_json
@click.pass_context
def delete(context: click.Context, /, name: str, *, as_json: bool) -> None:
    """Remove an entity for good, with what is known of it and its relations. Memories that are about it stay."""
    with opened(context) as engine:
        values = _graph(engine).delete_entities([engine.graph.entity(name).id])
    _answer("delete", values, as_json=as_json)


@graph.command(short_help="Say which memories are about an entity, or show them.")
@click.argument("name")
@click.argument("memories", nargs=-1, metavar="[ID]...")
@click.option("--remove", is_flag=True, help="Say that they are not.")
@click.option("-n", "--limit", type=click.IntRange(1, MOST), default=20, show_default=True, metavar="N")
@as_json
@click.pass_context
def about(
    context: click.Context, /, name: str, memories: tuple[str, ...], limit: int, *, remove: bool, as_json: bool
) -> None:
    """Say that the memories of these ids are about an entity; without ids, show those that are."""
    with opened(context) as engine:
        found = _graph(engine)
        if not memories:
            values = found.entity_memories(name, limit)
        elif remove:
            values = found.unlink_memories(name, memories)
        else:
            values = found.link_memories(name, memories)
    _answer("about", values, as_json=as_json)


@graph.command("show", short_help="Show an entity, or all of them by name.")
@click.argument("name", required=False)
@click.option("-n", "--limit", type=click.IntRange(1, MOST), default=20, show_default=True, metavar="N")
@click.option(
    "--offset", type=click.IntRange(0), default=0, metavar="N", help="Entities to leave out at the beginning."
)
@as_json
@click.pass_context
def show_(context: click.Context, /, name: str | None, limit: int, offset: int, *, as_json: bool) -> None:
    """Show an entity with all its relations; without NAME all entities by name, a page at a time."""
    with opened(context) as engine:
        if name is None:
            values = _graph(engine).read_graph(limit, offset)
        else:
            values = _graph(engine).open_nodes([engine.graph.entity(name).id])
    _answer("show", values, as_json=as_json)


@graph.command(short_help="Find entities.")
@click.argument("text", nargs=-1, required=True, metavar="TEXT...")
@click.option("--near", multiple=True, metavar="NAME", help="An entity that it should be near to; may be repeated.")
@click.option("--distance", type=click.IntRange(0, 10), metavar="N", help="Relations that count as near; usually 3.")
@click.option(
    "--vector-weight", type=click.FloatRange(0, 1), metavar="W", help="0 is the graph alone, 1 the meaning alone."
)
@click.option("--keyword-weight", type=click.FloatRange(0, 1), metavar="W", help="Share of words in the score.")
@FOUND
@as_json
@click.pass_context
def search(
    context: click.Context,
    /,
    text: tuple[str, ...],
    near: tuple[str, ...],
    limit: int | None,
    *,
    as_json: bool,
    **weights: Any,
) -> None:
    """
    Find entities: by words first, by meaning if they are not enough.

    With --near, or a weight, always by meaning, and by how few relations there are to those named.
    """
    words = " ".join(text)
    with opened(context) as engine:
        if near or any(weight is not None for weight in weights.values()):
            weights["max_distance"] = weights.pop("distance")
            values = _graph(engine).search_hybrid(words, near, limit=limit, **weights)
        else:
            values = _graph(engine).search_nodes(words, limit)
    _answer("search", values, as_json=as_json)


@graph.command(short_help="Show how two entities are connected.")
@click.argument("source")
@click.argument("target")
@as_json
@click.pass_context
def path(context: click.Context, /, source: str, target: str, *, as_json: bool) -> None:
    """Show a shortest path between two entities, of at most ten relations, whichever way they point."""
    with opened(context) as engine:
        values = _graph(engine).find_path(source, target)
    _answer("path", values, as_json=as_json)


@graph.command(short_help="Show how much there is.")
@as_json
@click.pass_context
def stats(context: click.Context, /, *, as_json: bool) -> None:
    """Show how much there is in the graph, by type, and of how many entities the meaning can be searched."""
    with opened(context) as engine:
        values = _graph(engine).get_stats()
    _answer("stats", values, as_json=as_json)


graph.add_command(import_)
graph.add_command(export)

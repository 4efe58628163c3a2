"""Commands of research runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memory.cli.options import (
    HERE,
    PATH,
    as_json,
    given_text,
    named_project,
    not_blank,
    opened,
    show,
    standard_input,
    tell,
    usually,
)
from memory.config.files import BULK_BYTES
from memory.schema.answer import Notice
from memory.schema.errors import Invalid
from memory.schema.limits import printable
from memory.schema.query import MOST

if TYPE_CHECKING:
    from memory.engine import Engine

LEADER = "lead_coordinator"
"""Who writes the plan of a run unless somebody else is named."""


@click.group("run", cls=usually("list"), short_help="Research runs: start, list, show, context, export, import, clear.")
def runs() -> None:
    """
    Research runs: what several agents find out together.

    ID may be left out where the setting research.run (or $MEMORY_RUN) names a run, but not for clear.

    \b
        RUN=$(memory run start --plan "Independent benchmarks first")
        MEMORY_RUN=$RUN memory mcp --toolset research
        memory run context $RUN        what a worker reads before it begins
        memory run export $RUN -o run.json
    """


LIMIT = click.option(
    "-n", "--limit", type=click.IntRange(1, MOST), default=20, show_default=True, metavar="N", help="At most."
)
ID = click.argument("id", metavar="[ID]", required=False)


def _named(id: str | None, engine: Engine) -> str:
    """
    Raises:
        Invalid: Neither the command nor the settings name a run.
    """
    if found := (id or engine.config.research.run).strip():
        return found
    raise Invalid(
        "no run is named", hint="`memory run list` shows those there are; $MEMORY_RUN names one for all commands."
    )


@runs.command("start", short_help="Name a new run.")
@click.option(
    "--plan", callback=not_blank, metavar="TEXT|-", help="What it is to find out, and how; - reads standard input."
)
@click.option("--agent", default=LEADER, show_default=True, metavar="NAME", help="Whose plan it is.")
@as_json
@click.pass_context
def start(context: click.Context, /, plan: str | None, agent: str, *, as_json: bool) -> None:
    """
    Name a new run, of which nothing is kept yet but the plan.

    The name alone goes to standard output: RUN=$(memory run start).
    """
    from memory.operations.render import research_data
    from memory.operations.research.arguments import draft

    text = None if plan is None else given_text(plan, "--plan")
    with opened(context) as engine:
        id = engine.runs.new()
        saved = None if text is None else engine.save(draft("plan", text, agent, run=id, project=named_project(HERE)))
    notices = saved.notices if saved else ()
    if as_json:
        show(research_data.started(id, saved.memory if saved else None, notices))
        return
    click.echo(id)
    click.echo(
        f"memory: `export MEMORY_RUN={id}` names it to commands, and to agents with the toolset research", err=True
    )
    tell(notices)


@runs.command("list", short_help="Show runs, the latest activity first.")
@LIMIT
@as_json
@click.pass_context
def list_(context: click.Context, /, limit: int, *, as_json: bool) -> None:
    """Show runs, the latest activity first."""
    with opened(context) as engine:
        found, total = engine.runs.latest(limit)
    if as_json:
        from memory.operations.render import research_data

        show(research_data.runs(found, total))
        return
    from memory.operations.render import research_text

    if found:
        click.echo(research_text.runs(found))
    else:
        click.echo("memory: nothing is kept of any run; `memory run start` names one", err=True)
    if total > len(found):
        click.echo(f"memory: {total - len(found):,} more; -n {total} shows all", err=True)


@runs.command("show", short_help="Show what a run found out, the latest first.")
@ID
@LIMIT
@click.option("--kind", metavar="KIND", help="Only of a kind: discovery, insight, deadend, ...")
@as_json
@click.pass_context
def show_(context: click.Context, /, id: str | None, limit: int, kind: str | None, *, as_json: bool) -> None:
    """Show what a run found out, the latest first, and how much there is by kind, by agent and of tool calls."""
    from memory.operations.research.arguments import scope

    with opened(context) as engine:
        found = engine.runs.run(_named(id, engine))
        memories = engine.documents.recent(scope(found.id, kind), min(limit + 1, MOST))
    from memory.operations.render.text import first

    memories, more = first(memories, limit)
    if as_json:
        from memory.operations.render import research_data

        show(research_data.shown(found, memories))
        return
    from memory.operations.render import research_text

    click.echo(research_text.shown(found, memories))
    if not memories:
        click.echo("memory: none of these is in it", err=True)
    if more:
        click.echo(f"memory: {more}", err=True)


@runs.command("context", short_help="Show what a worker of a run should know.")
@ID
@click.option("--agent", metavar="NAME", help="The worker: its own discoveries are left out.")
@click.option("--tokens", type=int, metavar="N", help="Size at most.")
@as_json
@click.pass_context
def context(context: click.Context, /, id: str | None, agent: str | None, tokens: int | None, *, as_json: bool) -> None:
    """
    Show what a worker of a run should know, to be put before its prompt.

    The plan, the latest feedback, ten discoveries and five dead ends. What agents brought back is fenced as data.
    """
    from memory.operations.research.briefing import Room, briefing

    room = Room(agent=agent) if tokens is None else Room(agent=agent, tokens=tokens)
    with opened(context) as engine:
        name = _named(id, engine)
        empty = not engine.runs.memories(name, limit=1)
        found = briefing(engine, name, room)
    if as_json:
        from memory.operations.render import data, research_data

        show(data.document("run-context", research_data.context(name, *found)))
        return
    click.echo(found.text, nl=False)
    if empty:
        click.echo("memory: nothing is kept of this run yet", err=True)


@runs.command("export", short_help="Write a run as JSON.")
@ID
@click.option(
    "--output", "-o", type=PATH, metavar="FILE", help="Write to a file, which must not be there; else to stdout."
)
@as_json
@click.pass_context
def export(context: click.Context, /, id: str | None, output: str | None, *, as_json: bool) -> None:
    """Write a run with its tool calls as JSON; `memory run import` reads it back."""
    from memory.operations.research import transfer

    with opened(context) as engine:
        found = engine.runs.run(_named(id, engine))
        content, memories, calls = transfer.exported(engine, found.id)
        if output is not None and not transfer.write(engine, output, content, overwrite=False):
            raise Invalid(f"{printable(output)} is there already", hint="Choose another name.")
    if output is None:
        click.echo(content, nl=False)
    elif as_json:
        from memory.operations.render import data, research_data

        numbers = {"file": output, "exported_memories": memories, "exported_tool_calls": calls}
        show(data.document("run-export", numbers | research_data.run_row(found)))
    else:
        from memory.operations.render import research_text

        click.echo(f"{research_text.amount(memories, calls)} in {printable(output)}")
    if found.memories > memories:
        tell([Notice(f"{found.memories - memories:,} that no longer hold are not in it", "`memory export` has all.")])


@runs.command("import", short_help="Keep what an export of a run has.")
@click.argument("file", type=PATH, metavar="FILE|-")
@as_json
@click.pass_context
def import_(context: click.Context, /, file: str, *, as_json: bool) -> None:
    """Keep what an export of a run has, under the same name. Nothing is kept twice: it may be repeated."""
    from memory.operations.research import transfer

    content = standard_input(BULK_BYTES) if file == "-" else None
    with opened(context) as engine:
        if content is None:
            found = transfer.import_from_json(engine, file)
        else:
            found = transfer.imported(engine, content, place="standard input")
    if as_json:
        from memory.operations.render import data

        show(data.document("run-import", found._asdict() | {"notices": data.notices(found.notices)}))
        return
    from memory.operations.render import research_text

    new, known = (research_text.amount(*of) for of in ((found.memories, found.calls), (found.known, found.known_calls)))
    click.echo(f"kept {new}; already kept {known}")
    from memory.text.display import one_line

    for name in found.runs:
        click.echo(f"memory: run {one_line(name)}", err=True)
    tell(found.notices)


@runs.command("clear", short_help="Remove what a run found out, for good.")
@ID
@click.option("--calls", is_flag=True, help="Also its tool calls.")
@click.option("--all", "every", is_flag=True, help="Of all runs.")
@as_json
@click.pass_context
def clear(context: click.Context, /, id: str | None, *, calls: bool, every: bool, as_json: bool) -> None:
    """Remove what a run found out, for good, and nothing else. It has to be named, or --all."""
    if every == bool(id and id.strip()):
        raise Invalid(
            "either one run is cleared or all of them" if every else "no run is named", hint="Name it, or give --all."
        )
    name = None if id is None else id.strip()
    with opened(context) as engine:
        gone = engine.runs.clear(name, calls=calls)
    if as_json:
        from memory.operations.render import research_data

        show(research_data.cleared(name, gone))
        return
    from memory.operations.render import research_text

    click.echo(research_text.cleared(name, gone))

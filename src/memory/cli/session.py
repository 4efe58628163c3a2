"""Commands that show what is kept of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memory.cli.options import as_json, first, opened, show, tell, usually
from memory.schema.kinds import kind
from memory.schema.limits import iteration
from memory.schema.query import EVERYTHING, MOST

if TYPE_CHECKING:
    from memory.schema.query import Scope


@click.group(cls=usually("list"), short_help="What is kept of sessions: list, show, stats, context.")
def session() -> None:
    """
    What is kept of sessions: the latest of them, or of one its memories, its numbers, or what to go on with.

    \b
        memory session                        lists them
        memory session show auth-rework       the memories of one
        memory session context auth-rework    what an agent reads to go on with it
    """


LIMIT = click.option(
    "-n", "--limit", type=click.IntRange(1, MOST), default=20, show_default=True, metavar="N", help="At most."
)


@session.command("list", short_help="Show sessions, the latest activity first.")
@LIMIT
@click.option("--agent", metavar="NAME", help="Only what this agent wrote.")
@as_json
@click.pass_context
def list_(context: click.Context, /, limit: int, agent: str | None, *, as_json: bool) -> None:
    """Show sessions, the latest activity first."""
    with opened(context) as engine:
        found, total = engine.sessions.latest(limit, agent=agent or None)
    if as_json:
        from memory.operations.render import sessions_data

        show(sessions_data.sessions(found, total))
        return
    from memory.operations.render import sessions_text

    if found:
        click.echo(sessions_text.sessions(found))
    else:
        click.echo("memory: nothing is kept of any session" + (" by this agent" if agent else ""), err=True)
    if total > len(found) > 0:
        click.echo(f"memory: {total - len(found):,} more; -n {total} shows all", err=True)


@session.command("show", short_help="Show the memories of a session, the latest iteration first.")
@click.argument("id", metavar="ID")
@LIMIT
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only of a kind; may be repeated.")
@click.option("--iter", "number", metavar="N", help="Only of an iteration: 2, v2.")
@as_json
@click.pass_context
def show_(
    context: click.Context, /, id: str, limit: int, kinds: tuple[str, ...], number: str | None, *, as_json: bool
) -> None:
    """Show the memories of a session, the latest iteration first, and how many there are by kind and by agent."""
    scope = _scope(id, kinds, number)
    with opened(context) as engine:
        found = engine.sessions.one(id)
        memories = engine.documents.by_iteration(scope, min(limit + 1, MOST))
    memories, more = first(memories, limit)
    if as_json:
        from memory.operations.render import sessions_data

        show(sessions_data.shown(found, memories))
        return
    from memory.operations.render import sessions_text

    click.echo(sessions_text.shown(found, memories))
    if not memories:
        click.echo("memory: none of these is in it", err=True)
    if more:
        click.echo(f"memory: {more}", err=True)


def _scope(id: str, kinds: tuple[str, ...], number: str | None) -> Scope:
    wanted = iteration(number)
    return EVERYTHING._replace(
        sessions=frozenset({id}),
        kinds=frozenset(map(kind, kinds)),
        iterations=frozenset(() if wanted is None else (wanted,)),
    )


@session.command("stats", short_help="Show how much is kept of a session.")
@click.argument("id", metavar="ID")
@as_json
@click.pass_context
def stats(context: click.Context, /, id: str, *, as_json: bool) -> None:
    """Show how much is kept of a session: by kind, by agent, in chunks, and from when to when."""
    with opened(context) as engine:
        found = engine.sessions.one(id)
    if as_json:
        from memory.operations.render import sessions_data

        show(sessions_data.stats(found))
        return
    from memory.operations.render import sessions_text

    click.echo(sessions_text.stats(found))


@session.command("context", short_help="Show what an agent needs to go on with a session.")
@click.argument("id", metavar="ID")
@click.option("--iter", "number", metavar="N", help="The context up to this iteration, not the latest: 2, v2.")
@as_json
@click.pass_context
def context(context: click.Context, /, id: str, number: str | None, *, as_json: bool) -> None:
    """
    Show what an agent needs to go on with a session.

    Its latest context and all prompts in full; of the latest five reports, remarks on them and working memories the beginning, with
    the ids by which `memory details` shows the rest.
    """
    with opened(context) as engine:
        found = engine.sessions.resume(id, number)
        read, notices = engine.documents.read([*filter(None, [found.context]), *found.prompts])
        if as_json:
            more, others = engine.documents.read([*found.reports, *found.observations, *found.working])
            read, notices = read + more, tuple(dict.fromkeys(notices + others))
    bodies = {one.memory.id: one.body for one in read}
    if as_json:
        from memory.operations.render import sessions_data

        show(sessions_data.context(id, found, bodies, notices))
        return
    from memory.operations.render import sessions_text
    from memory.text.display import escape_controls

    text = sessions_text.context(id, found, bodies)
    click.echo(escape_controls(text), nl=False)
    if not text:
        click.echo("memory: this session has no context, prompts, reports or working memory to go on with", err=True)
    tell(notices)

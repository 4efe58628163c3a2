"""Commands that read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from memory.cli import Plain, option
from memory.cli.options import HERE, as_json, opened, scope, scoped, settings, show, tell
from memory.schema.errors import DISTANCE_LIMIT, Invalid
from memory.schema.moments import last_moment
from memory.schema.query import ACTIVE, EVERYTHING, MOST, NONE, Granularity, Mode, Query, Scope

if TYPE_CHECKING:
    from memory.engine import Engine

AGENTS_MD = "agents-md"
HEADING = "## Memory Context\n"


@click.command(cls=Plain, short_help="Find memories by words, and by meaning where words are not enough.")
@click.argument("text", nargs=-1, metavar="TEXT...")
@option("-n", "--limit", type=int, metavar="N", help="Maximum number of hits.")
@scoped
@option(
    "--mode",
    type=click.Choice([mode.value for mode in Mode], case_sensitive=False),
    help="How to search; tiered decides from the keyword hits whether to ask the model.",
)
@option(
    "--granularity",
    type=click.Choice([size.value for size in Granularity], case_sensitive=False),
    default=Granularity.COARSE.value,
    help="What one hit is: a chunk (fine), its section (medium), its memory (coarse).",
)
@option("--near", multiple=True, metavar="NAME", help="Only memories about entities near this one; may be repeated.")
@option(
    "--within",
    type=click.IntRange(0, DISTANCE_LIMIT),
    metavar="N",
    help="How many relations away still counts as near; 1 by default.",
)
@option(
    "--as-of",
    metavar="WHEN",
    help="Search memories as they were then, by keyword: 2026-03-01 (end of that day), 7d, 12h, 2w.",
)
@option("--no-time", is_flag=True, help='Search for words such as "last week", not for that time.')
@option("--all", "every", is_flag=True, help="Show near-duplicates too.")
@option("--explain", is_flag=True, help="Show why: words and their weights, the gate, both rankings, milliseconds.")
@as_json
def search(
    text: tuple[str, ...],
    limit: int | None,
    mode: str | None,
    granularity: str,
    *,
    near: tuple[str, ...],
    within: int | None,
    as_of: str | None,
    no_time: bool,
    every: bool,
    explain: bool,
    as_json: bool,
    **where: Any,
) -> None:
    """
    Find memories by words, and by meaning where words are not enough. Any text is a query: "quoted words" must be
    adjacent, auth* also matches longer words, -word excludes.

    \b
        memory search "why did we leave session cookies"
        memory search "session cookies" --project --explain
    """
    config = settings()
    limit = config.search.limit if limit is None else limit
    how = Granularity(granularity), Mode(mode or config.search.mode)
    moment = last_moment(as_of) if as_of else None
    query = Query(_words(text), limit, *how, scope(**where), duplicates=every, time=not no_time, as_of=moment)
    with opened(config, reads=True) as engine:
        answer = engine.search(_near(engine, query, near, within))
        missing = "" if answer.hits or moment else _nothing(engine, query.scope)
    if as_json:
        from memory.tools.render import data

        show(data.document("search", data.answer(answer, explain=explain)))
        return
    from memory.tools.render import text as rendered

    click.echo(missing or rendered.verdict(answer), err=True)
    if answer.hits or explain:
        click.echo(rendered.answer(answer, explain=explain))
    tell(answer.notices)


def _near(engine: Engine, query: Query, names: tuple[str, ...], within: int | None) -> Query:
    """The query, narrowed to what is near the named entities, if there are any."""
    if names:
        among = engine.graph.near(names, 1 if within is None else within)
        return replace(query, scope=query.scope._replace(among=among))
    if within is not None:
        raise Invalid("--within needs an entity", hint="Name one: --near NAME.")
    return query


def _words(text: tuple[str, ...]) -> str:
    if text:
        return " ".join(text)
    context = click.get_current_context()
    project = context.params["project"]
    if project and project != HERE:
        hint = f"--project took {project!r} as the name of the project; put --project after the text."
        raise Invalid("Missing argument 'TEXT...'.", hint=hint)
    raise click.UsageError("Missing argument 'TEXT...'.", context)


def _nothing(engine: Engine, scope: Scope) -> str:
    """What to do next where nothing is in scope; empty if something is."""
    if engine.documents.recent(scope, 1):
        return ""
    if not engine.documents.recent(EVERYTHING, 1):
        return 'memory: nothing is saved yet. Begin with: memory save "A title" --what "What you decided"'
    if scope == ACTIVE:
        return "memory: all that is saved was superseded; --superseded shows it"
    return "memory: nothing is saved with these options; leave some out to see more"


@click.command("list", cls=Plain, short_help="List memories, most recently changed first.")
@option("-n", "--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, metavar="N")
@option("--pinned", is_flag=True, help="Only pinned memories.")
@scoped
@as_json
def list_(limit: int, *, pinned: bool, as_json: bool, **where: Any) -> None:
    """
    List memories, most recently changed first.

    \b
        memory list --project
        memory list --category decision --since 7d
    """
    from memory.tools.render.text import first

    with opened(reads=True) as engine:
        among = scope(**where)._replace(pinned=pinned)
        memories, more = first(engine.documents.recent(among, min(limit + 1, MOST)), limit)
        missing = "" if memories else _nothing(engine, among)
        notices = engine.documents.unreadable(memories) if memories else engine.documents.unmet(among)
    if missing and pinned:
        missing = "memory: nothing is pinned; `memory pin ID` lets a memory come first in every context"
    if as_json:
        from memory.tools.render import data

        show(data.document("list", data.listing(memories, notices)))
        return
    from memory.tools.render import text as rendered

    if memories:
        click.echo(rendered.listing(memories))
    tell(notices)
    for text in filter(None, (missing, more and f"memory: {more}")):
        click.echo(text, err=True)


@click.command(cls=Plain, short_help="Print what an agent should read before it starts.")
@click.argument("about", nargs=-1, metavar="[ABOUT]...")
@option("-n", "--limit", type=click.IntRange(1, 1000), metavar="N", help="Maximum number of memories.")
@option("--tokens", type=click.IntRange(1), metavar="N", help="Maximum size, in tokens.")
@option("--query", metavar="TEXT", help="The same as ABOUT.")
@option(
    "--semantic",
    is_flag=False,
    flag_value="always",
    type=click.Choice(["auto", "always", "never"], case_sensitive=False),
    help="Whether vectors may be used; without a value, always.",
)
@option("--fts-only", is_flag=True, help="The same as --semantic never.")
@option("--recent/--no-recent", "topup_recent", default=None, help="Fill up with recent memories.")
@option(
    "--format",
    "form",
    type=click.Choice(["hook", AGENTS_MD], case_sensitive=False),
    default="hook",
    help="agents-md begins with a heading, for a file of instructions.",
)
@option("--show-config", is_flag=True, help="Show the settings, as `memory config` does.")
@scoped
@as_json
def context(
    about: tuple[str, ...],
    *,
    limit: int | None,
    tokens: int | None,
    query: str | None,
    semantic: str | None,
    fts_only: bool,
    topup_recent: bool | None,
    form: str,
    show_config: bool,
    as_json: bool,
    **where: Any,
) -> None:
    """
    Print what an agent should read before it starts. It begins with what is known ABOUT a task, then what is recent.

    With --project, memories without a project are included: they hold in every project, as preferences do.

    \b
        memory context "speed up the database" --project
    """
    if show_config:
        from memory.cli.care import config

        click.get_current_context().invoke(config.commands["show"], key=None, as_json=as_json)
        return
    among = scope(**where)
    if among.projects:
        among = among._replace(projects=among.projects | {NONE})
    semantic = "never" if fts_only else semantic
    how: dict[str, Any] = {"limit": limit, "tokens": tokens, "semantic": semantic, "topup_recent": topup_recent}
    with opened(reads=True) as engine:
        found = engine.context(" ".join(filter(None, [*about, query])), scope=among, **how)
        missing = "" if found.memories or found.omitted else _nothing(engine, among)
    if as_json:
        from memory.tools.render import data

        show(data.document("context", data.context(found)))
        return
    if found.memories and form == AGENTS_MD:
        click.echo(HEADING)
    from memory.text.display import escape_controls

    click.echo(escape_controls(found.text), nl=False)
    if missing:
        click.echo(missing, err=True)
    if found.omitted:
        more = "more " if found.memories else ""
        most = tokens or engine.config.context.tokens
        click.echo(f"memory: {found.omitted} {more}did not fit into {most} tokens", err=True)
    tell(found.notices)

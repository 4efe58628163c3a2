"""Commands that show a memory around a chunk or whole, and take away what is old."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from memory.cli.options import PATH, as_json, opened, show, tell
from memory.schema.answer import Notice
from memory.schema.errors import Invalid
from memory.schema.kinds import RULES, kind
from memory.search.documents import AROUND
from memory.write.cleanup import SHORT_LIVED

if TYPE_CHECKING:
    from memory.schema.document import Document


@click.command(short_help="Show a chunk with its neighbours.")
@click.argument("chunk", metavar="CHUNK")
@click.option(
    "-C",
    "--around",
    type=click.IntRange(0, AROUND),
    default=2,
    show_default=True,
    metavar="N",
    help="Chunks on either side.",
)
@as_json
@click.pass_context
def expand(context: click.Context, /, chunk: str, around: int, *, as_json: bool) -> None:
    """
    Show a chunk with its neighbours. `memory search --granularity fine` shows the ids of chunks.

    \b
        memory search "session cookies" --granularity fine
        memory expand 12 -C 3
    """
    with opened(context) as engine:
        found = engine.documents.expand(chunk, around)
    if as_json:
        from memory.operations.render import sessions_data

        show(sessions_data.expanded(found, around))
        return
    from memory.operations.render import sessions_text

    click.echo(sessions_text.expanded(found))


@click.command(short_help="Print the text of a memory byte for byte, or write a file.")
@click.argument("reference", metavar="ID")
@click.option("-o", "--output", type=PATH, metavar="FILE", help="Write to a file, with front matter.")
@click.option("--force", is_flag=True, help="With -o: take the place of a file that is there.")
@click.option("--no-front-matter", "bare", is_flag=True, help="With -o: the text alone.")
@as_json
@click.pass_context
def reconstruct(
    context: click.Context, /, reference: str, output: str | None, *, force: bool, bare: bool, as_json: bool
) -> None:
    """
    Print the text of a memory byte for byte, or write it to a file.

    A file begins with YAML front matter, which says which memory it is. ID is its id, its uid or the first 8 characters
    of it.

    \b
        memory reconstruct 12 | less
        memory reconstruct 12 -o audit.md
    """
    with opened(context) as engine:
        found = engine.documents.reconstruct(reference)
        notices = engine.documents.accessed([found.memory.id])
        home = engine.config.folder
    if not found.whole:
        why = "its chunks, put together, are not its text any more: searches may miss some of it; this is the text"
        notices = (*notices, Notice(why))
    if not found.body:
        why = f"memory {found.memory.id} has no text beside its title and its fields"
        notices = (*notices, Notice(why, hint=f"`memory details {found.memory.id}` shows them."))
    if output not in (None, "-"):
        _write(found, str(output), home, force=force, matter=not bare, as_json=as_json)
    elif as_json:
        from memory.operations.render import sessions_data

        show(sessions_data.document(found))
    elif sys.stdout.isatty():
        from memory.text.display import escape_controls

        click.echo(escape_controls(found.body), nl=False)
    else:
        click.echo(found.body.encode(), nl=False)
    if not as_json:
        tell(notices)


def _write(found: Document, output: str, home: str, *, force: bool, matter: bool, as_json: bool) -> None:
    from memory.write.markdown import write

    try:
        written = write(found, output, folder=None, home=home, overwrite=force, matter=matter)
    except Invalid as error:
        if isinstance(error.__cause__, FileExistsError):
            error.hint = "Choose another name, or take its place with --force."
        raise
    if as_json:
        from memory.operations.render import sessions_data

        show(sessions_data.written(found, written))
        return
    from memory.operations.render import sessions_text

    click.echo(sessions_text.written(written))


@click.command(short_help="Delete old memories of sessions; shows them first.")
@click.option(
    "--days",
    type=click.IntRange(0, 36_500),
    default=90,
    show_default=True,
    metavar="N",
    help="Those made more than N days ago.",
)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only of a kind; may be repeated.")
@click.option("--delete", is_flag=True, help="Do it; else it only says what would go.")
@as_json
@click.pass_context
def cleanup(context: click.Context, /, days: int, kinds: tuple[str, ...], *, delete: bool, as_json: bool) -> None:
    """
    Delete old memories of sessions, for good. Without --delete nothing is changed.

    Notes, the knowledge base and what belongs to a research run are left alone unless --kind names them.

    \b
        memory cleanup --days 30            says what would go
        memory cleanup --days 30 --delete   deletes it
    """
    wanted = {kind(name) for name in kinds} or SHORT_LIVED
    with opened(context) as engine:
        gone = {
            name: engine.documents.cleanup(days, kinds=[name], dry_run=not delete) for name in RULES if name in wanted
        }  # each by itself, to say how many of each
        before = engine.now() - timedelta(days=days)
    if as_json:
        from memory.operations.render import sessions_data

        show(sessions_data.cleaned(gone, before, dry_run=not delete))
        return
    from memory.operations.render import sessions_text

    click.echo(sessions_text.cleaned(gone, before, dry_run=not delete))
    if not delete and any(aged.memories for aged in gone.values()):
        named = "".join(f" --kind {name}" for name in gone) if kinds else ""
        click.echo(f"memory: nothing was changed; `memory cleanup --days {days}{named} --delete` does it", err=True)

"""Commands that write one memory."""

from __future__ import annotations

from typing import Any

import click

from memory.cli.options import HERE, as_json, given_text, named_project, not_blank, opened, own_project, show, tell
from memory.schema.draft import Draft
from memory.schema.errors import Invalid
from memory.schema.kinds import CATEGORIES


@click.command(short_help="Keep a note: a decision, a bug, something learned.")
@click.argument("title")
@click.option("--what", default="", metavar="TEXT", help="What is the case.")
@click.option("--why", default="", metavar="TEXT", help="Why it is so.")
@click.option("--impact", default="", metavar="TEXT", help="What follows from it.")
@click.option(
    "--details", default="", metavar="TEXT|-", help="Everything else, shown on demand; - reads standard input."
)
@click.option("--category", type=click.Choice(CATEGORIES), help="What it is about.")
@click.option("--tag", "tags", multiple=True, callback=not_blank, metavar="TAG", help="May be repeated.")
@click.option(
    "--file", "files", multiple=True, callback=not_blank, metavar="PATH", help="A file it is about; may be repeated."
)
@own_project("Its project; this folder's by default, '' for none.")
@click.option("--source", metavar="NAME", help="The program it comes from, e.g. claude-code.")
@click.option("--keyword-only", is_flag=True, help="Never hand it to a model: only its words find it.")
@click.option("--supersedes", metavar="ID", help="The memory that no longer holds.")
@click.option("--entity", "entities", multiple=True, metavar="NAME", help="An entity it is about; may be repeated.")
@as_json
@click.pass_context
def save(context: click.Context, /, *, as_json: bool, **options: Any) -> None:
    """
    Keep a note: a decision, a bug, a pattern, something learned.

    \b
        memory save "Switched to JWT auth" --what "Replaced session cookies" --category decision --tag auth
    """
    draft = Draft(
        title=options["title"],
        what=options["what"],
        why=options["why"],
        impact=options["impact"],
        body=given_text(options["details"], "--details"),
        category=options["category"],
        tags=options["tags"],
        related_files=options["files"],
        project=named_project(options["project"]),
        source=options["source"] or None,
        keyword_only=options["keyword_only"],
    )
    with opened(context) as engine:
        result = engine.save(draft, supersedes=options["supersedes"], entities=options["entities"])
    if as_json:
        from memory.operations.render import data

        show(data.saved(result))
        return
    click.echo(f"{'already kept' if result.known else 'kept'} {result.memory.uid[:8]} (id {result.memory.id})")
    tell(result.notices)


@click.command(short_help="Correct a memory in place.")
@click.argument("reference", metavar="ID")
@click.option("--title", metavar="TEXT")
@click.option("--what", metavar="TEXT")
@click.option("--why", metavar="TEXT")
@click.option("--impact", metavar="TEXT")
@click.option("--details", metavar="TEXT|-", help="- reads standard input.")
@click.option("--category", metavar="NAME", help="'' clears it.")
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="In place of all its tags; may be repeated, '' clears."
)
@click.option(
    "--file", "files", multiple=True, metavar="PATH", help="In place of all its files; may be repeated, '' clears."
)
@click.option(
    "--project",
    is_flag=False,
    flag_value=HERE,
    metavar="[NAME]",
    help="Its project; without a name, or '.', this folder's; '' is none.",
)
@click.option("--source", metavar="NAME", help="The program it comes from; '' clears it.")
@as_json
@click.pass_context
def update(context: click.Context, /, reference: str, *, as_json: bool, details: str | None, **options: Any) -> None:
    """Correct a memory in place; `memory details` shows what it said before."""
    changes = _changes(**options)
    if details is not None:
        changes["body"] = given_text(details, "--details")
    if not changes:
        raise Invalid("nothing to change", hint="See `memory update --help`.")
    with opened(context) as engine:
        result = engine.documents.update(reference, **changes)
    if as_json:
        from memory.operations.render import data

        show(data.saved(result))
        return
    click.echo(f"updated {result.memory.uid[:8]} (id {result.memory.id})")
    tell(result.notices)


def _changes(
    *, tags: tuple[str, ...], files: tuple[str, ...], project: str | None, **texts: str | None
) -> dict[str, Any]:
    """What options change of a draft; an empty one clears."""
    changes: dict[str, Any] = {name: text for name, text in texts.items() if text is not None}
    for name in ("category", "source"):
        if name in changes:
            changes[name] = changes[name] or None
    if project is not None:
        changes["project"] = named_project(project)
    for name, values in (("tags", tags), ("related_files", files)):
        if values:
            changes[name] = tuple(filter(None, values))
    return changes

"""The command that prints a memory byte for byte."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from memory.cli.options import PATH, as_json, opened, show, tell
from memory.operations.render import data
from memory.operations.render.text import counted
from memory.operations.sessions import rows
from memory.schema.answer import Notice
from memory.schema.errors import Invalid
from memory.schema.limits import printable
from memory.text.display import escape_controls

if TYPE_CHECKING:
    from memory.schema.document import Document


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
        show(data.document("reconstruct", rows.document(found)))
    elif sys.stdout.isatty():
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
        place = {"memory_id": found.memory.id, "file_path": str(written.path), "bytes_written": written.size}
        show(data.document("reconstruct", place | {"verified": found.whole}))
        return
    click.echo(f"{counted(written.size, 'byte')} in {escape_controls(printable(str(written.path)))}")

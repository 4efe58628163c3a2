"""Commands that look after the memory itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory.cli.options import as_json, named_file, opened, settings, show
from memory.config.config import FILE, load
from memory.config.edit import example
from memory.config.files import write_file
from memory.schema.errors import ConfigError, Error, explained

if TYPE_CHECKING:
    from memory.config.config import Config


@click.command(short_help="Make the folder, the database and a settings file.")
@as_json
@click.pass_context
def init(context: click.Context, /, *, as_json: bool) -> None:
    """Make the folder, the database and a settings file with every setting explained. Changes nothing that is there."""
    config, file = _begun(context)
    with opened(context, config) as engine:
        found = engine.maintenance.status()
    written = not file.exists()
    if written:
        with explained(ConfigError, f"cannot write {file}"):
            write_file(os.path.realpath(file), example().encode(), overwrite=False)
    if as_json:
        from memory.operations.render import data

        show(data.document("init", {"database": config.database, "config": str(file), "written": written}))
        return
    click.echo(f"database  {config.database}")
    click.echo(f"settings  {file}{'' if written else ' (was there already)'}")
    from memory.operations.render import text

    for problem in found.problems:
        click.echo(f"memory: {text.notice(problem)}", err=True)
    click.echo('next      memory save "A title" --what "What you decided"')


def _begun(context: click.Context) -> tuple[Config, Path]:
    """The settings, and the file they come from; one that was named need not be there yet."""
    home, _ = context.find_root().obj
    named = named_file(context)
    if named is None:
        config = settings(context)
        return config, Path(config.folder) / FILE
    return (settings(context) if named.exists() else load(os.devnull, flags={"home": home})), named


@click.command(short_help="What is kept, what is wrong and what would mend it.")
@as_json
@click.pass_context
def status(context: click.Context, /, *, as_json: bool) -> None:
    """How much is kept, which vectors there are, what is wrong and what would mend it."""
    from memory.config.adopt import beside

    config = settings(context)
    folder = (named_file(context) or Path(config.folder) / FILE).parent
    with opened(context, config) as engine:
        found = engine.maintenance.status()
    found = found._replace(problems=(*found.problems, *beside(str(folder), config)))
    if as_json:
        from memory.operations.render import care_data

        show(care_data.status(found, config.database))
        return
    from memory.operations.render import care_text, text

    click.echo(care_text.status(found, config.database))
    for problem in found.problems:
        click.echo(f"memory: {text.notice(problem)}", err=True)


@click.command(short_help="Print the script that completes commands in a shell.")
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
@as_json
def completion(shell: str, *, as_json: bool) -> None:
    """
    Print the script that completes `memory` commands in a shell: bash, zsh or fish.

    \b
        memory completion bash >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    from memory.cli import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise Error(f"no completion for {shell}")
    script = kind(cli, {}, "memory", "_MEMORY_COMPLETE").source()
    if as_json:
        from memory.operations.render import data

        show(data.document("completion", {"shell": shell, "script": script}))
        return
    click.echo(script)

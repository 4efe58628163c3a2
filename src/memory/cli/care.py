"""Commands that look after the memory itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory.cli.options import as_json, named_file, opened, progress, settings, show
from memory.config.config import FILE, load
from memory.config.edit import example
from memory.config.files import write_file
from memory.schema.errors import ConfigError, EmbedError, Error, Invalid, explained

if TYPE_CHECKING:
    from memory.config.config import Config
    from memory.engine import Engine
    from memory.write.reindex import Reindexed


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


@click.command(short_help="Embed everything with the configured model; after it was changed.")
@click.option("--dry-run", is_flag=True, help="Only say what it would take: chunks, tokens, cost, time.")
@click.option("--rollback", is_flag=True, help="Let the vectors answer again that did before the last reindex.")
@click.option("--keep", is_flag=True, help="Keep the vectors of all earlier models, not of one.")
@click.option("--resume", is_flag=True, help="Go on where it was interrupted, which it does in any case.")
@as_json
@click.pass_context
def reindex(
    context: click.Context, /, *, dry_run: bool, rollback: bool, keep: bool, resume: bool, as_json: bool
) -> None:
    """
    Embed everything with the configured model; needed after it was changed.

    Until it is done the old vectors answer, with their own model. It may be interrupted at any time: the next call
    goes on there. The vectors that answered before are kept until the next reindex to another model.
    """
    if dry_run + rollback + (keep or resume) > 1:
        raise Invalid("--dry-run, --rollback and --keep or --resume do not go together")
    with opened(context) as engine:
        if dry_run:
            _estimate(engine, as_json=as_json)
        elif rollback:
            _roll_back(engine, as_json=as_json)
        else:
            _reindex(engine, keep=keep, as_json=as_json)


def _reindex(engine: Engine, *, keep: bool, as_json: bool) -> None:
    try:
        with progress("embedding") as report:
            result = engine.vectors.reindex(report, keep=keep)
    except (KeyboardInterrupt, EmbedError):
        click.echo("memory: what was embedded is kept; `memory reindex` goes on there", err=True)
        raise
    from memory.operations.render import care_data
    from memory.operations.render.text import counted
    from memory.text.display import escape_controls

    if as_json:
        show(care_data.reindexed(result))
        return
    click.echo(f"{counted(result.embedded, 'chunk')} embedded; searches use {result.after}")
    if result.before not in (None, result.after):
        click.echo(f"before: {result.before}; `memory reindex --rollback` goes back")
    for line in _trouble(result):
        click.echo(f"memory: {escape_controls(line)}", err=True)


def _trouble(result: Reindexed) -> list[str]:
    from memory.operations.render.text import counted

    lines = []
    if result.exchanged:
        lines.append("the model behind this name was exchanged; what the former one had embedded was embedded anew")
    if result.failed:
        lines.append(f"the model did not take {counted(result.failed, 'chunk')}: {result.error}")
    return lines


def _estimate(engine: Engine, *, as_json: bool) -> None:
    found = engine.vectors.estimate()
    from memory.operations.render import care_data, care_text

    if as_json:
        show(care_data.estimate(found))
    else:
        click.echo(care_text.estimate(found))


def _roll_back(engine: Engine, *, as_json: bool) -> None:
    result = engine.vectors.roll_back()
    from memory.operations.render import care_data
    from memory.operations.render.text import counted

    if as_json:
        show(care_data.rolled_back(result))
        return
    click.echo(f"searches use {result.after} again")
    if result.missing:
        click.echo(f"{counted(result.missing, 'chunk')} saved since wait for a vector in it: `memory embed`")
    provider, model, _, dimension = result.after
    wide = f" embedding.dimensions {dimension}" if result.before[:2] == result.after[:2] else ""
    click.echo(f"to stay with it: memory config set embedding.provider {provider} embedding.model {model}{wide}")
    click.echo(f"to go forward again, at once: memory reindex, while the settings name {result.before}")


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

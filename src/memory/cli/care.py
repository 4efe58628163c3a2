"""Commands that look after the memory itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory.cli.options import as_json, opened, progress, settings, show
from memory.config import FILE, example, keys, load, meaning, value
from memory.errors import ConfigError, Error

if TYPE_CHECKING:
    from memory.config import Config


@click.command(short_help="Make the folder, the database and a settings file.")
@as_json
@click.pass_context
def init(context: click.Context, /, *, as_json: bool) -> None:
    """Make the folder, the database and a settings file with every setting explained. Changes nothing that is there."""
    config, file = _begun(context)
    with opened(context, config) as engine:
        found = engine.status()
    written = not file.exists()
    if written:
        try:
            file.write_text(example(), "utf-8")
        except OSError as error:
            raise ConfigError(f"cannot write {file}: {error.strerror}") from error
    if as_json:
        from memory.render import data

        show(data.document("init", {"database": config.database, "config": str(file), "written": written}))
        return
    click.echo(f"database  {config.database}")
    click.echo(f"settings  {file}{'' if written else ' (was there already)'}")
    from memory.render import text

    for problem in found.problems:
        click.echo(f"memory: {text.notice(problem)}", err=True)
    click.echo('next      memory save "A title" --what "What you decided"')


def _begun(context: click.Context) -> tuple[Config, Path]:
    """The settings, and the file they come from; one that was named need not be there yet."""
    home, _ = context.find_root().obj
    named = _named_file(context)
    if named is None:
        config = settings(context)
        return config, Path(config.folder) / FILE
    return (settings(context) if named.exists() else load(os.devnull, flags={"home": home})), named


def _named_file(context: click.Context) -> Path | None:
    _, file = context.find_root().obj
    name = file or os.environ.get("MEMORY_CONFIG")
    return Path(os.path.expanduser(name)) if name else None  # noqa: PTH111  # `memory.config` does it so


@click.command(short_help="Embed what has no vector of the configured model.")
@as_json
@click.pass_context
def reindex(context: click.Context, /, *, as_json: bool) -> None:
    """
    Embed what has no vector of the configured model; needed after the model was changed.

    Until it is done the old vectors answer. It may be interrupted at any time: the next call goes on there.
    """
    with opened(context) as engine, progress("embedding") as report:
        result = engine.reindex(report)
    if as_json:
        from memory.render import data

        show(data.reindexed(result))
        return
    from memory.render.text import counted

    click.echo(f"{counted(result.embedded, 'chunk')} embedded; searches use {result.after}")
    if result.before not in (None, result.after):
        click.echo(f"before: {result.before}")


@click.command(short_help="What is kept, what is wrong and what would mend it.")
@as_json
@click.pass_context
def status(context: click.Context, /, *, as_json: bool) -> None:
    """How much is kept, which vectors there are, what is wrong and what would mend it."""
    config = settings(context)
    with opened(context, config) as engine:
        found = engine.status()
    if as_json:
        from memory.render import data

        show(data.status(found, config.database))
        return
    from memory.render import text

    click.echo(text.status(found, config.database))
    for problem in found.problems:
        click.echo(f"memory: {text.notice(problem)}", err=True)


@click.command(short_help="Every setting with its value and where it came from.")
@click.argument("key", required=False)
@as_json
@click.pass_context
def config(context: click.Context, /, key: str | None, *, as_json: bool) -> None:
    """Every setting with its value and where it came from: default, file, environment or flag."""
    found = settings(context)
    shown = _shown(key)
    if as_json:
        from memory.render import data

        rows = [
            {
                "key": name,
                "value": value(found, name),
                "origin": found.origins.get(name, "default"),
                "meaning": meaning(name),
            }
            for name in shown
        ]
        show(
            data.document("config", {"file": str(_named_file(context) or Path(found.folder) / FILE), "settings": rows})
        )
        return
    width = max(map(len, shown))
    for name in shown:
        said = str(value(found, name))
        click.echo(f"{name:<{width}}  {said or repr(said):<10}  {found.origins.get(name, 'default')}")


def _shown(key: str | None) -> list[str]:
    if key is None:
        return keys()
    shown = [name for name in keys() if name == key or name.startswith(f"{key}.")]
    if not shown:
        from difflib import get_close_matches

        near = get_close_matches(key, keys(), n=1)
        raise ConfigError(f"no setting {key!r}", hint=f"Did you mean {near[0]!r}?" if near else "See `memory config`.")
    return shown


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
        from memory.render import data

        show(data.document("completion", {"shell": shell, "script": script}))
        return
    click.echo(script)

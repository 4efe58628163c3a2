"""Commands that look after the memory itself."""

from __future__ import annotations

from pathlib import Path

import click

from memory.cli.options import as_json, opened, progress, settings, show
from memory.config import FILE, example, keys, meaning, value
from memory.errors import ConfigError, Error


@click.command()
@as_json
@click.pass_context
def init(context: click.Context, /, *, as_json: bool) -> None:
    """Make the folder, the database and a settings file with every setting explained. Changes nothing that is there."""
    config = settings(context)
    file = Path(config.folder) / FILE
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


@click.command()
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
    click.echo(f"{result.embedded:,} chunks embedded; searches use {result.after}")
    if result.before not in (None, result.after):
        click.echo(f"before: {result.before}")


@click.command()
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


@click.command()
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
        show(data.document("config", {"file": str(Path(found.folder) / FILE), "settings": rows}))
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


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@as_json
def completion(shell: str, *, as_json: bool) -> None:
    """
    Print the script that completes `memory` commands in a shell.

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

"""The command that embeds everything with another model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memory.cli.options import as_json, opened, progress, show
from memory.schema.errors import EmbedError, Invalid

if TYPE_CHECKING:
    from memory.engine import Engine
    from memory.write.reindex import Reindexed


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

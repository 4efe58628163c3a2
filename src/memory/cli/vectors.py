"""Commands that look after vectors: embed, reindex, ledger, doctor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memory.cli.options import as_json, opened, progress, show
from memory.schema.errors import EmbedError, Invalid

if TYPE_CHECKING:
    from memory.engine import Engine
    from memory.write.reindex import Reindexed


@click.command(short_help="Embed what waits for a vector.")
@as_json
@click.pass_context
def embed(context: click.Context, /, *, as_json: bool) -> int:
    """
    Embed what waits for a vector, as after a time without a model, also what failed before.

    It may be interrupted at any time: what was embedded is kept.
    """
    with opened(context) as engine, progress("embedding") as report:
        result = engine.vectors.embed(report)
    if as_json:
        from memory.operations.render import care_data

        show(care_data.backfilled(result))
        return 1 if result.failed else 0
    from memory.operations.render.text import counted
    from memory.text.display import escape_controls

    left = f", {result.left:,} still wait" if result.left else ""
    by = f" with {result.model}" if result.embedded else ""
    click.echo(f"{counted(result.embedded, 'chunk')} embedded{by}{left}")
    for one in result.held:
        click.echo(f"memory: {one}", err=True)
    if result.failed:
        click.echo(
            f"memory: the model did not take {counted(result.failed, 'chunk')}: {escape_controls(result.error)}",
            err=True,
        )
    return 1 if result.failed else 0


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


@click.command(short_help="What was embedded: by whom, what for, how much was sent, at what cost.")
@click.option(
    "--days", type=click.IntRange(1, 36_500), default=30, show_default=True, metavar="N", help="How far back."
)
@click.option("--each", is_flag=True, help="Every request, not sums of days.")
@as_json
@click.pass_context
def ledger(context: click.Context, /, *, days: int, each: bool, as_json: bool) -> None:
    """
    What was embedded: by which model, what for, how many texts and tokens, what was sent where, at what cost.

    Every request is entered before it is sent. Nothing sent is 0 bytes: the text stayed on this machine, in this
    process.
    """
    with opened(context) as engine:
        found = engine.vectors.ledger(days, each=each)
    from memory.operations.render import care_data, care_text

    if as_json:
        show(care_data.ledger(found))
    else:
        click.echo(care_text.ledger(found, each=each) or "nothing was embedded")


@click.command(short_help="Look at everything, ask the model, and say what would mend it.")
@click.option("--fix", is_flag=True, help="Mend it: rebuild what is derived, embed what waits.")
@as_json
@click.pass_context
def doctor(context: click.Context, /, *, fix: bool, as_json: bool) -> int:
    """
    Look at the database, the model, its vectors and what waits for them. The exit code is 1 if something is amiss.

    A server is asked for one vector, also if it was left alone for giving no answer.
    """
    with opened(context) as engine:
        findings = engine.maintenance.doctor(fix=fix)
    from memory.operations.render import care_data, care_text

    if as_json:
        show(care_data.doctor(findings))
    else:
        click.echo(care_text.doctor(findings))
    return 0 if all(found.well for found in findings) else 1

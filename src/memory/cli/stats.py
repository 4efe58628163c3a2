"""The command that says what searches took."""

from __future__ import annotations

import click

from memory.cli.options import as_json, opened, show


@click.command(short_help="How many searches there were, how long they took, how far they went.")
@click.option("--days", type=click.IntRange(1, 36_500), metavar="N", help="How far back; else all that is remembered.")
@as_json
@click.pass_context
def stats(context: click.Context, /, *, days: int | None, as_json: bool) -> None:
    """
    How many searches there were, how long they took, and how many of them keywords alone have answered.

    Of a search its moment, type, tier, time, results and the names of its filters are remembered, never its text; the
    last 10,000 at most.
    """
    with opened(context) as engine:
        found = engine.searches.statistics(days)
    if as_json:
        from memory.operations.render import stats_data

        show(stats_data.statistics(found))
        return
    from memory.operations.render import stats_text, text

    lines = stats_text.statistics(found, text.width())
    when = "yet" if days is None else f"in the last {text.counted(days, 'day')}"
    click.echo(lines or f"nothing was searched {when}")

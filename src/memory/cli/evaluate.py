"""The command that measures how good the answers are."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory.cli.options import PATH, as_json, progress, settings, show, tell
from memory.config.files import write_file
from memory.schema.errors import EmbedError, Invalid, explained
from memory.schema.limits import printable

if TYPE_CHECKING:
    from memory.evaluate import Evaluation, Plan


@click.command("eval", short_help="Measure how good the answers are, on judged questions.")
@click.argument("folders", nargs=-1, required=True, type=PATH, metavar="FOLDER...")
@click.option(
    "--cache", type=PATH, metavar="DIR", help="Keep the stores here: the next time nothing is embedded again."
)
@click.option(
    "--most", type=click.IntRange(1), metavar="N", help="Questions of each set at most, always the same ones."
)
@click.option(
    "--systems", metavar="NAMES", help='Only these, with commas: "keywords, hybrid minmax, tiered, frontier".'
)
@click.option("--no-frontier", is_flag=True, help="Leave out the eleven efforts of `search.effort`.")
@click.option(
    "--against", type=PATH, metavar="DIR", help="Ask the questions of this set too, which have no answer here."
)
@click.option("--picture", type=PATH, metavar="FILE.svg", help="Draw the frontier: quality against calls of the model.")
@as_json
@click.pass_context
def evaluate(
    context: click.Context,
    /,
    folders: tuple[str, ...],
    cache: str | None,
    most: int | None,
    systems: str | None,
    *,
    no_frontier: bool,
    against: str | None,
    picture: str | None,
    as_json: bool,
) -> None:
    """
    Measure how good the answers are, and how often they call the model, on judged questions: your settings beside
    keywords, vectors, both, other gates, and a search for words as grep would do it.

    FOLDER holds corpus.jsonl, queries.jsonl and qrels.tsv (docs/benchmarks.md), or folders that do. The documents are
    kept and embedded in a temporary place, or in --cache: your own memory is not touched. Without --against, each of
    several sets is asked 200 questions of every other one.

    \b
        memory eval questions/ --cache ~/.cache/memory-eval --most 200 --picture frontier.svg
    """
    from memory.evaluate import Plan, report

    drawn = None if picture is None else _drawn(picture, frontier=not no_frontier)
    plan = Plan(
        settings(context),
        cache=None if cache is None else Path(cache),
        most=most,
        systems=None if systems is None else tuple(filter(None, map(str.strip, systems.split(",")))),
        frontier=not no_frontier,
        against=None if against is None else Path(against),
    )
    found = _measured([Path(folder) for folder in folders], plan)
    if as_json:
        show(report.data(found))
    else:
        click.echo(report.text(found))
    if drawn is not None:
        _draw(found, drawn)
    tell(found.notices)


def _measured(folders: list[Path], plan: Plan) -> Evaluation:
    from memory.evaluate import evaluate

    gc.freeze()  # what was imported stays; the command had turned the collector off for its start
    gc.enable()
    try:
        return evaluate(folders, plan, progress)
    except (KeyboardInterrupt, EmbedError):
        if plan.cache is not None:
            text = f"what was embedded is kept in {printable(str(plan.cache))}; the same command goes on there"
            click.echo(f"memory: {text}", err=True)
        raise


def _drawn(name: str, *, frontier: bool) -> Path:
    """
    Where the picture is to be; asked before minutes are spent on what it shows.

    Raises:
        Invalid: No picture can be there.
    """
    path = Path(name)
    if not frontier:
        raise Invalid("--picture draws the frontier, which --no-frontier leaves out")
    if path.suffix != ".svg":
        raise Invalid(f"a picture is an SVG file, not {printable(name)}", hint="Give it a name that ends in .svg.")
    if not path.absolute().parent.is_dir():
        raise Invalid(f"cannot write {printable(name)}: there is no folder {printable(str(path.absolute().parent))}")
    return path


def _draw(found: Evaluation, path: Path) -> None:
    from memory.evaluate.picture import picture

    with explained(Invalid, f"cannot write {printable(str(path))}"):
        write_file(os.path.realpath(path), picture(found).encode())

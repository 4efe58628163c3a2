"""The command that measures how good the answers are."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory.cli.options import progress, settings, show
from memory.config.files import write_file
from memory.operations.operation import Call, Given, Option, Shown, command
from memory.operations.render.text import notice
from memory.schema.errors import EmbedError, Invalid, explained, printable

if TYPE_CHECKING:
    from memory.evaluate import Evaluation, Plan


@command(
    "eval FOLDER...",
    Option("--cache DIR", "Keep the stores in this folder, so that nothing is embedded again next time."),
    Option("--most N", "Ask at most N questions of each set, always the same ones.", takes=(1, None)),
    Option("--systems NAMES", 'Only these, separated by commas: "keywords, hybrid minmax, tiered, frontier".'),
    Option("--no-frontier", "Leave out the eleven values of `search.effort`."),
    Option("--against DIR", "Also ask the questions of this set, which have no answer here."),
    Option("--picture FILE.svg", "Draw the frontier: quality against calls of the model."),
)
def evaluate(call: Call, a: Given) -> Shown:
    """
    Measure how good the answers are, on judged questions. It also says how often they call the model, and compares
    your settings with keywords, vectors, both, other gates, and a search for words as grep would do it.

    FOLDER holds corpus.jsonl, queries.jsonl and qrels.tsv (docs/benchmarks.md), or folders that do. The documents are
    stored and embedded in a temporary folder, or in --cache: your own memory is not touched. Without --against, each of
    several sets is also asked 200 questions of every other one.

    \b
        memory eval questions/ --cache ~/.cache/memory-eval --most 200 --picture frontier.svg
    """
    from memory.evaluate import Plan, picture, report

    drawn = None if a["picture"] is None else _drawn(a["picture"], frontier=not a["no_frontier"])
    places = {name: Path(a[name]) for name in ("cache", "against") if a[name] is not None}
    systems = None if a["systems"] is None else tuple(filter(None, map(str.strip, a["systems"].split(","))))
    plan = Plan(settings(), most=a["most"], systems=systems, frontier=not a["no_frontier"], **places)
    found = _measured([Path(folder) for folder in a["folder"]], plan)
    if call.as_json:
        show(report.data(found))
    else:
        click.echo(report.text(found))
    if drawn is not None:  # after what took minutes has been shown
        with explained(Invalid, f"cannot write {printable(str(drawn))}"):
            write_file(os.path.realpath(drawn), picture.picture(found).encode())
    return Shown(None, "", [*map(notice, found.notices)])


def _measured(folders: list[Path], plan: Plan) -> Evaluation:
    from memory.evaluate import evaluate

    gc.freeze()  # what was imported stays; the command had turned the collector off for its start
    gc.enable()
    try:
        return evaluate(folders, plan, progress)
    except (KeyboardInterrupt, EmbedError):
        if plan.cache is not None:
            text = f"what was embedded is kept in {printable(str(plan.cache))}; the same command continues there"
            click.echo(f"memory: {text}", err=True)
        raise


def _drawn(name: str, *, frontier: bool) -> Path:
    """
    The file of the picture; checked before minutes are spent on what it shows.

    Raises:
        Invalid: It cannot be written there.
    """
    path = Path(name)
    if not frontier:
        raise Invalid("--picture draws the frontier, which --no-frontier leaves out")
    if path.suffix != ".svg":
        raise Invalid(f"a picture is an SVG file, not {printable(name)}", hint="Give it a name that ends in .svg.")
    if not path.absolute().parent.is_dir():
        raise Invalid(f"cannot write {printable(name)}: there is no folder {printable(str(path.absolute().parent))}")
    return path


COMMANDS = (evaluate,)

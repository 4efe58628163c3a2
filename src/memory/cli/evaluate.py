"""The command that measures how good the answers are."""

from __future__ import annotations

import gc
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory.cli.options import HERE, progress, settings, show
from memory.config.files import write_file
from memory.operations.operation import Call, Given, Option, Shown, command
from memory.operations.render.text import notice
from memory.schema.errors import EmbedError, Invalid, clipped_repr, explained, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.evaluate import Evaluation, Plan


@command(
    "eval FOLDER...",
    Option("--cache DIR", "Keep the stores in this folder, so that nothing is embedded again next time."),
    Option("--most N", "Ask at most N questions of each set, always the same ones.", takes=(1, None)),
    Option("--systems NAMES", 'Only these, separated by commas: "keywords, hybrid minmax, tiered, frontier".'),
    Option("--no-frontier", "Leave out the eleven values of `search.effort`."),
    Option("--against DIR", "Also ask the questions of this set, which have no answer here."),
    Option("--picture FILE.svg", "Draw the frontier: quality against calls of the model."),
    Option(
        "--sizes [N,...]",
        "Also measure stores of so many memories, drawn from the set; without numbers, of 10 to 1,000.",
    ),
    Option("--calibration [FILE.svg]", "Also say how often an answer is right, by what it says; with a name, draw it."),
    Option(
        "--leave-one-out [PERCENT]",
        "Also choose `search.effort` on all sets but one, for at most so many calls (35), and see what it does there.",
    ),
)
def evaluate(call: Call, a: Given) -> Shown:
    """
    Measure how good the answers are, on judged questions. It also says how often they call the model, and compares
    your settings with keywords, vectors, both, other gates, and a search for words as grep would do it.

    FOLDER holds corpus.jsonl, queries.jsonl and qrels.tsv (docs/benchmarks.md), or folders that do. The documents are
    stored and embedded in a temporary folder, or in --cache: your own memory is not touched. Without --against, each of
    several sets is also asked 200 questions of every other one. FOLDER stands before --sizes,
    --calibration and --leave-one-out where these have no value.

    \b
        memory eval questions/ --cache ~/.cache/memory-eval --most 200 --picture frontier.svg
    """
    from memory.evaluate import report

    pictures = _pictures(a)
    found = _measured([Path(folder) for folder in a["folder"]], _plan(a))
    if call.as_json:
        show(report.data(found))
    else:
        click.echo(report.text(found))
    for path, draw in pictures:  # after what took minutes has been shown
        with explained(Invalid, f"cannot write {printable(str(path))}"):
            write_file(os.path.realpath(path), draw(found).encode())
    return Shown(None, "", [*map(notice, found.notices)])


def _plan(a: Given) -> Plan:
    from memory.evaluate import Plan
    from memory.evaluate.leave_one_out import CALLS
    from memory.evaluate.sizes import SIZES, parsed

    cache, against = (None if a[name] is None else Path(a[name]) for name in ("cache", "against"))
    budget, sizes = a["leave_one_out"], a["sizes"]
    return Plan(
        settings(),
        cache=cache,
        most=a["most"],
        systems=None if a["systems"] is None else tuple(filter(None, map(str.strip, a["systems"].split(",")))),
        frontier=not a["no_frontier"],
        against=against,
        sizes=SIZES if sizes == HERE else None if sizes is None else parsed(sizes),
        calibration=a["calibration"] is not None,
        budget=CALLS if budget == HERE else None if budget is None else _share(budget),
    )


def _share(percent: str) -> float:
    """
    Raises:
        Invalid: It is no whole number from 0 to 100.
    """
    if not re.fullmatch("[0-9]{1,3}", percent) or int(percent) > 100:
        hint = "Give a whole number of percent from 0 to 100: --leave-one-out 35."
        raise Invalid(f"no share of calls {clipped_repr(percent)}", hint=hint)
    return int(percent) / 100


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


def _pictures(a: Given) -> Sequence[tuple[Path, Callable[[Evaluation], str]]]:
    """
    The files of the pictures, and what draws them; checked before minutes are spent on what they show.

    Raises:
        Invalid: One cannot be written there.
    """
    from memory.evaluate import picture

    if a["picture"] is not None and a["no_frontier"]:
        raise Invalid("--picture draws the frontier, which --no-frontier leaves out")
    wanted = ((a["picture"], picture.frontier), (a["calibration"], picture.calibration))
    pictures = [(_drawn(name), draw) for name, draw in wanted if name not in {None, HERE}]
    if len({os.path.realpath(path) for path, _ in pictures}) < len(pictures):
        raise Invalid(f"two pictures cannot both be {printable(a['picture'])}", hint="Name two files.")
    return pictures


def _drawn(name: str) -> Path:
    """
    The file of a picture.

    Raises:
        Invalid: It cannot be written there.
    """
    path = Path(name)
    if path.suffix != ".svg":
        raise Invalid(f"a picture is an SVG file, not {printable(name)}", hint="Give it a name that ends in .svg.")
    if not path.absolute().parent.is_dir():
        raise Invalid(f"cannot write {printable(name)}: there is no folder {printable(str(path.absolute().parent))}")
    return path


COMMANDS = (evaluate,)

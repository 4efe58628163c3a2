"""The command that measures how good the answers are."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory.cli.options import progress, settings, show
from memory.operations.operation import Call, Given, Option, Shown, command
from memory.operations.render.text import notice
from memory.schema.errors import EmbedError, printable

if TYPE_CHECKING:
    from memory.evaluate import Evaluation, Plan


@command(
    "eval FOLDER...",
    Option("--cache DIR", "Keep the stores in this folder, so that nothing is embedded again next time."),
    Option("--most N", "Ask at most N questions of each set, always the same ones.", takes=(1, None)),
    Option("--systems NAMES", 'Only these, separated by commas: "keywords, hybrid minmax, tiered".'),
)
def evaluate(call: Call, a: Given) -> Shown:
    """
    Measure how good the answers are, on judged questions. It also says how often they call the model, and compares
    your settings with keywords, vectors, both, and other gates.

    FOLDER holds corpus.jsonl, queries.jsonl and qrels.tsv (docs/benchmarks.md), or folders that do. The documents are
    stored and embedded in a temporary folder, or in --cache: your own memory is not touched.

    \b
        memory eval questions/ --cache ~/.cache/memory-eval --most 200
    """
    from memory.evaluate import report

    found = _measured([Path(folder) for folder in a["folder"]], _plan(a))
    if call.as_json:
        show(report.data(found))
    else:
        click.echo(report.text(found))
    return Shown(None, "", [*map(notice, found.notices)])


def _plan(a: Given) -> Plan:
    from memory.evaluate import Plan

    systems = None if a["systems"] is None else tuple(filter(None, map(str.strip, a["systems"].split(","))))
    return Plan(settings(), None if a["cache"] is None else Path(a["cache"]), a["most"], systems)


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


COMMANDS = (evaluate,)

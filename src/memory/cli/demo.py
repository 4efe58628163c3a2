"""Commands that try it out: `memory demo`, notes saved and searched, and `memory eval`, questions of one's own."""

from __future__ import annotations

import gc
import tempfile
from contextlib import nullcontext
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory.cli.options import progress, settings, show, tell
from memory.config import Config
from memory.engine import Engine
from memory.schema.answer import Answer, Tier
from memory.schema.draft import Draft
from memory.schema.errors import EmbedError, printable
from memory.schema.query import Mode, Query
from memory.tools.model import YES, offer
from memory.tools.operation import Call, Given, Option, Shown, command
from memory.tools.render import data, text
from memory.tools.render.text import notice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.evaluate import Evaluation, Plan


QUESTIONS = (
    "shutil copytree",
    "temporary directory",
    "send an e-mail",
    "toss a coin",
    "count how often each word occurs",
    "wait until several workers are done",
    "find the position to insert into an ordered list",
    "find out what changed between two versions of a text",
    "bake sourdough bread",
)
"""Things to ask: names and words from the notes, then questions in other words; the last one has no answer."""

NEXT = """\
What to type next:
    memory save "What you decided" --what "..." --why "..." --category decision
    memory search "why did we decide that" --explain
    memory undo        takes back the last change
    memory --help"""


@command(
    "demo",
    Option("--keep FOLDER", "Save the demo's notes in this folder, to try it afterwards."),
    YES,
)
def demo(call: Call, a: Given) -> Shown:
    """
    Save notes about Python's standard library and search them.

    It uses a temporary folder: your own memory is not touched.

    \b
        memory demo
    """
    for line in offer(call, yes=a["yes"]):
        click.echo(f"memory: {line}", err=True)
    keep = a["keep"]
    with nullcontext(keep) if keep else tempfile.TemporaryDirectory(prefix="memory-demo-") as home:
        _show_demo(home, as_json=call.as_json)
    if keep:
        click.echo(f"\nThe demo's memory is in {keep}: memory --home {keep} search ...", err=True)
    return Shown(None, "")


def _show_demo(home: str, *, as_json: bool) -> None:
    with Engine.open(replace(Config(), home=home)) as engine:
        count = _keep(engine)
        answers = [(engine.search(question, limit=3), _by_words(engine, question)) for question in QUESTIONS]
    if as_json:
        show(
            data.document(
                "demo",
                {"kept": count, "answers": [data.document("search", data.answer(answer)) for answer, _ in answers]},
            )
        )
        return
    click.echo(f"Saved {count:,} notes about Python's standard library.\n")
    for answer, words in answers:
        _show(answer, words)
    _conclude([answer for answer, _ in answers])
    click.echo(NEXT)


def _keep(engine: Engine) -> int:
    drafts = list(drafted())
    with progress("saving") as report:
        for first in range(0, len(drafts), 16):
            engine.save_all(drafts[first : first + 16])
            report(min(first + 16, len(drafts)), len(drafts))
    return len(drafts)


def _by_words(engine: Engine, question: str) -> str:
    """The first result by keywords alone."""
    hits = engine.search(Query(question, limit=1, mode=Mode.KEYWORD)).hits
    return hits[0].memory.title if hits else "nothing"


def _show(answer: Answer, words: str) -> None:
    click.echo(click.style(f"? {answer.query.text}", fg="cyan", bold=True))
    click.echo(f"  {text.verdict(answer)}")
    for hit in answer.hits:
        first = hit.memory.what.split("\n")[0]
        click.echo(f"  - {click.style(hit.memory.title, bold=True)}  {first[:80]}")
    if answer.tier is Tier.HYBRID:
        click.echo(click.style(f"    (keywords alone: {words})", dim=True))
    click.echo()


def _conclude(answers: list[Answer]) -> None:
    """How the questions were answered and, once each, the notices."""
    tiers = [answer.tier for answer in answers]
    found = ", ".join(f"{tiers.count(tier)} {text.HOW[tier]}" for tier in Tier if tier in tiers)
    click.echo(f"{len(answers)} questions: {found}.")
    if wanting := sum(answer.tier is not Tier.HYBRID and bool(answer.notices) for answer in answers):
        click.echo(f"{wanting} needed the model, which could not be used.")
    click.echo()
    tell(dict.fromkeys(notice for answer in answers for notice in answer.notices))


def drafted() -> Iterator[Draft]:
    """One draft for each line of demo.txt: what is noted, a colon, and the note."""
    for line in files("memory.cli").joinpath("demo.txt").read_text("utf-8").splitlines():
        title, _, what = line.partition(": ")
        module = title.partition(".")[0]
        yield Draft(title=title, what=what, project="python", source="demo", tags=(module,), category="learning")


# Questions of one's own ----------------------------------------------------------


@command(
    "eval FOLDER...",
    Option("--cache DIR", "Reuse the stores in this folder, so that nothing is embedded twice."),
    Option("--most N", "Ask at most N questions of each set, the same each time.", takes=(1, None)),
    Option("--systems NAMES", 'Only these, separated by commas: "keywords, hybrid minmax, tiered".'),
)
def evaluate(call: Call, a: Given) -> Shown:
    """
    Measure the quality of answers on judged questions. It also says how often they call the model, and compares your
    settings with keywords, vectors, both, and other gates.

    FOLDER holds corpus.jsonl, queries.jsonl and qrels.tsv (docs/benchmarks.md), or folders that do. The documents are
    saved and embedded in a temporary folder, or in --cache: your own memory is not touched.

    \b
        memory eval questions/ --cache ~/.cache/memory-eval --most 200
    """
    from memory.evaluate import report_data, report_text

    found = _measured([Path(folder) for folder in a["folder"]], _plan(a))
    if call.as_json:
        show(report_data(found))
    else:
        click.echo(report_text(found))
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
            text = f"what was embedded stays in {printable(str(plan.cache))}; the same command continues there"
            click.echo(f"memory: {text}", err=True)
        raise


COMMANDS = (demo, evaluate)

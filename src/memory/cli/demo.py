"""`memory demo`: notes about Python's standard library, saved and searched."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING

import click

from memory.cli.model import YES, offer
from memory.cli.options import progress, show, tell
from memory.config.config import Config
from memory.engine import Engine
from memory.operations.operation import Call, Given, Option, Shown, command
from memory.operations.render import data, text
from memory.schema.answer import Answer, Tier
from memory.schema.draft import Draft
from memory.schema.query import Mode, Query

if TYPE_CHECKING:
    from collections.abc import Iterator


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


@command(
    "demo",
    Option("--keep FOLDER", "Keep the demo's memory in this folder, so that you can try it afterwards."),
    YES,
)
def demo(call: Call, a: Given) -> Shown:
    """
    Save notes about Python's standard library and ask them questions.

    Uses a temporary folder: your own memory is not touched.
    """
    for line in offer(yes=a["yes"]):
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
    click.echo("What to type next:")
    click.echo('    memory save "What you decided" --what "..." --why "..." --category decision')
    click.echo('    memory search "why did we decide that" --explain')
    click.echo("    memory undo        takes back the last change")
    click.echo("    memory --help")


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


COMMANDS = (demo,)

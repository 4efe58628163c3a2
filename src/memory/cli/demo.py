"""`memory demo`: the documentation of Python's standard library, saved and searched."""

from __future__ import annotations

import importlib
import inspect
import sys
import tempfile
import warnings
from contextlib import nullcontext
from dataclasses import replace
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


MODULES = (
    "argparse base64 bisect bz2 calendar collections configparser contextlib copy csv dataclasses datetime decimal "
    "difflib email.message enum fileinput filecmp fnmatch fractions functools getpass glob gzip hashlib heapq hmac html "
    "http.client http.server imaplib inspect io ipaddress itertools json linecache locale logging lzma mailbox math "
    "mimetypes operator os os.path pathlib pickle platform pprint queue random re sched secrets select selectors shelve "
    "shlex shutil signal smtplib socket sqlite3 ssl statistics string struct subprocess tarfile tempfile textwrap "
    "threading time timeit tokenize traceback types typing unicodedata unittest.mock urllib.parse urllib.request uuid "
    "warnings weakref webbrowser xml.etree.ElementTree zipfile zlib"
).split()
"""Modules whose documentation is saved: those that people look things up in, on every platform."""

MOST = 8  # entries of one module, so that no module crowds out the others
SHORTEST = 40  # characters of a docstring that says anything
LONGEST = 300  # characters of details: the beginning says what the rest explains, and the demo stays short

QUESTIONS = (
    "shutil copytree",
    "heapq nlargest",
    "temporary directory",
    "toss a coin",
    "send an e-mail",
    "count how often each word occurs",
    "find the position to insert into an ordered list",
    "find out what changed between two versions of a text",
)
"""Things to ask: first names and words from the text, then questions in other words."""


@command(
    "demo",
    Option("--keep FOLDER", "Keep the demo's memory in this folder, so that you can try it afterwards."),
    YES,
)
def demo(call: Call, a: Given) -> Shown:
    """
    Save the documentation of Python's standard library and ask it questions.

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
    click.echo(f"Saved {count:,} entries of the standard library's documentation.\n")
    for answer, words in answers:
        _show(answer, words)
    _conclude([answer for answer, _ in answers])
    click.echo("What to type next:")
    click.echo('    memory save "What you decided" --what "..." --why "..." --category decision')
    click.echo('    memory search "why did we decide that" --explain')
    click.echo("    memory --help")


def _keep(engine: Engine) -> int:
    drafts = list(drafted())
    if not sys.stderr.isatty():
        from memory.write.entry import chunked

        chunks = sum(len(chunked(draft)) for draft in drafts)
        click.echo(f"memory: embedding {chunks:,} chunks, this takes about half a minute", err=True)
    with progress("keeping") as report:
        for first in range(0, len(drafts), 32):
            engine.save_all(drafts[first : first + 32])
            report(min(first + 32, len(drafts)), len(drafts))
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
    """How many questions each tier answered and, once each, the notices."""
    enough = sum(answer.verdict is not None and answer.verdict.enough for answer in answers)
    hybrid = sum(answer.tier is Tier.HYBRID for answer in answers)
    click.echo(f"{enough} of {len(answers)} questions were answered by keywords alone; {hybrid} by meaning too.")
    if distilled := sum(answer.tier is Tier.DISTILLED for answer in answers):
        click.echo(f"{distilled} by vectors estimated from those that are stored, without the model.")
    wanting = sum(answer.tier is not Tier.HYBRID and bool(answer.notices) for answer in answers)
    if wanting:
        click.echo(f"{wanting} needed the model, which could not be used.")
    click.echo()
    tell(dict.fromkeys(notice for answer in answers for notice in answer.notices))


def drafted() -> Iterator[Draft]:
    """One draft for each documented module, class and function."""
    for name in MODULES:
        try:
            with warnings.catch_warnings(action="ignore"):  # deprecated modules say so when they are imported
                module = importlib.import_module(name)
        except ImportError:
            continue  # this Python was built without it, as some are without lzma or ssl
        if documentation := inspect.getdoc(module):
            yield _draft(name, documentation, name)
        count = 0
        for public in getattr(module, "__all__", None) or sorted(vars(module)):
            thing = getattr(module, public, None)
            documentation = inspect.getdoc(thing) if _own(thing, public) else None
            if documentation and len(documentation) >= SHORTEST and count < MOST:
                count += 1
                yield _draft(f"{name}.{public}", documentation, name)


def _own(thing: object, name: str) -> bool:
    """Whether it has documentation of its own; a constant has that of its type."""
    return not name.startswith("_") and (inspect.isroutine(thing) or inspect.isclass(thing))


def _draft(title: str, documentation: str, module: str) -> Draft:
    what, _, rest = documentation.partition("\n\n")
    return Draft(
        title=title, what=what[:1000], body=rest, project="python", source="pydoc", tags=(module,), category="learning"
    )


COMMANDS = (demo,)

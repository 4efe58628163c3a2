"""What commands share: options, the engine for one command, and how results leave."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from memory.cli import option, root_flags
from memory.cli.streams import unicode
from memory.config import Config, expanded
from memory.config.files import TEXT_BYTES, bounded, contents, new_file, ordinary, standard_stream, utf8
from memory.engine import Engine
from memory.schema.errors import (
    EVERYWHERE,
    Invalid,
    StoreError,
    did_you_mean,
    explained,
    iteration as iteration_number,
    printable,
)
from memory.schema.kinds import CATEGORIES, Kind, kind, note_category
from memory.schema.memory import Standing
from memory.schema.moments import span
from memory.schema.query import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from pathlib import Path

    from memory.schema.answer import Notice

Command = TypeVar("Command", bound="Callable[..., Any]")

TOLD = "memory.former"
HERE = "."
"""The value of `--project` without a name: the project of the current folder."""

ESCAPED = "backslashreplace"
"""How a path that is not Unicode is written to a file: in JSON this is an escape, too."""

as_json = option("--json", "as_json", is_flag=True, help="Print JSON, with a versioned schema.")


def not_blank(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """The value of an option or an argument; a text of blanks only is refused."""
    if any(isinstance(text, str) and not text.strip() for text in (value if isinstance(value, tuple) else (value,))):
        raise click.BadParameter("it must not be blank.", context, parameter)
    return value


def completed(values: str) -> Callable[[click.Context, click.Parameter, str], Any]:
    """What a shell completes a parameter with: see `memory.cli.completion`, which no command needs."""

    def ask(context: click.Context, parameter: click.Parameter, incomplete: str) -> Any:
        from memory.cli import completion

        return getattr(completion, values)(context, parameter, incomplete)

    return ask


def scoped(command: Command) -> Command:
    """The options that narrow a search or a list."""
    options = (
        option(
            "--project",
            is_flag=False,
            flag_value=HERE,
            metavar="[NAME]",
            shell_complete=completed("projects"),
            help="Only this project; without a name, the project of the current folder; '*' is all.",
        ),
        option("--source", "sources", metavar="NAME", help="Only from this program, e.g. claude-code."),
        option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind; may be repeated."),
        option(
            "--category",
            metavar="NAME",
            help="Only this category: decision, bug, pattern, learning, context, preference.",
        ),
        option(
            "--tag",
            "tags",
            multiple=True,
            metavar="TAG",
            shell_complete=completed("tags"),
            help="Only with this tag; if repeated, with all of them.",
        ),
        option("--agent", "agents", metavar="NAME", help="Only by this agent."),
        option("--author", "authors", metavar="NAME", help="Only saved by this person."),
        option("--session", "sessions", metavar="ID", help="Only of this session."),
        option("--iter", "iteration", metavar="N", help="Only of this iteration of the session: 2, v2."),
        option("--task", "tasks", metavar="CODE", help="Only of this task."),
        option("--run", "runs", metavar="ID", help="Only of this research run."),
        option("--since", metavar="WHEN", help="Only changed since this date or age: 2026-03-01, 7d, 12h, 2w."),
        option("--until", metavar="WHEN", help="Only changed until then; a date is that whole day, in local time."),
        option("--superseded", is_flag=True, help="Include memories that were superseded."),
    )
    for one in reversed(options):
        command = one(command)
    return command


def scope(
    *,
    project: str | None,
    kinds: tuple[str, ...],
    category: str | None,
    tags: tuple[str, ...],
    iteration: str | None,
    since: str | None,
    until: str | None,
    superseded: bool,
    **names: str | None,
) -> Scope:
    """
    The scope that the options of `scoped` name.

    Raises:
        Invalid: A kind, a note's category, an iteration or a moment is not valid.
    """
    named = frozenset(kind(name) for name in kinds)
    number = iteration_number(iteration or None)
    others: dict[str, Any] = {field: _only(name) for field, name in names.items()}
    return Scope(
        projects=_only(narrowed(project)),
        kinds=named,
        categories=_categories(category, named),
        iterations=frozenset(() if number is None else (number,)),
        tags=frozenset(tags),
        **span(since or None, until or None)._asdict(),
        statuses=frozenset() if superseded else frozenset({Standing.ACTIVE}),
        **others,
    )


def narrowed(project: str | None) -> str | None:
    """The project to narrow to, None for all; where the current folder is in none, a note says so."""
    if project == EVERYWHERE:
        return None
    named = named_project(project)
    if project == HERE and named is None:
        click.echo(
            "memory: this folder is in no project, so all projects are included; --project NAME picks one", err=True
        )
    return named


def _only(name: str | None) -> frozenset[str]:
    return frozenset({name.strip()} if name and name.strip() else ())


def _categories(name: str | None, kinds: frozenset[Kind]) -> frozenset[str]:
    """Kinds other than notes may have any category."""
    named = _only(name)
    named |= frozenset(map(note_category, named))
    if not name or named & {*CATEGORIES} or kinds - {Kind.NOTE}:
        return named
    hint = did_you_mean(name, CATEGORIES)
    raise Invalid(
        f"notes have no category {name!r}",
        hint=f"{hint} Other kinds have their own categories: name the kind with --kind.",
    )


def named_project(value: str | None, place: Path | None = None) -> str | None:
    """The project that an option names; for `HERE` that of the current folder, or of the repository `place` is in."""
    if value != HERE:
        return value or None
    from memory.config.project import current

    return current(place)


def settings() -> Config:
    """The settings in force; once in a command, says what they name that is no setting any more."""
    config, told = root_flags().load(), click.get_current_context().find_root().meta
    if config.former and not told.get(TOLD):
        told[TOLD] = True
        tell(config.former)
    return config


def named_file() -> Path | None:
    """The settings file that a flag or the environment names."""
    name = root_flags().config or os.environ.get("MEMORY_CONFIG", "")
    if not name.strip():
        return None
    from pathlib import Path

    return Path(expanded(name))


def settings_file() -> Path:
    """The settings file, which says where the database is. It may not exist yet."""
    from pathlib import Path

    return Path(root_flags().file)


@contextmanager
def opened(config: Config | None = None, *, damaged: bool = False, reads: bool = False) -> Generator[Engine]:
    """
    The user's engine for one command.

    Args:
        reads: The command only reads. Where nothing is saved yet, it gets an empty store that is taken away afterwards.
    """
    config = config or settings()
    if not reads or config.begun:
        with Engine.open(config, lasting=False, damaged=damaged) as engine:
            yield engine
        return
    from memory.engine import stored
    from memory.schema.holder import new_folder, remove_folder

    with explained(StoreError, "cannot make a temporary folder"):
        folder = new_folder()
    try:
        with Engine(stored(replace(config, home=folder)), config, lasting=False) as engine:
            yield engine
    finally:
        remove_folder(folder)


def show(data: dict[str, Any], *, err: bool = False) -> None:
    """
    A JSON document on one line.

    Args:
        err: On standard error, not on standard output.
    """
    click.echo(encoded(data, sys.stderr if err else sys.stdout), err=err)


def encoded(data: dict[str, Any], stream: TextIO | None = None) -> str:
    """JSON for a stream, with escapes for what nobody sees or its encoding has not; or for a file of UTF-8."""
    if stream is None:
        return json.dumps(data, ensure_ascii=False)
    from memory.text.display import escape_json

    return escape_json(json.dumps(data, ensure_ascii=not unicode(stream)))


def write_lines(file: str | None, lines: Iterable[str], database: str, *, force: bool) -> int:
    """
    Write lines to a file that only its owner may open: all of them, or nothing changes. Without a file, to stdout.

    Args:
        database: What the file must not be.
        force: Replace an existing file.

    Returns:
        How many there were.
    """
    if file is None:
        return sum(1 for _ in map(click.echo, lines))
    try:
        with new_file(ordinary(file, database), overwrite=force, private=True) as out:
            return sum(1 for line in lines if out.write(line.encode("utf-8", ESCAPED) + b"\n"))
    except (OSError, RuntimeError, ValueError) as error:
        from memory.tools.operation import INSTEAD

        hint = INSTEAD if isinstance(error, FileExistsError) else ""
        told = getattr(error, "strerror", None) or error
        raise Invalid(f"cannot write {printable(file)}: {told}", hint=hint) from error


def tell(notices: Iterable[Notice]) -> None:
    """Notices on stderr."""
    from memory.tools.render.text import notice

    for found in notices:
        click.echo(f"memory: {notice(found)}", err=True)


def given_text(value: str, name: str) -> str:
    """
    The text of an option; `-` reads standard input.

    Raises:
        Invalid: Standard input is not UTF-8.
    """
    return value if value != "-" else utf8(standard_input(TEXT_BYTES), f"{name} on standard input", mark=True)


def text_of(path: str, most: int, *, mark: bool = False) -> str:
    """
    The text of a file; `-` reads standard input.

    Args:
        most: Bytes.
        mark: Keep a byte order mark at the beginning.

    Raises:
        Invalid: It cannot be read, or is not UTF-8.
    """
    name = printable(path)
    with explained(Invalid, name):
        return utf8(standard_input(most) if path == "-" else contents(path, most), name, mark=mark)


def standard_input(most: int) -> bytes:
    """
    Raises:
        Invalid: It is closed, cannot be read, or has more than `most` bytes.
    """
    with explained(Invalid, "standard input"):
        return bounded(standard_stream(), most, "standard input")


def at_terminal(*, stdout: bool = False) -> bool:
    """
    Whether there is a person who can be asked.

    Args:
        stdout: The question follows what is printed there, so that it is not on stderr.
    """
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout if stdout else sys.stderr))


def agreed(question: str, *, usual: bool = False, stdout: bool = False) -> bool:
    """Whether a person says yes; `usual` is what no answer stands for."""
    return click.confirm(question, default=usual, err=not stdout)


def chosen(question: str, letters: str, usual: str) -> str:
    """The letter that a person answers; `usual` is what no answer stands for."""
    letter: str = click.prompt(question, type=click.Choice([*letters]), show_choices=False, default=usual)
    return letter


EVERY = 5.0
"""Seconds from one line of progress to the next, where stderr is no terminal."""


@contextmanager
def progress(label: str) -> Generator[Callable[[int, int], None]]:
    """
    A function to call with done and total, 0 if that is not known: it shows a bar on a terminal; elsewhere it prints a
    line every few seconds.
    """
    if sys.stderr is None:
        yield lambda _done, _total: None
        return
    if not sys.stderr.isatty():
        yield _lines(label)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None, rate="")
        begun: tuple[float, int] | None = None

        def report(done: int, total: int) -> None:
            nonlocal begun
            now = monotonic()
            begun = begun or (now, done)
            since, at_first = begun
            rate = f"{(done - at_first) / (now - since):,.0f}/s" if now > since else ""
            bar.update(task, completed=done, total=total or None, rate=rate)

        yield report


def _lines(label: str) -> Callable[[int, int], None]:
    told = monotonic()

    def report(done: int, total: int) -> None:
        nonlocal told
        if monotonic() - told >= EVERY:
            told = monotonic()
            click.echo(f"memory: {label}: {done:,}{f' of {total:,}' if total else ''}", err=True)

    return report

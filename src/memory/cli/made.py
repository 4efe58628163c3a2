"""Commands made from their declarations, in `memory.tools` or in this folder."""

from __future__ import annotations

import importlib
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from memory.cli import PATH, Plain, option, root_flags
from memory.cli.options import (
    HERE,
    agreed,
    as_json,
    at_terminal,
    chosen,
    completed,
    given_text,
    named_project,
    narrowed,
    not_blank,
    opened,
    progress,
    settings,
    show,
    standard_input,
    tell,
)
from memory.config.files import BULK_BYTES
from memory.config.project import current
from memory.schema.errors import one_project
from memory.schema.step import step
from memory.tools.operation import Call, Command, Group, Option, Person, Shown, unheard
from memory.tools.render.data import document

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


TERMINAL = Person(at_terminal, agreed, chosen, click.edit, click.echo, show, tell, progress)
"""Whoever calls a command."""

READING = frozenset(
    {
        *(
            "details",
            "inspect",
            "trash list",
            "tags list",
            "status",
            "stats",
            "ledger",
            "expand",
            "reconstruct",
            "graph about",
        ),
        *("session list", "session show", "session stats", "session context", "run list", "run show", "run context"),
        *("run export", "graph show", "graph search", "graph path", "graph stats", "graph export"),
    }
)
"""Commands that only read, whatever is asked of them."""


OF_MEMORIES = frozenset("details update delete pin unpin undo reconstruct inspect".split())
"""Commands whose ID is that of a memory, which a shell completes."""

COMPLETED = {"project": "projects", "tag": "tags"}
"""Options that a shell completes, and with what."""


def reads(path: str, given: Mapping[str, Any]) -> bool:
    """Whether a command only reads with these arguments: then it makes nothing where nothing is saved yet."""
    looks = given.get("dry_run") or given.get("conflicts")
    return path in READING or bool(looks) or (path == "doctor" and not given["fix"])


def made(path: str, *places: str) -> click.Command:
    """
    A command, or a group of them.

    Args:
        places: The modules that declare it, or those of the group, in the order of its help.
    """
    declared: dict[str, Command | Group] = {
        one.path: one for place in places for one in importlib.import_module(place).COMMANDS
    }
    found = declared[path]
    if not isinstance(found, Group):
        return command_of(found)
    first = f"{path} "
    inner = {
        name.removeprefix(first): command_of(one)
        for name, one in declared.items()
        if isinstance(one, Command) and name.startswith(first)
    }
    return _usually(found.usual)(path, inner, help=found.help, short_help=found.short)


def _usually(name: str) -> type[click.Group]:
    """A group of commands; `name` is the one that runs if none is given."""

    class Usual(click.Group):
        def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
            named = args and (not args[0].startswith("-") or args[0] in ctx.help_option_names)
            return super().parse_args(ctx, args if named else [name, *args])

    return Usual


def command_of(declared: Command) -> click.Command:
    def run(**values: Any) -> int:
        wants_json = values.pop("as_json")
        given = {one.name: _given(one, values[one.name]) for one in declared.options}
        with ExitStack() as stack, step(declared.path):
            engine = cache(lambda: stack.enter_context(opened(reads=reads(declared.path, given))))
            # Made at the first report of progress, so that it covers no question.
            bar = cache(lambda: stack.enter_context(progress(declared.progress)))

            def report(done: int, total: int) -> None:
                bar()(done, total)

            heard = report if declared.progress else unheard
            who: dict[str, Any] = {"person": TERMINAL, "flags": root_flags(), "settings": settings}
            call = Call(engine, heard, current, as_json=wants_json, **who)
            shown = declared.run(call, given)
        return _printed(declared, shown, wants_json=wants_json)

    run = as_json(run)
    for one in reversed(declared.options):
        run = _parameter(one, declared.path)(run)
    name = declared.path.rpartition(" ")[2]
    return click.command(name, cls=Plain, help=declared.help, short_help=declared.short)(run)


def _parameter(one: Option, path: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    how: dict[str, Any] = {"metavar": one.metavar or None}
    values = "ids" if one.name == "id" and path in OF_MEMORIES else COMPLETED.get(one.name)
    if values and not one.switch:
        how["shell_complete"] = completed(values)
    if one.metavar.lstrip("[").startswith(("DIR", "FILE", "FOLDER", "PATH")):
        how["type"] = PATH
    match one.takes:
        case (str(), *_):
            how["type"] = click.Choice(one.takes, case_sensitive=False)
        case (low, high):
            how["type"] = click.IntRange(low, high)
        case type():
            how["type"] = click.FloatRange(0, 1) if one.takes is float else one.takes
    if not one.blank:
        how["callback"] = not_blank
    if not one.flags:
        several = one.metavar.endswith("...")
        required = not one.metavar.startswith("[")
        return click.argument(one.name, nargs=-1 if several else 1, required=required, **how)
    if one.metavar.startswith("["):
        how |= {"is_flag": False, "flag_value": HERE}
    elif one.switch:
        how |= {"is_flag": True, "default": None if "/" in one.usage else False}
    if one.usual is not None:
        how |= {"default": one.usual, "show_default": one.usual != HERE}
    return option(*one.flags, one.name, multiple=one.several, help=one.help or None, **how)


def _given(one: Option, value: Any) -> Any:
    """A value as the operation gets it: `-` becomes standard input, `.` the project of the current folder."""
    if one.metavar == "FILE|-":
        return standard_input(BULK_BYTES) if value == "-" else value
    if one.metavar == "TEXT|-" and value is not None:
        return given_text(value, one.flags[-1])
    if one.narrows:
        return narrowed(value)
    if one.flags and one.metavar == "[NAME]":
        return named_project(value) if one_project(value) == HERE != one.usual else value
    return value


def _printed(declared: Command, shown: Shown, *, wants_json: bool) -> int:
    notes = [*shown.notes, *shown.warnings]
    if wants_json and shown.data is not None:
        show(document(declared.path.replace(" ", "-"), shown.data))
        notes = [*shown.warnings]
    elif shown.text:
        click.echo(shown.text, nl=shown.ends)
    for note in notes:
        click.echo(f"memory: {note}", err=True)
    return shown.code

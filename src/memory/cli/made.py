"""Commands made of what is declared in `memory.operations`."""

from __future__ import annotations

import importlib
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from memory.cli.options import (
    HERE,
    PATH,
    as_json,
    given_text,
    named_project,
    not_blank,
    opened,
    progress,
    show,
    standard_input,
    usually,
)
from memory.config.files import BULK_BYTES
from memory.operations.operation import Call, Command, Group
from memory.operations.render.data import document

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memory.operations.operation import Option, Shown


def made(module: str, path: str, by_hand: Mapping[str, Callable[[], click.Command]]) -> click.Command:
    """
    A command, or a group of them.

    Args:
        module: Where it is declared.
        by_hand: How those of a group are found that are not declared, by their paths.
    """
    declared: dict[str, Command | Group] = {one.path: one for one in importlib.import_module(module).COMMANDS}
    found = declared[path]
    if not isinstance(found, Group):
        return _command(found)
    first = f"{path} "
    inner = {
        name: _command(one) for name, one in declared.items() if isinstance(one, Command) and name.startswith(first)
    }
    inner |= {name: written() for name, written in by_hand.items() if name.startswith(first)}
    named = {name.removeprefix(first): one for name, one in inner.items()}
    return usually(found.usual)(path, named, help=found.help, short_help=found.short)


def _command(declared: Command) -> click.Command:
    def run(**values: Any) -> int:
        context, wants_json = click.get_current_context(), values.pop("as_json")
        given = {one.name: _given(one, values[one.name]) for one in declared.options}
        with ExitStack() as stack:
            engine = cache(lambda: stack.enter_context(opened(context)))
            report = stack.enter_context(progress(declared.progress)) if declared.progress else _unheard
            call = Call(engine, report, lambda: named_project(HERE), as_json=wants_json)
            shown = declared.run(call, given)
        return _printed(declared, shown, wants_json=wants_json)

    run = as_json(run)
    for option in reversed(declared.options):
        run = _parameter(option)(run)
    name = declared.path.rpartition(" ")[2]
    return click.command(name, help=declared.help, short_help=declared.short)(run)


def _unheard(_done: int, _total: int) -> None:
    """What is told of work that no bar is for."""


def _parameter(one: Option) -> Callable[[Callable[..., int]], Callable[..., int]]:
    how: dict[str, Any] = {"metavar": one.metavar or None}
    if one.metavar.startswith("FILE"):
        how["type"] = PATH
    match one.takes:
        case (str(), *_):
            how["type"] = click.Choice(one.takes)
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
    elif not one.metavar and one.takes is None:
        how |= {"is_flag": True, "default": None if "/" in one.usage else False}
    if one.usual is not None:
        how |= {"default": one.usual, "show_default": True}
    return click.option(*one.flags, one.name, multiple=one.several, help=one.help or None, **how)


def _given(one: Option, value: Any) -> Any:
    """What was given, or what it stands for: `-` for standard input, `.` for the project of the folder."""
    if one.metavar == "FILE|-":
        return standard_input(BULK_BYTES) if value == "-" else value
    if one.metavar == "TEXT|-" and value is not None:
        return given_text(value, one.flags[-1])
    return named_project(value) if one.flags and one.metavar == "[NAME]" and value == HERE else value


def _printed(declared: Command, shown: Shown, *, wants_json: bool) -> int:
    if wants_json and shown.data is not None:
        show(document(declared.path.replace(" ", "-"), shown.data))
        return shown.code
    if shown.text:
        click.echo(shown.text, nl=shown.ends)
    for note in shown.notes:
        click.echo(f"memory: {note}", err=True)
    return shown.code

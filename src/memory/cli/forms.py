"""Commands run with the fields of a form in place of words at a terminal: checked by the same declarations."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import click

import memory.cli as commands
from memory.cli.made import command_of, unheard
from memory.cli.options import UNATTENDED, named_project
from memory.schema.errors import Invalid, clipped_repr, did_you_mean
from memory.tools.operation import HERE, Call, Command, Option, Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memory.cli.flags import Flags
    from memory.engine import Engine

ENDLESS = ("watch", "ui")
"""Commands that end when somebody stops them."""


def declared(path: str) -> Command:
    """
    The declaration of a command, "delete" or "trash restore".

    Raises:
        Invalid: There is none, or it is written by hand, or it does not end.
    """
    first = path.partition(" ")[0]
    places = commands.COMMANDS.get(first, "").split() if first not in ENDLESS else []
    known = [one for place in places if ":" not in place for one in importlib.import_module(place).COMMANDS]
    for one in known:
        if isinstance(one, Command) and one.path == path:
            return one
    raise Invalid(f"no command {clipped_repr(path)} for a form", hint=did_you_mean(path, [*commands.COMMANDS], ""))


def filled(command: Command, fields: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """
    The arguments of a command by name, from texts by name. A text stands for itself, "-" and "." too.

    Args:
        fields: A flag is on with any text but "no"; what is left out has its default.

    Raises:
        Invalid: A field is missing, unknown, or not what it takes.
    """
    known = {one.name: one for one in command.options}
    if unknown := sorted(set(fields).difference(known)):
        raise Invalid(f"{command.path} has no {', '.join(unknown)}", hint=f"It takes {', '.join(known) or 'nothing'}.")
    words: list[str] = []
    places: list[str] = []
    for name, one in known.items():
        if one.metavar.endswith("|-") and "-" in fields.get(name, ()):
            raise Invalid(f"{name}: a form has no standard input")
        if any("\0" in text for text in fields.get(name, ())):
            raise Invalid(f"{name}: a NUL cannot be part of it")  # nor of a word at a terminal
        (words if one.flags else places).extend(_words(one, fields.get(name, ())))
    try:
        context = command_of(command).make_context(command.path, [*words, "--", *places])
    except click.ClickException as error:
        raise Invalid(f"{command.path}: {error.format_message()}") from error
    return {name: context.params[name] for name in known}


def _words(one: Option, texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        if not one.flags:
            yield text
        elif one.metavar:
            yield f"{one.flags[-1]}={text}"
        elif text != "no":
            yield one.flags[-1].partition("/")[0]
        elif "/" in one.flags[-1]:
            yield one.flags[-1].partition("/")[2]


def run(
    command: Command,
    arguments: Mapping[str, Any],
    engine: Engine,
    flags: Flags,
    progress: Callable[[int, int], None] | None = None,
) -> Shown:
    """
    Run a command on an open engine. Nobody is asked anything: who sends a form has been.

    Args:
        flags: What was named before the command that runs this.

    Raises:
        Error: Of the command.
    """
    call = Call(lambda: engine, progress or unheard, lambda: named_project(HERE), as_json=True)
    with click.Context(click.Command("memory"), obj=flags).scope() as context:
        context.meta[UNATTENDED] = True
        return command.run(call, arguments)


def said(shown: Shown) -> str:
    """What a command says to a person, on one line, without the codes of a terminal."""
    text = shown.text.decode("utf-8", "replace") if isinstance(shown.text, bytes) else shown.text
    return click.unstyle(" · ".join(filter(None, [text.strip(), *shown.notes])))

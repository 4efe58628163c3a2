"""The fields of a form as the arguments of a command, checked by its declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.tools.operation import Command, Option


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
    for name, one in known.items():
        if one.metavar.endswith("|-") and "-" in fields.get(name, ()):
            raise Invalid(f"{name}: a form has no standard input")
        if any("\0" in text for text in fields.get(name, ())):
            raise Invalid(f"{name}: a NUL cannot be part of it")  # nor of a word at a terminal
    try:
        return {name: _argument(one, fields.get(name, ())) for name, one in known.items()}
    except Invalid as error:
        raise Invalid(f"{command.path}: {error}") from error


def _argument(one: Option, texts: Sequence[str]) -> Any:
    if one.switch:
        return texts[-1] != "no" if texts else None if "/" in one.usage else False
    values = [_value(one, text) for text in texts]
    several = one.several or (not one.flags and one.metavar.endswith("..."))
    if not one.flags and not values and not one.metavar.startswith("["):
        raise Invalid(f"Missing argument '{one.metavar}'.")
    if not one.flags and not several and len(values) > 1:
        raise Invalid(f"Got unexpected extra argument ({' '.join(texts[1:])})")
    return tuple(values) if several else values[-1] if values else one.usual


def _value(one: Option, text: str) -> Any:
    wrong = f"Invalid value for {' / '.join(map(repr, one.flags or [one.metavar]))}: "
    if not one.blank and not text.strip():
        raise Invalid(f"{wrong}it must not be blank.")
    match one.takes:
        case None:
            return text
        case (str(), *_):
            if (value := {choice.casefold(): choice for choice in one.takes}.get(text.casefold())) is None:
                raise Invalid(f"{wrong}{text!r} is not one of {', '.join(map(repr, one.takes))}.")
            return value
        case (low, high):
            if text.isascii() and text.isdigit() and len(text) < 10 and low <= int(text) <= (high or int(text)):
                return int(text)
            raise Invalid(f"{wrong}{text[:20]!r} is not a whole number from {low} to {high or 'any'}.")
    raise Invalid(f"{wrong}a form does not fill it")

"""
What an operation takes and what it returns, with the JSON Schemas of both; how the arguments of an agent, and the fields of
a form, are checked.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from memory.schema.answer import Notice
from memory.schema.errors import Invalid, checked_name, clipped_repr
from memory.schema.kinds import singular
from memory.schema.memory import UID_PREFIX
from memory.tools.render.data import WHOLE, parsed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.tools.operation import Command, Operation, Option

Schema: TypeAlias = "dict[str, Any]"
"""A JSON Schema, as JSON has it."""

_ID: Schema = {"type": "string"}  # a number is taken too; some models' providers refuse a schema with two types
_PLAIN: dict[str, Schema] = {
    "id": _ID,
    "ids": {"type": "array", "items": _ID},
    "strings": {"type": "array", "items": {"type": "string"}},
}

SOUGHT = ("task", "about", "q", "question", "topic", "text")
MANY = ("max_results", "top_k", "k", "n", "count")
IDS = ("memory_id", "uid", "memory")
"""What models call a query, a limit and an id where they guess."""

LONG = 10 ** (UID_PREFIX - 1)
"""The least number that has as many digits as a short id."""

Sort = Literal["string", "integer", "number", "boolean", "strings", "id", "ids", "object", "objects"]
"""What an argument takes. An id is text or, for some programs, a number; an object may be JSON text."""


class Parameter:
    """
    One argument of an operation. A plain class, because each process creates its classes anew and this is the cheapest kind.

    Attributes:
        meaning: What an agent is told of it, in a clause.
        low, high: Range of an integer; a value outside becomes the bound, with a notice.
        strict: A value outside the range is refused instead.
        fields: The fields of each object.
        usual: Its default, where no setting changes that.
        also: Names that other servers use for it, or models guess. They are accepted, but not in the schema.
        plain: Its name says it: the schema, which is sent with every request, leaves the meaning out.
        hidden: It is accepted, but only in the schema of the toolset care.
        named: It is a name: not blank, and no longer than names may be.
        plural: It is a kind; its plural is accepted too.
        whole: Of a list, a text is one of it, with its commas.
    """

    def __init__(
        self,
        name: str,
        sort: Sort,
        meaning: str,
        *,
        required: bool = False,
        choices: tuple[str, ...] = (),
        low: int = 0,
        high: int = 0,
        strict: bool = False,
        usual: int | None = None,
        fields: tuple[Parameter, ...] = (),
        also: tuple[str, ...] = (),
        named: bool = False,
        plural: bool = False,
        whole: bool = False,
        plain: bool = False,
        hidden: bool = False,
    ) -> None:
        self.name, self.sort, self.meaning, self.required = name, sort, meaning, required
        self.choices, self.low, self.high, self.strict, self.usual = choices, low, high, strict, usual
        self.fields, self.also, self.named, self.plural = fields, also, named, plural
        self.plain, self.hidden, self.whole = plain, hidden, whole

    @property
    def schema(self) -> Schema:
        match self.sort:
            case "objects":
                schema = several(described(self.fields))
            case "integer":
                schema = {"type": "integer"} | ({} if self.usual is None else {"default": self.usual})
            case "string" if self.choices:
                schema = {"type": "string", "enum": list(self.choices)}
            case _:
                schema = _PLAIN.get(self.sort, {"type": self.sort})
        return schema if self.plain else schema | {"description": self.meaning}


brief = partial(Parameter, plain=True)
"""An argument that its name explains. What several tools of a toolset share is in the instructions of the server."""

ID = brief("id", "id", "The id that recall or a search shows.", required=True, also=IDS)


def described(parameters: tuple[Parameter, ...]) -> Schema:
    """The JSON Schema of an object with these fields. It forbids no others: those with other names are taken too."""
    shown = [one for one in parameters if not one.hidden]
    schema: Schema = {"type": "object", "properties": {one.name: one.schema for one in shown}}
    if required := [one.name for one in shown if one.required]:
        schema["required"] = required
    return schema


def checked(tool: Operation, arguments: Mapping[str, object]) -> tuple[dict[str, Any], tuple[Notice, ...]]:
    """
    The checked arguments of a call; null counts as left out.

    Raises:
        Invalid: One is missing, unknown or of the wrong type; the message says what would be right.
    """
    notices: list[Notice] = []
    return _fields(arguments, tool.parameters, f"{tool.name} has no argument", tool.name, notices), tuple(notices)


def _fields(
    given: Mapping[str, object], parameters: tuple[Parameter, ...], unknown: str, owner: str, notices: list[Notice]
) -> dict[str, Any]:
    """
    Args:
        unknown: How the message about an unknown name begins.
        owner: The tool, or the place of the object: "entities[2]".
    """
    known = {name: one for one in parameters for name in (one.name, *one.also)}
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise Invalid(f"{unknown} {name[:60]!r}", hint=_suggestion(name, [one.name for one in parameters]))
        if value is None:
            continue
        one = known[name]
        if one.name in found:
            raise Invalid(f"{owner} has {one.name!r} twice, once as {name!r}", hint="Give one of them.")
        place = f"{owner}.{name}" if "[" in owner else name
        named = singular(value) if one.plural and isinstance(value, str) else value
        found[one.name] = _value(one, named, notices, place=place)
        if one.named:
            checked_name(place, found[one.name])
    for one in parameters:
        if one.required and one.name not in found:
            raise Invalid(f"{owner} needs {one.name!r}", hint=one.meaning)
    return found


def _suggestion(name: str, known: list[str]) -> str:
    there = f"It takes {', '.join(known)}." if known else "It takes none."
    from difflib import get_close_matches

    suggestions = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"Did you mean {suggestions[0]!r}? {there}" if suggestions else there


def _value(one: Parameter, given: object, notices: list[Notice], *, place: str) -> object:  # noqa: PLR0911  # one answer a case
    value = _read(one, given)
    match one.sort, value:
        case ("boolean", bool()) | ("string", str()) if not one.choices or value in one.choices:
            return value
        case "number", int() | float() if not isinstance(value, bool):
            return float(value)
        case "id", _ if (id := _id(value)) is not None:
            return id
        case "ids", list() if None not in (ids := tuple(map(_id, value))):
            return ids
        case "object", dict() | str():
            return _parsed(place, value)
        case "objects", list():
            return tuple(_record(one, item, notices, place=f"{place}[{n}]") for n, item in enumerate(value))
        case "strings", list() if all(isinstance(item, str) for item in value):
            return tuple(value)
        case "integer", int() | float() if (bound := _bounded(one, value)) is not None:
            if bound != value:
                said = f"{place} {clipped_repr(value)} is not in {one.low}..{one.high}: {bound} was taken"
                notices.append(Notice(said))
            return bound
    wanted = {
        "boolean": "true or false",
        "string": f"one of {', '.join(one.choices)}" if one.choices else "text",
        "strings": 'a list of texts, ["a", "b"]',
        "id": "an id",
        "ids": "a list of ids",
        "object": "an object",
        "objects": "a list of objects",
        "number": "a number",
        "integer": f"a whole number from {one.low} to {one.high}",
    }
    raise Invalid(f"{place} must be {wanted[one.sort]}, not {str(given)[:60]!r} ({_sort(given)})")


_FLAGS: dict[object, bool] = dict.fromkeys(("true", "yes", "on", "1", 1), True)
_FLAGS |= dict.fromkeys(("false", "no", "off", "0", 0), False)
_NUMERAL = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{0,18})?")


def _read(one: Parameter, given: object) -> object:
    """What an argument says that was passed as text, as some programs do; whatever is not understood stays as it is."""
    text = given.strip() if isinstance(given, str) else ""
    match one.sort:
        case "boolean" if isinstance(given, str | int | float):
            return _FLAGS.get(text.lower() if isinstance(given, str) else given, given)
        case "integer" | "number" if _NUMERAL.fullmatch(text):
            return float(text) if "." in text else int(text)
        case "string" if one.choices and text:
            return next((name for name in one.choices if name == text.lower()), given)
        case "strings" | "ids" | "objects" if isinstance(given, str):
            return _listed(one, text, given)
        case "ids" | "objects" if isinstance(given, dict | int | float):
            return [given]
    return given


def _listed(one: Parameter, text: str, given: str) -> object:
    """A list as text: JSON, or for texts and ids what stands between commas."""
    if text.startswith("[") or one.sort == "objects":
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return [given] if one.whole else given
        return [found] if isinstance(found, dict) else found
    if one.whole:
        return [given] if text else []
    return [part.strip() for part in text.split(",") if part.strip()]


def _bounded(one: Parameter, value: float) -> int | None:
    """A whole number, or the bound it is beyond; None if it is not a whole number, or is refused."""
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        return None
    bound = min(max(int(value), one.low), one.high)
    return None if one.strict and bound != value else bound


def _parsed(place: str, value: dict[str, Any] | str) -> dict[str, Any]:
    """An object, which some programs pass as JSON text."""
    if isinstance(value, dict):
        return value
    try:
        found = json.loads(value or "{}")
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{place} is not JSON: {error}", hint="Give an object.") from error
    if not isinstance(found, dict):
        raise Invalid(f"{place} must be a JSON object, not {_sort(found)}")
    return found


def _id(value: object) -> str | int | None:
    """The id, or None if the value is not one. A long number is text: a short id without letters looks so in JSON."""
    match value:
        case bool():
            return None
        case str():
            return value
        case int():
            return value if value < LONG else str(value)
        case float() if value.is_integer():
            return _id(int(value))
    return None


def _record(one: Parameter, value: object, notices: list[Notice], *, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Invalid(f"{place} must be an object, not {str(value)[:60]!r} ({_sort(value)})")
    return _fields(value, one.fields, f"{place} has no field", place, notices)


def _sort(value: object) -> str:
    """The JSON name of a value's type."""
    names = {bool: "a boolean", str: "a text", list: "a list", dict: "an object", int: "a number", float: "a number"}
    return names.get(type(value), "null")


# What an operation gives ---------------------------------------------------


def several(item: Schema) -> Schema:
    return {"type": "array", "items": item}


_SHAPES: dict[str, Schema] = {
    "text": {"type": "string"},
    "text?": {"type": ["string", "null"]},
    "number": {"type": "integer"},
    "number?": {"type": ["integer", "null"]},
    "real": {"type": "number"},
    "real?": {"type": ["number", "null"]},
    "flag": {"type": "boolean"},
    "object": {"type": "object"},
    "object?": {"type": ["object", "null"]},
    "texts": several({"type": "string"}),
    "rows": several({"type": "object"}),
}


def record(fields: str, **shapes: Schema) -> Schema:
    """
    An object that has all of these fields.

    Args:
        fields: "title tags:texts project:text?", see `memory.tools.render.data.row`.
        shapes: More shapes, by name.
    """
    known = _SHAPES | shapes
    properties = {name: known[shape] for name, _, shape in parsed(fields)}
    return {"type": "object", "properties": properties, "required": list(properties)}


def extended(schema: Schema, fields: str, **shapes: Schema) -> Schema:
    """The schema of a record, with more fields."""
    properties = schema["properties"] | record(fields, **shapes)["properties"]
    return schema | {"properties": properties, "required": list(properties)}


_POINTER = (
    "id memory_id:number kind title what why impact category:text? tags:texts project:text? source:text? agent_id:text? "
    "has_details:flag flags:texts created_at"
)
_HIT = record(f"{_POINTER} rank:number score:real text")

SHAPES: dict[str, Schema] = {
    "pointer": record(_POINTER),
    "pointers": several(record(_POINTER)),
    "whole": record(WHOLE),
    "hits": several(_HIT),
    "name": record("id memory_id:number title"),
    "notices": several(record("text hint")),
}
"""Shapes that several toolsets use: a memory in short and whole, hits, notices."""


def outline(schema: Schema) -> Schema:
    """The fields of a record with their types, "any" if one may be null, without what is in them."""
    types = {name: one["type"] for name, one in schema["properties"].items()}
    return {
        "type": "object",
        "properties": {name: {"type": type} if isinstance(type, str) else {} for name, type in types.items()},
    }


def answer_record(fields: str, **shapes: Schema) -> Schema:
    """The schema of an answer; its fields may use the names in `SHAPES`."""
    return record(fields, **SHAPES, **shapes)


# The fields of a form ----------------------------------------------------------


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
            raise Invalid(f"{name}: a form cannot read standard input")
        if any("\0" in text for text in fields.get(name, ())):
            raise Invalid(f"{name}: a NUL cannot be part of it")  # nor of a word at a terminal
    try:
        return {name: _option_argument(one, fields.get(name, ())) for name, one in known.items()}
    except Invalid as error:
        raise Invalid(f"{command.path}: {error}") from error


def _option_argument(one: Option, texts: Sequence[str]) -> Any:
    if one.switch:
        return texts[-1] != "no" if texts else None if "/" in one.usage else False
    values = [_option_value(one, text) for text in texts]
    several = one.several or (not one.flags and one.metavar.endswith("..."))
    if not one.flags and not values and not one.metavar.startswith("["):
        raise Invalid(f"Missing argument '{one.metavar}'.")
    if not one.flags and not several and len(values) > 1:
        raise Invalid(f"Got unexpected extra argument ({' '.join(texts[1:])})")
    return tuple(values) if several else values[-1] if values else one.usual


def _option_value(one: Option, text: str) -> Any:
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
    raise Invalid(f"{wrong}a form cannot fill it")

"""What a tool is: its name, what it takes, what it gives, and strict checking of what an agent passes."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from memory.errors import Invalid
from memory.limits import short
from memory.query import Notice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memory.engine import Engine
    from memory.errors import Error

Schema: TypeAlias = "dict[str, Any]"
"""A JSON Schema, as JSON has it."""

Sort = Literal["string", "integer", "number", "boolean", "strings", "id"]
"""What an argument takes; an id is a text or, as some programs know it, a number."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    One argument of a tool.

    Attributes:
        meaning: What it says, for the agent: a clause.
        low, high: Range of an integer; what is beyond is taken as the bound, with a notice (CAP X23).
        strict: What is beyond is refused.
    """

    name: str
    sort: Sort
    meaning: str
    required: bool = False
    choices: tuple[str, ...] = ()
    low: int = 0
    high: int = 0
    strict: bool = False

    @property
    def schema(self) -> Schema:
        said: Schema = {"description": self.meaning}
        match self.sort:
            case "strings":
                return {"type": "array", "items": {"type": "string"}} | said
            case "id":
                return {"type": ["string", "integer"]} | said
            case "integer":
                return {"type": "integer", "minimum": self.low, "maximum": self.high} | said
            case "string" if self.choices:
                return {"type": "string", "enum": list(self.choices)} | said
        return {"type": self.sort} | said


class Call(NamedTuple):
    """
    What a tool works with, besides its arguments.

    Attributes:
        place: The project that the client works on; None if that is not known.
        client: The program that calls, by the name it gave; empty if it gave none.
        progress: To be told how much of a long work is done, from any thread.
    """

    engine: Engine
    place: str | None
    client: str
    progress: Callable[[int, int], None]


class Result(NamedTuple):
    """
    Attributes:
        data: JSON, as the tool's output schema has it.
        text: The same for an agent that reads only this.
        failed: It says in its own form that it could not be done.
    """

    data: dict[str, Any]
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """
    Attributes:
        description: When to use it and what for, below 120 words.
        placed: The argument that defaults to, or may be ".", the client's project; empty if there is none.
        always: Whether the project is needed even if that argument is not given.
        problem: Says an error in the form of this tool; None leaves it to the server.
        reads, destroys, repeats: The hints of the protocol: changes nothing; takes something away for good; a second
            call with the same arguments changes nothing more. None reaches into an open world: it is our memory.
    """

    name: str
    toolset: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    output: Schema
    run: Callable[[Call, Mapping[str, Any]], Result]
    placed: str = ""
    always: bool = False
    problem: Callable[[Error], Result] | None = None
    reads: bool = False
    destroys: bool = False
    repeats: bool = False

    @property
    def input(self) -> Schema:
        """The JSON Schema of its arguments; no others are taken."""
        schema: Schema = {"type": "object", "properties": {one.name: one.schema for one in self.parameters}}
        if required := [one.name for one in self.parameters if one.required]:
            schema["required"] = required
        return schema | {"additionalProperties": False}

    def wants_place(self, arguments: Mapping[str, Any]) -> bool:
        """Whether the client's project has to be found out for these arguments."""
        given = arguments.get(self.placed) if self.placed else None
        return bool(self.placed) and (given == HERE or (given is None and self.always))


HERE = "."
"""The project that the client works on, as a value of `project`."""


def checked(tool: Tool, arguments: Mapping[str, object]) -> tuple[dict[str, Any], tuple[Notice, ...]]:
    """
    The arguments of a call as a tool may trust them; what is null counts as left out.

    Raises:
        Invalid: One is missing, unknown or of another type; the sentence says what would be right.
    """
    known = {one.name: one for one in tool.parameters}
    for name in arguments:
        if name not in known:
            raise Invalid(f"{tool.name} has no argument {name[:60]!r}", hint=_nearest(name, list(known)))
    given = {name: value for name, value in arguments.items() if value is not None}
    for one in tool.parameters:
        if one.required and one.name not in given:
            raise Invalid(f"{tool.name} needs {one.name!r}", hint=one.meaning)
    notices: list[Notice] = []
    found = {name: _value(known[name], value, notices) for name, value in given.items()}
    return found, tuple(notices)


def _nearest(name: str, known: list[str]) -> str:
    there = f"It takes {', '.join(known)}." if known else "It takes none."
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"Did you mean {near[0]!r}? {there}" if near else there


def _value(one: Parameter, value: object, notices: list[Notice]) -> object:  # noqa: PLR0911  # one answer a case
    match one.sort, value:
        case ("boolean", bool()) | ("string", str()) if not one.choices or value in one.choices:
            return value
        case "number", int() | float() if not isinstance(value, bool):
            return float(value)
        case "id", float() if value.is_integer():
            return int(value)
        case "id", str() | int() if not isinstance(value, bool):
            return value
        case "strings", list() if all(isinstance(item, str) for item in value):
            return tuple(value)
        case "integer", float() if value.is_integer():
            return _value(one, int(value), notices)
        case "integer", int() if not isinstance(value, bool) and (one.low <= value <= one.high or not one.strict):
            if (bound := min(max(value, one.low), one.high)) != value:
                said = f"{one.name} {short(value)} is not in {one.low}..{one.high}: {bound} was taken"
                notices.append(Notice(said))
            return bound
    wanted = {
        "boolean": "true or false",
        "string": f"one of {', '.join(one.choices)}" if one.choices else "text",
        "strings": "a list of texts",
        "id": "an id",
        "number": "a number",
        "integer": f"a whole number from {one.low} to {one.high}",
    }
    raise Invalid(f"{one.name} must be {wanted[one.sort]}, not {str(value)[:60]!r} ({_sort(value)})")


def _sort(value: object) -> str:
    """A type by its name in JSON."""
    names = {bool: "a boolean", str: "a text", list: "a list", dict: "an object", int: "a number", float: "a number"}
    return names.get(type(value), "null")

"""How a verb of the entity graph is declared: as a function that is both a tool and a method, and as a command."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from memory.schema.query import MOST
from memory.text.display import INTRODUCTION, escape_controls
from memory.tools.arguments import MANY, SOUGHT, Parameter, answer_record, brief
from memory.tools.graph import text
from memory.tools.graph.rows import SHAPES, Values, shown
from memory.tools.operation import Call, Command, Given, Operation, Option, Result, Shown, told

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.engine import Engine

Method = TypeVar("Method", bound="Callable[..., Values]")

DECLARED: dict[str, Operation] = {}
"""The tools by name."""

QUERY = brief("query", "string", "What to look for: words or a question.", required=True, also=SOUGHT)
ENTITY = brief("entity", "id", "The entity's name or id.", required=True)
PAGE = Option("-n --limit N", takes=(1, MOST), usual=20)


class GraphTools:
    """What verbs work on: an engine, and who uses it."""

    def __init__(self, engine: Engine, *, source: str | None = None, agent: str | None = None) -> None:
        """
        Args:
            source: The program that saves, e.g. "claude-code".
            agent: The agent that saves.
        """
        self._engine, self.source, self.agent = engine, source, agent

    @property
    def engine(self) -> Engine:
        """The engine it works on."""
        return self._engine


def tool(title: str, returns: str, *parameters: Parameter, **hints: Any) -> Callable[[Method], Method]:
    """
    Declare a method of `EntityGraph` as a tool of the same name: a function whose first parameter is `self`, as whoever
    looks at the class expects. Agents read the first paragraph of its docstring.

    Args:
        returns: The fields of its answer, besides those that all answers have.
    """

    def declared(method: Method) -> Method:
        def run(call: Call, arguments: Given) -> Result:
            work = {"progress": call.progress} if "progress" in (method.__kwdefaults__ or ()) else {}
            values = method(GraphTools(call.engine, source=call.client or None), **arguments, **work)
            return Result({**values, "about": INTRODUCTION}, text.answer(shown(call.engine, values)))

        name, schema = method.__name__, answer_record(f"about {returns} notices:notices", **SHAPES)
        DECLARED[name] = Operation(name, title, told(method), parameters, schema, run=run, **hints)
        return method

    return declared


reading = partial(tool, reads=True)


def command(usage: str, *options: Option) -> Callable[[Callable[[GraphTools, Given], Values]], Command]:
    """Declare a command of `memory graph`: it prints rows, a summary and notices."""

    def declared(run: Callable[[GraphTools, Given], Values]) -> Command:
        def printed(call: Call, a: Given) -> Shown:
            values = run(GraphTools(call.engine), a)
            notes = (text.person(values), *(f"{one['text']} {one['hint']}".rstrip() for one in values["notices"]))
            lines = escape_controls("\n".join(text.lines(shown(call.engine, values), text.VERBS)))
            return Shown(values, lines, tuple(map(escape_controls, filter(None, notes))))

        return Command(f"graph {usage}", run.__doc__ or "", options, printed)

    return declared


def limit(usual: int, most: int = 100) -> Parameter:
    return brief("limit", "integer", f"Maximum results; usually {usual}.", low=1, high=most, also=MANY)


def distance(usual: int) -> Parameter:
    meaning = f"Maximum relations away; usually {usual}."
    return brief("max_distance", "integer", meaning, low=0, high=10, strict=True)

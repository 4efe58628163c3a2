"""How a verb is declared, as a tool for agents and as a command for people; and which tools an agent is shown."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from memory.config import Flags
from memory.config.settings import TOOLSETS
from memory.schema.errors import Error, Invalid, clipped_repr, did_you_mean
from memory.schema.query import MOST
from memory.tools.arguments import Parameter, Schema, answer_record, described, outline

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from memory.config import Config
    from memory.engine import Engine
    from memory.schema.answer import Notice

Declared = TypeVar("Declared")

Given: TypeAlias = "Mapping[str, Any]"
"""Arguments by name."""

Progress: TypeAlias = "Callable[[int, int], None]"
"""Called with how much of a long task is done, and of how much."""

HERE = "."
"""As a value of `project`: the one the client works on, or that of the current folder."""


class Person(NamedTuple):
    """
    Who asked for a command, while it runs. Where nothing is given nobody is there: nobody is asked, and nobody hears.

    Attributes:
        there: Whether they can be asked; with `stdout`, by a question that follows what is printed there.
        agrees: Whether they say yes to a question; `usual` is what no answer stands for.
        chooses: The letter, one of several, that they answer.
        edits: What they make of a text in their editor; None if they left it as it was.
        say: Prints a line now.
        show: Prints a JSON document now.
        tell: Prints notices now, beside what is printed.
        progress: What shows how far something is, by its label: called with done and total, 0 if that is not known.
    """

    there: Callable[..., bool] = lambda **_: False
    agrees: Callable[..., bool] = lambda _question, **_: False
    chooses: Callable[..., str] = lambda _question, _letters, usual: usual
    edits: Callable[[str], str | None] = lambda _text: None
    say: Callable[[str], None] = lambda _text: None
    show: Callable[[dict[str, Any]], None] = lambda _values: None
    tell: Callable[[Iterable[Notice]], None] = lambda _notices: None
    progress: Callable[[str], AbstractContextManager[Progress]] = lambda _label: nullcontext(unheard)


def unheard(_done: int, _total: int) -> None:
    """Progress that nobody looks at."""


class Call:
    """
    What an operation works with, besides its arguments.

    Attributes:
        client: The calling program, by the name it gave; empty if it gave none.
        progress: Called with how much of a long task is done, from any thread.
        told: What the server says about the arguments, after the text.
        as_json: The command prints JSON; what only JSON contains need not be read otherwise.
        flags: What was named before the command.
        settings: Reads the settings in force.
    """

    def __init__(
        self,
        opened: Callable[[], Engine],
        progress: Progress,
        place: Callable[[], str | None],
        *,
        client: str = "",
        told: tuple[Notice, ...] = (),
        as_json: bool = False,
        person: Person = Person(),  # noqa: B008  # it never changes
        flags: Flags = Flags(),  # noqa: B008
        settings: Callable[[], Config] | None = None,
    ) -> None:
        self._opened, self.progress, self._place = opened, progress, place
        self.client, self.told, self.as_json = client, told, as_json
        self.person, self.flags, self.settings = person, flags, settings or flags.load

    @property
    def engine(self) -> Engine:
        """Opened at its first use by a command, so that wrong arguments are reported before a database is created."""
        return self._opened()

    @property
    def project(self) -> str | None:
        """The project the client works on, or that of the current folder; None if unknown."""
        return self._place()

    def agreed(self, question: str) -> bool:
        """Whether a person at a terminal says yes; where there is none, nobody is asked."""
        return not self.person.there() or self.person.agrees(question)


class Result(NamedTuple):
    """
    What a tool answers.

    Attributes:
        data: JSON, by the tool's output schema.
        text: The same for an agent that reads only text.
        failed: The answer reports a failure in the tool's own form.
    """

    data: dict[str, Any]
    text: str
    failed: bool = False


class Shown(NamedTuple):
    """
    What a command prints.

    Attributes:
        data: JSON, for `--json`; None if the text is JSON itself.
        text: For a person, on standard output; safe to show.
        notes: Notices, a line each on standard error; safe to show.
        code: Of the process.
        ends: Whether a newline follows the text.
        warnings: As notes, but also beside JSON, which does not say so.
    """

    data: dict[str, Any] | None
    text: str | bytes
    notes: Sequence[str] = ()
    code: int = 0
    ends: bool = True
    warnings: Sequence[str] = ()


class Option:
    """
    An option or argument of a command, as its help shows it.

    Attributes:
        usage: "-n --limit N"; "--force" is on or off, "--embed/--no-embed" also neither. What begins with no dash is an
            argument: "NAME", "[NAME]" may be left out, "TEXT..." takes several. "--project [NAME]" without a name is
            that of the current folder; "TEXT|-" and "FILE|-" may come from standard input, a file then as bytes.
        takes: int; a range of whole numbers (1, 100), None being no end; float, from 0 to 1; choices ("a", "b").
        usual: The default, which the help says; of "--project [NAME]", ".": the command itself finds out which.
        several: It may be repeated.
        blank: Whether a blank text is accepted.
        switch: It is on or off.
        narrows: Of "--project [NAME]": it narrows to a project, and a note says so where the current folder is in none.
        name: Its key in the arguments: "--vector-weight W" is `vector_weight`, "[ID]..." is `id`, unless another is given.
    """

    def __init__(
        self,
        usage: str,
        help: str = "",
        *,
        takes: type[int | float] | tuple[Any, ...] | None = None,
        usual: int | str | None = None,
        several: bool = False,
        blank: bool = True,
        narrows: bool = False,
        name: str = "",
    ) -> None:
        self.usage, self.help, self.takes, self.usual = usage, help, takes, usual
        self.several, self.blank, self.narrows = several, blank, narrows
        words = usage.split()
        self.flags = [word for word in words if word.startswith("-")]
        self.metavar = " ".join(words[len(self.flags) :])
        self.switch = bool(self.flags) and not self.metavar and takes is None
        self.name = name or self._usual_name()

    def _usual_name(self) -> str:
        if self.flags:
            return self.flags[-1].partition("/")[0].lstrip("-").replace("-", "_")
        return self.metavar.strip("[].").partition("|")[0].partition(" ")[0].lower()


PAGE = Option("-n --limit N", "Show at most N.", takes=(1, MOST), usual=20)
"""Of the commands that list."""

OUTPUT = (
    Option("-o --output FILE", "Write to this file instead of stdout."),
    Option("--force", "With -o: replace an existing file."),
)
"""Of the commands that write a file for another memory or program."""

INSTEAD = "Choose another name, or replace it with --force."

YES = Option("--yes", "Do not ask.")
"""Of the commands that ask at a terminal."""


class Command:
    """
    A command: how a person asks for something.

    Attributes:
        path: "details", or "graph link" of a group.
        short, help: In the list of commands, and in its own help: the first sentence of that.
        run: Called with the arguments by name: "--vector-weight" is `vector_weight`, "TEXT..." is `text`.
        progress: The label of a progress bar; empty for none.
    """

    def __init__(
        self,
        usage: str,
        help: str,
        options: Sequence[Option],
        run: Callable[[Call, Given], Shown],
        *,
        progress: str = "",
    ) -> None:
        words = usage.split()
        self.path = " ".join(word for word in words if word.islower())
        self.options = (*(Option(word) for word in words if not word.islower()), *options)
        self.short, self.help, self.run, self.progress = _sentence(help), help, run, progress


def command(usage: str, *options: Option, progress: str = "") -> Callable[[Callable[[Call, Given], Shown]], Command]:
    """
    Declare a command by the function it runs; the docstring of that is its help.

    Args:
        usage: The path and the arguments in capitals, "graph link SOURCE TYPE TARGET"; an argument that has more to be
            said is an option without a dash.
    """
    return lambda run: Command(usage, run.__doc__ or "", options, run, progress=progress)


class Group:
    """
    Commands that share their first word, in the order in which they are declared.

    Attributes:
        usual: The command that runs if none is named.
    """

    def __init__(self, path: str, usual: str, help: str) -> None:
        self.path, self.usual, self.short, self.help = path, usual, _sentence(help), help


def group(path: str, usual: str) -> Callable[[Callable[[], None]], Group]:
    """Declare a group; the docstring of an empty function is its help."""
    return lambda named: Group(path, usual, named.__doc__ or "")


class Operation:
    """
    A tool: what an agent can ask for. A plain class; see `Parameter`.

    Attributes:
        description: When to use it and what for, below 120 words.
        returns: The JSON Schema of its answer.
        project_argument: The argument that defaults to the client's project, or may be "." for it; empty if there is none.
        always: Whether the project is needed even without that argument.
        problem: Answers an error in the form of this tool; None leaves it to the server.
        reads, destroys: Hints of the protocol: it changes nothing; it deletes something. No tool reaches beyond
            this memory.
    """

    def __init__(
        self,
        name: str,
        title: str,
        description: str,
        parameters: tuple[Parameter, ...],
        returns: Schema,
        *,
        run: Callable[[Call, Given], Result],
        project_argument: str = "",
        always: bool = False,
        problem: Callable[[Error], Result] | None = None,
        reads: bool = False,
        destroys: bool = False,
    ) -> None:
        self.name, self.title, self.description, self.parameters = name, title, description, parameters
        self.returns, self.run, self.problem = returns, run, problem
        self.project_argument, self.always = project_argument, always
        self.reads, self.destroys = reads, destroys

    @property
    def input(self) -> Schema:
        """The JSON Schema of its arguments, as agents see it: without those that are hidden."""
        return described(self.parameters)

    @property
    def output(self) -> Schema:
        """The JSON Schema of its answer in short, as clients see it: all of it is in `returns`."""
        return outline(self.returns)

    def wants_project(self, arguments: Given) -> bool:
        """Whether these arguments need the client's project."""
        given = arguments.get(self.project_argument) if self.project_argument else None
        return bool(self.project_argument) and (given == HERE or (given is None and self.always))


def tool(
    title: str, returns: str, *parameters: Parameter, **more: Any
) -> Callable[[Callable[[Call, Given], Result]], Operation]:
    """
    Declare a tool by the function it runs: it has that name, and the docstring is its description.

    Args:
        returns: The fields of its answer, see `memory.tools.arguments.record`.
        more: See `Operation`.
    """

    def declared(run: Callable[[Call, Given], Result]) -> Operation:
        return Operation(run.__name__, title, told(run), parameters, answer_record(returns), run=run, **more)

    return declared


reading = partial(tool, reads=True)


def told(function: Callable[..., object]) -> str:
    """The first paragraph of a docstring as one line: the description of a tool."""
    return _paragraph(function.__doc__ or "")


def _paragraph(words: str) -> str:
    return " ".join(words.strip().partition("\n\n")[0].split())


def _sentence(help: str) -> str:
    """The first sentence, with its full stop."""
    return f"{_paragraph(help).partition('. ')[0].rstrip('.')}."


def but(declared: Declared, **changes: object) -> Declared:
    """A copy of a declaration with some changes."""
    return type(declared)(**(vars(declared) | changes))


# Toolsets: few tools by default, since each takes room in an agent's context.

CARE, ALL = "care", TOOLSETS[-1]
_HOMES = dict(zip(TOOLSETS, ("daily", "upkeep", "sessions", "research.operations", "graph"), strict=False))
"""The module of each toolset's tools. Only those of the chosen toolsets are imported."""


def chosen(names: Iterable[str]) -> tuple[Operation, ...]:
    """
    The tools of some toolsets, always in the same order; "all" is every one. Of two tools of one name the later wins: it
    accepts all that the earlier does, and more.

    With "care", or "all", the tools show every argument that they take.

    Raises:
        Invalid: There is no such toolset.
    """
    wanted = set(names)
    for name in sorted(wanted):
        if name not in TOOLSETS:
            hint = f"{did_you_mean(name, TOOLSETS, '')} There are: {', '.join(TOOLSETS)}."
            raise Invalid(f"no toolset {name!r}", hint=hint.lstrip())
    found = {tool.name: tool for name in _HOMES if ALL in wanted or name in wanted for tool in _tools(name)}
    if not {CARE, ALL} & wanted:
        return tuple(found.values())
    return tuple(but(one, parameters=tuple(but(p, hidden=False) for p in one.parameters)) for one in found.values())


def _tools(toolset: str) -> tuple[Operation, ...]:
    found: tuple[Operation, ...] = import_module(f"memory.tools.{_HOMES[toolset]}").OPERATIONS
    return found


def unknown(name: str, known: Collection[str]) -> str:
    """The message about a tool that was not chosen."""
    if elsewhere := next((home for home in _HOMES for tool in _tools(home) if tool.name == name), None):
        brought = f"the setting mcp.toolsets or `memory mcp --toolset {elsewhere}`"
        return (
            f"{name} is in the toolset {elsewhere}, which this server does not have. The user brings it by {brought}."
        )
    return f"no tool {clipped_repr(name)}. {did_you_mean(name, known)}"

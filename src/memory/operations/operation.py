"""What can be asked of the product, each declared once: its tool, its command and the reference are made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memory.operations.arguments import described

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.engine import Engine
    from memory.operations.arguments import Parameter, Schema
    from memory.schema.answer import Notice
    from memory.schema.errors import Error

Declared = TypeVar("Declared")

HERE = "."
"""The project that the client works on, or that of the current folder, as a value of `project`."""


class Call:
    """
    What an operation works with, besides its arguments.

    Attributes:
        project: The one that the client works on; None if that is not known.
        client: The program that calls, by the name it gave; empty if it gave none.
        progress: To be told how much of a long work is done, from any thread.
        told: What the server says of the arguments, after the text.
        as_json: A command is to print JSON: what only that has need not be looked up for a person.
    """

    def __init__(
        self,
        opened: Callable[[], Engine],
        progress: Callable[[int, int], None],
        *,
        project: str | None = None,
        client: str = "",
        told: tuple[Notice, ...] = (),
        as_json: bool = False,
    ) -> None:
        self._opened, self.progress, self.as_json = opened, progress, as_json
        self.project, self.client, self.told = project, client, told

    @property
    def engine(self) -> Engine:
        """Of a command, opened when it is first asked for: what is asked wrongly is said before."""
        return self._opened()


class Result(NamedTuple):
    """
    What a tool answers.

    Attributes:
        data: JSON, as the tool's output schema has it.
        text: The same for an agent that reads only this.
        failed: It says in its own form that it could not be done.
    """

    data: dict[str, Any]
    text: str
    failed: bool = False


class Shown(NamedTuple):
    """
    What a command prints.

    Attributes:
        data: JSON, for `--json`.
        text: For a person, on standard output; safe to show.
        notes: What should be known besides, a line each on standard error; safe to show.
        code: Of the process.
        ends: Whether a newline follows the text.
    """

    data: dict[str, Any]
    text: str
    notes: Sequence[str] = ()
    code: int = 0
    ends: bool = True


class Option:
    """
    What a person may give a command, as its help shows it.

    Attributes:
        usage: "-n --limit N"; "--force" is on or off, "--embed/--no-embed" also neither. What begins with no dash is an
            argument: "NAME", "[NAME]" may be left out, "TEXT..." takes several. "--project [NAME]" without a name is
            that of the current folder, "TEXT|-" may come from standard input.
        takes: int; a range of whole numbers (1, 100), None being no end; float, from 0 to 1; choices ("a", "b").
        usual: The default, which the help says.
        several: It may be repeated.
        blank: Whether a text of blanks alone is taken.
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
    ) -> None:
        self.usage, self.help, self.takes, self.usual = usage, help, takes, usual
        self.several, self.blank = several, blank
        words = usage.split()
        self.flags = [word for word in words if word.startswith("-")]
        self.metavar = " ".join(words[len(self.flags) :])

    @property
    def name(self) -> str:
        """By which an operation is given it: "--vector-weight W" is `vector_weight`, "[ID]..." is `id`."""
        if self.flags:
            return self.flags[-1].partition("/")[0].lstrip("-").replace("-", "_")
        return self.metavar.strip("[].").partition("|")[0].lower()


class Command:
    """
    How a person asks for an operation.

    Attributes:
        path: "details", or "graph link" of a group.
        short, help: In the list of commands, and of its own.
        run: Takes what was given by name: "--vector-weight" is `vector_weight`, "TEXT..." is `text`.
        progress: What a bar says that goes on meanwhile; empty for none.
    """

    def __init__(
        self,
        usage: str,
        short: str,
        help: str,
        *options: Option,
        run: Callable[[Call, Mapping[str, Any]], Shown],
        progress: str = "",
    ) -> None:
        """
        Args:
            usage: The path and the arguments in capitals, "graph link SOURCE TYPE TARGET"; an argument that has more to
                be said is an option without a dash.
        """
        words = usage.split()
        self.path = " ".join(word for word in words if word.islower())
        self.short, self.help, self.run, self.progress = short, help, run, progress
        self.options = (*(Option(word) for word in words if not word.islower()), *options)


class Group:
    """
    Commands that share their first word.

    Attributes:
        usual: The one that is meant where none is named.
        order: All of them, as the reference has them.
    """

    def __init__(self, path: str, usual: str, order: str, short: str, help: str) -> None:
        self.path, self.usual, self.order, self.short, self.help = path, usual, order.split(), short, help


class Operation:
    """
    A verb with its faces. A plain class: there are many, and each kind of class is made anew by each process.

    Attributes:
        toolset: Empty if agents are not offered it.
        description: When to use it and what for, below 120 words.
        returns: The JSON Schema of its answer.
        project_argument: What defaults to, or may be ".", the client's project; empty if there is none.
        always: Whether the project is needed even if that argument is not given.
        problem: Says an error in the form of this tool; None leaves it to the server.
        command: How a person asks for it; None if they cannot.
        reads, destroys, repeats: The hints of the protocol: changes nothing; takes something away for good; a second
            call with the same arguments changes nothing more. None reaches into an open world: it is our memory.
    """

    def __init__(
        self,
        name: str,
        title: str,
        description: str,
        parameters: tuple[Parameter, ...],
        returns: Schema,
        *,
        toolset: str,
        run: Callable[[Call, Mapping[str, Any]], Result],
        project_argument: str = "",
        always: bool = False,
        problem: Callable[[Error], Result] | None = None,
        command: Command | None = None,
        reads: bool = False,
        destroys: bool = False,
        repeats: bool = False,
    ) -> None:
        self.name, self.title, self.description, self.parameters = name, title, description, parameters
        self.returns, self.toolset, self.run, self.problem = returns, toolset, run, problem
        self.project_argument, self.always, self.command = project_argument, always, command
        self.reads, self.destroys, self.repeats = reads, destroys, repeats

    @property
    def input(self) -> Schema:
        """The JSON Schema of its arguments; no others are taken."""
        return described(self.parameters)

    def wants_project(self, arguments: Mapping[str, Any]) -> bool:
        """Whether the client's project has to be found out for these arguments."""
        given = arguments.get(self.project_argument) if self.project_argument else None
        return bool(self.project_argument) and (given == HERE or (given is None and self.always))


def but(declared: Declared, **changes: object) -> Declared:
    """The same declaration, in some respects another one."""
    return type(declared)(**(vars(declared) | changes))

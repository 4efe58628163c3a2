"""What `compare.py` measures, both revisions in turns: commands, the MCP server, and what `compare_work.py` does."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import time
from contextlib import ExitStack
from functools import partial
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

from mcp import Server

import compare_work
from compare_work import WARM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from compare_work import Given
    from trees import Tree

BARE, SEARCH = "python -c pass", "cold: memory search, by keyword"
STARTS = 3  # starts of processes in each run
COLD = {
    SEARCH: ("search", "{question}", "--json"),
    "cold: memory save": ("save", "Saved in start {number}", "--what", "{question}", "--json"),
    "cold: memory context": ("context", "{question}", "--json"),
    "cold: memory details": ("details", "{id}", "--json"),
    "cold: memory graph show": ("graph", "show", "{entity}", "--json"),
    "cold: memory session list": ("session", "list", "--json"),
    "cold: memory --help": ("--help",),
}
IMPORT, EXPORT = "cold: memory import, a small store", "cold: memory export, all"
FIRST = "mcp: start to the first answer"
MCP = {
    "mcp: tools/list": (100, lambda server, _: server.asked("tools/list", {})),
    "mcp: memory_search": (30, lambda server, text: server.called("memory_search", query=text)),
    "mcp: memory_context": (30, lambda server, text: server.called("memory_context", query=text)),
}
Taken: TypeAlias = "tuple[str, list[list[float]]]"
"""The name of a figure, and what each side measured in each run, or of each call."""
Measured = TypeVar("Measured")

ROWS = (*COLD, IMPORT, EXPORT, FIRST, *MCP, *WARM)


def alternate(sides: Sequence[Callable[[int], Measured]], runs: int) -> list[list[Measured]]:
    """What each side measures in each run, after one that does not count."""
    taken: list[list[Measured]] = [[] for _ in sides]
    for side in sides:
        side(-1)
    for run in range(runs):
        for place in sorted(range(len(sides)), reverse=bool(run % 2)):
            taken[place].append(sides[place](run))
    return taken


def least(sides: Sequence[Callable[[int], list[float]]], runs: int) -> list[list[float]]:
    """For each side the least that each of its calls took in any run, which are the same calls in each."""
    return [[min(call) for call in zip(*side, strict=True)] for side in alternate(sides, runs)]


def clocked(call: Callable[[], object], clock: Callable[[], float]) -> float:
    """Milliseconds."""
    begun = clock()
    call()
    return (clock() - begun) * 1000


def of_commands(given: Given) -> Callable[[], float]:
    """Seconds; of the processor, all that processes took which have ended."""
    if not given.cpu:
        return perf_counter
    return lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def of_server(given: Given, server: Server) -> Callable[[], float]:
    """Seconds; of the processor, what this process took since it began."""
    if not given.cpu:
        return perf_counter
    return partial(time.clock_gettime, (~server.process.pid << 3) | 2)  # see clock_getcpuclockid(3)


def by_keyword(trees: Sequence[Tree], given: Given) -> str:
    """A question that keywords answer in every revision."""
    for question in given.questions:
        if all(json.loads(one.run("search", question, "--json"))["tier"] == "keyword" for one in trees):
            return question
    raise AssertionError("keywords answer nothing")


def commands(trees: Sequence[Tree], given: Given, runs: int, wanted: Sequence[str]) -> Iterator[Taken]:
    """Starts of whole processes."""
    chosen = [what for what in COLD if what in wanted]
    values = (
        {"question": by_keyword(trees, given), "entity": given.entities[0], "id": given.memories // 2} if chosen else {}
    )

    clock = of_commands(given)

    def start(what: str, one: Tree, number: int) -> float:
        arguments = [part.format(**values, number=number) for part in COLD[what]]
        return clocked(lambda: one.run(*arguments), clock)

    def imported(one: Tree, run: int) -> float:
        return clocked(lambda: one.run("--home", f"imported{run}", "import", "small.jsonl"), clock)

    def exported(one: Tree, run: int) -> float:
        return clocked(lambda: one.run("export", "-o", f"exported{run}.jsonl"), clock)

    for what in chosen:
        sides = [partial(start, what, one) for one in trees]
        if what == SEARCH:
            bare = [lambda _, one=one: clocked(one.bare, clock) for one in trees]
            first, *taken, last = alternate([bare[0], *sides, bare[1]], STARTS * runs)
            yield BARE, [first, last]
            yield what, taken
        else:
            yield what, alternate(sides, STARTS * runs)
    for what, carry in ((IMPORT, imported), (EXPORT, exported)):
        if what in wanted:
            yield what, alternate([partial(carry, one) for one in trees], runs)


def servers(trees: Sequence[Tree], given: Given, runs: int, wanted: Sequence[str]) -> Iterator[Taken]:
    """The MCP server: its start, and what it answers once it is there."""

    def start(one: Tree, _run: int) -> float:
        begun = perf_counter()
        with Server(one.environment, str(one.command), "mcp") as server:
            now = of_server(given, server)()
            return (now - (0 if given.cpu else begun)) * 1000

    if FIRST in wanted:
        yield FIRST, alternate([partial(start, one) for one in trees], STARTS * runs)
    with ExitStack() as stack:
        chosen = [what for what in MCP if what in wanted]
        for one in trees:
            one.run("embed")  # it learns what is due by now; a server would while it is measured
        running = [stack.enter_context(Server(one.environment, str(one.command), "mcp")) for one in trees if chosen]
        for what in chosen:
            calls, ask = MCP[what]

            def asked(server: Server, _run: int, ask=ask, calls: int = calls) -> list[float]:
                clock = of_server(given, server)
                return [clocked(partial(ask, server, text), clock) for text in islice(given.questions, calls)]

            yield what, least([partial(asked, server) for server in running], runs)


class Worker:
    """A process of a revision that works in one engine."""

    def __init__(self, one: Tree) -> None:
        self._tree = one

    def __enter__(self) -> Self:
        shutil.copy(compare_work.__file__, self._tree.library)
        self._process = subprocess.Popen(
            [str(self._tree.python), "-c", "import compare_work; compare_work.main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._tree.environment,
            cwd=self._tree.home,
            text=True,
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._process.kill()  # else it would end what it does, for minutes
        self._process.communicate(timeout=60)

    def asked(self, what: str, run: int) -> list[float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([what, run]), file=self._process.stdin, flush=True)
        taken: list[float] = json.loads(self._process.stdout.readline())
        return taken


def work(trees: Sequence[Tree], runs: int, wanted: Sequence[str]) -> Iterator[Taken]:
    """What one engine does in a process."""
    with ExitStack() as stack:
        chosen = [what for what in WARM if what in wanted]
        workers = [stack.enter_context(Worker(one)) for one in trees if chosen]
        for what in chosen:
            yield what, least([partial(one.asked, what) for one in workers], runs)

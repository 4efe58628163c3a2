"""
How soon the MCP server answers, and what it adds to a call of the library.

    python bench/mcp.py                 about two minutes
    python bench/mcp.py --keep          the run is kept in bench/runs/

"Ready" is from the start of the process to the answer to the first `tools/list`, beside the import of the protocol library
alone; they take turns. Before a cold start the page cache is dropped, which Linux lets root do. Searches go through standard input and output of one server, in turns with the same search by the
library on the same database; the hashed embedder stands for the model on both sides. The requests are written by hand, as
bytes: this file has the name of the protocol library, which therefore cannot be imported here.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Self

from memory import Config, Engine, Mode, Query
from memory.config import EmbeddingSettings
from memory.config.settings import TOOLSETS
from memory.text.tokens import tokens
from memory.tools.operation import chosen
from report import Figure, barred, figure, keep, setting, table
from speed import environment, turns
from texts import drafts, questions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

TOLD = "Whole processes, and one server beside the library on the same database."
COMMAND = str(Path(sys.executable).with_name("memory"))
SDK = "import of the SDK"
PAUSE = 0.1  # seconds
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    starts: int = 15
    cold: int = 5
    size: int = 10_000
    questions: int = 150


class Server:
    """One `memory mcp`, asked by lines of JSON."""

    def __init__(self, env: Mapping[str, str], *command: str) -> None:
        """
        Args:
            env: Its environment; MEMORY_HOME is the folder that it starts in, too.
            command: What starts it; `memory mcp` of this environment if none is given.
        """
        self._env, self._command, self._last = env, command or (COMMAND, "mcp"), 0

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(self._env),
            cwd=self._env["MEMORY_HOME"],
        )
        self.asked("initialize", HELLO)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate(timeout=30)

    def _send(self, message: Mapping[str, object]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def asked(self, method: str, params: Mapping[str, object]) -> dict[str, object]:
        assert self.process.stdout is not None
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self._last, answer
        assert "error" not in answer, answer
        result: dict[str, object] = answer["result"]
        assert not result.get("isError"), result
        return result

    def called(self, tool: str, **arguments: str) -> None:
        self.asked("tools/call", {"name": tool, "arguments": arguments})

    def search(self, mode: Mode, text: str) -> None:
        self.called("memory_search", query=text, mode=str(mode))


def ready(env: Mapping[str, str], _text: str) -> None:
    with Server(env) as server:
        server.asked("tools/list", {})


def sdk(env: Mapping[str, str], _text: str) -> None:
    subprocess.run([sys.executable, "-c", "import mcp"], env=dict(env), cwd=env["MEMORY_HOME"], check=True)


def forgotten() -> bool:
    """Drop the page cache; whether the system lets us."""
    drop = Path("/proc/sys/vm/drop_caches")
    if not os.access(drop, os.W_OK):
        return False
    os.sync()
    drop.write_text("3")
    return True


def starts(env: Mapping[str, str], plan: Plan, raw: dict[str, object]) -> list[Figure]:
    sides: dict[str, Callable[[str], object]] = {"ready": partial(ready, env), SDK: partial(sdk, env)}
    turns(sides, ["compile"])
    warm = turns(sides, [str(number) for number in range(plan.starts)])
    found = figure("first tools/list of a new process", None, warm["ready"], {SDK: warm[SDK]})
    figures = [barred(found, "≤ 1.5 ×", met=median(warm["ready"]) <= 1.5 * median(warm[SDK]))]
    raw["starts"] = warm
    if forgotten():
        cold: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(plan.cold):
            for name, side in sides.items():
                forgotten()
                begun = perf_counter()
                side("")
                cold[name].append((perf_counter() - begun) * 1000)
        found = figure("the same, with a cold page cache", None, cold["ready"], {SDK: cold[SDK]})
        figures.append(barred(found, "≤ 1.5 ×", met=median(cold["ready"]) <= 1.5 * median(cold[SDK])))
        raw["cold starts"] = cold
    return figures


def calls(env: Mapping[str, str], plan: Plan, raw: dict[str, object]) -> list[Figure]:
    config = Config(home=env["MEMORY_HOME"], embedding=EmbeddingSettings(provider="hashed", model="hashed-256"))
    kept = list(drafts(plan.size))
    figures = []
    with Engine.open(config) as engine:
        for first in range(0, len(kept), 500):
            engine.save_all(kept[first : first + 500])
        with Server(env) as server:
            for mode in (Mode.KEYWORD, Mode.TIERED, Mode.HYBRID):
                sides: dict[str, Callable[[str], object]] = {
                    "stdio": partial(server.search, mode),
                    "library": lambda text, mode=mode: engine.search(Query(text, mode=mode)),
                }
                turns(sides, list(islice(questions(kept, seed=5), 20)))
                taken = rested(sides, list(islice(questions(kept, seed=6), plan.questions)))
                found = figure(f"memory_search, {mode}", plan.size, taken["stdio"], {"library": taken["library"]})
                more = median(taken["stdio"]) - median(taken["library"])
                figures.append(barred(found, f"≤ library + 5 ms ({more:+.2f})", met=more <= 5))
                raw[f"search {mode}"] = taken
    return figures


def rested(sides: Mapping[str, Callable[[str], object]], texts: Sequence[str]) -> dict[str, list[float]]:
    """
    As `turns`, with a pause before each call, as an agent makes one.

    The threads of a matrix library spin for a while after they have worked; without a pause those of one process would
    take the cores from the other.
    """
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for number, text in enumerate(texts):
        for name in sorted(sides, reverse=bool(number % 2)):
            sleep(PAUSE)
            begun = perf_counter()
            sides[name](text)
            taken[name].append((perf_counter() - begun) * 1000)
    return taken


def room() -> list[Figure]:
    """Estimated tokens of the tools of each toolset as they are listed (see `memory.text.tokens`, which errs high)."""
    figures = []
    for name in TOOLSETS:
        tools = chosen([name])
        said = [{"name": one.name, "description": one.description, "inputSchema": one.input} for one in tools]
        more = [one | {"outputSchema": tool.returns} for one, tool in zip(said, tools, strict=True)]
        size, whole = (tokens(json.dumps(one, ensure_ascii=False, separators=(",", ":"))) for one in (said, more))
        note = f"{size:,} tokens, {len(said)} tools; {whole:,} with mcp.structured: always"
        found = Figure(f"tokens of toolset {name}", None, note=note)
        figures.append(barred(found, "≤ 2,500", met=size <= 2_500) if name == "core" else found)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="How soon the MCP server answers, and what it adds to a call.")
    parser.add_argument("--quick", action="store_true", help="few starts and questions: does the script work?")
    parser.add_argument("--keep", action="store_true", help="write the run to bench/runs/")
    given = parser.parse_args()
    plan = Plan(1, 1, 50, 4) if given.quick else Plan()
    raw: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as root:
        home = Path(root) / "home"
        home.mkdir(mode=0o700)
        env = environment(Path(root)) | {
            "MEMORY_HOME": str(home),
            "MEMORY_EMBEDDING_PROVIDER": "hashed",
            "MEMORY_EMBEDDING_MODEL": "hashed-256",
        }
        figures = starts(env, plan, raw) + calls(env, plan, raw) + room()
    facts = setting() | {"mcp": _version()}
    print("\n".join(f"{name:11}{fact}" for name, fact in facts.items()), table(figures), sep="\n\n")
    if given.keep:
        print(f"\nkept in bench/runs/{keep(figures, raw, facts, name='mcp', told=TOLD).name}")


def _version() -> str:
    from importlib.metadata import version

    return version("mcp")


if __name__ == "__main__":
    main()

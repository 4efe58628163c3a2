"""
How many bytes the database has: empty, by finding, after a research run, after many.

    python bench/size.py            a minute
    python bench/size.py --keep     the run is kept in bench/runs/

A run is 75 findings of some 300 characters and 350 tool calls with results of some 2,000. Vectors are made by
`hashed`, at the widths of the default model and of nomic-embed-text: their bytes are the same without a model's time.
Bytes are those of the file after its log was written into it, free pages among them.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memory import Config, Engine
from memory.config.settings import EmbeddingSettings
from memory.tools.research import ResearchMemory
from report import aligned, keep, setting
from speed import connection
from texts import documentation, pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

FINDINGS, CALLS = 75, 350
WIDTHS = (384, 768)
TOLD = "Bytes of the database with its log in it; `hashed` stands for the model. A finding is one of a run without tool calls."


@dataclass(frozen=True, slots=True)
class Bytes:
    """
    Attributes:
        width: Numbers of a vector.
        each: For a finding, beyond the empty file; None where it says nothing.
    """

    what: str
    width: int
    whole: int
    each: float | None = None


def opened(home: str, width: int) -> Engine:
    embedding = EmbeddingSettings(provider="hashed", model=f"hashed-{width}")
    return Engine.open(replace(Config(), home=home, embedding=embedding))


def size(home: str) -> int:
    """Bytes of the database with nothing left in its log."""
    file = Path(home) / "memory.db"
    database = connection(file)
    database.execute("pragma wal_checkpoint(truncate)").fetchall()
    database.close()
    return file.stat().st_size


def research(engine: Engine, number: int, *, calls: int) -> int:
    """One run; characters of what was found."""
    dice, words = random.Random(number), documentation()
    with ResearchMemory(f"query_1767225600_{number + 1}", engine) as memory:
        said = [" ".join(pieces(words, dice, dice.randrange(15, 80))) for _ in range(FINDINGS)]
        for place, text in enumerate(said):
            memory.store_memory(("discovery", "insight", "deadend")[place % 3], text, f"agent{place % 6}")
        for _ in range(calls):
            result = " ".join(pieces(words, dice, 330))
            memory.record_tool_call("agent1", "http", "web_search", {"query": result[:60]}, result, True)
    return sum(map(len, said))


def findings(width: int, runs: int) -> list[Bytes]:
    """The empty file, then after the first and the last of some runs without tool calls."""
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as home:
        with opened(home, width):
            pass
        sizes = [size(home)]
        for number in range(runs):
            with opened(home, width) as engine:
                research(engine, number, calls=0)
            sizes.append(size(home))
    after = [(FINDINGS * runs, sizes[runs]) for runs in (1, runs)]
    each = [Bytes(f"{count} findings", width, whole, (whole - sizes[0]) / count) for count, whole in after]
    return [Bytes("empty", width, sizes[0]), *each]


def with_calls(width: int, runs: int) -> list[Bytes]:
    """After one run with tool calls, after some, and when those are cleared."""
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as home, opened(home, width) as engine:
        sizes = []
        for number in range(runs):
            research(engine, number, calls=CALLS)
            sizes.append(size(home))
        engine.runs.clear(None, calls=True)
        what = [(f"a run with {CALLS} tool calls", sizes[0]), (f"{runs} such runs", sizes[-1]), ("cleared", size(home))]
        return [Bytes(name, width, whole) for name, whole in what]


def table(found: Sequence[Bytes]) -> str:
    head = ("what", "numbers of a vector", "bytes", "bytes a finding")
    rows = [
        (one.what, str(one.width), f"{one.whole:,}", "" if one.each is None else f"{one.each:,.0f}") for one in found
    ]
    return aligned([head, ("---",) * len(head), *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description="How many bytes the database has.")
    parser.add_argument("--quick", action="store_true", help="three runs: does the script work?")
    parser.add_argument("--keep", action="store_true", help="write the run to bench/runs/")
    given = parser.parse_args()
    found = [
        line
        for width in WIDTHS
        for line in (*findings(width, 3 if given.quick else 8), *with_calls(width, 3 if given.quick else 20))
    ]
    print(table(found))
    if given.keep:
        folder = keep(found, {}, setting(), name="size", told=TOLD, shown=table)
        print(f"kept in bench/runs/{folder.name}")


if __name__ == "__main__":
    main()

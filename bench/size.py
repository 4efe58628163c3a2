"""
How many bytes the database has: empty, after a research run, after many.

    python bench/size.py            a minute

A run is 75 findings of some 300 characters and 350 tool calls with results of some 2,000. Vectors are made by
`hashed`, at the widths of the default model and of nomic-embed-text: their bytes are the same without a model's time.
Bytes are those of the file after its log was written into it, free pages among them.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from dataclasses import replace
from pathlib import Path

from memory import Config, Engine
from memory.config.settings import EmbeddingSettings
from memory.operations.research import ResearchMemory
from speed import connection
from texts import documentation, pieces

FINDINGS, CALLS = 75, 350
WIDTHS = (384, 768)


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


def measured(width: int, runs: int) -> list[str]:
    """Lines of what a store of one width comes to."""
    lines = []
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as home:
        with opened(home, width):
            pass
        empty = size(home)
        lines.append(f"empty, width {width:<17}{empty:>12,} bytes")
        with opened(home, width) as engine:
            characters = research(engine, 0, calls=0)
        first = size(home)
        each = (first - empty) / FINDINGS
        lines.append(
            f"a finding, {characters / FINDINGS:.0f} characters{each:>19,.0f} bytes, {4 * width:,} of them its vector"
        )
        with opened(home, width) as engine:
            research(engine, 1, calls=CALLS)
        lines.append(f"a run with {CALLS} tool calls{size(home) - first:>16,} bytes")
        with opened(home, width) as engine:
            for number in range(2, runs):
                research(engine, number, calls=CALLS)
        lines.append(f"the file after {runs} runs{size(home):>21,} bytes")
        with opened(home, width) as engine:
            gone = engine.runs.clear(None, calls=True)
        lines.append(f"cleared, {gone.memories:,} memories gone{size(home):>16,} bytes")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="How many bytes the database has.")
    parser.add_argument("--quick", action="store_true", help="three runs: does the script work?")
    given = parser.parse_args()
    for width in WIDTHS:
        print("\n".join(measured(width, 3 if given.quick else 20)), end="\n\n")


if __name__ == "__main__":
    main()

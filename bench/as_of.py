"""
How long a search as of a moment takes, which looks through all memories as they were.

    python bench/as_of.py               10,000 notes, of which 500 were changed since and 200 deleted: about a minute
    python bench/as_of.py --quick       1,000
    python bench/as_of.py --keep NAME   the run is kept in bench/runs/

The time of the process stands beside that of the clock: the first says what it costs, whatever else the machine does.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from tempfile import TemporaryDirectory

from memory import Config, Engine, Query
from report import barred, figure, keep, p95, setting, table
from texts import drafts, questions

START = datetime(2026, 1, 1, tzinfo=UTC)
BAR = 2_000  # ms
ASKED, BATCH = 20, 500


def measured(size: int) -> tuple[list[float], list[float]]:
    """Milliseconds by the clock and of the process, for each question."""
    config = Config()
    with TemporaryDirectory() as folder:
        config = replace(config, home=folder, embedding=replace(config.embedding, provider="none"))
        with Engine.open(config) as engine:
            moment = START
            engine.now = engine.documents.now = lambda: moment
            kept = list(drafts(size))
            ids = [
                saved.memory.id
                for first in range(0, size, BATCH)
                for saved in engine.save_all(kept[first : first + BATCH])
            ]
            moment += timedelta(days=1)
            dice = random.Random(7)
            for number, id in enumerate(dice.sample(ids, size // 20)):
                engine.update(id, what=f"Changed for the {number}th time.")
            for id in dice.sample(ids, size // 50):
                engine.delete(id)
            clock, process = [], []
            for text in islice(questions(kept, seed=7), ASKED):
                begun = time.perf_counter(), time.process_time()
                engine.search(Query(text, as_of=START), recorded=False)
                clock.append(1000 * (time.perf_counter() - begun[0]))
                process.append(1000 * (time.process_time() - begun[1]))
    return clock, process


def main() -> None:
    parser = argparse.ArgumentParser(description="How long a search as of a moment takes.")
    parser.add_argument("--quick", action="store_true", help="1,000 notes: does the script work?")
    parser.add_argument("--keep", metavar="NAME", help="write the run to bench/runs/")
    given = parser.parse_args()
    size = 1_000 if given.quick else 10_000
    clock, process = measured(size)
    found = [
        barred(figure(what, size, taken, {}), f"p95 ≤ {BAR:,} ms", met=p95(taken) <= BAR)
        for what, taken in (("search as of a moment", clock), ("of the process", process))
    ]
    facts = setting()
    print("\n".join(f"{name:11}{fact}" for name, fact in facts.items()), table(found), sep="\n\n")
    if given.keep:
        print(f"\nkept in bench/runs/{keep(found, {'clock': clock, 'process': process}, facts, name=given.keep).name}")


if __name__ == "__main__":
    main()

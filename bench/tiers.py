"""
What the gate and the merge are worth: quality and calls on judged question sets.

    .venv/bin/python bench/tiers.py FOLDER [SET ...] [--cache FOLDER] [--most N] [--keep]

FOLDER holds one folder a set with corpus.jsonl, queries.jsonl and qrels.tsv. The first run embeds every passage with the
local model, which takes minutes; `--cache` keeps the databases. Quality is nDCG@10 with the judgments' grades as gains;
"calls" is the share of questions for which the gate asks for the model.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from dataclasses import dataclass, replace
from pathlib import Path

from memory.config import Config
from memory.draft import Draft
from memory.embed.pool import Embedders
from memory.engine import Engine
from memory.fill import Filling
from memory.query import ACTIVE, Merge, Mode, Query, Ranking, Scope
from memory.rank.fuse import fuse
from memory.rank.judge import DEPTH, HALF, Tuning, judge
from memory.search import Fusing, _Search
from memory.settings import EmbeddingSettings
from memory.store.sqlite.store import SqliteStore

THRESHOLDS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
KEEP = Path(__file__).parent / "runs"


@dataclass(frozen=True)
class Asked:
    """One question: nDCG@10 of each way to answer it, and what the gate saw."""

    keywords: float
    vectors: float
    merged: dict[str, float]
    complete: int
    mass: float
    best: float


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def build(folder: Path, home: Path) -> None:
    rows = lines(folder / "corpus.jsonl")
    with Engine.open(replace(Config(), home=str(home))) as engine:
        kept = engine.status().counts.memories
        for first in range(kept, len(rows), 256):
            drafts = [
                Draft(
                    title=" ".join((row.get("title") or "-").split())[:200] or "-",
                    what=row["text"][:10_000],
                    project=row.get("group"),
                    metadata={"id": row["id"]},
                )
                for row in rows[first : first + 256]
            ]
            engine.save_all(drafts)


def judgments(path: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for line in path.read_text("utf-8").splitlines():
        query, document, grade = line.split("\t")[:3]
        if grade.strip().lstrip("-").replace(".", "", 1).isdigit():
            found.setdefault(query, {})[document] = float(grade)
    return found


def ndcg(ranking: Ranking, names: dict[int, str], relevant: dict[str, float]) -> float:
    first = list(dict.fromkeys(scored.memory for scored in ranking))[:10]
    gains = [relevant.get(names[memory], 0.0) for memory in first]
    best = sorted(relevant.values(), reverse=True)[:10]
    return _discounted(gains) / (_discounted(best) or 1.0)


def _discounted(gains: list[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def ask(text: str, scope: Scope, parts: tuple[SqliteStore, Embedders], names, relevant) -> Asked:
    store, embedders = parts
    query = Query(text, 10, mode=Mode.HYBRID, scope=scope)
    search = _Search(query, store, lambda: embedders, Tuning(), Fusing(), filling=Filling)
    search._plan()
    words = search._keywords(DEPTH)
    seen = judge(search._terms, words, Tuning())
    found = search._hybrid(100, None)
    pool = found.ranking
    cosines, near = search._nearness([scored.chunk for scored in pool])
    merges = {
        "minmax": fuse(pool, near, terms=search._terms),
        "minmax, BM25 only": fuse(pool, near, weights=(0.9, 0.7)),  # without terms: 0.9 · BM25 / best / 3
        "max": fuse(pool, cosines, merge=Merge.MAX),
        "rrf": fuse(pool, near, merge=Merge.RRF),
    }
    return Asked(
        ndcg(words, names, relevant),
        ndcg(found.legs["vector"], names, relevant),
        {name: ndcg(ranking, names, relevant) for name, ranking in merges.items()},
        seen.complete,
        seen.mass,
        seen.coverage,
    )


def measure(folder: Path, home: Path, most: int) -> list[Asked]:
    build(folder, home)
    store = SqliteStore(home / "memory.db")
    names = {memory.id: str(memory.metadata["id"]) for memory in store.recent(ACTIVE, 10**6)}
    relevant = judgments(folder / "qrels.tsv")
    queries = [query for query in lines(folder / "queries.jsonl") if query["id"] in relevant]
    if len(queries) > most:
        queries = random.Random(1).sample(queries, most)
    parts = (store, Embedders(EmbeddingSettings(), store))
    asked = []
    for query in queries:
        scope = Scope(projects=frozenset({query["group"]})) if query.get("group") else ACTIVE
        asked.append(ask(query["text"], scope, parts, names, relevant[query["id"]]))
    store.close()
    return asked


def mean(values) -> float:
    values = list(values)
    return sum(values) / len(values)


def enough(one: Asked, threshold: float, half: float) -> bool:
    return one.complete >= 3 or (one.mass >= threshold and one.best >= half)


def report(results: dict[str, list[Asked]]) -> str:
    rows = [["nDCG@10", *results], ["questions", *(str(len(asked)) for asked in results.values())]]
    rows.append(["keywords", *(f"{mean(one.keywords for one in asked):.3f}" for asked in results.values())])
    rows.append(["vectors", *(f"{mean(one.vectors for one in asked):.3f}" for asked in results.values())])
    rows += [
        [merge, *(f"{mean(one.merged[merge] for one in asked):.3f}" for asked in results.values())]
        for merge in next(iter(results.values()))[0].merged
    ]
    for half in (HALF, 0.0):
        for threshold in THRESHOLDS:
            row = [f"gate {threshold:.2f}, coverage ≥ {half}: calls, quality"]
            for asked in results.values():
                calls = mean(not enough(one, threshold, half) for one in asked)
                tiered = mean(one.keywords if enough(one, threshold, half) else one.merged["minmax"] for one in asked)
                row.append(f"{calls:.2f} {tiered / mean(one.merged['minmax'] for one in asked):.1%}")
            rows.append(row)
    return "\n".join(
        "| " + " | ".join(row) + " |" + ("\n|" + "---|" * len(row) if row is rows[0] else "") for row in rows
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Quality and calls of the gate and the merges on judged sets.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--cache", type=Path, default=Path(".bench"))
    parser.add_argument("--most", type=int, default=500, help="questions of one set")
    parser.add_argument("--keep", metavar="NAME", help="write the table to bench/runs/NAME/README.md")
    given = parser.parse_args()
    sets = given.sets or sorted(path.parent.name for path in given.folder.glob("*/corpus.jsonl"))
    results = {}
    for name in sets:
        (given.cache / name).mkdir(parents=True, exist_ok=True)
        results[name] = measure(given.folder / name, given.cache / name, given.most)
    table = report(results)
    print(table)
    if given.keep:
        (KEEP / given.keep).mkdir(parents=True, exist_ok=True)
        said = f"`bench/tiers.py FOLDER {' '.join(sets)} --most {given.most}`, local model all-MiniLM-L6-v2.\n"
        (KEEP / given.keep / "README.md").write_text(f"# {given.keep}\n\n{said}\n{table}\n", "utf-8")


if __name__ == "__main__":
    main()

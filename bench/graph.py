"""
How fast the entity graph is with 10,000 entities of 5 observations and 50,000 relations, beside the SQL it takes anyway.

    python bench/graph.py             about a minute
    python bench/graph.py --keep      the run is kept in bench/runs/

A tenth of the relations begin at one of ten hubs; another entity has a relation with all the others, and only what is
asked near it, and the last figures, know of that. Beside each search stands bare SQL on the same data; all take turns, so that whatever
else the machine does slows all of them. Vectors come from an embedder that takes no time: what is measured is
everything but the model.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from memory import Config, Draft, Engine, Kind, Mode, Query
from memory.search.near import ENTITIES, NearQuery
from memory.store.sqlite import SqliteStore, vectors
from memory.store.sqlite.keywords import BM25, expression
from memory.store.sqlite.opening import load_vectors
from memory.text.markdown import listed
from report import Figure, barred, figure, keep, setting, table
from speed import connection, turns
from texts import Instant, documentation, pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TOLD = "An embedder that answers at once stands for the model: the times are the engine's own."
ALL = 11
"""The neighbour of all, in the end."""

OBSERVATIONS, BAR, LIMIT, DISTANCE = 5, 30, 10, 3
TYPES = ("depends_on", "calls", "owned_by", "part_of", "mentions")
REACHED = """
    with recursive reached(id, distance) as (
        values (?, 0)
        union
        select n.other, r.distance + 1 from reached r
        cross join (
            select source as id, target as other from relations union all select target, source from relations
        ) n on n.id = r.id
        where r.distance < ?
    )
    select id, min(distance) from reached group by id
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    entities: int = 10_000
    relations: int = 50_000
    questions: int = 60


def entities(number: int) -> list[Draft]:
    """The same in every run."""
    words, dice = documentation(), random.Random(7)
    return [
        Draft(
            kind=Kind.ENTITY,
            title=f"{' '.join(pieces(words, dice, 2))} {place}"[:200],
            category=("module", "service", "person", "concept")[place % 4],
            body=listed(" ".join(pieces(words, dice, dice.randint(6, 14))) for _ in range(OBSERVATIONS)),
        )
        for place in range(number)
    ]


def edges(plan: Plan) -> list[tuple[int, int, str]]:
    """Relations by ids, which begin at 1; the first ten are the hubs."""
    dice = random.Random(8)
    return [
        (
            dice.randint(1, 10) if dice.random() < 0.1 else dice.randint(1, plan.entities),
            dice.randint(1, plan.entities),
            dice.choice(TYPES),
        )
        for _ in range(plan.relations)
    ]


def relate(engine: Engine, made: Sequence[tuple[int, int, str]]) -> None:
    for first in range(0, len(made), 5000):
        engine.graph.relate(made[first : first + 5000])


def build(folder: Path, plan: Plan, kept: Sequence[Draft]) -> Engine:
    config = replace(Config(), home=str(folder))
    engine = Engine(SqliteStore(config.database), config, embedder=Instant())
    for first in range(0, len(kept), 500):
        engine.save_all(kept[first : first + 500])
    relate(engine, edges(plan))
    return engine


class Bare:
    """The least that SQL has to do for the same."""

    def __init__(self, path: str) -> None:
        self._db = connection(Path(path))
        load_vectors(self._db)

    def keywords(self, match: str) -> object:
        sql = f"select rowid, {BM25} as score from passages_fts f where passages_fts match ? order by score limit 100"
        return self._db.execute(sql, (match,)).fetchall()

    def scan(self, vector: bytes) -> object:
        return self._db.execute(
            f"select chunk_id, {vectors.DISTANCE} as d from vectors_1 order by d limit 100", vectors.compared(vector)
        ).fetchall()

    def reached(self, id: int) -> object:
        return self._db.execute(REACHED, (id, DISTANCE)).fetchall()

    def close(self) -> None:
        self._db.close()


def questions(kept: Sequence[Draft], number: int) -> list[str]:
    """Three words of an observation, or of two entities."""
    dice, found = random.Random(3), []
    for place in range(number):
        one, other = (dice.choice(kept).body.replace("- ", "").split() for _ in "ab")
        found.append(" ".join(dice.sample(one, 3) if place % 2 else [*dice.sample(one, 2), dice.choice(other)]))
    return found


def searches(engine: Engine, kept: Sequence[Draft], plan: Plan, raw: dict[str, object]) -> list[Figure]:
    texts = questions(kept, plan.questions)
    for text in texts[:5]:
        engine.search(Query(text, mode=Mode.HYBRID))  # from now on the vectors are held
    bare, dice = Bare(engine.config.database), random.Random(4)
    usual = {text: (dice.randint(ALL + 1, plan.entities),) for text in texts}
    matches = {text: expression(engine.search(Query(text, scope=ENTITIES)).terms) for text in texts}
    vectors = {text: Instant().embed([text], "query")[0].tobytes() for text in texts}

    def found(mode: Mode) -> Callable[[str], object]:
        return lambda text: engine.search(Query(text, LIMIT, mode=mode, scope=ENTITIES))

    def near(around: Callable[[str], Sequence[int]], **weights: float) -> Callable[[str], object]:
        def asked(text: str) -> object:
            query = Query(text, LIMIT, scope=ENTITIES)
            return engine.graph.nearby(NearQuery(query, tuple(map(int, around(text))), DISTANCE, **weights))

        return asked

    sides = {
        "search_nodes (keywords first)": found(Mode.TIERED),
        "search_nodes, by keyword": found(Mode.KEYWORD),
        "search_nodes, both legs": found(Mode.HYBRID),
        "search_hybrid without a context": near(lambda _: ()),
        "search_hybrid near one": near(lambda text: usual[text]),
        "search_hybrid near one, with keywords": near(lambda text: usual[text], keyword_weight=0.3),
        "search_hybrid near a hub": near(lambda text: (1 + usual[text][0] % 10,)),
        "FTS5": lambda text: bare.keywords(matches[text]),
        "exact scan": lambda text: bare.scan(vectors[text]),
    }
    raw["searches"] = taken = turns(sides, texts)
    beside = {name: taken[name] for name in ("FTS5", "exact scan")}
    both = {"both in SQL": [sum(pair) for pair in zip(*beside.values(), strict=True)]} | beside
    figures = [within(figure(name, plan.entities, times, both)) for name, times in taken.items() if name not in beside]
    figures += neighbours(engine, bare, usual, raw)
    bare.close()
    relate(engine, [(ALL, id, TYPES[0]) for id in range(1, plan.entities + 1)])
    sides = {
        "search_hybrid near the neighbour of all": near(lambda _: (ALL,)),
        "what is near the neighbour of all": lambda _: engine.graph.distances([ALL], DISTANCE),
    }
    raw["neighbour of all"] = taken = turns(sides, texts)
    return figures + [within(figure(name, plan.entities, times, {})) for name, times in taken.items()]


def neighbours(engine: Engine, bare: Bare, usual: dict[str, tuple[int, ...]], raw: dict[str, object]) -> list[Figure]:
    """What is at most three relations away, and paths, beside one recursive statement."""
    dice, figures = random.Random(5), []
    last = len(list(engine.graph.every()))
    for name, start in (("one", lambda text: usual[text][0]), ("a hub", lambda _: dice.randint(2, 10))):
        sides = {
            "distances": lambda text, start=start: engine.graph.distances([start(text)], DISTANCE),
            "one recursive statement": lambda text, start=start: bare.reached(start(text)),
        }
        raw[f"distances from {name}"] = taken = turns(sides, list(usual))
        sizes = [len(engine.graph.distances([start(text)], DISTANCE)) for text in usual]
        made = figure(f"what is near {name}", last, taken["distances"], {"recursive": taken["one recursive statement"]})
        figures.append(within(replace(made, note=f"{median(sizes):,.0f} entities; {made.note}")))
    sides = {"path": lambda _: engine.graph.path(dice.randint(ALL + 1, last), dice.randint(ALL + 1, last))}
    raw["path"] = taken = turns(sides, list(usual))
    return [*figures, within(figure("find_path", last, taken["path"], {}))]


def writes(engine: Engine, plan: Plan, raw: dict[str, object]) -> list[Figure]:
    """One entity, one observation, one relation, each its own transaction, beside a one-row commit."""
    db = connection(Path(engine.config.folder, "row.db"))
    db.pragma("journal_mode", "wal")
    db.execute("create table t (x)")
    numbers, dice = count(), random.Random(6)
    sides = {
        "add an entity": lambda text: engine.save(
            Draft(kind=Kind.ENTITY, title=f"new {next(numbers)}", body=listed([text]))
        ),
        "add an observation": lambda text: engine.graph.observe(dice.randint(ALL + 1, plan.entities), [text]),
        "add a relation": lambda text: engine.graph.relate(
            [(*(dice.randint(1, plan.entities) for _ in "ab"), f"new {text}"[:100])]
        ),
        "row": lambda text: db.execute("insert into t values (?)", (text,)),
    }
    raw["writes"] = taken = turns(sides, [f"observation {number} of the bench" for number in range(plan.questions)])
    db.close()
    return [
        barred(
            figure(name, plan.entities, taken[name], {"one row committed": taken["row"]}),
            "p50 ≤ 5 ms",
            met=median(taken[name]) <= 5,
        )
        for name in sides
        if name != "row"
    ]


def within(found: Figure) -> Figure:
    return barred(found, f"p95 ≤ {BAR} ms", met=(found.worst or 0) <= BAR)


def main() -> None:
    parser = argparse.ArgumentParser(description="How fast the entity graph is, beside bare SQL.")
    parser.add_argument("--quick", action="store_true", help="300 entities, few questions: does the script work?")
    parser.add_argument("--keep", action="store_true", help="write the run to bench/runs/")
    given = parser.parse_args()
    plan = Plan(300, 1500, 5) if given.quick else Plan()
    raw: dict[str, object] = {}
    kept = entities(plan.entities)
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as root, build(Path(root), plan, kept) as engine:
        counts = engine.store.graph.counts()
        figures = [*searches(engine, kept, plan, raw), *writes(engine, plan, raw)]
    facts = setting() | {"graph": f"{counts.entities:,} entities, {counts.relations:,} relations"}
    print("\n".join(f"{name:11}{fact}" for name, fact in facts.items()), table(figures), sep="\n\n")
    if given.keep:
        print(f"\nkept in bench/runs/{keep(figures, raw, facts, name='graph', told=TOLD).name}")


if __name__ == "__main__":
    main()

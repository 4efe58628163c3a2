"""
Whether a revision of `memory` is slower than another: the same work by both, in turns.

    python bench/compare.py BEFORE                  with the working tree; some five minutes
    python bench/compare.py BEFORE AFTER --keep x   two revisions; the run is kept in bench/runs/
    python bench/compare.py BEFORE --only "by keyword" "warm: save"

Each revision is installed by itself (`trees.py`), both on copies of one store, which BEFORE made: notes, documents of
sessions and a graph, embedded by `hashed`. They take turns, and who goes first changes with every run, so that whatever
else the machine does slows both. The work is that of commands, of the MCP server and of documented names of the library,
so any two revisions that have these can be compared.

A figure of starts is the median of the runs. Warm calls and those of the MCP server are the same in each run: a figure is
the median of the least that each call took in any run, because other work only adds to it. The spread is the middle half
of the ratios of the pairs, of runs or of calls. The exit code is 1 if a ratio is over its bar. Without a machine of one's own `--cpu` gives steady
figures; they leave out what is waited for, such as the disk. TMPDIR says which disk that is.

The multiple of `python -c pass` is higher than that of `speed.py`: here no tool for development starts with Python.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
from dataclasses import asdict, dataclass, fields
from itertools import chain, islice
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

from compare_turns import BARE, ROWS, SEARCH, STARTS, commands, servers, work
from compare_work import Given
from graph import entities
from report import aligned, keep, setting
from texts import documents, drafts, questions
from trees import NoTree, tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory import Draft
    from trees import Tree

TOLD = "Two revisions in turns on copies of one store; `hashed` stands for the model."
BARS = {SEARCH: 1.05}
USUAL_BAR = 1.10


@dataclass(frozen=True, slots=True)
class Plan:
    """
    How much is measured.

    Attributes:
        notes, documents, entities, relations: What the store holds; a document has some 8 chunks.
        small: Memories of the small store.
        cpu: Measure what the processor does, not the clock.
    """

    runs: int
    notes: int = 4000
    documents: int = 500
    entities: int = 500
    relations: int = 2000
    small: int = 1000
    cpu: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """
    One line of the table.

    Attributes:
        before, after: Milliseconds, or multiples of `python -c pass`.
        low, high: The middle half of the ratios of the pairs.
    """

    what: str
    unit: str
    before: float
    after: float
    ratio: float
    low: float
    high: float
    bar: float

    @property
    def within(self) -> bool:
        return self.ratio <= self.bar


# The store -------------------------------------------------------------------


def line(draft: Draft) -> str:
    """As `memory import` reads it."""
    values = {field.name: getattr(draft, field.name) for field in fields(draft)}
    return json.dumps({name: value for name, value in values.items() if value and name != "metadata"})


def stores(before: Tree, after: Tree, plan: Plan) -> Given:
    """Let BEFORE make what both work with; AFTER has a copy."""
    notes, papers, named = list(drafts(plan.notes)), list(documents(plan.documents)), entities(plan.entities)
    kept = [*notes, *papers, *named]
    (before.home / "all.jsonl").write_text("\n".join(map(line, kept)), "utf-8")
    (before.home / "small.jsonl").write_text("\n".join(map(line, notes[: plan.small])), "utf-8")
    before.run("import", "all.jsonl")
    before.run("embed")
    before.run("--home", "small", "import", "small.jsonl", MEMORY_EMBEDDING_PROVIDER="none")
    dice = random.Random(8)
    edges = [
        {"type": "relation", "from": one.title, "to": other.title, "relationType": f"type{number % 5}"}
        for number, (one, other) in enumerate(dice.sample(named, 2) for _ in range(plan.relations))
    ]
    (before.home / "edges.jsonl").write_text("\n".join(map(json.dumps, edges)), "utf-8")
    before.run("graph", "import", "edges.jsonl")
    given = Given(
        tuple(islice(questions(kept, seed=3), 2000)),
        tuple(note.what for note in notes),
        tuple(entity.title for entity in named),
        len(kept),
        plan.cpu,
    )
    (before.home / "given.json").write_text(json.dumps(asdict(given)), "utf-8")
    shutil.copytree(before.home, after.home, dirs_exist_ok=True)
    if before.format() != after.format():
        for file in ("memory.db", "small/memory.db"):
            after.run("migrate", file)
    return given


# The table -------------------------------------------------------------------


def row(what: str, taken: Sequence[Sequence[float]], bare: float | None) -> Row:
    """
    Args:
        bare: Milliseconds of `python -c pass`, to give multiples of it.
    """
    before, after = (median(side) for side in taken)
    ratios = [late / early for early, late in zip(*taken, strict=True)]
    low, _, high = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    unit = ("ms", 1.0) if bare is None else ("×", bare)
    return Row(what, unit[0], before / unit[1], after / unit[1], after / before, low, high, BARS.get(what, USUAL_BAR))


def number(value: float, unit: str) -> str:
    return f"{value:.{2 if value >= 1 else 4}f} {unit}"


def table(rows: Sequence[Row]) -> str:
    head = ("what", "before", "after", "ratio", "spread", "bar", "")
    lines = [
        (
            one.what,
            number(one.before, one.unit),
            number(one.after, one.unit),
            f"{one.ratio:.3f}",
            f"{one.low:.2f} to {one.high:.2f}",
            f"≤ {one.bar:.2f}",
            "within" if one.within else "OVER",
        )
        for one in rows
    ]
    return aligned([head, ("---",) * len(head), *lines])


def compared(trees: Sequence[Tree], plan: Plan, wanted: Sequence[str], raw: dict[str, list[list[float]]]) -> list[Row]:
    given = stores(*trees, plan)
    progress("the store is made")
    rows, bare = [], None
    for what, taken in chain(
        commands(trees, given, plan.runs, wanted),
        servers(trees, given, plan.runs, wanted),
        work(trees, plan.runs, wanted),
    ):
        raw[what] = taken
        if what == BARE:
            bare = median(chain.from_iterable(taken))
            continue
        rows.append(row(what, taken, bare if what == SEARCH else None))
        progress(f"{what}: {rows[-1].ratio:.3f}")
    return rows


def progress(line: str) -> None:
    print(f"compare: {line}", file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Whether a revision is slower than another.", epilog="Figures: " + "; ".join(ROWS)
    )
    parser.add_argument("before", metavar="BEFORE", help="a git revision")
    parser.add_argument("after", metavar="AFTER", nargs="?", help="another; the working tree without one")
    parser.add_argument("--runs", type=int, metavar="N", help="of each figure and side, usually 5; of starts 3 N")
    parser.add_argument("--only", metavar="TEXT", nargs="+", default=[""], help="figures whose names have one of these")
    parser.add_argument("--cpu", action="store_true", help="time of the processor, where others work too; Linux")
    parser.add_argument("--quick", action="store_true", help="300 memories, one run: does the script work?")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--keep", metavar="NAME", help="write the run to bench/runs/")
    given = parser.parse_args()
    given.wanted = [what for what in ROWS if any(text in what for text in given.only)]
    if missing := [text for text in given.only if not any(text in what for what in ROWS)]:
        parser.error(f"no figure has {missing[0]!r} in its name; see --help")
    if given.runs is None:
        given.runs = 1 if given.quick else 5
    if given.runs < 1:
        parser.error("a figure takes one run at least")
    return given


def main() -> None:
    # As Ctrl-C does, so that the folder goes.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    given = arguments()
    plan = Plan(given.runs, cpu=given.cpu)
    if given.quick:
        plan = Plan(given.runs, notes=200, documents=60, entities=40, relations=80, small=50, cpu=given.cpu)
    raw: dict[str, list[list[float]]] = {}
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as root:
        try:
            trees = [tree(given.before, Path(root, "before")), tree(given.after, Path(root, "after"))]
        except NoTree as error:
            sys.exit(f"compare: {error}")
        rows = compared(trees, plan, given.wanted, raw)
    facts = setting() | {name: one.revision for name, one in zip(("before", "after"), trees, strict=True)}
    facts["runs"] = f"{plan.runs}, of starts {STARTS * plan.runs}"
    facts["time"] = "of the processor" if plan.cpu else "of the clock"
    facts["store"] = f"{plan.notes + plan.documents + plan.entities:,} memories, {plan.relations:,} relations"
    if BARE in raw:
        facts[BARE] = f"{median(chain.from_iterable(raw[BARE])):.1f} ms"
    if given.json:
        print(json.dumps({"setting": facts, "rows": [asdict(one) | {"within": one.within} for one in rows]}, indent=1))
    else:
        print("\n".join(f"{name:15}{fact}" for name, fact in facts.items()), table(rows), sep="\n\n")
    if given.keep:
        progress(f"kept in bench/runs/{keep(rows, raw, facts, name=given.keep, told=TOLD, shown=table).name}")
    sys.exit(0 if all(one.within for one in rows) else 1)


if __name__ == "__main__":
    main()

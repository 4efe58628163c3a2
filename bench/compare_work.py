"""
What `compare.py` has done inside a process of each revision: asked for by lines of JSON, answered in milliseconds.

Only documented names of `memory` are used, so that it runs with any revision; it may import nothing else of this folder,
from which it is copied into the environment of each.
"""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from memory import Draft, Engine, EntityGraph, Mode, Query, SessionMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Given:
    """
    What the work is about, the same for both revisions.

    Attributes:
        notes: Texts to keep.
        entities: Names of what the graph holds.
        memories: How many memories the store has at the beginning; their ids count from 1.
        cpu: Measure what the processor does, not the clock.
    """

    questions: tuple[str, ...]
    notes: tuple[str, ...]
    entities: tuple[str, ...]
    memories: int
    cpu: bool


class Work:
    """Work in one engine; what it is about is drawn by its name, so both revisions draw the same, and in each run."""

    def __init__(self, given: Given) -> None:
        self.given = given
        self.engine = Engine.open(lasting=False)
        self.sessions, self.graph = SessionMemory(self.engine), EntityGraph(self.engine)
        self.begin("", 0)

    def begin(self, what: str, run: int) -> None:
        self.run, self.name = run, f"{what} {run}"
        self.dice = random.Random(what)

    def asked(self, calls: int) -> list[str]:
        return self.dice.choices(self.given.questions, k=calls)

    def ids(self, calls: int) -> list[int]:
        return [self.dice.randint(1, self.given.memories) for _ in range(calls)]

    def pairs(self, calls: int) -> list[list[str]]:
        return [self.dice.sample(self.given.entities, 2) for _ in range(calls)]

    def notes(self, calls: int) -> list[Draft]:
        """Notes that nobody has kept yet, of two chunks: what shows, and details."""
        texts = self.dice.choices(self.given.notes, k=2 * calls)
        return [
            Draft(title=f"{self.name} {number}", what=what, body=f"# Details\n\n{details}\n", project="compared")
            for number, (what, details) in enumerate(zip(texts[::2], texts[1::2], strict=True))
        ]

    def timed(self, call: Callable[[Any], object], arguments: Iterable[Any]) -> list[float]:
        """Milliseconds of each call."""
        arguments, clock = list(arguments), process_time if self.given.cpu else perf_counter
        gc.collect()
        taken = []
        for argument in arguments:
            begun = clock()
            call(argument)
            taken.append((clock() - begun) * 1000)
        return taken


def by_mode(mode: Mode) -> Callable[[Work, int], list[float]]:
    def measured(work: Work, calls: int) -> list[float]:
        return work.timed(lambda text: work.engine.search(Query(text, mode=mode)), work.asked(calls))

    return measured


def removed(work: Work, calls: int) -> list[float]:
    kept = work.engine.save_all(work.notes(calls))
    return work.timed(work.engine.delete, [one.memory.id for one in kept])


def near(work: Work, calls: int) -> list[float]:
    asked = zip(work.asked(calls), work.pairs(calls), strict=True)
    return work.timed(lambda pair: work.graph.search_hybrid(pair[0], context_nodes=pair[1][:1]), asked)


def related(work: Work, calls: int) -> list[float]:
    made = [[{"from": one, "to": other, "relationType": work.name}] for one, other in work.pairs(calls)]
    return work.timed(work.graph.create_relations, made)


def reached(work: Work, calls: int) -> list[float]:
    ids = [
        row.get("memory_id", row["id"])
        for row in work.graph.open_nodes([one for one, _ in work.pairs(calls)])["entities"]
    ]
    return work.timed(lambda one: work.engine.graph.distances([one], 3), ids)


def changed(done: Any) -> None:
    """What embeds must have had something to embed."""
    assert done.embedded > 0, done


def embedded(work: Work, calls: int) -> list[float]:
    """Of a store that was filled without a model; a fresh copy each time."""
    taken = []
    for _ in range(calls):
        with tempfile.TemporaryDirectory(dir=work.engine.config.folder) as folder:
            home = shutil.copytree("small", Path(folder) / "home")
            with Engine.open(home=home, lasting=False) as engine:
                taken += work.timed(lambda _, engine=engine: changed(engine.embed()), [""])
    return taken


def reindexed(work: Work, calls: int) -> list[float]:
    """To a model that is a little wider in each run."""
    taken, usual = [], os.environ["MEMORY_EMBEDDING_MODEL"]
    if not Path("reindexed").exists():
        shutil.copytree("small", "reindexed")
    for _ in range(calls):
        os.environ["MEMORY_EMBEDDING_MODEL"] = f"hashed-{300 + work.run}"
        with Engine.open(home="reindexed", lasting=False) as engine:
            taken += work.timed(lambda _, engine=engine: changed(engine.reindex()), [""])
    os.environ["MEMORY_EMBEDDING_MODEL"] = usual
    return taken


WARM: dict[str, tuple[int, Callable[[Work, int], list[float]]]] = {
    "warm: search by keyword": (60, by_mode(Mode.KEYWORD)),
    "warm: search, tiered": (40, by_mode(Mode.TIERED)),
    "warm: search, hybrid": (30, by_mode(Mode.HYBRID)),
    "warm: context": (30, lambda work, calls: work.timed(work.engine.context, work.asked(calls))),
    "warm: get": (200, lambda work, calls: work.timed(work.engine.get, work.ids(calls))),
    "warm: details": (60, lambda work, calls: work.timed(work.engine.details, work.ids(calls))),
    "warm: recent": (60, lambda work, calls: work.timed(lambda _: work.engine.recent(limit=20), range(calls))),
    "warm: session search, fine": (
        30,
        lambda work, calls: work.timed(work.sessions.search_reports_specific_chunks, work.asked(calls)),
    ),
    "warm: session search, medium": (
        30,
        lambda work, calls: work.timed(work.sessions.search_reports_section_context, work.asked(calls)),
    ),
    "warm: session search, coarse": (
        30,
        lambda work, calls: work.timed(work.sessions.search_reports_full_documents, work.asked(calls)),
    ),
    "warm: graph, search_nodes": (30, lambda work, calls: work.timed(work.graph.search_nodes, work.asked(calls))),
    "warm: graph, search_hybrid near one": (20, near),
    "warm: graph, what is 3 away": (40, reached),
    "warm: graph, find_path": (
        40,
        lambda work, calls: work.timed(lambda two: work.graph.find_path(*two), work.pairs(calls)),
    ),
    "warm: graph, create_relations": (30, related),
    "warm: save of two chunks": (30, lambda work, calls: work.timed(work.engine.save, work.notes(calls))),
    "warm: delete": (30, removed),
    "warm: embed what waits": (1, embedded),
    "warm: reindex": (1, reindexed),
}
"""By name how often it is called in a run, and what measures so many calls."""


def foreign(package: str) -> Sequence[str]:
    """Files of modules of `memory` that are not of this package."""
    names = [(name, module) for name, module in list(sys.modules.items()) if name.partition(".")[0] == "memory"]
    files = [str(getattr(module, "__file__", None)) for _, module in names]
    return [file for file in files if not file.startswith(package)]


def main() -> None:
    """Answer each line `[what, run]` of standard input with a line of milliseconds."""
    package = f"{Path(sys.modules['memory'].__file__ or '').parent}{os.sep}"
    work = Work(Given(**json.loads(Path("given.json").read_text("utf-8"))))
    with work.engine:
        for line in sys.stdin:
            what, run = json.loads(line)
            work.begin(what, run)
            calls, measure = WARM[what]
            taken = measure(work, calls)
            assert not foreign(package), foreign(package)
            print(json.dumps(taken), flush=True)

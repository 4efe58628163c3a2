"""
What a team of agents meets: eight processes that write and read one research run.

    python bench/team.py             a minute
    python bench/team.py --keep      the run is kept in bench/runs/

Each agent goes round: it reads what the others found, searches, keeps a finding, logs a tool call and thinks for a
while; two supervisors put new feedback in place of the old one. In the end every row that was acknowledged must be
there, and nothing else. Beside the getters stands the same select by bare SQLite in the same processes. Vectors are
made by `hashed`, so that they are written as well without a model's time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING

from memory import Config, Engine
from memory.config.settings import EmbeddingSettings
from memory.schema.errors import Error
from memory.tools.research import ResearchMemory
from report import Figure, barred, figure, keep, setting, table
from speed import connection
from texts import documentation, pieces

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.pool import AsyncResult

RUN = "query_1767225600_8"
AGENTS, SUPERVISORS = 8, 2
GETTERS = ("get_discoveries", "get_insights", "get_deadends", "get_feedback", "get_plan", "get_context")
TOLD = "Times are those that each process saw, all of them on the cores named above at once."
SELECT = """
    select m.*, b.body from memories m join bodies b on b.memory_id = m.id
    where m.query_id = ? and m.kind = 'discovery' order by m.updated_at desc, m.id desc
"""


@dataclass(slots=True)
class Lived:
    """What one agent did: acknowledged ids by kind, tool calls, milliseconds by what it did, and errors."""

    kept: list[int] = field(default_factory=list)
    feedback: set[int] = field(default_factory=set)
    calls: int = 0
    taken: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def timed(self, name: str, work: Callable[[], object]) -> object:
        begun = perf_counter()
        try:
            return work()
        except Error as error:
            self.errors.append(f"{name}: {error}")
            return None
        finally:
            self.taken.setdefault(name, []).append((perf_counter() - begun) * 1000)


def opened(home: str) -> Engine:
    return Engine.open(replace(Config(), home=home, embedding=EmbeddingSettings(provider="hashed")))


def live(home: str, number: int, seconds: float, pause: float) -> Lived:
    """The life of one agent."""
    lived, dice, words = Lived(), random.Random(number), documentation()
    agent, supervisor = f"agent{number}", number < SUPERVISORS
    with opened(home) as engine:
        memory, bare = ResearchMemory(RUN, engine), connection(Path(engine.config.database))
        until, round = perf_counter() + seconds, 0
        while perf_counter() < until:
            round += 1
            said = f"{' '.join(pieces(words, dice, 20))} ({agent}, {round})"
            for name in dice.sample(GETTERS, 3):
                lived.timed("getter", getattr(memory, name))
            lived.timed("select", lambda: bare.execute(SELECT, (RUN,)).fetchall())
            lived.timed("search", lambda said=said: memory.search_memories(" ".join(said.split()[:3]), limit=5))
            kind = "feedback" if supervisor else dice.choice(("discovery", "insight", "deadend", "context"))
            id = lived.timed("store", lambda kind=kind, said=said: memory.store_memory(kind, said, agent))
            if isinstance(id, int):
                (lived.feedback.add if supervisor else lived.kept.append)(id)
            logged = lived.timed(
                "log",
                lambda said=said: memory.record_tool_call(agent, "http", "web_search", {"q": said[:40]}, said, True),
            )
            lived.calls += isinstance(logged, int)
            sleep(pause * dice.uniform(0.5, 1.5))
        bare.close()
    return lived


def verdict(home: str, lives: list[Lived]) -> list[str]:
    """What is wrong; empty if nothing is."""
    wrong = [error for lived in lives for error in lived.errors]
    with opened(home) as engine:
        there = {memory.id for memory in engine.runs.memories(RUN)}
        calls = sum(1 for _ in engine.runs.calls(RUN))
        wrong += [finding.told for finding in engine.maintenance.doctor() if not finding.well]
    kept = {id for lived in lives for id in (*lived.kept, *lived.feedback)}
    wrong += [f"memory {id} was acknowledged and is lost" for id in sorted(kept - there)]
    wrong += [f"memory {id} was kept unasked" for id in sorted(there - kept)]
    if any(len(lived.feedback) > 1 for lived in lives):
        wrong.append("an author has several rows of feedback")
    if calls != (logged := sum(lived.calls for lived in lives)):
        wrong.append(f"{logged} tool calls were acknowledged, {calls} are there")
    return wrong


def figures(lives: list[Lived], wrong: list[str], raw: dict[str, object]) -> list[Figure]:
    taken = {name: [time for lived in lives for time in lived.taken[name]] for name in lives[0].taken}
    raw |= taken
    rows = sum(len(lived.kept) for lived in lives)
    told = f"{rows:,} findings, {sum(map(len, (lived.taken['store'] for lived in lives))):,} writes, "
    told += f"{sum(lived.calls for lived in lives):,} tool calls"
    getters = figure("getter", rows, taken["getter"], {"select of discoveries": taken["select"]})
    lost = Figure("rows lost, errors", rows, bar="none", met=not wrong, note="; ".join(wrong[:3]) or told)
    others = [figure(name, rows, taken[name], {}) for name in ("store", "search", "log")]
    return [lost, barred(getters, "p95 ≤ 5 ms", met=(getters.worst or 0) <= 5), *others]


def main() -> None:
    parser = argparse.ArgumentParser(description="Eight processes that write and read one research run.")
    parser.add_argument("--quick", action="store_true", help="three seconds: does the script work?")
    parser.add_argument("--pause", type=float, default=0.5, metavar="SECONDS", help="that an agent thinks (0.5)")
    parser.add_argument("--keep", action="store_true", help="write the run to bench/runs/")
    given = parser.parse_args()
    seconds = 3.0 if given.quick else 60.0
    raw: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as home:
        with multiprocessing.get_context("spawn").Pool(AGENTS) as pool:
            each: list[AsyncResult[Lived]] = [
                pool.apply_async(live, (home, number, seconds, given.pause)) for number in range(AGENTS)
            ]
            lives = [one.get() for one in each]
        found = figures(lives, verdict(home, lives), raw)
    facts = setting() | {"team": f"{AGENTS} processes, {seconds:.0f} s, thinking {given.pause} s a round"}
    print("\n".join(f"{name:11}{fact}" for name, fact in facts.items()), table(found), sep="\n\n")
    if given.keep:
        print(f"\nkept in bench/runs/{keep(found, raw, facts, name='team', told=TOLD).name}")


if __name__ == "__main__":
    main()

"""
How good the answers are, and how often they cost a call of the model, measured on sets of judged questions.

A set is a folder (`memory.evaluate.judged`); its documents become memories of a store of their own
(`memory.evaluate.build`); its questions are asked to every system of a table through the engine
(`memory.evaluate.systems`); what comes back is weighed and added up (`memory.evaluate.measures`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from memory.evaluate import judged
from memory.evaluate.build import opened
from memory.evaluate.measures import OfSet, Point, Summary, Unanswerable, line, outcomes, summaries
from memory.evaluate.systems import (
    EFFORTS,
    GREP,
    HYBRID,
    SYSTEMS,
    TIERED,
    Chosen,
    answers,
    chosen,
    effort,
    grepped,
    searched,
)
from memory.schema.answer import Notice
from memory.schema.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from memory.config.config import Config
    from memory.engine import Engine
    from memory.evaluate.build import Watch
    from memory.evaluate.judged import Judged, Question
    from memory.evaluate.systems import Asked, System

__all__ = ["Evaluation", "Plan", "evaluate"]

OF_OTHERS = 200
"""How many questions of each other set are put to a set, unless one is named for that."""


@dataclass(frozen=True, slots=True)
class Plan:
    """
    What to measure.

    Attributes:
        config: Only its embedding and search settings count.
        cache: Where stores are kept between runs; None keeps none.
        most: The most questions of a set, always the same ones; None asks all.
        systems: Names of systems, possibly with "frontier"; None takes all that this configuration can run.
        frontier: Whether to measure efforts at all.
        against: The folder of a set whose questions no other set can answer; None takes some of every other set.
    """

    config: Config
    cache: Path | None = None
    most: int | None = None
    systems: tuple[str, ...] | None = None
    frontier: bool = True
    against: Path | None = None


class Evaluation(NamedTuple):
    """
    Attributes:
        summary: Over all sets.
        frontier: The same for each effort.
        most: See `Plan`.
    """

    sets: tuple[OfSet, ...]
    summary: tuple[Summary, ...]
    frontier: tuple[Summary, ...]
    most: int | None
    notices: tuple[Notice, ...] = ()


def evaluate(folders: Sequence[Path], plan: Plan, watch: Watch) -> Evaluation:
    """
    Measure all systems on all sets.

    Args:
        folders: Folders of judged sets, or folders that contain such folders.
        watch: Makes the progress callback for each piece of work.

    Raises:
        Invalid: A set has errors, or there is no such system.
        EmbedError: The model cannot be used.
        StoreError: A store cannot be made.
    """
    wanted, notices = _wanted(plan)
    sets = [judged.read(folder) for folder in judged.folders(folders)]
    others = _others(sets, plan) if any(system.name == TIERED for system in wanted.systems) else [[] for _ in sets]
    found = [_of_set(one, wanted, foreign, plan, watch) for one, foreign in zip(sets, others, strict=True)]
    return Evaluation(
        tuple(found),
        summaries([one.lines for one in found]),
        summaries([[point.line for point in one.frontier] for one in found]),
        plan.most,
        notices,
    )


def _wanted(plan: Plan) -> tuple[Chosen, tuple[Notice, ...]]:
    """
    The systems to measure, and notices about those left out.

    Raises:
        Invalid: There is no system of a name.
    """
    if plan.systems is not None:
        found = chosen(plan.systems)
    elif plan.config.embedding.provider == "none":
        notice = Notice("no model is configured: only what needs none was measured", "Set `embedding.provider`.")
        return Chosen(tuple(system for system in SYSTEMS if not system.dense), frontier=False), (notice,)
    else:
        found = Chosen(SYSTEMS, frontier=True)
    return found._replace(frontier=found.frontier and plan.frontier), ()


class _Foreign(NamedTuple):
    """Questions of another set."""

    name: str
    questions: Sequence[Question]


def _others(sets: Sequence[Judged], plan: Plan) -> list[list[_Foreign]]:
    """For each set, the questions that its documents do not answer."""
    if plan.against is not None:
        place, name = plan.against.resolve(), judged.name(plan.against)
        if not (questions := judged.questions(plan.against)):
            raise Invalid(f"{name} has no questions to ask", hint="Its queries.jsonl is empty.")
        foreign = _Foreign(name, judged.sample(questions, plan.most))
        return [[foreign] if one.folder.resolve() != place else [] for one in sets]
    most = min(OF_OTHERS, plan.most or OF_OTHERS)
    return [
        [_Foreign(other.name, judged.sample(other.questions, most)) for other in sets if other is not one]
        for one in sets
    ]


def _of_set(one: Judged, wanted: Chosen, others: Sequence[_Foreign], plan: Plan, watch: Watch) -> OfSet:
    questions = judged.sample(one.questions, plan.most)
    efforts = [effort(value) for value in EFFORTS] if wanted.frontier else []
    systems = (*wanted.systems, *efforts)
    total = len(questions) * len(systems) + sum(len(foreign.questions) for foreign in others)
    embeds = plan.config.embedding.provider != "none" and any(system.embeds for system in systems)
    with opened(one, plan.config, plan.cache, embeds=embeds, watch=watch) as engine:
        with watch(f"{one.name}: asking") as progress:
            done = count(1)

            def each() -> None:
                progress(next(done), total)

            asked = {system.name: _asked(engine, one, system, questions, each) for system in systems}
            unanswerable = tuple(_unanswerable(engine, one, foreign, each) for foreign in others)
        status = engine.maintenance.status()
    hybrid = asked.get(HYBRID)
    return OfSet(
        name=one.name,
        documents=len(one.documents),
        questions=len(questions),
        judged=len(one.questions),
        skipped=one.skipped,
        unknown=one.unknown,
        waiting=status.counts.queued if embeds else 0,
        model=status.configured if embeds else "",
        lines=tuple(line(system.name, asked[system.name], hybrid) for system in wanted.systems),
        frontier=tuple(
            Point(value, line(system.name, asked[system.name], hybrid))
            for value, system in zip(EFFORTS, efforts, strict=False)
        ),
        unanswerable=unanswerable,
    )


def _asked(
    engine: Engine, one: Judged, system: System, questions: Sequence[Question], each: Callable[[], None]
) -> list[Asked]:
    if system.name == GREP:
        return grepped(one.documents, questions, each)
    return searched(engine, system, questions, each)


def _unanswerable(engine: Engine, one: Judged, foreign: _Foreign, each: Callable[[], None]) -> Unanswerable:
    tiered = next(system for system in SYSTEMS if system.name == TIERED)
    questions = judged.grouped(foreign.questions, one.documents)
    names = [str(answer.outcome) for answer, _ in answers(engine, tiered, questions, each)]
    return Unanswerable(foreign.name, len(names), outcomes(names))

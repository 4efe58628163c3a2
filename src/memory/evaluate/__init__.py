"""
How good the answers are, and how often they cost a call of the model, measured on sets of judged questions.

A set is a folder (`memory.evaluate.judged`); its documents become memories of a store of their own (`stores`); its
questions are asked to every system of a table through the engine (`systems`); what comes back is weighed and added up
(`measures`), and shown (`report`, `picture`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from memory.evaluate import judged
from memory.evaluate.measures import OfSet, Summary, Unanswerable, line, outcomes, summaries
from memory.evaluate.stores import opened
from memory.evaluate.systems import (
    EFFORTS,
    FRONTIER,
    HYBRID,
    SYSTEMS,
    TIERED,
    Asked,
    System,
    answers,
    chosen,
    effort,
    grepped,
    searched,
)
from memory.schema.answer import Notice
from memory.schema.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from memory.config.config import Config
    from memory.engine import Engine
    from memory.evaluate.judged import Judged, Question
    from memory.evaluate.stores import Progress, Watch

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
    notices: tuple[Notice, ...] = ()
    if plan.systems is not None:
        names = plan.systems
    elif plan.config.embedding.provider == "none":
        names = tuple(system.name for system in SYSTEMS if not system.dense)
        notices = (
            Notice("no model is configured: only systems that need none were measured", "Set `embedding.provider`."),
        )
    else:
        names = (*(system.name for system in SYSTEMS), FRONTIER)
    systems = chosen(names)
    efforts = [effort(value) for value in EFFORTS if plan.frontier and FRONTIER in names]
    sets = [judged.read(folder) for folder in judged.folders(folders)]
    others = _others(sets, plan) if any(system.name == TIERED for system in systems) else [{} for _ in sets]
    found = [
        _of_set(one, systems, efforts, foreign, plan=plan, watch=watch)
        for one, foreign in zip(sets, others, strict=True)
    ]
    return Evaluation(
        tuple(found),
        summaries([one.lines for one in found]),
        summaries([one.frontier for one in found]),
        plan.most,
        notices,
    )


def _others(sets: Sequence[Judged], plan: Plan) -> list[dict[str, Sequence[Question]]]:
    """For each set, the questions that its documents do not answer, by the name of the set they are from."""
    if plan.against is None:
        most = min(OF_OTHERS, plan.most or OF_OTHERS)
        return [
            {other.name: judged.sample(other.questions, most) for other in sets if other is not one} for one in sets
        ]
    place, name = plan.against.resolve(), judged.name(plan.against)
    if not (questions := judged.questions(plan.against)):
        raise Invalid(f"{name} has no questions to ask", hint="Its queries.jsonl is empty.")
    foreign = {name: judged.sample(questions, plan.most)}
    return [foreign if one.folder.resolve() != place else {} for one in sets]


def _of_set(
    one: Judged,
    systems: Sequence[System],
    efforts: Sequence[System],
    others: Mapping[str, Sequence[Question]],
    *,
    plan: Plan,
    watch: Watch,
) -> OfSet:
    every = [*systems, *efforts]
    questions = judged.sample(one.questions, plan.most)
    embeds = plan.config.embedding.provider != "none" and any(system.embeds for system in every)
    with opened(one, plan.config, plan.cache, embeds=embeds, watch=watch) as engine:
        with watch(f"{one.name}: asking") as progress:
            done, total = count(1), len(questions) * len(every) + sum(map(len, others.values()))
            each = partial(_told, progress, done, total)
            asked = {system.name: _asked(engine, one, system, questions, each) for system in every}
            unanswerable = tuple(_unanswerable(engine, one, name, foreign, each) for name, foreign in others.items())
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
        lines=tuple(line(system.name, asked[system.name], hybrid) for system in systems),
        frontier=tuple(line(system.name, asked[system.name], hybrid) for system in efforts),
        unanswerable=unanswerable,
    )


def _told(progress: Progress, done: Iterator[int], total: int) -> None:
    progress(next(done), total)


def _asked(
    engine: Engine, one: Judged, system: System, questions: Sequence[Question], each: Callable[[], None]
) -> list[Asked]:
    if system.mode is None:
        return grepped(one.documents, questions, each)
    return searched(engine, system, questions, each)


def _unanswerable(
    engine: Engine, one: Judged, name: str, foreign: Sequence[Question], each: Callable[[], None]
) -> Unanswerable:
    (tiered,) = chosen([TIERED])
    found = answers(engine, tiered, judged.grouped(foreign, one.documents), each)
    return Unanswerable(name, len(found), outcomes([str(answer.outcome) for answer, _ in found]))

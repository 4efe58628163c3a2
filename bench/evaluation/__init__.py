"""
How good the answers are, and how often they cost a call of the model, measured on sets of judged questions.

A set is a folder (`memory.evaluate.judged`); its documents become memories of a store of their own (`stores`), or some
of them of smaller ones (`sizes`); its questions are asked to every system of a table through the engine (`systems`); what
comes back is weighed and added up (`measures`, `calibration`, `leave_one_out`), and shown (`report`, `picture`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from evaluation.calibration import bands
from evaluation.leave_one_out import LeaveOneOut, leave_one_out
from evaluation.measures import OfSet, Summary, line, summaries, unanswerable
from evaluation.sizes import Sample, by_size, compared
from evaluation.systems import EFFORTS, FRONTIER, SYSTEMS, Asked, effort, grepped, grouped, searched
from memory.evaluate import judged
from memory.evaluate.systems import HYBRID, TIERED, System, chosen, opened, ticking
from memory.schema.answer import Notice
from memory.schema.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evaluation.sizes import OfSize
    from memory.config import Config
    from memory.engine import Engine
    from memory.evaluate.judged import Judged, Question
    from memory.evaluate.systems import Watch

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
        sizes: Measure stores of so many memories too, and the whole set; None leaves them out.
        calibration: Whether to say how often `tiered` is right, by what it tells.
        budget: Choose an effort with at most this share of calls, each set left out once; None leaves it out.
    """

    config: Config
    cache: Path | None = None
    most: int | None = None
    systems: tuple[str, ...] | None = None
    frontier: bool = True
    against: Path | None = None
    sizes: tuple[int, ...] | None = None
    calibration: bool = False
    budget: float | None = None


class Evaluation(NamedTuple):
    """
    Attributes:
        summary: Over all sets.
        frontier: The same for each effort.
        most: See `Plan`.
        left_out: None if not asked for.
    """

    sets: tuple[OfSet, ...]
    summary: tuple[Summary, ...]
    frontier: tuple[Summary, ...]
    most: int | None
    notices: tuple[Notice, ...] = ()
    left_out: LeaveOneOut | None = None


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
    names, notices = _names(plan)
    systems = chosen([name for name in names if name != FRONTIER], SYSTEMS) if {*names} != {FRONTIER} else ()
    efforts = [effort(value) for value in EFFORTS if plan.frontier and FRONTIER in names]
    sets = [judged.read(folder) for folder in judged.folders(folders)]
    _check(plan, [system.name for system in (*systems, *efforts)], sets)
    needed = plan.sizes is not None or any(system.name == TIERED for system in systems)
    others = _others(sets, plan) if needed else [{} for _ in sets]
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
        None if plan.budget is None else leave_one_out(found, plan.budget),
    )


def _names(plan: Plan) -> tuple[Sequence[str], tuple[Notice, ...]]:
    """The names of what is to be measured, and what the caller should know of it."""
    if plan.systems is not None:
        return plan.systems, ()
    if plan.config.embedding.provider == "none":
        text = "no model is configured: only systems that need none were measured"
        names = [system.name for system in SYSTEMS if not system.dense]
        return names, (Notice(text, "Set `embedding.provider`."),)
    return (*(system.name for system in SYSTEMS), FRONTIER), ()


def _check(plan: Plan, names: Sequence[str], sets: Sequence[Judged]) -> None:
    """
    Check before minutes are spent that everything asked for is measured.

    Raises:
        Invalid: Something else is needed for it.
    """
    if plan.calibration and TIERED not in names:
        raise Invalid(f'a calibration is that of "{TIERED}", which is not measured', hint="Name it in --systems.")
    if plan.budget is None:
        return
    if HYBRID not in names or effort(EFFORTS[0]).name not in names:
        text = f'leaving one set out chooses an effort by its share of "{HYBRID}"; both must be measured'
        raise Invalid(text, hint=f'It needs a model, "{HYBRID}" and "{FRONTIER}" in --systems, and no --no-frontier.')
    if len(sets) < 2:
        hint = "Name several folders of judged sets, or a folder that holds them."
        raise Invalid(f"leaving one set out needs at least two sets, not {sets[0].name} alone", hint=hint)


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
    every = {
        system.name: system for system in (*systems, *efforts, *(() if plan.sizes is None else compared(plan.config)))
    }
    questions = judged.sample(one.questions, plan.most)
    embeds = plan.config.embedding.provider != "none" and any(
        system.mode and system.embeds for system in every.values()
    )
    with opened(one, plan.config, plan.cache, embeds=embeds, watch=watch) as engine:
        asked, strangers = _answered(engine, one, every, questions, others, watch=watch)
        whole = Sample(asked, list(chain.from_iterable(strangers.values())))
        sizes: tuple[OfSize, ...] = ()
        if plan.sizes is not None:
            foreign = list(chain.from_iterable(others.values()))
            sizes = tuple(by_size(engine, one, questions, foreign, sizes=plan.sizes, whole=whole, watch=watch))
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
        unanswerable=tuple(unanswerable(name, found) for name, found in strangers.items()),
        sizes=sizes,
        calibration=bands(asked[TIERED], whole.strangers) if plan.calibration else (),
    )


def _answered(
    engine: Engine,
    one: Judged,
    systems: Mapping[str, System],
    questions: Sequence[Question],
    others: Mapping[str, Sequence[Question]],
    *,
    watch: Watch,
) -> tuple[dict[str, list[Asked]], dict[str, list[Asked]]]:
    """The answers to the set's own questions, by system, and those of `tiered` to other sets' questions, by set."""
    (tiered,) = chosen([TIERED])
    with watch(f"{one.name}: asking") as progress:
        each = ticking(progress, len(questions) * len(systems) + sum(map(len, others.values())))
        asked = {
            name: grepped(one.documents, questions, each)
            if system.mode is None
            else searched(engine, system, questions, each)
            for name, system in systems.items()
        }
        foreign = {name: grouped(found, one.documents) for name, found in others.items()}
        return asked, {name: searched(engine, tiered, found, each) for name, found in foreign.items()}

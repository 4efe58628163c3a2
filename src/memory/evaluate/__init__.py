"""
How good the answers are, and how often they cost a call of the model, measured on sets of judged questions.

A set is a folder (`memory.evaluate.judged`); its documents become memories of a store of their own (`stores`); its
questions are put to every system of a table (`systems`); what comes back is weighed (`measures`) and shown (`report`).
`bench/evaluation` measures more with the same parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.engine.statistics import percentile
from memory.evaluate import judged
from memory.evaluate.measures import Mean, Measures, bootstrap, measures
from memory.evaluate.stores import opened, ticking
from memory.evaluate.systems import CALL, HYBRID, SYSTEMS, answers, chosen, document_id
from memory.schema.answer import Notice

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memory.config.config import Config
    from memory.evaluate.judged import Judged, Question
    from memory.evaluate.stores import Watch
    from memory.evaluate.systems import System
    from memory.schema.answer import Answer

__all__ = ["Evaluation", "Line", "OfSet", "Plan", "evaluate"]


class Plan(NamedTuple):
    """
    What to measure.

    Attributes:
        config: Only its embedding and search settings count.
        cache: Where stores are kept between runs; None keeps none.
        most: The most questions of a set, always the same ones; None asks all.
        systems: Names of systems; None takes all that this configuration can run.
    """

    config: Config
    cache: Path | None = None
    most: int | None = None
    systems: tuple[str, ...] | None = None


class Line(NamedTuple):
    """
    One system on one set.

    Attributes:
        calls: Share of the questions that needed the model, 0..1.
        p50, p95: Seconds of a whole answer; see `memory.engine.statistics.percentile`.
        relative: nDCG@10 as a share of that of hybrid minmax; None if that was not measured or finds nothing.
    """

    system: str
    quality: Measures[Mean]
    calls: Mean
    p50: float
    p95: float
    relative: float | None = None


class OfSet(NamedTuple):
    """
    Attributes:
        questions: How many were asked.
        judged: How many could be asked; more if only a sample was.
        skipped, unknown: See `memory.evaluate.judged.Judged`.
        waiting: Chunks without a vector, because the model did not take them.
        model: Provider and model; empty if none was needed.
    """

    name: str
    documents: int
    questions: int
    judged: int
    skipped: int
    unknown: int
    waiting: int
    model: str
    lines: tuple[Line, ...]


class Evaluation(NamedTuple):
    """
    Attributes:
        most: See `Plan`.
    """

    sets: tuple[OfSet, ...]
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
    able = plan.systems is not None or plan.config.embedding.provider != "none"
    usual = [system.name for system in SYSTEMS if able or not system.dense]
    systems = chosen(usual if plan.systems is None else plan.systems)
    sets = [judged.read(folder) for folder in judged.folders(folders)]
    measured = tuple(_of_set(one, systems, plan, watch) for one in sets)
    text = "no model is configured: only systems that need none were measured"
    return Evaluation(measured, plan.most, () if able else (Notice(text, "Set `embedding.provider`."),))


def _of_set(one: Judged, systems: Sequence[System], plan: Plan, watch: Watch) -> OfSet:
    questions = judged.sample(one.questions, plan.most)
    embeds = plan.config.embedding.provider != "none" and any(system.embeds for system in systems)
    with opened(one, plan.config, plan.cache, embeds=embeds, watch=watch) as engine:
        with watch(f"{one.name}: asking") as progress:
            each = ticking(progress, len(questions) * len(systems))
            lines = [line(one.name, questions, answers(engine, one, questions, each)) for one in systems]
        status = engine.maintenance.status()
    best = next((line.quality.ndcg10.mean for line in lines if line.system == HYBRID), 0.0)
    return OfSet(
        one.name,
        len(one.documents),
        len(questions),
        len(one.questions),
        one.skipped,
        one.unknown,
        status.counts.queued if embeds else 0,
        status.configured if embeds else "",
        tuple(line._replace(relative=line.quality.ndcg10.mean / best) if best else line for line in lines),
    )


def line(system: str, questions: Sequence[Question], answered: Sequence[tuple[Answer, float]]) -> Line:
    """
    Args:
        answered: The answer to each question, with its seconds; at least one.
    """
    worth = [
        measures([document_id(hit.memory) for hit in answer.hits], question.relevant)
        for question, (answer, _) in zip(questions, answered, strict=True)
    ]
    calls = [float(any(step.name == CALL for step in answer.steps)) for answer, _ in answered]
    seconds = [taken for _, taken in answered]
    quality = Measures(*map(bootstrap, zip(*worth, strict=True)))
    return Line(system, quality, bootstrap(calls), percentile(seconds, 50), percentile(seconds, 95))

"""
How good the answers are, and how often they cost a call of the model, measured on sets of judged questions.

A set is a folder (`memory.evaluate.judged`); its documents become memories of a store of their own, and its
questions are put to every system of a table (`memory.evaluate.systems`); what comes back is weighed and shown here.
`bench/evaluation` measures more with the same parts.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from memory.engine.statistics import percentile
from memory.evaluate import judged
from memory.evaluate.systems import CALL, HYBRID, SYSTEMS, answers, chosen, document_id, opened, ticking
from memory.schema import np
from memory.schema.answer import Answer, Notice
from memory.text.display import escape_controls
from memory.tools.render.data import document, notices
from memory.tools.render.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from memory.config import Config
    from memory.evaluate.judged import Judged, Question
    from memory.evaluate.systems import System, Watch


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
        waiting: Chunks without a vector, because the model refused them.
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


# The report ----------------------------------------------------------------------


HEAD = ("system", "nDCG@10", "Recall@5", "Recall@10", "MRR@10", "hit@5", "of hybrid", "calls", "p50 ms", "p95 ms")


def report_data(found: Evaluation) -> dict[str, Any]:
    """Times in seconds, shares and measures 0..1; `low` and `high` bound a mean's 95 % interval."""
    return document("eval", {"most": found.most, "sets": plain(found.sets), "notices": notices(found.notices)})


def plain(value: Any) -> Any:
    """A value with dictionaries in place of named tuples."""
    if not isinstance(value, tuple):
        return value
    items = [plain(item) for item in value]
    return dict(zip(value._fields, items, strict=True)) if hasattr(value, "_fields") else items


def report_text(found: Evaluation) -> str:
    """The whole report."""
    parts: list[str] = []
    for one in found.sets:
        rows = [HEAD, ("---", *("---:",) * (len(HEAD) - 1)), *map(_row, one.lines)]
        parts += [f"## {one.name}", described(one), "\n".join(f"| {' | '.join(row)} |" for row in rows)]
    legend = f"In brackets: 95 % bootstrap intervals. Of hybrid: nDCG@10 as a share of that of {HYBRID}. "
    legend += "Calls: questions that needed the model for their vector."
    if found.most is not None:
        legend += f" At most {found.most:,} questions of each set, always the same ones."
    return escape_controls("\n\n".join([*parts, legend]))


def described(one: OfSet) -> str:
    """What the set has, and what of it was left out."""
    asked = f"{one.questions:,} of {one.judged:,}" if one.questions < one.judged else f"{one.questions:,}"
    sentences = [f"{counted(one.documents, 'document')}, {asked} {'question' if one.judged == 1 else 'questions'}."]
    if one.model:
        sentences.append(f"Model: {one.model}.")
    if one.skipped:
        sentences.append(f"Skipped, because no answer was judged: {counted(one.skipped, 'question')}.")
    if one.unknown:
        sentences.append(f"Left out: {counted(one.unknown, 'judgment')} of documents or questions that do not exist.")
    if one.waiting:
        sentences.append(f"The model refused {counted(one.waiting, 'chunk')}.")
    return " ".join(sentences)


def _row(line: Line) -> tuple[str, ...]:
    relative = "–" if line.relative is None else f"{100 * line.relative:.1f} %"
    times = (f"{1000 * seconds:.1f}" for seconds in (line.p50, line.p95))
    return line.system, *map(interval, line.quality), relative, share(line.calls), *times


def interval(mean: Mean, sign: str = "") -> str:
    """A mean with its interval."""
    return f"{mean.mean:{sign}.3f} ({mean.low:{sign}.3f} to {mean.high:{sign}.3f})"


def share(mean: Mean) -> str:
    """The same in percent."""
    return f"{100 * mean.mean:.0f} % ({100 * mean.low:.0f} to {100 * mean.high:.0f})"


# Measures ------------------------------------------------------------------------


RESAMPLES = 1_000
SEED = 7


T = TypeVar("T")


class Measures(NamedTuple, Generic[T]):
    """Measures of one ranking, each 0..1, higher is better; or a figure of each over several rankings."""

    ndcg10: T
    recall5: T
    recall10: T
    mrr10: T
    hit5: T


class Mean(NamedTuple):
    """A mean with its 95 % interval: where it would lie 95 times of 100 with other questions of the same kind."""

    mean: float
    low: float
    high: float


def measures(ranking: Sequence[str], relevant: Mapping[str, float]) -> Measures[float]:
    """
    Args:
        ranking: Ids of documents, best first, each once.
        relevant: The answering documents with grades above 0; at least one.
    """
    return Measures(
        ndcg(ranking, relevant, 10),
        recall(ranking, relevant, 5),
        recall(ranking, relevant, 10),
        reciprocal(ranking, relevant, 10),
        float(any(id in relevant for id in ranking[:5])),
    )


def ndcg(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Normalised discounted cumulative gain with the grades as gains (Järvelin and Kekäläinen, TOIS 2002), 0..1."""
    gained = _discounted([relevant.get(id, 0.0) for id in ranking[:k]])
    return gained / _discounted(sorted(relevant.values(), reverse=True)[:k])


def _discounted(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def recall(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Share of the answering documents that are among the first k."""
    return sum(id in relevant for id in ranking[:k]) / len(relevant)


def reciprocal(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """1 / rank of the first answering document; 0 if none is among the first k."""
    return next((1 / rank for rank, id in enumerate(ranking[:k], start=1) if id in relevant), 0.0)


def bootstrap(values: Sequence[float]) -> Mean:
    """
    The mean with its percentile bootstrap interval (Efron 1979), from 1,000 resamples, always the same ones.

    For differences between two systems on the same questions, this is the paired interval.

    Args:
        values: At least one.
    """
    array = np.asarray(values, dtype=np.float64)
    means = _weights(len(array)) @ array
    low, high = np.percentile(means, (2.5, 97.5))
    return Mean(float(array.mean()), float(low), float(high))


@lru_cache(maxsize=2)
def _weights(count: int) -> NDArray[Any]:
    """The weight of each value in each resample: shape (RESAMPLES, count), rows that sum to 1."""
    drawn = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), RESAMPLES)
    return drawn / count

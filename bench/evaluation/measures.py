"""The figures of whole sets."""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from memory.engine.statistics import percentile
from memory.evaluate import Mean, Measures, bootstrap
from memory.schema.answer import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evaluation.calibration import Band
    from evaluation.sizes import OfSize
    from evaluation.systems import Asked


class Share(NamedTuple):
    """A tier or an outcome, and its share of the questions, 0..1."""

    name: str
    share: float


class Line(NamedTuple):
    """
    One system on one set.

    Attributes:
        calls: Share of the questions that needed the model.
        p50, p95: Seconds of a whole answer; see `memory.engine.statistics.percentile`.
        difference: nDCG@10 minus that of hybrid minmax, question by question; None if that was not measured.
        relative: The quotient of both means; also None if hybrid minmax finds nothing.
        tiers, outcomes: Most questions first.
    """

    system: str
    quality: Measures[Mean]
    calls: Mean
    p50: float
    p95: float
    difference: Mean | None
    relative: float | None
    tiers: tuple[Share, ...]
    outcomes: tuple[Share, ...]


class Unanswerable(NamedTuple):
    """
    Questions of another set, put to documents that do not answer them, with the system "tiered".

    Attributes:
        other: The set they are from.
        outcomes: All outcomes, in the order of `Outcome`.
    """

    other: str
    questions: int
    outcomes: tuple[Share, ...]


class OfSet(NamedTuple):
    """
    Attributes:
        questions: How many were asked.
        judged: How many could be asked; more if only a sample was.
        skipped, unknown: See `memory.evaluate.judged.Judged`.
        waiting: Chunks without a vector, because the model did not take them.
        model: Provider and model; empty if none was needed.
        frontier: A line for each effort of `EFFORTS`, or none.
        sizes: Of smaller stores, and last of the whole set; empty if not asked for.
        calibration: Of `tiered`; empty if not asked for.
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
    frontier: tuple[Line, ...]
    unanswerable: tuple[Unanswerable, ...]
    sizes: tuple[OfSize, ...] = ()
    calibration: tuple[Band, ...] = ()

    def line(self, system: str) -> Line | None:
        return next((line for line in self.lines if line.system == system), None)


class Summary(NamedTuple):
    """
    One system over all sets: means of the sets' means, so that each set counts the same.

    Attributes:
        worst: The lowest `relative` of a set.
    """

    system: str
    quality: Measures[float]
    calls: float
    relative: float | None
    worst: float | None


def line(system: str, asked: Sequence[Asked], hybrid: Sequence[Asked] | None) -> Line:
    """
    Args:
        asked: At least one.
        hybrid: What hybrid minmax made of the same questions, in the same order.
    """
    quality = Measures(*(bootstrap(values) for values in zip(*(one.measures for one in asked), strict=True)))
    difference = relative = None
    if hybrid is not None:
        pairs = zip(asked, hybrid, strict=True)
        difference = bootstrap([one.measures.ndcg10 - other.measures.ndcg10 for one, other in pairs])
        best = quality.ndcg10.mean - difference.mean
        relative = quality.ndcg10.mean / best if best > 1e-9 else None
    seconds = [one.seconds for one in asked]
    return Line(
        system,
        quality,
        bootstrap([float(one.called) for one in asked]),
        percentile(seconds, 50),
        percentile(seconds, 95),
        difference,
        relative,
        shares(one.tier for one in asked if one.tier),
        outcomes([one.outcome for one in asked if one.outcome]),
    )


def shares(names: Iterable[str]) -> tuple[Share, ...]:
    """The share of each name, largest first; ties by name."""
    counts = Counter(names)
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return tuple(Share(name, count / counts.total()) for name, count in ordered)


def outcomes(names: Sequence[str]) -> tuple[Share, ...]:
    """The share of every outcome, in the order of `Outcome`; empty without questions."""
    return tuple(Share(str(outcome), names.count(str(outcome)) / len(names)) for outcome in Outcome) if names else ()


def unanswerable(other: str, answers: Sequence[Asked]) -> Unanswerable:
    return Unanswerable(other, len(answers), outcomes([answer.outcome for answer in answers]))


def summaries(lines: Sequence[Sequence[Line]]) -> tuple[Summary, ...]:
    """
    Args:
        lines: For each set, of the same systems in the same order.
    """
    return tuple(_summary(every) for every in zip(*lines, strict=True))


def _summary(lines: Sequence[Line]) -> Summary:
    every = zip(*(line.quality for line in lines), strict=True)
    quality = Measures(*(fmean(mean.mean for mean in means) for means in every))
    relative = [line.relative for line in lines if line.relative is not None]
    known = len(relative) == len(lines)
    return Summary(
        lines[0].system,
        quality,
        fmean(line.calls.mean for line in lines),
        fmean(relative) if known else None,
        min(relative) if known else None,
    )

"""What an evaluation measured: as the dictionary that becomes JSON, and as tables in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.evaluate.systems import EFFORTS, HYBRID, TIERED
from memory.operations.render.data import document, notices
from memory.operations.render.text import counted
from memory.schema.answer import Outcome
from memory.text.display import escape_controls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.evaluate import Evaluation
    from memory.evaluate.measures import Line, Mean, OfSet, Summary

MEASURES = ("nDCG@10", "Recall@5", "Recall@10", "MRR@10", "hit@5")
UNKNOWN = "–"


def data(found: Evaluation) -> dict[str, Any]:
    """Times in seconds, shares and measures 0..1; `low` and `high` bound a mean's 95 % interval."""
    sets = [
        _plain(one)
        | {"frontier": [{"effort": value} | _plain(line) for value, line in zip(EFFORTS, one.frontier, strict=False)]}
        for one in found.sets
    ]
    values = {
        "most": found.most,
        "sets": sets,
        "summary": _plain(found.summary),
        "frontier": _plain(found.frontier),
        "notices": notices(found.notices),
    }
    return document("eval", values)


def _plain(value: Any) -> Any:
    """A value with dictionaries in place of named tuples."""
    if not isinstance(value, tuple):
        return value
    items = [_plain(item) for item in value]
    return dict(zip(value._fields, items, strict=True)) if hasattr(value, "_fields") else items


def text(found: Evaluation) -> str:
    """The whole report; if there are several sets, the summary of all comes first."""
    parts = []
    if len(found.sets) > 1:
        parts += ["## All sets", _summary(found.summary)]
    if found.frontier:
        parts += ["## Frontier", _frontier(found)]
    for one in found.sets:
        parts += [f"## {one.name}", _told(one), _lines(one.lines)]
        if (outcomes := _outcomes(one)) is not None:
            parts.append(outcomes)
    parts.append(_legend(found))
    return escape_controls("\n\n".join(parts))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is names and whose other columns are numbers."""
    lines = [head, ("---", *("---:",) * (len(head) - 1)), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def _summary(summaries: Sequence[Summary]) -> str:
    """Means of the sets' means."""
    head = ("system", *MEASURES, "of hybrid", "worst set", "calls")
    rows = [
        (
            one.system,
            *(f"{value:.3f}" for value in one.quality),
            _percent(one.relative, 1),
            _percent(one.worst, 1),
            _percent(one.calls),
        )
        for one in summaries
    ]
    return _table(head, rows)


def _frontier(found: Evaluation) -> str:
    """A line for each effort: calls, nDCG@10, and how much of hybrid minmax that is."""
    several = len(found.sets) > 1
    head = ["effort", *(f"{one.name}: calls, nDCG@10, of hybrid" for one in found.sets)]
    rows = []
    for value, mean, *lines in zip(EFFORTS, found.frontier, *(one.frontier for one in found.sets), strict=True):
        rows.append([f"{value:.1f}", *map(_point, lines)])
        if several:
            rows[-1] += [_percent(mean.calls), _percent(mean.relative, 1), _percent(mean.worst, 1)]
    return _table([*head, *(("mean calls", "mean of hybrid", "worst set") if several else ())], rows)


def _point(line: Line) -> str:
    return f"{_percent(line.calls.mean)}, {line.quality.ndcg10.mean:.3f}, {_percent(line.relative, 1)}"


def _told(one: OfSet) -> str:
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


def _lines(lines: Sequence[Line]) -> str:
    head = ("system", *MEASURES, "of hybrid", "difference", "calls", "p50 ms", "p95 ms")
    rows = [
        (
            line.system,
            *(_interval(mean) for mean in line.quality),
            _percent(line.relative, 1),
            UNKNOWN if line.difference is None else _interval(line.difference, "+"),
            _calls(line.calls),
            f"{1000 * line.p50:.1f}",
            f"{1000 * line.p95:.1f}",
        )
        for line in lines
    ]
    return _table(head, rows)


def _interval(mean: Mean, sign: str = "") -> str:
    return f"{mean.mean:{sign}.3f} ({mean.low:{sign}.3f} to {mean.high:{sign}.3f})"


def _calls(mean: Mean) -> str:
    return f"{100 * mean.mean:.0f} % ({100 * mean.low:.0f} to {100 * mean.high:.0f})"


def _percent(share: float | None, digits: int = 0) -> str:
    return UNKNOWN if share is None else f"{100 * share:.{digits}f} %"


def _outcomes(one: OfSet) -> str | None:
    """The outcomes of the set's own questions and of other sets' questions, with the system "tiered"."""
    tiered = one.line(TIERED)
    if tiered is None:
        return None
    head = ("tiered: questions of", "asked", *(str(outcome) for outcome in Outcome))
    rows = [
        (
            f"{name}, which it {'answers' if own else 'does not answer'}",
            f"{questions:,}",
            *(_percent(one.share, 1) for one in outcomes),
        )
        for name, questions, outcomes, own in (
            (one.name, one.questions, tiered.outcomes, True),
            *((other.other, other.questions, other.outcomes, False) for other in one.unanswerable),
        )
    ]
    tiers = ", ".join(f"{tier.name} {_percent(tier.share)}" for tier in tiered.tiers)
    return f"{_table(head, rows)}\n\nTiers of its own questions: {tiers}."


def _legend(found: Evaluation) -> str:
    sentences = [
        "In brackets: 95 % bootstrap intervals.",
        f"Of hybrid: nDCG@10 as a share of that of {HYBRID}; difference: minus that of {HYBRID}, question by question.",
        "Calls: questions that needed the model for their vector.",
    ]
    if found.most is not None:
        sentences.append(f"At most {found.most:,} questions of each set, always the same ones.")
    return " ".join(sentences)

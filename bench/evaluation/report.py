"""What an evaluation measured: as the dictionary that becomes JSON, and as tables in Markdown."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING, Any

from evaluation.measures import summaries
from evaluation.systems import EFFORTS
from memory.evaluate import described, interval, plain, share
from memory.evaluate.systems import HYBRID, KEYWORDS, NO_CALL, TIERED
from memory.schema.answer import Outcome
from memory.text.display import escape_controls
from memory.tools.render.data import document, notices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation import Evaluation
    from evaluation.calibration import Band
    from evaluation.leave_one_out import LeaveOneOut
    from evaluation.measures import Line, OfSet, Summary
    from evaluation.sizes import OfSize

MEASURES = ("nDCG@10", "Recall@5", "Recall@10", "MRR@10", "hit@5")
UNKNOWN = "–"
ASKED_FOR = {"sizes", "calibration"}
"""Of a set: in JSON only if they were asked for."""


def data(found: Evaluation) -> dict[str, Any]:
    """Times in seconds, shares and measures 0..1; `low` and `high` bound a mean's 95 % interval."""
    sets = [
        {name: value for name, value in plain(one).items() if name not in ASKED_FOR or value}
        | {"frontier": [{"effort": value} | plain(line) for value, line in zip(EFFORTS, one.frontier, strict=False)]}
        for one in found.sets
    ]
    values = {
        "most": found.most,
        "sets": sets,
        "summary": plain(found.summary),
        "frontier": plain(found.frontier),
        "notices": notices(found.notices),
    }
    if found.left_out is not None:
        values["leave_one_out"] = plain(found.left_out)
    return document("eval", values)


def text(found: Evaluation) -> str:
    """The whole report; if there are several sets, the summary of all comes first."""
    parts = []
    if len(found.sets) > 1:
        parts += ["## All sets", _summary(found.summary)]
    if found.frontier:
        parts += ["## Frontier", _frontier(found)]
    if found.left_out is not None:
        parts += ["## Leaving one set out", _left_out(found.left_out)]
    if len(found.sets) > 1 and any(one.sizes for one in found.sets):
        parts += ["## All sets by size", _mean_sizes(found.sets)]
    for one in found.sets:
        parts += [f"## {one.name}", described(one), _lines(one.lines)]
        if (outcomes := _outcomes(one)) is not None:
            parts.append(outcomes)
        if one.sizes:
            parts += [f"### {one.name} by size", _sizes(one.sizes)]
        if one.calibration:
            parts += [f"### {one.name}: how far an answer can be trusted", _calibration(one.calibration)]
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


def _lines(lines: Sequence[Line]) -> str:
    head = ("system", *MEASURES, "of hybrid", "difference", "calls", "p50 ms", "p95 ms")
    rows = [
        (
            line.system,
            *(interval(mean) for mean in line.quality),
            _percent(line.relative, 1),
            UNKNOWN if line.difference is None else interval(line.difference, "+"),
            share(line.calls),
            f"{1000 * line.p50:.1f}",
            f"{1000 * line.p95:.1f}",
        )
        for line in lines
    ]
    return _table(head, rows)


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
    if any(one.sizes for one in found.sets):
        sentences.append(BY_SIZE)
    if any(one.calibration for one in found.sets):
        sentences.append(CALIBRATION)
    if found.most is not None:
        sentences.append(f"At most {found.most:,} questions of each set, always the same ones.")
    return " ".join(sentences)


# What is measured only if asked for -------------------------------------------------

SHOWN = (KEYWORDS, NO_CALL, TIERED)
"""Systems with a column in the tables by size."""

BY_SIZE = (
    "By size: the mean over stores drawn from the set, each with its own statistics and term vectors; "
    "denied: of the questions that tiered has an answer to among its ten hits, those told nothing_relevant; "
    "strangers told: other sets' questions told so. A size without questions whose answers fit into it has no row."
)
CALIBRATION = (
    "How far an answer can be trusted: the share of the answers with an answering document first, "
    "or among the first five, by what they say; the last column if every second question had no answer."
)


def _sizes(sizes: Sequence[OfSize]) -> str:
    head = ("memories", "stores", "questions", f"nDCG@10 of {HYBRID}", *(f"{name}, of hybrid" for name in SHOWN))
    rows = []
    for one in sizes:
        lines = {line.system: line for line in one.lines}
        hybrid = lines.get(HYBRID)
        rows.append(
            (
                f"{one.documents:,}",
                f"{one.stores}",
                f"{one.questions:,}",
                UNKNOWN if hybrid is None else f"{hybrid.quality.ndcg10.mean:.3f}",
                *(_percent(lines[name].relative, 1) for name in SHOWN),
                _percent(lines[TIERED].calls.mean),
                _share(one.denied, one.found),
                _share(one.told, one.strangers),
            )
        )
    return _table((*head, "calls", "denied", "strangers told"), rows)


def _mean_sizes(sets: Sequence[OfSet]) -> str:
    """Means over the sets that have a row of a size; those of the whole sets come last."""
    groups: defaultdict[float, list[OfSize]] = defaultdict(list)
    for one in sets:
        *smaller, whole = one.sizes
        groups[math.inf].append(whole)
        for size in smaller:
            groups[size.documents].append(size)
    head = (
        "memories",
        "sets",
        *(f"{name}, of hybrid" for name in SHOWN),
        "worst set",
        "calls",
        "denied",
        "strangers told",
    )
    rows = []
    for documents, group in sorted(groups.items()):
        means = {one.system: one for one in summaries([one.lines for one in group])}
        rows.append(
            (
                "all" if documents == math.inf else f"{documents:,}",
                f"{len(group)}",
                *(_percent(means[name].relative, 1) for name in SHOWN),
                _percent(means[TIERED].worst, 1),
                _percent(means[TIERED].calls),
                _mean([(one.denied, one.found) for one in group]),
                _mean([(one.told, one.strangers) for one in group]),
            )
        )
    return _table(head, rows)


def _mean(counts: Sequence[tuple[int, int]]) -> str:
    """The mean of shares, without those of nothing."""
    shares = [count / total for count, total in counts if total]
    return _percent(fmean(shares) if shares else None, 1)


def _share(count: int, total: int) -> str:
    return f"{count:,} of {total:,} ({_percent(count / total, 1)})" if total else UNKNOWN


def _calibration(bands: Sequence[Band]) -> str:
    head = (f"{TIERED} says", "own questions", "first right", "one of five right", "strangers", "right, half strangers")
    rows = [
        (
            f"{band.sign} {band.told}",
            f"{band.own:,}",
            _percent(band.first),
            _percent(band.five),
            f"{band.strangers:,}",
            _percent(band.even),
        )
        for band in bands
    ]
    return _table(head, rows)


def _left_out(found: LeaveOneOut) -> str:
    head = ("left out", "effort", "others: of hybrid", "others: calls", "here: of hybrid", "here: calls")
    rows = [
        (
            one.name,
            f"{one.effort:.1f}",
            _percent(one.others_relative, 1),
            _percent(one.others_calls),
            _percent(one.relative, 1),
            _percent(one.calls),
        )
        for one in found.sets
    ]
    rows.append(("mean", "", "", "", _percent(found.relative, 1), _percent(found.calls)))
    rows.append(("worst", "", "", "", _percent(found.worst, 1), ""))
    words = (
        f"The effort is chosen on the other sets: the highest for at most {_percent(found.budget)} calls there. "
        "The mean is what to expect of an effort chosen so on questions of your own."
    )
    return f"{_table(head, rows)}\n\n{words}"

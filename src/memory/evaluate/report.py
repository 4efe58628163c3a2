"""What an evaluation measured: as the dictionary that becomes JSON, as tables in Markdown, and as a picture in SVG."""

from __future__ import annotations

import math
from html import escape
from itertools import count, cycle
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.evaluate.systems import COUNT, EFFORTS, HYBRID, KEYWORDS, NO_CALL, TIERED
from memory.operations.render.data import document, notices
from memory.operations.render.text import counted
from memory.schema.answer import Outcome
from memory.text.display import escape_controls

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


# The picture: how good the answers are for how many calls of the model ------------

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 550, 46, 384  # of the plot; the legend is to its right
STEP = 20  # between lines of the legend

INK = "#6e7781"
COLOURS = ("#1f7ac4", "#c2610c", "#0f8a5f", "#b8479a", "#8a6d00", "#7a62c9", "#c8433f", "#0b8590")
"""Each has a contrast of 3:1 at least with white and with the darkest grey of a dark page; there is no background."""
DASHES = ("", "7 3", "2 3", "9 3 2 3")
"""Lines differ in more than their colours."""
SHAPES = {
    TIERED: '<circle cx="{x:.1f}" cy="{y:.1f}" r="6"{style}/>',
    NO_CALL: '<path d="M{x:.1f} {y:.1f}m0 -7l7 7l-7 7l-7 -7z"{style}/>',
    COUNT: '<path d="M{x:.1f} {y:.1f}m-5 -5h10v10h-10z"{style}/>',
    KEYWORDS: '<path d="M{x:.1f} {y:.1f}m0 -6l6 11h-12z"{style}/>',
}
"""Shapes of the systems that are a single point each."""
EFFORT = '<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"{style}/>'


class _Field(NamedTuple):
    """The range shown, in percent of hybrid minmax, and the distance between horizontal lines."""

    low: int
    high: int
    step: int

    def x(self, line: Line) -> float:
        return LEFT + (RIGHT - LEFT) * line.calls.mean

    def y(self, percent: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (percent - self.low) / (self.high - self.low)


def picture(found: Evaluation) -> str:
    """A line for each set that was also measured with hybrid minmax; without any, only the axes."""
    drawn = [one for one in found.sets if _shown(one)]
    field = _field([percent for one in drawn for _, percent in _shown(one)])
    styles = list(zip(drawn, cycle(COLOURS), cycle(DASHES), strict=False))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"',
        f' role="img" font-family="system-ui, sans-serif" font-size="13" fill="{INK}">',
        "<title>Quality of the answers against calls of the model</title>",
        *_axes(field),
    ]
    for one, colour, dash in styles:
        parts += _drawn_set(one, field, colour, dash)
    parts += _drawn_legend([(escape_controls(one.name), colour, dash) for one, colour, dash in styles])
    return "\n".join([*parts, "</svg>"]) + "\n"


def _shown(one: OfSet) -> list[tuple[Line, float]]:
    """The points to draw of a set, the frontier first, each with its percent of hybrid minmax."""
    lines = [*one.frontier, *(line for line in one.lines if line.system in SHAPES)]
    return [(line, 100 * line.relative) for line in lines if line.relative is not None]


def _field(percents: Sequence[float]) -> _Field:
    """A range around all points and 100 %, with at most eight horizontal lines."""
    low, high = min([*percents, 99.0]), max([*percents, 100.0])
    steps = (digit * 10**power for power in count() for digit in (1, 2, 5))
    step = next(step for step in steps if (high - low) / step <= 7)
    return _Field(math.floor(low / step) * step, (math.floor(high / step) + 1) * step, step)


def _axes(field: _Field) -> Iterator[str]:
    for percent in range(field.low, field.high + 1, field.step):
        y, strong = field.y(percent), percent == 100
        yield (
            f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="{INK}" stroke-opacity="{0.9 if strong else 0.25}"'
            + (' stroke-dasharray="4 4"/>' if strong else "/>")
        )
        yield f'<text x="{LEFT - 12}" y="{y + 4:.1f}" text-anchor="end">{percent} %</text>'
    for share in range(0, 101, 20):
        x = LEFT + (RIGHT - LEFT) * share / 100
        yield f'<path d="M{x:.1f} {BOTTOM}v5" stroke="{INK}"/>'
        yield f'<text x="{x:.1f}" y="{BOTTOM + 20}" text-anchor="middle">{share} %</text>'
    yield f'<path d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}" fill="none" stroke="{INK}"/>'
    middle = (LEFT + RIGHT) / 2
    yield f'<text x="{middle}" y="{BOTTOM + 44}" text-anchor="middle">questions that called the model</text>'
    yield f'<text x="{LEFT - 56}" y="{TOP - 20}">nDCG@10, of that of always calling it (hybrid minmax)</text>'


def _drawn_set(one: OfSet, field: _Field, colour: str, dash: str) -> Iterator[str]:
    shown = _shown(one)
    points = [f"{field.x(line):.1f},{field.y(percent):.1f}" for line, percent in shown if line.system not in SHAPES]
    if points:
        yield f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2"{_dashed(dash)}/>'
    name, filled = escape(escape_controls(one.name)), f' fill="{colour}"'
    for line, percent in shown:
        shape = SHAPES.get(line.system, EFFORT).format(x=field.x(line), y=field.y(percent), style=filled)
        caption = f"{name}, {line.system}: {percent:.1f} % for {100 * line.calls.mean:.0f} % calls"
        yield f"<g><title>{caption}</title>{shape}</g>"


def _dashed(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""


def _drawn_legend(sets: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    left, y = RIGHT + 24, TOP + 6
    for name, colour, dash in sets:
        yield f'<path d="M{left} {y}h28" stroke="{colour}" stroke-width="2"{_dashed(dash)}/>'
        yield f'<text x="{left + 36}" y="{y + 4}">{escape(name if len(name) <= 20 else name[:19] + "…")}</text>'
        y += STEP
    for system, shape in SHAPES.items():
        y += STEP
        yield shape.format(x=left + 14, y=y, style="")
        yield f'<text x="{left + 36}" y="{y + 4}">{system}</text>'
    yield EFFORT.format(x=left + 14, y=y + STEP, style="")
    yield f'<text x="{left + 36}" y="{y + STEP + 4}">effort 0.0 to 1.0</text>'

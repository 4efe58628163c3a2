"""The pictures of an evaluation, in SVG: quality against calls of the model, and how far an answer can be trusted."""

from __future__ import annotations

import math
from html import escape
from itertools import count, cycle
from typing import TYPE_CHECKING, NamedTuple

from evaluation.calibration import OUTCOMES, SIGNS, Band
from memory.evaluate.systems import COUNT, KEYWORDS, NO_CALL, TIERED
from memory.text.display import escape_controls

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evaluation import Evaluation
    from evaluation.measures import Line, OfSet

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


def frontier(found: Evaluation) -> str:
    """A line for each set that was also measured with hybrid minmax; without any, only the axes."""
    drawn = [one for one in found.sets if _shown(one)]
    field = _field([percent for one in drawn for _, percent in _shown(one)])
    styles = list(zip(drawn, cycle(COLOURS), cycle(DASHES), strict=False))
    parts = [*_axes(field)]
    for one, colour, dash in styles:
        parts += _drawn_set(one, field, colour, dash)
    parts += _drawn_legend([(escape_controls(one.name), colour, dash) for one, colour, dash in styles])
    return _svg("Quality of the answers against calls of the model", WIDTH, HEIGHT, parts)


def _svg(title: str, width: int, height: int, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"',
        f' role="img" font-family="system-ui, sans-serif" font-size="13" fill="{INK}">',
        f"<title>{title}</title>",
    )
    return "\n".join([*head, *parts, "</svg>"]) + "\n"


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


# How far an answer can be trusted: a row for each set, a panel for each sign --------

PANEL, TALL, BETWEEN = 216, 120, 28
"""Width and height of a panel, and what is between two; points."""
SIDE, ABOVE, ROW = 62, 66, TALL + 62
OWN, EVEN = COLOURS[0], COLOURS[1]
HEADS = {
    "outcome": "outcome",
    "relevance": "relevance of the first hit",
    "similarity": "similarity of the first hit",
}


class _Panel(NamedTuple):
    left: int
    top: int
    sign: str

    @property
    def places(self) -> Sequence[str]:
        """What has a place on the axis: not "none", nor an outcome that says nothing about the hits."""
        every = SIGNS[self.sign]
        return every[: len(OUTCOMES)] if self.sign == "outcome" else every[:-1]

    def x(self, band: Band) -> float:
        return self.left + PANEL * (self.places.index(band.told) + 0.5) / len(self.places)

    def y(self, share: float) -> float:
        return self.top + TALL * (1 - share)


def calibration(found: Evaluation) -> str:
    """A row of panels for each set: the share of right answers, by what the answer says."""
    sets = [one for one in found.sets if one.calibration]
    parts = [*_drawn_key()]
    for number, one in enumerate(sets):
        top = ABOVE + number * ROW + 18
        parts.append(
            f'<text x="{SIDE}" y="{top - 8}" font-weight="bold">{escape(escape_controls(one.name)[:60])}</text>'
        )
        for column, sign in enumerate(SIGNS):
            panel = _Panel(SIDE + column * (PANEL + BETWEEN), top, sign)
            parts += _panel_axes(panel, labelled=column == 0)
            parts += _curves(
                panel, [band for band in one.calibration if band.sign == sign and band.told in panel.places]
            )
    width = SIDE + len(SIGNS) * (PANEL + BETWEEN)
    return _svg("Share of right answers by what the answer says", width, ABOVE + max(1, len(sets)) * ROW, parts)


def _drawn_key() -> Iterator[str]:
    yield f'<text x="{SIDE}" y="20">an answer is among the first five hits: share of the answers that say the same</text>'
    x = SIDE
    for colour, dash, label in ((OWN, "", "questions with an answer"), (EVEN, "5 3", "every second question has none")):
        yield f'<path d="M{x} 40h28" stroke="{colour}" stroke-width="2"{_dashed(dash)}/>'
        yield f'<text x="{x + 36}" y="44">{label}</text>'
        x += 268
    yield f'<text x="{x}" y="44">larger points: more answers</text>'


def _panel_axes(panel: _Panel, *, labelled: bool) -> Iterator[str]:
    left, top, sign = panel
    for percent in (0, 50, 100):
        y = panel.y(percent / 100)
        yield f'<path d="M{left} {y}h{PANEL}" stroke="{INK}" stroke-opacity="{0.9 if percent == 0 else 0.25}"/>'
        if labelled:
            yield f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{percent} %</text>'
    outcomes = [(number + 0.5, told) for number, told in enumerate(panel.places)]
    for place, label in outcomes if sign == "outcome" else ((0, "0.0"), (5, "0.5"), (10, "1.0")):
        x = left + PANEL * place / len(panel.places)
        yield f'<text x="{x:.1f}" y="{top + TALL + 16}" text-anchor="middle" font-size="11">{label}</text>'
    yield f'<text x="{left + PANEL / 2}" y="{top + TALL + 31}" text-anchor="middle" font-size="11">{HEADS[sign]}</text>'


def _curves(panel: _Panel, bands: Sequence[Band]) -> Iterator[str]:
    own, strangers = sum(band.own for band in bands) or 1, sum(band.strangers for band in bands) or 1
    for colour, dash, points in (
        (EVEN, "5 3", [(band, band.even, band.own / own / 2 + band.strangers / strangers / 2) for band in bands]),
        (OWN, "", [(band, band.five, band.own / own) for band in bands]),
    ):
        drawn = [(band, panel.x(band), panel.y(share), size) for band, share, size in points if share is not None]
        if drawn:
            line = " ".join(f"{x:.1f},{y:.1f}" for _, x, y, _ in drawn)
            yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"{_dashed(dash)}/>'
        for band, x, y, size in drawn:
            caption = f"{band.sign} {band.told}: {band.own} own questions, {band.strangers} of strangers"
            radius = 2 + 6 * math.sqrt(size)
            yield f'<g><title>{caption}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}"/></g>'

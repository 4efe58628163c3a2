"""Explore: searches by tier and latency, and embeddings by cost, day by day, as columns."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.engine.statistics import percentile
from memory.schema.answer import Searched, Tier
from memory.schema.errors import Invalid
from memory.tools.render.text import HOW, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.responses import Response

    from memory.web.site import Visit

SPANS = {"7": "7 days", "30": "30 days", "90": "90 days"}
WIDE, HIGH = 720, 150
LEFT, TOP, BOTTOM = 8, 16, 20  # around the columns
HUES = 12
HALF, MOST = "median", "95th percentile"


class Stretch(NamedTuple):
    """A piece of a column."""

    y: float
    high: float
    hue: int


class Column(NamedTuple):
    """
    Attributes:
        words: What the picture shows of that day.
    """

    x: float
    wide: float
    day: date
    parts: Sequence[Stretch]
    words: str


class Chart(NamedTuple):
    """
    Attributes:
        label: What the highest column stands for.
        names: Of the hues, from 0.
    """

    title: str
    columns: Sequence[Column]
    label: str
    names: Sequence[str]


def page(visit: Visit) -> Response:
    """
    Raises:
        Invalid: The address names no span.
    """
    text = span(visit, SPANS)
    with visit.engine as engine:
        today = engine.now().astimezone().date()
        searches = engine.searches.entered(int(text))
        found = engine.searches.statistics(int(text))
    days = [today - timedelta(days=back) for back in reversed(range(int(text)))]
    lines = visit.rows("ledger", days=[text])["lines"]
    charts = [*_searches(days, searches), *_sent(days, lines)]
    return visit.page("use.html", charts=charts, found=found, days=text, spans=SPANS, wide=WIDE, high=HIGH)


def span(visit: Visit, spans: Mapping[str, str]) -> str:
    """
    The days that the address names.

    Raises:
        Invalid: They are none of the spans.
    """
    text = visit.asked("days", "30")
    if text not in spans:
        raise Invalid(f"no span {text[:20]!r}", hint=f"There are: {', '.join(spans)}.")
    return text


def _searches(days: Sequence[date], searches: Sequence[Searched]) -> list[Chart]:
    if not searches:
        return []
    tiers = [str(tier) for tier in Tier]
    counts: dict[date, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    taken: dict[date, list[float]] = defaultdict(list)
    for one in searches:
        at = one.moment.astimezone().date()
        counts[at][one.tier] += 1
        taken[at].append(one.seconds)
    medians = {day: percentile(several, 50) for day, several in taken.items()}
    slow = {
        day: {"half": medians[day], "19 of 20": percentile(several, 95) - medians[day]}
        for day, several in taken.items()
    }
    names = [f"{HOW[Tier(tier)]} ({tier})" for tier in tiers]
    return [
        _chart("Searches by tier", days, counts, dict(zip(tiers, names, strict=True)), "{:,.0f}".format),
        _chart("Search latency", days, slow, {HALF: HALF, MOST: MOST}, duration, heaped=True),
    ]


def _sent(days: Sequence[date], lines: Sequence[dict[str, Any]]) -> list[Chart]:
    if not lines:
        return []
    purposes = {line["purpose"]: line["purpose"] for line in lines}
    charts = []
    for field, title, words in (
        ("calls", "Model calls by purpose", "{:,.0f}".format),
        ("tokens", "Tokens", "{:,.0f}".format),
        ("cost", "Estimated cost", "${:.4f}".format),
    ):
        sums: dict[date, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for line in lines:
            sums[datetime.fromisoformat(line["moment"]).date()][line["purpose"]] += line[field]
        if any(map(any, (found.values() for found in sums.values()))):
            charts.append(_chart(title, days, sums, purposes, words))
    return charts


def _chart(
    title: str,
    days: Sequence[date],
    values: Mapping[date, Mapping[str, float]],
    names: Mapping[str, str],
    words: Callable[[float], str],
    *,
    heaped: bool = False,
) -> Chart:
    """
    A column for each day, of a piece for each name, the first at the bottom.

    Args:
        heaped: What is said of a piece is the sum up to it.
    """
    highest = max((sum(found.values()) for found in values.values()), default=0.0) or 1.0
    step = (WIDE - LEFT) / len(days)
    room = HIGH - TOP - BOTTOM
    columns = []
    for number, day in enumerate(days):
        found, y, parts, told = values.get(day, {}), float(HIGH - BOTTOM), [], []
        whole = 0.0
        for hue, name in enumerate(names):
            if not (value := found.get(name, 0.0)):
                continue
            whole += value
            high = room * value / highest
            y -= high
            parts.append(Stretch(y, high, hue % HUES))
            told.append(f"{names[name]}: {words(whole if heaped else value)}")
        columns.append(Column(LEFT + number * step, max(step - 2, 1.0), day, parts, ", ".join(told)))
    return Chart(title, columns, words(highest), [*names.values()])


PAGES = {"GET /see/use": page}

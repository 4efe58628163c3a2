"""Explore, in the order of time: a session, a research run as a board, and searches and embeddings day by day."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date, datetime, timedelta
from itertools import groupby, islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.engine.statistics import percentile
from memory.schema.answer import Searched, Tier
from memory.schema.errors import Invalid
from memory.schema.kinds import RESEARCH_KINDS
from memory.schema.moments import clock
from memory.schema.query import EVERYTHING
from memory.text.display import one_line
from memory.tools.render.text import HOW, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.responses import Response

    from memory.schema.memory import Memory
    from memory.web.site import Visit


LISTED = 200  # sessions, or runs
MOST = 500  # memories of one
CALLS = 10_000  # of tools that are counted
CARD = 420  # characters of a card
WIDE, LANE = 720, 26  # of the strip of a session: its width, and the height of an agent's lane
LEFT, RIGHT = 120, 14


class Dot(NamedTuple):
    x: float
    y: float
    hue: int
    words: str


class TimelineEntry(NamedTuple):
    """
    Attributes:
        pause: Since the moment before, in seconds; 0 of the first.
        hue: By its kind.
    """

    memory: Memory
    pause: float
    hue: int


def sessions(visit: Visit) -> Response:
    found = visit.rows("session list", limit=[str(LISTED)])
    return visit.page("sessions.html", sessions=found["sessions"], total=found["total_sessions"])


def session(visit: Visit) -> Response:
    """
    Raises:
        NotFound: The session has nothing.
    """
    with visit.engine as engine:
        found = engine.sessions.one(visit.asked("id"))
        recent = engine.documents.recent(EVERYTHING._replace(sessions=frozenset({found.id})), MOST)
    memories = sorted(recent, key=lambda one: (one.created_at, one.id))
    hues = {str(kind): number for number, (kind, _) in enumerate(found.kinds)}
    moments = [
        TimelineEntry(two, (two.created_at - one.created_at).total_seconds(), hues.get(str(two.kind), 11))
        for one, two in pairwise([*memories[:1], *memories])
    ]
    more = found.memories - len(memories)
    agents = [*dict.fromkeys(one.agent_id or "" for one in memories)]
    dots = [  # on a line of time, a lane an agent
        Dot(
            _across(one.created_at, memories[0].created_at, memories[-1].created_at),
            LANE * agents.index(one.agent_id or "") + LANE / 2,
            hues.get(str(one.kind), 11),
            f"{clock(one.created_at)} {one.kind}",
        )
        for one in memories
    ]
    size = {"wide": WIDE, "lane": LANE, "left": LEFT, "right": RIGHT}
    days = groupby(moments, lambda one: one.memory.created_at.astimezone().date())
    by_day = [(day, [*several]) for day, several in days]
    return visit.page(
        "session.html", session=found, days=by_day, more=more, hues=hues, dots=dots, agents=agents, **size
    )


def _across(moment: datetime, first: datetime, last: datetime) -> float:
    share = (moment - first) / (last - first) if last > first else 0.5
    return LEFT + share * (WIDE - LEFT - RIGHT)


# Runs -------------------------------------------------------------------------


class Card(NamedTuple):
    memory: Memory
    text: str


class Tool(NamedTuple):
    name: str
    calls: int
    failed: int


def runs(visit: Visit) -> Response:
    found = visit.rows("run list", limit=[str(LISTED)])
    return visit.page("runs.html", runs=found["runs"], total=found["total_runs"])


def run(visit: Visit) -> Response:
    """
    Raises:
        NotFound: The run has nothing.
    """
    with visit.engine as engine:
        found = engine.runs.run(visit.asked("id"))
        memories = engine.runs.memories(found.id, limit=MOST)
        bodies = engine.runs.bodies(memories)
        calls = [*islice(engine.runs.calls(found.id), CALLS)]
    cards = [Card(one, _beginning(bodies.get(one.id) or one.what)) for one in memories]
    columns = [(str(kind), [card for card in cards if card.memory.kind == kind]) for kind in RESEARCH_KINDS]
    used = Counter(call.tool for _, call in calls)
    failed = Counter(call.tool for _, call in calls if not call.success)
    tools = [Tool(name, count, failed[name]) for name, count in used.most_common()]
    full = [one for one in columns if one[1]]
    most, more = max(used.values(), default=1), found.memories - len(memories)
    return visit.page("run.html", run=found, columns=full, tools=tools, most=most, more=more)


def _beginning(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= CARD else f"{line[: CARD - 1]}…"


# Searches and embeddings, day by day -----------------------------------------------------------------

SPANS = {"7": "7 days", "30": "30 days", "90": "90 days"}
HIGH = 150  # of a chart, which is as wide as a strip
BEFORE, TOP, BOTTOM = 8, 16, 20  # around the columns
HUES = 12
HALF, NEARLY_ALL = "median", "95th percentile"


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


def use(visit: Visit) -> Response:
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
        _chart("Search latency", days, slow, {HALF: HALF, NEARLY_ALL: NEARLY_ALL}, duration, heaped=True),
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
    step = (WIDE - BEFORE) / len(days)
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
        columns.append(Column(BEFORE + number * step, max(step - 2, 1.0), day, parts, ", ".join(told)))
    return Chart(title, columns, words(highest), [*names.values()])


PAGES = {
    "GET /see/sessions": sessions,
    "GET /see/sessions/one": session,
    "GET /see/runs": runs,
    "GET /see/runs/one": run,
    "GET /see/use": use,
}

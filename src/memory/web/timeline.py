"""Explore: a session in the order of time, and a research run as a board."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.kinds import RESEARCH_KINDS
from memory.schema.moments import clock
from memory.schema.query import EVERYTHING
from memory.text.display import one_line

if TYPE_CHECKING:
    from datetime import datetime

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


PAGES = {
    "GET /see/sessions": sessions,
    "GET /see/sessions/one": session,
    "GET /see/runs": runs,
    "GET /see/runs/one": run,
}

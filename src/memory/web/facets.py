"""What memories can be narrowed down to, and with how many of each: made after the list, which nobody waits for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.errors import Invalid
from memory.schema.kinds import kind
from memory.schema.memory import Standing
from memory.schema.query import FILTERS, Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from memory.engine import Engine
    from memory.web.site import Visit


SHOWN = 7  # values at first
MOST = 60
NAME, KEPT = "facets", 200
COLUMNS = {field: column for column, field in FILTERS.items()}


class Value(NamedTuple):
    """
    Attributes:
        memories: That have it, if it alone of its kind were chosen.
    """

    name: str
    memories: int
    chosen: bool


class Facet(NamedTuple):
    """
    Attributes:
        name: In the address.
        more: Values that are shown on demand.
        others: How many more there are.
    """

    name: str
    values: Sequence[Value]
    more: Sequence[Value]
    others: int


def facet(engine: Engine, name: str, among: Scope, chosen: Sequence[str]) -> Facet:
    """The values of one kind, as if none of it were chosen; but tags, of which a memory needs all, as they are."""
    field = SETS[name]
    memories = engine.store.memories
    counts = memories.tags(among) if field == "tags" else memories.values(COLUMNS[field], wider(among, field))
    known = dict(counts)
    values = [Value(value, known.get(value, 0), chosen=True) for value in chosen]
    values += [Value(value, count, chosen=False) for value, count in counts if value not in chosen]
    return Facet(name, values[:SHOWN], values[SHOWN:MOST], max(len(values) - MOST, 0))


def wider(among: Scope, field: str) -> Scope:
    everything: Any = {field: frozenset()}
    return among._replace(**everything)


def page(visit: Visit) -> Response:
    """All that can be chosen, as a part of the form; counted once for each address, as long as nothing is changed."""
    with visit.engine as engine:
        version = engine.store.steps.last(undone=None)
        known, made = visit.site.kept.get(NAME, (None, {}))
        if known != version or len(made) > KEPT:
            visit.site.kept[NAME] = version, (made := {})
        if (address := visit.link()) not in made:
            made[address] = counted(engine, visit)
    return visit.page("facets.html", since=SINCE, **made[address])


def counted(engine: Engine, visit: Visit) -> dict[str, Any]:
    among = scope(visit)
    chosen = {name: [one for one in visit.query.get(name, ()) if one] for name in SETS}
    with engine.store.snapshot():
        count = engine.store.memories.count
        found = [facet(engine, name, among, chosen[name]) for name in SETS]
        ages = {days: count(among._replace(since=since(days))) for days in SINCE}
        pinned = count(among._replace(pinned=True))
    shown = [one for one in found if len(one.values) > 1 or any(value.chosen for value in one.values)]
    return {"facets": shown, "ages": ages, "pinned": pinned}


# What the address of a list narrows to -------------------------------------------


SETS = {
    "project": "projects",
    "kind": "kinds",
    "category": "categories",
    "tag": "tags",
    "source": "sources",
    "agent": "agents",
    "author": "authors",
    "session": "sessions",
    "run": "runs",
}
"""The field of a scope for each name in the address."""

SINCE = {"1": "the last day", "7": "the last week", "31": "the last month", "366": "the last year"}
"""Days, and how they are called."""


def scope(visit: Visit) -> Scope:
    """
    Raises:
        Invalid: A kind or an age is none.
    """
    sets = {field: frozenset(filter(None, visit.query.get(name, ()))) for name, field in SETS.items()}
    others: dict[str, Any] = {**sets, "kinds": frozenset(map(kind, sets["kinds"]))}
    age = visit.asked("since")
    if age and age not in SINCE:
        raise Invalid(f"no age {age[:20]!r}", hint=f"There are: {', '.join(SINCE)}.")
    return Scope(
        **others,
        since=since(age) if age else None,
        statuses=frozenset() if visit.asked("superseded") else frozenset({Standing.ACTIVE}),
        pinned=bool(visit.asked("pinned")),
    )


def since(days: str) -> datetime:
    return datetime.now(UTC) - timedelta(days=int(days))


PAGES = {"GET /facets": page}

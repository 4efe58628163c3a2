"""What memories can be narrowed down to, with how many there are of each; made after the list, which nobody waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.query import FILTERS
from memory.web.scope import SETS, SINCE, scope, since

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from memory.engine import Engine
    from memory.schema.query import Scope
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


PAGES = {"GET /facets": page}

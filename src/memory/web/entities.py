"""Explore: the entities around one, a shortest path between two, and the same as a list."""

from __future__ import annotations

from collections import Counter
from math import hypot
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.errors import Invalid
from memory.web.site import Visit, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.responses import Response

    from memory.engine import Engine
    from memory.schema.memory import Memory, MemoryId
    from memory.store import Relation


MOST = 60  # entities in a picture
LISTED = 100  # on a page of the list
LAST = 99_999_999  # place in it that may be asked for
ABOUT = 50  # memories about one
NAMED = 24  # relations whose types are written into the picture, at most
WIDE, HIGH = 760, 520
MARGIN = (64, 26)  # left and right, top and bottom: for the names
ROUND = 9  # around an entity, where its relations end
LABEL = 22  # characters of a name in the picture
REACH = ("1", "2", "3")


class GraphDot(NamedTuple):
    """
    Attributes:
        hue: By its type, 0..10.
        look: A class: what was asked for, or on the way.
    """

    name: str
    label: str
    type: str
    x: float
    y: float
    hue: int
    look: str


class Edge(NamedTuple):
    x1: float
    y1: float
    x2: float
    y2: float
    type: str
    look: str


def page(visit: Visit) -> Response:
    """
    Raises:
        NotFound, Ambiguous: The address names an entity that is none, or fits several.
        Invalid: A distance is none.
    """
    name, to, reach = visit.asked("entity"), visit.asked("to"), visit.asked("reach", "1")
    if reach not in REACH:
        raise Invalid(f"no distance {reach[:20]!r}", hint=f"There are: {', '.join(REACH)}.")
    types = frozenset(filter(None, visit.query.get("type", ())))
    with visit.engine as engine:
        if not name:
            return _all(visit, engine)
        one = engine.graph.entity(name)
        found = _around(engine, [one], int(reach), types)
        way = engine.graph.path(name, to) if to else None
        shown = found.relations if way is None else way
        ends = (end for edge in shown for end in (edge.source, edge.target))
        entities = engine.graph.there(dict.fromkeys([one.id, *(found.ids if way is None else ()), *ends]))
        known = engine.graph.known([one])[one.id]
        about = engine.graph.there([link.memory for link in engine.graph.attached([one.id])[:ABOUT]])
    picture = _picture(entities, shown, {one.id}, path=way is not None)
    values: dict[str, Any] = {"one": one, "to": to, "way": way, "reach": reach, "reaches": REACH, "types": found.types}
    relations = [
        (entities[edge.source].title, edge.type, entities[edge.target].title)
        for edge in shown
        if edge.source in entities and edge.target in entities
    ]
    listed: dict[str, Any] = {"relations": relations, "known": known, "about": about.values()}
    return visit.page("graph_entity.html", **picture, **values, **listed, chosen=types, cut=found.cut)


def _all(visit: Visit, engine: Engine) -> Response:
    """All entities: a picture if they are few, and a page of their list."""
    total = engine.store.graph.counts().entities
    start = whole(visit.asked("from", "0"), "no place in the list", 0, LAST)
    listed = engine.graph.some(start, LISTED)
    some = engine.graph.some(0, MOST) if total <= MOST else []
    relations = engine.graph.relations([one.id for one in some], inside=True) if some else ()
    picture = _picture({one.id: one for one in some}, relations, set(), path=False)
    more = visit.link("/see/graph", **{"from": start + LISTED}) if start + LISTED < total else ""
    return visit.page("graph.html", **picture, listed=listed, total=total, more=more)


class _Around(NamedTuple):
    """
    Attributes:
        types: Of the relations that were met, each with how many, whether they are followed or not.
        cut: Whether there would be more entities than a picture has.
    """

    ids: Sequence[MemoryId]
    relations: Sequence[Relation]
    types: Sequence[tuple[str, int]]
    cut: bool


def _around(engine: Engine, begin: Sequence[Memory], reach: int, types: frozenset[str]) -> _Around:
    """What relations of some types lead to, in either direction; of all types if none is named."""
    ids, edge = dict.fromkeys(one.id for one in begin), [one.id for one in begin]
    met: Counter[str] = Counter()
    cut = False
    for _ in range(reach):
        near: dict[MemoryId, None] = {}
        for relation in engine.graph.relations(edge):
            met[relation.type] += 1
            if not types or relation.type in types:
                near |= {end: None for end in (relation.source, relation.target) if end not in ids}
        room = MOST - len(ids)
        cut |= len(near) > room
        edge = [*near][:room]
        ids |= dict.fromkeys(edge)
        if not edge:
            break
    inside = engine.graph.relations([*ids], inside=True)
    kept = [one for one in inside if not types or one.type in types]
    return _Around([*ids], kept, met.most_common(), cut)


def _picture(
    entities: Mapping[MemoryId, Memory], relations: Sequence[Relation], asked: set[MemoryId], *, path: bool
) -> dict[str, Any]:
    order = {id: number for number, id in enumerate(entities)}
    drawn = [one for one in relations if one.source in order and one.target in order]
    at = [
        (MARGIN[0] + x * (WIDE - 2 * MARGIN[0]), MARGIN[1] + y * (HIGH - 3 * MARGIN[1]))
        for x, y in placed(len(order), [(order[one.source], order[one.target]) for one in drawn])
    ]
    types = sorted({one.category or "" for one in entities.values()})
    nodes = [
        GraphDot(
            one.title,
            one.title if len(one.title) <= LABEL else f"{one.title[: LABEL - 1]}…",
            one.category or "",
            *at[order[id]],
            types.index(one.category or "") % 11,
            "asked" if id in asked else "",
        )
        for id, one in entities.items()
    ]
    edges = [_edge(at[order[one.source]], at[order[one.target]], one.type, path=path) for one in drawn]
    return {"nodes": nodes, "edges": edges, "wide": WIDE, "high": HIGH, "named": len(edges) <= NAMED}


def _edge(start: tuple[float, float], end: tuple[float, float], type: str, *, path: bool) -> Edge:
    """From the rim of an entity to the rim of the other."""
    across, down = end[0] - start[0], end[1] - start[1]
    far = hypot(across, down) or 1.0
    x, y = across / far * ROUND, down / far * ROUND
    return Edge(start[0] + x, start[1] + y, end[0] - x, end[1] - y, type, "way" if path else "")


# Where they stand ---------------------------------------------------------------

ROUNDS = 200
STEP = 0.12  # of the picture, that an entity moves at most in the first round
APART = 0.9  # of the distance at which entities would fill the picture evenly


def placed(count: int, pairs: Sequence[tuple[int, int]]) -> list[tuple[float, float]]:
    """
    Where entities stand: related ones near each other, none on top of another.

    Places in the unit square, by forces (Fruchterman and Reingold, "Graph Drawing by Force-directed Placement", 1991).
    The same graph gives the same picture.

    Args:
        count: Of entities; some dozens.
        pairs: Which are related.
    """
    import numpy as np

    if count < 2:
        return [(0.5, 0.5)] * count
    turn = np.arange(count) * np.pi * (3 - np.sqrt(5))  # a sunflower: no two stand alike, and nothing is drawn by lot
    at = 0.5 + 0.4 * np.sqrt((np.arange(count) + 0.5) / count)[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    related = np.zeros((count, count))
    for one, other in pairs:
        related[one, other] = related[other, one] = float(one != other)
    ideal = APART / np.sqrt(count)
    for left in range(ROUNDS, 0, -1):
        between = at[:, None] - at[None]
        far = np.maximum(np.sqrt((between**2).sum(axis=2)), 1e-4)
        push = (ideal / far) ** 2 - related * far / ideal  # apart from all, together with what is related
        force = (between * push[:, :, None]).sum(axis=1) - (at - 0.5) * 0.4  # and to the middle, or parts drift away
        size = np.maximum(np.sqrt((force**2).sum(axis=1, keepdims=True)), 1e-9)
        at = at + force / size * np.minimum(size, STEP * left / ROUNDS)
    low, high = at.min(axis=0), at.max(axis=0)
    inside = (at - low) / np.where(high > low, high - low, 1.0)
    return [(float(x), float(y)) for x, y in inside]


PAGES = {"GET /see/graph": page}

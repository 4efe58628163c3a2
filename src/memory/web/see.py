"""Explore: a map of the store, drawn once in the background, for as long as the server runs."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import JSONResponse, Response

from memory.schema.errors import NotFound
from memory.web.site import Site, Visit, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from memory.engine import Engine
    from memory.schema.memory import Memory, MemoryId
    from memory.web.plane import Plane
    from memory.web.work import Task

MAP = "map"
SHOWN = 100  # memories of a region
COLOURS = 11  # names of their own; what is left is "other"
SCALE = 9_999  # a place on the map is a whole number up to this: half as many bytes
OTHER, NONE = "other", "none"


class Drawn(NamedTuple):
    """
    Attributes:
        plane: None if there is too little to draw.
        generation, chunks: Whose vectors they were, and how many.
        points: What the browser draws.
    """

    plane: Plane | None
    generation: int
    chunks: int
    points: Mapping[str, Any]


def page(visit: Visit) -> Response:
    """The map, and what was picked in it; what of that changes if a part is asked for."""
    drawn, task, values = _drawn(visit)
    if drawn is None or drawn.plane is None:
        return visit.page("see_wait.html", task=task, drawn=drawn, **values)
    region = _place(visit.asked("region"), drawn.plane.regions)
    places = drawn.plane.regions[region].members if region is not None else ()
    words = ", ".join(drawn.plane.regions[region].words) if region is not None else ""
    picked = _picked(visit, drawn.plane, places)
    found: dict[str, Any] = {"picked": picked, "count": len(places), "words": words, "region": region}
    template = "see_picked.html" if visit.part else "see.html"
    return visit.page(template, drawn=drawn, stale=drawn.chunks != values["chunks"], **found)


def wait(visit: Visit) -> Response:
    """How far the drawing is; when it has ended, the browser is told to load the page."""
    drawn, task, values = _drawn(visit)
    response = visit.page("see_wait.html", task=task, drawn=drawn, **values)
    if task is None or not task.running:
        response.headers["HX-Refresh"] = "true"
    return response


def draw(visit: Visit) -> Response:
    """Draw it again."""
    with visit.engine as engine:
        active = engine.store.generations.active()
    if active is not None:
        _begin(visit.site, active.id)
    return visit.back("/see")


def points(visit: Visit) -> Response:
    return JSONResponse(_map(visit)[0].points)


def picked(visit: Visit) -> Response:
    """
    What was picked with a lasso: `at` has places in the list of points. Nothing is changed; it is a POST, for they may be many.

    Raises:
        Invalid: A place is none of the map's.
        NotFound: There is no map.
    """
    drawn, plane = _map(visit)
    places = [at for text in visit.sent("at").split(",") if (at := _place(text, plane.ids)) is not None]
    shown = _picked(visit, plane, places)
    return visit.page("see_picked.html", drawn=drawn, picked=shown, count=len(places), words="", region=None)


def _map(visit: Visit) -> tuple[Drawn, Plane]:
    """
    Raises:
        NotFound: There is no map.
    """
    drawn: Drawn | None = visit.site.kept.get(MAP)
    if drawn is None or drawn.plane is None:
        raise NotFound("there is no map yet")
    return drawn, drawn.plane


def _place(text: str, among: Sequence[object]) -> int | None:
    return whole(text, "not on the map", 0, len(among) - 1) if text else None


def _picked(visit: Visit, plane: Plane, places: Sequence[int]) -> list[Memory]:
    """Those that are still there."""
    ids = [plane.ids[at] for at in places[:SHOWN]]
    with visit.engine as engine:
        found = engine.graph.there(ids)
    return [found[id] for id in ids if id in found]


# Drawing ------------------------------------------------------------------


def _drawn(visit: Visit) -> tuple[Drawn | None, Task | None, dict[str, Any]]:
    """The map, if it is drawn; what draws it; whether there are vectors, and how many. It is begun if nobody has."""
    with visit.engine as engine:
        active = engine.store.generations.active()
        chunks = engine.store.generations.size(active.id).chunks if active else 0
    values = {"chunks": chunks}
    if active is None or not chunks:
        return None, None, values
    drawn: Drawn | None = visit.site.kept.get(MAP)
    if drawn is not None and drawn.generation == active.id:
        return drawn, None, values
    task = visit.site.tasks.latest(MAP)
    if task is None or (not task.running and task.error is None):
        task = _begin(visit.site, active.id)
    return None, task, values


def _begin(site: Site, generation: int) -> Task:
    def work(progress: Callable[[int, int], None]) -> None:
        with site.keeper.engine() as engine:
            site.kept[MAP] = _made(engine, generation, progress)

    return site.tasks.begin(MAP, "drawing the map", work, back="/see", same=True)


def _made(engine: Engine, generation: int, progress: Callable[[int, int], None]) -> Drawn:
    from memory.web.plane import plane

    seen: dict[MemoryId, Memory] = {}

    def read(ids: Sequence[MemoryId]) -> Mapping[MemoryId, Memory]:
        seen.update(engine.graph.there(ids))
        return seen

    chunks = engine.store.generations.size(generation).chunks
    found = plane(engine.store, generation, read, progress)
    return Drawn(found, generation, chunks, {} if found is None else _points(found, seen))


def _points(plane: Plane, memories: Mapping[MemoryId, Memory]) -> dict[str, Any]:
    """Places, and by what they may be coloured: names, and for each point the number of its name."""
    regions = [0] * len(plane.ids)
    for number, region in enumerate(plane.regions):
        for at in region.members:
            regions[at] = number
    known = [memories.get(id) for id in plane.ids]
    kinds = [(one.category or str(one.kind)) if one else NONE for one in known]
    projects = [(one.project or NONE) if one else NONE for one in known]
    names = [", ".join(region.words) for region in plane.regions]
    return {
        "x": [round(float(x) * SCALE) for x in plane.at[:, 0]],
        "y": [round(float(y) * SCALE) for y in plane.at[:, 1]],
        "scale": SCALE,
        "regions": [{"name": name, "at": region.at} for name, region in zip(names, plane.regions, strict=True)],
        "by": {
            "region": {"names": names, "of": regions},
            "kind": _coloured(kinds),
            "project": _coloured(projects),
            "time": _times([one.created_at if one else None for one in known]),
        },
    }


def _coloured(values: Sequence[str]) -> dict[str, Any]:
    """The names that most have, each with a number."""
    counts = Counter(values).most_common()
    names = [name for name, _ in counts[:COLOURS]] + [OTHER] * (len(counts) > COLOURS)
    numbers = {name: number for number, name in enumerate(names)}
    return {"names": names, "of": [numbers.get(value, len(names) - 1) for value in values]}


STEPS = 6  # of time, with about as many memories each


def _times(moments: Sequence[datetime | None]) -> dict[str, Any]:
    """Steps of time, oldest first; a memory that is gone is in the first."""
    ordered = sorted(moment.astimezone() for moment in moments if moment)
    long = ordered and (ordered[-1] - ordered[0]).days >= STEPS
    form = "%Y-%m-%d" if long else "%m-%d %H:%M"
    edges = {f"{ordered[len(ordered) * step // STEPS]:{form}}" for step in range(STEPS)} if ordered else {NONE}
    names = sorted(edges)
    of = [max(bisect_right(names, f"{moment.astimezone():{form}}") - 1, 0) if moment else 0 for moment in moments]
    return {"names": [f"from {name}" for name in names], "of": of, "ordered": True}


PAGES = {
    "GET /see": page,
    "GET /see/wait": wait,
    "GET /see/points": points,
    "POST /see/draw": draw,
    "POST /see/picked": picked,
}

"""Read: a memory whole, with what it said before, what replaced it and what it is linked to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.schema.errors import Error
from memory.schema.kinds import Kind
from memory.web.diff import history

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from memory.engine import Engine
    from memory.schema.memory import Memory
    from memory.web.site import Visit

NEIGHBOURS = 50  # of each sort


class Linked(NamedTuple):
    """Memories that have to do with one, and how."""

    how: str
    memories: Sequence[Memory]


def linked(engine: Engine, memory: Memory) -> list[Linked]:
    """What replaced it and what it replaced, what it comes from, what it is about, and what it is related to."""
    memories, graph = engine.store.memories, engine.graph
    near = memories.by_id([memory.id], pointing=True)
    above = memories.by_id([id for id in (memory.superseded_by, memory.parent_id) if id is not None])
    entities = {edge.entity for edge in graph.attached(memories=[memory.id])}
    about = {edge.memory for edge in graph.attached(entities=[memory.id])} if memory.kind == Kind.ENTITY else set()
    found = [
        Linked("Superseded by", [one for one in above.values() if one.id == memory.superseded_by]),
        Linked("Supersedes", [one for one in near.values() if one.superseded_by == memory.id]),
        Linked("Comes from", [one for one in above.values() if one.id == memory.parent_id]),
        Linked("Led to", [one for one in near.values() if one.parent_id == memory.id]),
        Linked("About", [*memories.by_id(sorted(entities)[:NEIGHBOURS]).values()]),
        Linked("Memories about it", [*memories.by_id(sorted(about)[:NEIGHBOURS]).values()]),
        *(_related(engine, memory) if memory.kind == Kind.ENTITY else ()),
    ]
    return [one for one in found if one.memories]


def _related(engine: Engine, entity: Memory) -> list[Linked]:
    relations = engine.graph.relations([entity.id])[:NEIGHBOURS]
    known = engine.store.memories.by_id([id for one in relations for id in (one.source, one.target)])
    found: dict[str, list[Memory]] = {}
    for one in relations:
        how, other = (f"{one.type} →", one.target) if one.source == entity.id else (f"← {one.type}", one.source)
        if other in known:
            found.setdefault(how, []).append(known[other])
    return [Linked(how, several) for how, several in found.items()]


def page(visit: Visit) -> Response:
    with visit.engine as engine:
        found = engine.documents.details(visit.path["id"], count=False)  # nothing changes by GET
        links = linked(engine, found.memory)
    return visit.page(
        "read.html",
        memory=found.memory,
        body=found.body,
        embedding=found.embedding,
        changes=history(found),
        links=links,
        undoable=_undoable(visit, found.memory),
    )


def _undoable(visit: Visit, memory: Memory) -> str:
    """What an undo of the last change of this memory would take back; empty if there is none."""
    try:
        plan = visit.rows("undo", id=[memory.uid], dry_run=["yes"])
    except Error:  # nothing is noted of it any more
        return ""
    return f"{plan['verb'] or 'a change'}{' by ' + plan['by'] if plan['by'] else ''}"


PAGES = {"GET /memory/{id}": page}

"""Read: a memory whole, with what it said before, what replaced it and what it is linked to."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.errors import Error
from memory.schema.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from starlette.responses import Response

    from memory.engine import Engine
    from memory.schema.memory import Details, Memory
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


# What it said before ------------------------------------------------------------

FIELDS = ("title", "what", "why", "impact", "category", "project", "source", "tags", "related_files", "status")
WORDS = 1_500  # of two texts: with more, lines are compared, since the time grows with the square
LINES = 3_000
ALIKE = 0.3  # share of the new text that stayed: with less, the two are easier to read one after the other
AROUND = 2  # lines that stayed, on either side of a change

_WORD = re.compile(r"\w+|\s+|[^\w\s]")


class DiffLine(NamedTuple):
    """
    Attributes:
        how: "same", "add", "drop", or "skip" for what is left out because it stayed.
    """

    how: str
    text: str


class Changed(NamedTuple):
    """
    Attributes:
        until: When the memory ceased to say it.
        fields: What was another, with its pieces.
    """

    until: datetime
    fields: Sequence[tuple[str, Sequence[DiffLine]]]


def history(found: Details) -> list[Changed]:
    """For each revision, latest first, how the next one differs."""
    texts = [(found.memory, found.body), *((one.memory, one.body) for one in found.history)]
    return [
        Changed(revision.replaced_at, [*_fields(before, after)])
        for revision, (after, before) in zip(found.history, pairwise(texts), strict=True)
    ]


def _fields(before: tuple[Memory, str], after: tuple[Memory, str]) -> Iterator[tuple[str, Sequence[DiffLine]]]:
    for name in FIELDS:
        old, new = (_text(getattr(memory, name)) for memory, _ in (before, after))
        if old != new:
            yield name.replace("_", " "), pieces(old, new)
    if before[1] != after[1]:
        yield "details", pieces(before[1], after[1])


def _text(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value or "")


def pieces(old: str, new: str) -> list[DiffLine]:
    """The pieces of two texts, in order: by words where they are short, else by lines; whole if they are very long."""
    words = _WORD.findall(old), _WORD.findall(new)
    if sum(map(len, words)) <= WORDS:
        found = [*_compared(*words)]
        stayed = sum(len(piece.text.strip()) for piece in found if piece.how == "same")
        return found if stayed >= ALIKE * len(new) else _whole(old, new)
    lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if sum(map(len, lines)) <= LINES:
        return [*_shortened([*_compared(*lines)])]
    return _whole(old, new)


def _whole(old: str, new: str) -> list[DiffLine]:
    return [DiffLine(how, text) for how, text in (("drop", old), ("add", new)) if text]


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield DiffLine("same", "".join(old[a:b]))
            continue
        if a < b:
            yield DiffLine("drop", "".join(old[a:b]))
        if c < d:
            yield DiffLine("add", "".join(new[c:d]))


def _shortened(found: Sequence[DiffLine]) -> Iterator[DiffLine]:
    for place, piece in enumerate(found):
        lines = piece.text.splitlines(keepends=True)
        if piece.how != "same" or len(lines) <= 2 * AROUND:
            yield piece
            continue
        before = AROUND if place else 0
        after = AROUND if place < len(found) - 1 else 0
        yield DiffLine("same", "".join(lines[:before]))
        yield DiffLine("skip", f"{len(lines) - before - after:,} lines")
        yield DiffLine("same", "".join(lines[len(lines) - after :]))


PAGES = {"GET /memory/{id}": page}

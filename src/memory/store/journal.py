"""What is noted in the journal as the columns of rows, for every store that keeps it in such."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from memory.schema.errors import iso
from memory.schema.memory import MemoryId, Status
from memory.store import Attached, Edge, Relation
from memory.store.records import moment
from memory.store.trash import HASH, Change, Facts, Joined, Noted, Step, Thrown

if TYPE_CHECKING:
    from datetime import datetime

    from memory.store.records import Row

ROW = "memory, other, type, uid, before, after, revisions, thrown_at"
"""The columns that `row` gives."""


THROWN = "uid, number, deleted_at, until, line, step, person, replaced"
"""The columns that `thrown_row` gives."""

STEP = "s.key, s.verb, s.author, s.moment, s.person, s.undone"
"""Of `steps` as s; behind them stands how many changes there are."""

WIDTH = 7
"""Columns of a step, with that number."""


def thrown_row(one: Thrown) -> tuple[Any, ...]:
    return (one.uid, one.id, iso(one.deleted_at), iso(one.until), one.line, one.step, one.user, one.replaced)


def thrown_in(row: Row) -> Thrown:
    uid, number, at, until, line, step, user, replaced = row
    return Thrown(uid, number, moment(at), moment(until), line, step, user, bool(replaced))


def step_row(step: Step) -> dict[str, Any]:
    """The columns of a new step."""
    facts = {"key": step.key, "verb": step.verb, "author": step.by, "moment": iso(step.moment)}
    return facts | {"person": step.user, "undone": step.undone}


def step_in(row: Row) -> Step:
    key, verb, by, at, user, undone, size = row
    return Step(key, verb, by, moment(at), size, user, bool(undone))


def row(one: Noted) -> tuple[Any, ...]:
    """The columns of a change from `memory` on."""
    if isinstance(one, Change):
        thrown_at = one.thrown_at and iso(one.thrown_at)
        return (one.id, 0, "", one.uid, _packed(one.before), _packed(one.after), one.revisions, thrown_at)
    before, after = one
    edge = after or before
    assert edge is not None  # noqa: S101  # it was there before or after
    ends = (edge[0], edge[1], edge.type if isinstance(edge, Relation) else "", "")
    return (*ends, before and iso(before.created_at), after and iso(after.created_at), 0, None)


def _packed(facts: Facts | None) -> str | None:
    if facts is None:
        return None
    return json.dumps(facts._replace(updated_at=iso(facts.updated_at)), separators=(",", ":"))  # type: ignore[arg-type]


def noted_in(row: Row) -> Noted:
    _, id, other, type, uid, before, after, revisions, thrown_at = row
    if not other:
        return Change(id, uid, _facts(before), _facts(after), revisions, thrown_at and moment(thrown_at))
    return Joined(*(at and _edge(id, other, type, moment(at)) for at in (before, after)))


def _edge(id: MemoryId, other: MemoryId, type: str, made: datetime) -> Edge:
    return Relation(id, other, type, made) if type else Attached(id, other, made)


def _facts(packed: str | None) -> Facts | None:
    if packed is None:
        return None
    found = Facts._make(json.loads(packed))
    hash = found.content_hash[:HASH]  # former versions noted all of it
    return found._replace(content_hash=hash, updated_at=moment(str(found.updated_at)), status=Status(found.status))

"""What the address of a list narrows to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from memory.schema.errors import Invalid
from memory.schema.kinds import kind
from memory.schema.memory import Status
from memory.schema.query import Scope

if TYPE_CHECKING:
    from memory.web.site import Visit

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
        statuses=frozenset() if visit.asked("superseded") else frozenset({Status.ACTIVE}),
        pinned=bool(visit.asked("pinned")),
    )


def since(days: str) -> datetime:
    return datetime.now(UTC) - timedelta(days=int(days))

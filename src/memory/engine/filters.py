"""Filters whose values nothing has: as they were saved without their secrets, and the nearest values that exist."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from memory.schema.answer import Notice
from memory.schema.errors import clipped_repr
from memory.schema.query import EVERYTHING, FILTERS, NONE, Scope
from memory.text.fold import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.store import Store

_NOUNS = {
    "project": "is of project",
    "source": "has the source",
    "category": "has the category",
    "agent_id": "is of agent",
    "session_id": "is of session",
    "task_code": "has the task",
    "query_id": "is of run",
    "tags": "has the tag",
}
"""What is said of a memory that has a value, by field. Not of a kind: tools ask for theirs, and an unknown one is an error."""

LISTED = 10
"""Values that are named where none is near."""

COMPARED = 2_000
"""Values that are compared, those of most memories: others are seldom meant."""


def as_saved(store: Store, scope: Scope, clean: Callable[[str], str]) -> Scope:
    """
    The scope with the values that nothing has as a save would have written them.

    Args:
        clean: A text without its secrets.
    """
    changes: dict[str, Any] = {}
    for field, values in _values(scope).items():
        lacking = {value for value in values if not _had(store, field, value)}
        if found := {value: saved for value in lacking if (saved := clean(value)) != value}:
            changes[_of(field)] = frozenset(found.get(value, value) for value in getattr(scope, _of(field)))
    return scope._replace(**changes) if changes else scope


def unmet(store: Store, scope: Scope) -> tuple[Notice, ...]:
    """A notice for each value of a scope that no memory has, with the nearest one that some memory has."""
    return tuple(
        Notice(f"no memory {_NOUNS[field]} {clipped_repr(str(value))}", _nearest(str(value), _known(store, field)))
        for field, values in _values(scope).items()
        for value in sorted(values)
        if not _had(store, field, value)
    )


def _values(scope: Scope) -> dict[str, frozenset[str]]:
    """The values that a scope asks for, by field; not where it takes what has none as well."""
    return {field: values for field in _NOUNS if (values := getattr(scope, _of(field))) and NONE not in values}


def _of(field: str) -> str:
    return FILTERS.get(field, field)


def _had(store: Store, field: str, value: str) -> bool:
    wanted: dict[str, Any] = {_of(field): frozenset({value})}
    return store.memories.count(EVERYTHING._replace(**wanted), most=1) > 0


def _known(store: Store, field: str) -> Sequence[str]:
    found = store.memories.tags(EVERYTHING) if field == "tags" else store.memories.values(field, EVERYTHING)
    return [value for value, _ in found[:COMPARED]]


def _nearest(value: str, known: Sequence[str]) -> str:
    keys = {fold(one).lower(): one for one in reversed(known)}
    if near := get_close_matches(fold(value).lower(), keys, n=1):
        return f"Did you mean {clipped_repr(keys[near[0]])}?"
    more = ", …" if len(known) > LISTED else ""
    return f"There are: {', '.join(known[:LISTED])}{more}." if known else ""

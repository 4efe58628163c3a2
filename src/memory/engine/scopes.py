"""
Scopes: filters with values that no memory has (values with secrets, and misspelt ones); counting and renaming tags; and
memories as they were at a moment.
"""

from __future__ import annotations

import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.answer import Notice
from memory.schema.draft import composed, tag_key
from memory.schema.errors import NAME_LIMIT, Invalid, NotFound, check_text, clipped_repr, did_you_mean
from memory.schema.memory import UID_PREFIX, MemoryId
from memory.schema.query import ACTIVE, EVERYTHING, FILTERS, MOST, NONE, Scope
from memory.store import Match
from memory.text.fold import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from memory.engine.documents import Documents
    from memory.schema.memory import Details
    from memory.search.as_of import Known, Version
    from memory.store import Store
    from memory.store.journal import Trashed


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
"""How a notice says that a memory has a value, by field. Kinds are missing: an unknown kind is an error."""

LISTED = 10
"""Values that a notice lists if none is near."""

COMPARED = 2_000
"""The most values that are compared, most frequent first: rarer ones are seldom meant."""


def as_saved(store: Store, scope: Scope, clean: Callable[[str], str]) -> Scope:
    """
    The scope, with its unknown values written as a save would have written them.

    Args:
        clean: Removes secrets from a text.
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
    """The values that a scope requires, by field; fields that also allow memories without a value are left out."""
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


# Tags: counted and renamed -------------------------------------------------------


class Renamed(NamedTuple):
    """
    The result of renaming a tag.

    Attributes:
        tag: The new name, as it was saved.
        memories: Number of memories that had the old one.
        notices: Remarks, e.g. that a secret was removed from the new name.
    """

    tag: str
    memories: int
    notices: tuple[Notice, ...] = ()


class Tags:
    """Counts and renames tags; `memory.engine.Engine.tags` is one."""

    def __init__(self, store: Store, documents: Documents) -> None:
        self._store, self._documents = store, documents

    def counted(self, scope: Scope = ACTIVE) -> Sequence[tuple[str, int]]:
        """The tags in scope, each with its number of memories: most frequent first, ties by name."""
        return self._store.memories.tags(scope)

    def rename(self, old: str, new: str) -> Renamed:
        """
        Rename a tag in all memories, superseded ones too, in one transaction. Their histories keep the old tag.

        All spellings of the old tag are renamed. A memory that has both tags keeps one. White space around the new name
        and secrets in it are removed, as in a save.

        Raises:
            NotFound: No memory has the tag.
            Invalid: The new name is blank or too long, or equals the old one.
            StoreBusy: Other processes kept changing the memories.
        """
        check_text("a tag", new, NAME_LIMIT)
        old, new = composed(old.strip()), composed(new.strip())
        if not new or new == old:
            raise Invalid(f"{clipped_repr(new)} is not a new name for the tag {clipped_repr(old)}")

        def changes() -> list[tuple[Details, dict[str, Any]]]:
            if not (having := [*self._having(old)]):
                known = [tag for tag, _ in self.counted(EVERYTHING)]
                hint = did_you_mean(old, known, "`memory tags` lists the tags.")
                raise NotFound(f"no memory has the tag {clipped_repr(old)}", hint=hint)
            return [
                (one, {"tags": tuple(new if tag_key(tag) == tag_key(old) else tag for tag in one.memory.tags)})
                for one in having
            ]

        saved = self._documents.revise_all(changes, f"memories with the tag {clipped_repr(old)} are")
        notices = dict.fromkeys(notice for one in saved for notice in one.notices)
        return Renamed(self._documents.clean(new), len(saved), tuple(notices))

    def _having(self, tag: str) -> Iterator[Details]:
        scope, last = EVERYTHING._replace(tags=frozenset({tag})), None
        while page := self._store.memories.page(scope, MOST, after=last):
            last = page[-1]
            yield from filter(None, (self._store.memories.details(memory.id) for memory in page))


# Memories as they were at a moment: from those that exist, their history, and the trash --------


PAGE = 200  # lines of the trash read at once


def states(store: Store, scope: Scope, moment: datetime, now: datetime) -> list[Version]:
    """
    Memories as they were at a moment: all that may be in scope, and others.

    Args:
        now: Memories whose time in the trash has expired by now are left out.

    Raises:
        StoreDamaged, Invalid: An earlier version, or a line of the trash, cannot be read.
    """
    from memory.search.as_of import Known, then  # not needed by other searches

    with store.snapshot():
        former = store.memories.former(moment)
        # A memory that was not changed since has its values of then, except for the status.
        there = store.memories.page(scope._replace(statuses=frozenset(), without=frozenset()), sys.maxsize)
        memories = {one.id: one for one in (*there, *store.memories.by_id([*former]).values())}
        bodies = store.memories.bodies([*memories])
        lying = [_trashed(one) for one in _lying(store, moment) if one.until > now]
        known = [Known(one, bodies.get(id, ""), (former[id],) if id in former else ()) for id, one in memories.items()]
        uids = {one.memory.successor_uid for one in (*known, *lying)} - {None, *(one.uid for one in memories.values())}
        successors = store.memories.find([Match({"uid": uid}) for uid in sorted(filter(None, uids))])
    return then([*lying, *known], [*memories.values(), *filter(None, successors)], moment)


def _lying(store: Store, moment: datetime) -> Iterator[Trashed]:
    """Memories that were deleted, or replaced by an undo, after a moment."""
    after = None
    while page := store.trash.page(PAGE, after=after, replaced=None):
        for one in page:
            if one.deleted_at <= moment:
                return
            yield one
        after = page[-1]


def _trashed(one: Trashed) -> Known:
    from memory.keep.trash import read
    from memory.search.as_of import Known

    line = read(one)
    memory = line.memory.memory
    assert memory is not None  # noqa: S101  # `memory.keep.jsonl` reads no other
    memory = memory._replace(
        id=MemoryId(one.id or 0), short_id=one.uid[:UID_PREFIX], successor_uid=line.links.superseded_by
    )
    return Known(memory, line.memory.draft.body, line.memory.history, one.deleted_at, line.superseded)

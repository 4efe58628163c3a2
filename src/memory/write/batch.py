"""Entries that are new to a store, and to each other: several of one transaction, which are written together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.memory import Memory
    from memory.store import Entry, Match, Store


class Batch:
    """What one transaction writes, and of that what waits to be written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[Entry] = []
        self._written: list[Entry] = []
        self._seen: dict[tuple[str, ...], set[tuple[object, ...]]] = {}
        self._mixed = False

    def mix(self) -> None:
        """Something else was written: what was asked before the transaction holds of nothing any more."""
        self._mixed = True

    def unmet(self, matches: Sequence[Match]) -> bool:
        """Whether nothing that was written before, or waits, may be what is asked for."""
        return not self._mixed and not any(self._meets(match) for match in matches)

    def add(self, entry: Entry) -> None:
        self._waiting.append(entry)
        self._written.append(entry)
        for names, seen in self._seen.items():
            seen.add(_fields(entry, names))

    def keep(self) -> list[tuple[Entry, Memory]]:
        """Write what waits; it with the memories that were made of it."""
        waiting, self._waiting = self._waiting, []
        return list(zip(waiting, self._store.memories.insert_all(waiting), strict=True)) if waiting else []

    def _meets(self, match: Match) -> bool:
        names = tuple(match.fields)
        if names not in self._seen:
            self._seen[names] = {_fields(entry, names) for entry in self._written}
        return tuple(match.fields.values()) in self._seen[names]


def plain(entry: Entry) -> bool:
    """Whether it says nothing of other memories."""
    others = (entry.restored, entry.supersedes, entry.draft.parent_id)
    return not (entry.renews or entry.entities) and all(one is None for one in others)


def _fields(entry: Entry, names: Sequence[str]) -> tuple[object, ...]:
    return tuple(getattr(entry if name in {"uid", "content_hash"} else entry.draft, name) for name in names)

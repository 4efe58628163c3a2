"""`RamTrash` and `RamSteps`: what was deleted, and who did what, the obvious way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.memory import UID_PREFIX, MemoryId
from memory.store.journal import STEPS, Change, EdgeChange, Noted, Trashed, Undoable
from oracle.ram_data import Part

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime


class RamTrash(Part):
    """See `memory.store.journal.TrashRows`."""

    def put(self, trashed: Sequence[Trashed]) -> None:
        with self.data.change() as data:
            data.trash |= {(one.uid, one.deleted_at): one for one in trashed}

    def page(
        self,
        limit: int,
        *,
        named: str | None = None,
        after: Trashed | None = None,
        ended: datetime | None = None,
        step: str | None = None,
        users: Collection[str] | None = None,
        replaced: bool | None = False,
    ) -> Sequence[Trashed]:
        with self.data.lock:
            found = sorted(self.data.trash.values(), key=lambda one: one.uid)
        found.sort(key=lambda one: one.deleted_at, reverse=True)
        if after is not None:
            newer = [one for one in found if one.deleted_at > after.deleted_at]
            found = [
                one
                for one in found
                if one not in newer and not (one.deleted_at == after.deleted_at and one.uid <= after.uid)
            ]
        return [
            one
            for one in found
            if (named is None or _means(named, one))
            and (ended is None or one.until <= ended)
            and (step is None or one.step == step != "")
            and (users is None or one.user in users)
            and (replaced is None or one.replaced is replaced)
        ][:limit]

    def remove(self, uids: Sequence[str], *, deleted_at: datetime | None = None, purged: bool = False) -> int:
        with self.data.change() as data:
            if purged:
                data.unwiped["any"] = None
            gone = [(uid, at) for uid, at in data.trash if uid in uids and deleted_at in {None, at}]
            for key in gone:
                del data.trash[key]
            return len(gone)


def _means(named: str, one: Trashed) -> bool:
    beginning = named.lower().replace("-", "")
    number = named.isascii() and named.isdigit() and int(named) == one.id
    return number or (len(beginning) >= UID_PREFIX and one.uid.startswith(beginning))


class RamSteps(Part):
    """See `memory.store.journal.Steps`. Steps are in their order, and so is what each of them did, by its place."""

    def add(self, step: Undoable, noted: Sequence[Noted]) -> None:
        with self.data.change() as data:
            if not noted:
                return
            there = {_subject(one): (place, one) for place, one in data.noted.get(step.key, {}).items()}
            data.steps.setdefault(step.key, step._replace(size=0))
            for one in noted:
                place, first = there.get(_subject(one)) or (data.next("change"), None)
                there[_subject(one)] = (place, _merged(first, one))
            data.noted[step.key] = {place: one for place, one in there.values() if not _nothing(one)}
            self._tidy()
            for old in list(data.steps)[:-STEPS]:
                del data.steps[old], data.noted[old]

    def _tidy(self) -> None:
        for key in [key for key, noted in self.data.noted.items() if not noted]:
            del self.data.steps[key], self.data.noted[key]

    def recent(
        self,
        limit: int,
        *,
        by: str | None = None,
        id: MemoryId | None = None,
        users: Collection[str] | None = None,
        key: str | None = None,
        undone: bool | None = False,
    ) -> Sequence[Undoable]:
        found = []
        with self.data.lock:
            for name, step in reversed(self.data.steps.items()):
                noted = self.data.noted[name].values()
                wanted = (
                    by is None or step.by == by,
                    id is None or any(isinstance(one, Change) and one.id == id for one in noted),
                    users is None or step.user in users,
                    key is None or name.startswith(key),
                    undone is None or step.undone is undone,
                )
                if all(wanted):
                    found.append(step._replace(size=len(noted)))
        return found[:limit]

    def last(self, **of: object) -> Undoable | None:
        return next(iter(self.recent(1, **of)), None)

    def changes(
        self, key: str, limit: int, *, after: int | None = None, id: MemoryId | None = None
    ) -> Sequence[tuple[int, Noted]]:
        with self.data.lock:
            found = sorted(self.data.noted.get(key, {}).items(), key=lambda one: one[0], reverse=True)
        there = [one for one in found if id is None or id in _ends(one[1])]
        return [one for one in there if after is None or one[0] < after][:limit]

    def since(self, key: str, ids: Sequence[MemoryId]) -> Sequence[tuple[Undoable, Noted]]:
        with self.data.lock:
            if key not in self.data.steps:
                return []
            later = list(self.data.steps)[list(self.data.steps).index(key) + 1 :]
            found = [(place, self.data.steps[one], did) for one in later for place, did in self.data.noted[one].items()]
        return [(step, did) for _, step, did in sorted(found, key=lambda one: one[0]) if {*_ends(did)} & {*ids}]

    def remove(self, key: str, places: Sequence[int]) -> None:
        with self.data.change() as data:
            if key in data.noted:
                data.noted[key] = {place: one for place, one in data.noted[key].items() if place not in places}
            self._tidy()

    def forget(self, ids: Sequence[MemoryId]) -> None:
        with self.data.change() as data:
            for key, noted in list(data.noted.items()):
                data.noted[key] = {place: one for place, one in noted.items() if not {*_ends(one)} & {*ids}}
            self._tidy()


def _subject(one: Noted) -> tuple[object, ...]:
    if isinstance(one, Change):
        return (one.id,)
    edge = one.after or one.before
    assert edge is not None
    return edge[:-1]


def _ends(one: Noted) -> tuple[object, ...]:
    return _subject(one)[:2]


def _merged(first: Noted | None, then: Noted) -> Noted:
    if isinstance(first, Change) and isinstance(then, Change):
        revisions, trashed_at = first.revisions + then.revisions, then.trashed_at or first.trashed_at
        return first._replace(after=then.after, revisions=revisions, trashed_at=trashed_at)
    return then if first is None else then._replace(before=first.before)


def _nothing(one: Noted) -> bool:
    return (one.before is None and one.after is None) or (isinstance(one, EdgeChange) and one.before == one.after)

"""What comes back from the trash: under its ids, with what it was to others, as far as those are still there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from memory.keep.rules import in_the_way, inherited
from memory.schema.draft import SHARED
from memory.schema.errors import Invalid, NotFound
from memory.schema.kinds import RULES, Kind
from memory.schema.memory import Memory, MemoryId, Standing
from memory.store import Attached, Edge, Entry, Links, Match, Relation, Store, export as lines
from memory.store.export import EdgeLine, LinkLine, Record, RelationLine
from memory.store.journal import Change, Trashed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from memory.keep.jsonl import TrashLine
    from memory.keep.save import Writer


PAGE = 200  # changes read at once


class Back(NamedTuple):
    """A memory of the trash, ready to be written."""

    trashed: Trashed
    line: TrashLine
    entry: Entry


def read(trashed: Trashed) -> TrashLine:
    """
    What lies in the trash.

    Raises:
        Invalid: It is no such line: another program wrote it, or the file is damaged.
    """
    from memory.keep.jsonl import TrashLine, parsed  # 3 ms that an undo which only removes does without

    line = parsed(trashed.line, place=f"the trash, {trashed.uid}")
    if not isinstance(line, TrashLine):
        raise Invalid(f"the trash, {trashed.uid}: not a memory that was deleted")
    return line


def ready(writer: Writer, rows: Iterable[Trashed]) -> list[Back]:
    """Memories of the trash as entries: without what is taken for a secret by now, and without vectors."""
    found = [(one, read(one)) for one in rows]
    return [Back(one, line, writer.brought(line.memory)._replace(number=one.id)) for one, line in found]


def restore(store: Store, back: Sequence[Back]) -> list[Memory]:
    """
    Bring memories back from the trash, all or none. That they were deleted is taken back: it is no step of its own.

    Raises:
        NotFound: One no longer lies there.
        Invalid: Another stands in its place: of its name, or one that says the same.
    """
    with store.transaction():
        for one in back:
            _forget_deletion(store, one.trashed)
        return put_back(store, back, same=True)


def _forget_deletion(store: Store, trashed: Trashed) -> None:
    if trashed.id is None or (step := store.steps.last(id=trashed.id, undone=None)) is None:
        return
    for place, one in store.steps.changes(step.key, PAGE, id=trashed.id):  # of an entity, with its relations
        if isinstance(one, Change) and (one.uid, one.trashed_at) == (trashed.uid, trashed.deleted_at):
            store.steps.remove(step.key, [place])


def put_back(store: Store, back: Sequence[Back], *, same: bool = False) -> list[Memory]:
    """The same, whatever the journal says of it; beside what says the same, unless that counts too."""
    with store.transaction():
        for one in back:
            if not store.trash.remove([one.trashed.uid], deleted_at=one.trashed.deleted_at):
                raise NotFound(f"memory {one.trashed.uid} is no longer in the trash")
            _check_free(store, one, same=same)
            store.memories.insert(_numbered(store, one.entry))
        there = _there(store, back)
        store.memories.set_links(_linked(there, [one.line for one in back]))
        store.graph.add(list(_edges(there, [one.line for one in back])))
        found = store.memories.find([Match({"uid": one.trashed.uid}) for one in back])
        return [one for one in found if one is not None]


def _check_free(store: Store, one: Back, *, same: bool) -> None:
    if (other := in_the_way(store, one.entry, same=same)) is None:
        return
    if other.uid == one.trashed.uid:
        raise Invalid(f"memory {other.short_id} already exists")
    what = f"{other.kind} of the same name" if RULES[other.kind].unique else "memory that says the same"
    raise Invalid(
        f"another {what} exists by now: {other.short_id}", hint=f"`memory delete {other.short_id}` removes it."
    )


def _numbered(store: Store, entry: Entry) -> Entry:
    """With its number only where that is free: in another database than its own it need not be."""
    taken = entry.number is not None and entry.number in store.memories.by_id([entry.number])
    return entry._replace(number=None) if taken else entry


def _there(store: Store, back: Sequence[Back]) -> dict[str, Memory]:
    """Of all that is named in lines what is there, by uid."""
    uids = {uid for one in back for uid in _named(one.line)}
    found = store.memories.find([Match({"uid": uid}) for uid in sorted(uids)])
    return {one.uid: one for one in found if one is not None}


def _named(line: TrashLine) -> set[str]:
    ends = [uid for edge in line.edges for uid in edge[:2]]
    return {uid for uid in (*line.links, *ends, *line.superseded, *line.children) if uid is not None}


def _linked(there: Mapping[str, Memory], back: Sequence[TrashLine]) -> list[Memory]:
    """What is there with its links as they were, as far as nothing else has taken their place."""
    now = dict(there)
    for line in back:
        now[line.links.uid] = _own_links(now[line.links.uid], line.links, now)
    came = {now[line.links.uid].id: now[line.links.uid] for line in back}
    for line in back:
        own = now[line.links.uid]
        for uid in now.keys() & line.superseded:
            now[uid] = _superseded_again(now[uid], own, came)
        for uid in now.keys() & line.children:
            if now[uid].parent_id is None:
                now[uid] = now[uid]._replace(parent_id=own.id)
    return [now[uid] for uid in sorted(now) if now[uid] != there[uid]]


def _own_links(memory: Memory, links: Links, there: Mapping[str, Memory]) -> Memory:
    if parent := there.get(links.parent or ""):
        memory = memory._replace(parent_id=parent.id)
    if not links.superseded_by:
        return memory
    if successor := there.get(links.superseded_by):
        return memory._replace(status=Standing.SUPERSEDED, superseded_by=successor.id)
    return memory._replace(status=Standing.ACTIVE)  # as if its successor had gone after it


def _superseded_again(memory: Memory, by: Memory, came: Mapping[MemoryId, Memory]) -> Memory:
    """A memory superseded by one that came back, if it is as it was left when that went."""
    again = memory._replace(status=Standing.SUPERSEDED, superseded_by=by.id)
    left = inherited(again, came)
    return again if (memory.status, memory.superseded_by) == (left.status, left.superseded_by) else memory


def _edges(there: Mapping[str, Memory], back: Sequence[TrashLine]) -> Iterable[Edge]:
    """Relations and links whose other ends are there, and are what they were: an entity, or none."""
    for one in dict.fromkeys(edge for line in back for edge in line.edges):
        first, second = (there.get(uid) for uid in one[:2])
        if first is None or second is None or first.kind is not Kind.ENTITY:
            continue
        if isinstance(one, RelationLine) and second.kind is Kind.ENTITY:
            yield Relation(first.id, second.id, one.type, one.created_at)
        if isinstance(one, LinkLine) and second.kind is not Kind.ENTITY:
            yield Attached(first.id, second.id, one.created_at)


# From an export ------------------------------------------------------------------------


def bring(writer: Writer, found: Sequence[TrashLine], clean: Callable[[str], str]) -> int:
    """
    Put the trash of an export into this one; how many are new. What already exists, or over by now, is left out.

    Args:
        clean: A text without its secrets.
    """
    made = [_clean(writer, line, clean) for line in found if line.until > writer.moment]
    store = writer.store
    with store.transaction():
        known = store.memories.find([Match({"uid": one.uid}) for one in made])
        lying = [store.trash.page(1, named=one.uid) for one in made]
        new = [one for one, *there in zip(made, known, lying, strict=True) if not any(there)]
        store.trash.put(new)
    return len({one.uid for one in new})


def _clean(writer: Writer, line: TrashLine, clean: Callable[[str], str]) -> Trashed:
    """A line of the trash without secrets, as it is kept."""
    entry = writer.brought(line.memory)
    old = entry.restored
    assert old is not None  # noqa: S101  # `jsonl` reads no other
    texts = {name: getattr(entry.draft, name) for name in SHARED}
    links = line.links.parent, line.links.superseded_by
    safe = Record(old._replace(**texts), entry.draft.body, entry.history, *links)
    edges: list[EdgeLine] = [
        one._replace(type=clean(one.type)) if isinstance(one, RelationLine) else one for one in line.edges
    ]
    record = lines.trashed(
        safe,
        edges,
        superseded=line.superseded,
        children=line.children,
        deleted_at=line.deleted_at,
        until=line.until,
    )
    return Trashed(old.uid, None, line.deleted_at, line.until, json.dumps(record))

"""
What an entry means for what is kept already: what is the same, what renews, what supersedes, and what may be joined to what.

Each rule stands here once, for every store. A function that writes is one transaction of the store's primitives, in
which nothing is embedded and no network is waited for.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from memory.schema import step
from memory.schema.draft import Draft, Saved, article
from memory.schema.errors import Invalid, NotFound
from memory.schema.kinds import RULES, Kind, check_kind
from memory.schema.memory import Memory, MemoryId, Revision, Standing
from memory.schema.query import EVERYTHING
from memory.store import Attached, Edge, Entry, Match, Relation, Store
from memory.store.journal import Change, EdgeChange, Noted, Undoable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import TypeAlias

    from memory.schema.memory import Details, Memory, MemoryId

    Identity: TypeAlias = tuple[tuple[str, object], ...]
    """Fields of a memory with their values, of which there may be one memory only."""

SAME = ("kind", "agent_id", "session_id", "session_iter", "task_code", "query_id", "project", "owner")
"""Where the same content is the same memory."""


# What already exists --------------------------------------------------------


def known_memories(store: Store, entries: Sequence[Entry]) -> list[Memory | None]:
    """
    For each entry the memory that `write_entries` would answer it with instead of keeping it, as things stand now.

    An entry whose uid is there is known, whatever it says. So is one of which its kind has only one, one that says what
    an active memory in the same scope says, and one of an export that would renew what was changed since.
    """
    matches = [_matches_known(entry) for entry in entries]
    found = iter(store.memories.find(list(chain.from_iterable(matches))))
    candidates = [[next(found) for _ in of_entry] for of_entry in matches]
    return [_known(entry, *of_entry) for entry, of_entry in zip(entries, candidates, strict=True)]


def _known(entry: Entry, of_uid: Memory | None, alike: Memory | None = None) -> Memory | None:
    if of_uid is not None or alike is None or not entry.renews:
        return of_uid or alike
    older = entry.restored is None or alike.updated_at < entry.restored.updated_at
    return None if older else alike


def _matches_known(entry: Entry) -> list[Match]:
    """What an entry is known by: its uid, and one thing more if its kind or whoever saves it says so."""
    by_uid = Match({"uid": entry.uid})
    rule = RULES[entry.draft.kind]
    if entry.renews:
        return [by_uid, _match_one(entry.draft, entry.renews)] if entry.restored else [by_uid]
    if rule.one:
        return [by_uid, _match_one(entry.draft, rule.one)]
    return [by_uid] if rule.repeats or not entry.unless_known else [by_uid, _match_content(entry)]


def in_the_way(store: Store, entry: Entry, *, same: bool) -> Memory | None:
    """
    What must go before an entry can be there beside it, as when it comes back from the trash; None if nothing must.

    Args:
        same: Also what says the same, and would have been known instead.
    """
    rule = RULES[entry.draft.kind]
    matches = [Match({"uid": entry.uid})]
    holds = same and (entry.restored is None or entry.restored.status is Standing.ACTIVE)
    if rule.one and (holds or rule.unique):
        matches.append(_match_one(entry.draft, rule.one))
    elif holds and not rule.repeats:
        matches.append(_match_content(entry))
    return next((one for one in store.memories.find(matches) if one is not None), None)


def _match_one(draft: Draft, names: Sequence[str]) -> Match:
    """
    The active memory of a draft's kind that has these fields in common with it, the last changed if there are more.
    Where a kind is unique, they are taken whatever became of it.
    """
    fields = {"kind": draft.kind} | {name: getattr(draft, name) for name in names}
    return Match(fields, active=not RULES[draft.kind].unique, latest=True)


def _match_content(entry: Entry) -> Match:
    """The first active memory that says the same in the same scope."""
    scope = {name: getattr(entry.draft, name) for name in SAME}
    return Match({"content_hash": entry.content_hash} | scope, active=True)


# Keeping and changing ---------------------------------------------------------


def write_entries(store: Store, entries: Sequence[Entry]) -> list[Saved]:
    """
    Keep entries, all in one transaction.

    One that is known is not kept; one that renews a memory says the new in its place. Both may supersede a memory and
    be about entities.

    Raises:
        NotFound: An entry supersedes or descends from a memory, or is about an entity, that is not there.
        Invalid: It supersedes one that is already superseded, or an entity; or it is an entity about another.
    """
    saved: list[Saved] = []
    noted: list[Noted] = []
    written: set[Identity] = set()
    plainly = True
    waiting: list[Entry] = []  # plain ones in a row are inserted together

    def insert_waiting() -> None:
        for entry, new in zip(waiting, store.memories.insert_all(waiting) if waiting else (), strict=True):
            saved.append(Saved(new, known=False, chunks=len(entry.chunks)))
            noted.append(Change.of(None, new))
        waiting.clear()

    with store.transaction():
        for entry, there in zip(entries, known_memories(store, entries), strict=True):
            own = _identities(entry)
            # What was read before the first was written holds as long as nothing of that can be what this is known by.
            holds = plainly and (written.isdisjoint(own) if not entry.renews else not written)
            if holds and there is None and _plain(entry):
                waiting.append(entry)
                written |= own
                continue
            insert_waiting()
            one, did = _write_entry(store, entry, there if holds else known_memories(store, [entry])[0])
            saved.append(one)
            noted += did
            plainly = plainly and not did
        insert_waiting()
        if noted:
            note(store, noted, entries[0].moment)
    return saved


def _plain(entry: Entry) -> bool:
    """Whether it says nothing of other memories."""
    others = (entry.restored, entry.supersedes, entry.draft.parent_id)
    return not (entry.renews or entry.entities) and all(one is None for one in others)


def _identities(entry: Entry) -> set[Identity]:
    """All by which another entry may know this one, once it is written; but for what that one renews."""
    matches = [Match({"uid": entry.uid}), _match_content(entry)]
    if names := RULES[entry.draft.kind].one:
        matches.append(_match_one(entry.draft, names))
    return {tuple(match.fields.items()) for match in matches}


def _write_entry(store: Store, entry: Entry, known: Memory | None) -> tuple[Saved, list[Noted]]:
    if known is not None:
        return Saved(known, known=True, chunks=len(entry.chunks)), _join(store, known.id, entry)
    _check_parent(store, entry)
    if (old := _renewed(store, entry)) is not None:
        noted = _join(store, old.id, entry)
        whose = replace(entry.draft, author=old.author, owner=old.owner)  # whoever says it anew
        entry = entry._replace(draft=whose)
        again = entry._replace(grown=old.content_hash == entry.content_hash)  # the same words need no history
        before = _memory(store, old.id)
        _rewrite(store, old, again)
        new = _memory(store, old.id)
        noted.append(Change.of(before, new, int(not again.grown)))
        return Saved(new, known=False, chunks=len(entry.chunks), renewed=True), noted
    if entry.restored is not None:  # an import of what is deleted here has its number again
        entry = entry._replace(number=next((one.id for one in store.trash.page(1, named=entry.uid)), None))
    new = store.memories.insert(entry)
    return Saved(new, known=False, chunks=len(entry.chunks)), [Change.of(None, new), *_join(store, new.id, entry)]


def _renewed(store: Store, entry: Entry) -> Memory | None:
    """The memory that an entry says anew: one that says the same, else the last changed that it renews."""
    if not entry.renews:
        return None
    alike, one = store.memories.find([_match_content(entry), _match_one(entry.draft, entry.renews)])
    return alike or one


def replace_memory(store: Store, id: MemoryId, entry: Entry, *, former: Details | None = None) -> Saved | None:
    """
    Put new texts in place of a memory's; the old ones go to its history, unless the entry has only grown.

    Args:
        former: What the caller knows of it. If it has another body or more revisions by now, somebody else was
            faster: nothing is written and the answer is None (compare and set).

    Raises:
        NotFound: No such memory, or it descends from one that is not there.
        Invalid: There is another memory of which its kind has only one, or it would become of such a kind.
    """
    with store.transaction():
        old = _memory(store, id)
        if former is not None and old.content_hash != former.memory.content_hash:
            return None
        _check_parent(store, entry)
        check_kind(old.kind, entry.draft.kind)
        check_one(store, old, entry.draft)
        if not _rewrite(store, old, entry, None if former is None else len(former.history)):
            return None
        new = _memory(store, id)
        note(store, [Change.of(old, new, int(not entry.grown))], entry.moment)
        return Saved(new, known=False, chunks=len(entry.chunks))


def _rewrite(store: Store, old: Memory, entry: Entry, revisions: int | None = None) -> bool:
    former = None
    if not entry.grown:
        former = Revision(entry.moment, old, store.memories.bodies([old.id]).get(old.id, ""))
    return store.memories.rewrite(old.id, entry, former, revisions=revisions)


def _check_parent(store: Store, entry: Entry) -> None:
    if entry.draft.parent_id is not None:
        _memory(store, entry.draft.parent_id)


def check_one(store: Store, old: Memory, draft: Draft) -> None:
    if not (names := RULES[old.kind].one):
        return
    (other,) = store.memories.find([_match_one(draft, names)])
    if other is not None and other.id != old.id:
        same = ", ".join(f"{name} {getattr(draft, name)!r}" for name in names)
        raise Invalid(f"there is another {old.kind} of {same}: memory {other.short_id}")


def _memory(store: Store, id: MemoryId) -> Memory:
    (found,) = store.memories.find([Match({"id": id})])
    if found is None:
        raise NotFound(f"no memory {id}")
    return found


# What memories are to each other ----------------------------------------------


def _join(store: Store, id: MemoryId, entry: Entry) -> list[Noted]:
    """Write what a memory that is there now is to others: the successor of one, and about entities."""
    noted: list[Noted] = []
    if entry.supersedes is not None and entry.supersedes != id:
        noted += _supersede(store, entry.supersedes, by=id)
    if entry.entities and entry.draft.kind is Kind.ENTITY:
        raise Invalid("an entity cannot be about another entity", hint="Relate them.")
    for entity in entry.entities:
        if _memory(store, entity).kind is not Kind.ENTITY:
            raise NotFound(f"no entity {entity}")
    if entry.entities:
        links = [Attached(entity, id, entry.moment) for entity in entry.entities]
        noted += [EdgeChange(None, one) for one, new in zip(links, store.graph.add(links), strict=True) if new]
    return noted


def _supersede(store: Store, id: MemoryId, *, by: MemoryId) -> list[Noted]:
    old = _memory(store, id)
    if old.status is Standing.SUPERSEDED and old.superseded_by == by:
        return []  # the same request once more
    if RULES[old.kind].unique:
        raise Invalid(
            f"memory {old.short_id} is {article(old.kind)}: it cannot be superseded",
            hint="Change what it says, or delete it.",
        )
    if old.status is Standing.SUPERSEDED:
        hint = f"Supersede {_memory(store, old.superseded_by).short_id} instead." if old.superseded_by else ""
        raise Invalid(f"memory {old.short_id} is already superseded", hint=hint)
    linked = [(old, old._replace(status=Standing.SUPERSEDED, superseded_by=by))]
    if old.pinned:  # what was to be seen first is what holds now
        new = _memory(store, by)
        linked.append((new, new._replace(pinned=True)))
    return set_links(store, linked)


def set_links(store: Store, linked: Sequence[tuple[Memory, Memory]]) -> list[Noted]:
    """Write what memories are to others, and what changed of each: it was the first and is to be the second."""
    different = [(old, new) for old, new in linked if old != new]
    store.memories.set_links([new for _, new in different])
    return [Change.of(old, new) for old, new in different]


def pin_memories(store: Store, ids: Sequence[MemoryId], moment: datetime, *, pinned: bool) -> list[Memory]:
    """
    Pin memories, or unpin them; those that are there, as they are now. Their time of change stays.

    What they superseded is unpinned with them: it would come first again if they were deleted.

    Raises:
        Invalid: One to be pinned was superseded: no context shows it.
    """
    with store.transaction():
        found = store.memories.by_id(ids)
        for one in found.values() if pinned else ():
            if one.status is Standing.SUPERSEDED:
                hint = f"Pin {_memory(store, one.superseded_by).short_id} instead." if one.superseded_by else ""
                raise Invalid(f"memory {one.short_id} was superseded: no context shows it", hint=hint)
        some = [(found[id], found[id]._replace(pinned=pinned)) for id in dict.fromkeys(ids) if id in found]
        former = [] if pinned else _superseded(store, found)
        linked = [*some, *((one, one._replace(pinned=False)) for one in former)]
        note(store, set_links(store, linked), moment)
    return [new for _, new in some]


def _superseded(store: Store, ids: Collection[MemoryId]) -> list[Memory]:
    """All that these memories superseded, directly or not, without these; an import may have brought a circle."""
    found: dict[MemoryId, Memory] = {}
    frontier = list(ids)
    while frontier:
        pointing = store.memories.by_id(frontier, pointing=True)
        some = {id: one for id, one in pointing.items() if id in frontier or one.superseded_by in frontier}
        frontier = [id for id in some if id not in found and id not in frontier]
        found |= some
    return [one for id, one in found.items() if id not in ids]


def delete_memories(store: Store, ids: Sequence[MemoryId], pointing: Mapping[MemoryId, Memory] | None = None) -> int:
    """
    Remove memories with all that was derived from them; how many there were.

    What one of them superseded inherits its status: it holds again, or belongs to the successor of the one removed.

    Args:
        pointing: These and what points to them, if this transaction has read it.
    """
    with store.transaction():
        found = dict(store.memories.by_id(ids, pointing=True) if pointing is None else pointing)
        gone = {id: found.pop(id) for id in ids if id in found}
        if former := [one for one in found.values() if one.superseded_by in gone]:
            store.memories.set_links([inherited(one, gone) for one in former])
        return store.memories.delete(ids)


def inherited(memory: Memory, gone: Mapping[MemoryId, Memory]) -> Memory:
    """A memory as it is once some are gone, one of which superseded it."""
    status, successor = memory.status, memory.superseded_by
    unvisited = dict(gone)
    while successor is not None and (passed := unvisited.pop(successor, None)) is not None:
        status, successor = passed.status, passed.superseded_by
    # An import may bring a circle: if all of it is gone, nothing is left that replaced the memory.
    return memory._replace(status=status, superseded_by=None if successor in gone else successor)


# What was changed, so that it can be taken back ------------------------------------


def note(store: Store, noted: Sequence[Noted], moment: datetime) -> None:
    """Note changes in the transaction that makes them."""
    if noted:
        store.steps.add(current(store, moment), noted)


def current(store: Store, moment: datetime) -> Undoable:
    """The step that this thread does; outside of any, one of its own."""
    return Undoable(*step.current(), moment, user=store.user)


def own(store: Store) -> frozenset[str]:
    """Whose steps the user of a store may take back: their own, and those of whom nothing was noted."""
    return frozenset({"", store.user})


ENTITIES = frozenset({Kind.ENTITY})
OTHERS = frozenset(Kind) - ENTITIES


def join(store: Store, edges: Sequence[Edge]) -> Sequence[bool]:
    """
    Relate entities to each other and memories to entities, all or none; for each edge whether it is new.

    Raises:
        NotFound: What should be an entity is none that is there, or there is no such memory.
        Invalid: A memory is an entity itself.
    """
    entities = {id: None for one in edges for id in (one[:1] if isinstance(one, Attached) else one[:2])}
    memories = {one.memory: None for one in edges if isinstance(one, Attached)}
    with store.transaction():
        # Counted, as no row need be read for it, and all is well in most cases.
        if [_count(store, entities, ENTITIES), _count(store, memories, OTHERS)] != [len(entities), len(memories)]:
            _refuse(store.memories.by_id([*entities, *memories]), entities, memories)
        added = store.graph.add(edges)
        new = [EdgeChange(None, one) for one, is_new in zip(edges, added, strict=True) if is_new]
        if new:
            note(store, new, max(one.created_at for one in edges))
    return added


def part(store: Store, edges: Sequence[Edge]) -> Sequence[bool]:
    """Remove edges, all or none; for each whether it was there. Of these, `created_at` is now."""
    with store.transaction():
        ids = sorted({id for one in edges for id in one[:2]})
        relations, links = store.graph.edges(Relation, ids), store.graph.edges(Attached, ids)
        known: list[Edge] = [*relations, *links]
        there = {one[:-1]: one for one in known}
        gone = store.graph.remove(edges)
        former = [EdgeChange(there[one[:-1]], None) for one, was in zip(edges, gone, strict=True) if was]
        if former:
            note(store, former, max(one.created_at for one in edges))
    return gone


def _count(store: Store, ids: Collection[MemoryId], kinds: frozenset[Kind]) -> int:
    return store.memories.count(EVERYTHING._replace(kinds=kinds, among=frozenset(ids))) if ids else 0


def _refuse(known: Mapping[MemoryId, Memory], entities: Iterable[MemoryId], memories: Iterable[MemoryId]) -> None:
    for id in entities:
        if id not in known or known[id].kind is not Kind.ENTITY:
            raise NotFound(f"no entity {id}")
    for id in memories:
        if id not in known:
            raise NotFound(f"no memory {id}")
    for id in memories:
        if known[id].kind is Kind.ENTITY:
            raise Invalid(f"memory {known[id].short_id} is an entity itself", hint="Relate the two instead.")

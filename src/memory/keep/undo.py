"""
Undo: a step is taken back, or what it did to one memory, if that is still as it left it.

That is noted as a step of its own, an undo, so that a redo is nothing else: the undo is taken back.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from memory.keep.removing import AT_ONCE, Keep, freeing, into_trash, purge, replaced
from memory.keep.rules import check_one, own
from memory.keep.trash import put_back, read, ready
from memory.schema.draft import SHARED, Draft, content_hash
from memory.schema.errors import WHAT_OF_BODY, Invalid, NotFound, kept_before
from memory.schema.kinds import Kind
from memory.schema.memory import UID_PREFIX, Memory, MemoryId
from memory.schema.moments import minute
from memory.schema.step import USER, new_key
from memory.store import Attached, Edge, Entry, Store
from memory.store.journal import HASH, Change, EdgeChange, Facts, Noted, Trashed, Undoable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from datetime import datetime

    from memory.keep.save import Writer

MOST = 10_000  # changes of one memory and its relations in a step, and its versions in the trash

TOLD = 5
"""Memories that are named."""

TEXTS = ("content_hash", "body_size", "updated_at")
"""Facts that differ where a memory says something else."""

LINKS = ("status", "superseded_by", "parent_id", "pinned")


class Named(NamedTuple):
    """
    A memory that an undo affects.

    Attributes:
        done: "removed", "changed" or "restored".
        title: The title, or the beginning of its text if it has none.
    """

    done: str
    uid: str
    short_id: str
    title: str


class _Page(NamedTuple):
    """A part of a step, as things stand."""

    made: list[Memory]
    changed: list[tuple[Change, Memory]]
    gone: list[Trashed]
    joined: list[EdgeChange]


class Undoing(NamedTuple):
    """
    The effect of undoing a step.

    Attributes:
        removed, changed, restored: Number of memories.
        joined: Number of relations and links.
        named: The first few memories.
        of: The only memory whose changes are undone; None for the whole step.
    """

    step: Undoable
    of: MemoryId | None = None
    removed: int = 0
    changed: int = 0
    restored: int = 0
    joined: int = 0
    named: tuple[Named, ...] = ()

    def further(self, page: _Page) -> Undoing:
        """The same with one more part of the step."""
        return self._replace(
            removed=self.removed + len(page.made),
            changed=self.changed + len(page.changed),
            restored=self.restored + len(page.gone),
            joined=self.joined + len(page.joined),
            named=(*self.named, *_named(page))[:TOLD],
        )

    @property
    def memories(self) -> int:
        """Number of affected memories."""
        return self.removed + self.changed + self.restored

    @property
    def several(self) -> int:
        """The number of memories, or of relations and links if there are only these; 0 if it is one."""
        count = self.memories or self.joined
        return count if count > 1 else 0


def planned(store: Store, step: Undoable, moment: datetime, of: MemoryId | None = None) -> Undoing:
    """
    What taking back a step would do; nothing is changed.

    Args:
        of: Only what it did to this memory, to what joins it to others, and what that one superseded.

    Raises:
        Invalid: A memory was changed since, or would take with it what somebody else did.
        NotFound: One that it deleted is no longer in the trash.
    """
    plan = Undoing(step, of)
    with store.snapshot():
        for found in _pages(store, step.key, of):
            plan = plan.further(_page(store, step, [one for _, one in found], moment))
    return plan


def take_back(
    store: Store, plan: Undoing, keep: Keep, writer: Callable[[], Writer], progress: Callable[[int, int], None]
) -> tuple[Undoing, list[MemoryId]]:
    """
    Take back what is planned; what it did, and which memories came back or say something else now. What it made goes to the
    trash, for so many days, and so does what a memory says before it says the former again; without days no redo knows that.

    In one transaction as long as it did no more than `AT_ONCE`; else in several, each of which is forgotten with what it
    took back: the same call goes on after an interruption. Raises what `planned` does, and then nothing was changed,
    unless others are at work at the same time.

    Args:
        writer: Asked only if a memory comes back or says something else: most undos remove what was just saved.

    Raises:
        Invalid: Another memory stands in the place of one that would come back.
    """
    step, done, again = plan.step, 0, list[MemoryId]()
    if step.size > AT_ONCE:  # the first of several transactions must not be all that can be done
        planned(store, step, keep.moment, plan.of)
    undo = step._replace(key=new_key(), moment=keep.moment, user=store.user, undone=not step.undone)
    goes_on = "{:,} of {:,} changes were taken back before that; the same call goes on."
    plan = Undoing(step, plan.of)
    with kept_before(lambda: goes_on.format(done, step.size) if done else ""):
        for found in _pages(store, step.key, plan.of):
            page, back = _take_back(store, step, found, keep, undo=undo, writer=writer)
            plan, again = plan.further(page), [*again, *back]
            done += len(found)
            progress(done, step.size)
    return plan, again


@freeing
def _take_back(
    store: Store,
    step: Undoable,
    found: Sequence[tuple[int, Noted]],
    keep: Keep,
    *,
    undo: Undoable,
    writer: Callable[[], Writer],
) -> tuple[_Page, list[MemoryId]]:
    """A part of it, in one transaction; which memories came back or say something else now."""
    noted = [one for _, one in found]
    with store.snapshot():
        page = _page(store, step, noted, keep.moment)
    former = [(change, _former(store, change, memory, writer)) for change, memory in page.changed]
    back = ready(writer(), page.gone) if page.gone else []
    with store.transaction(frees=True):
        page = _page(store, step, noted, keep.moment)  # nobody was faster
        did = _remove(store, [one.id for one in page.made], keep, undo)
        texts = _say_again(store, former, keep, undo)
        did += _join_again(store, page.joined)
        restored = put_back(store, back) if back else []
        did += [Change.of(None, one) for one in restored]
        did += [_link_again(store, change, memory, texts[memory.id]) for change, memory in page.changed]
        store.steps.remove(step.key, [place for place, _ in found])
        store.steps.add(undo, did)
    return page, [change.id for change, entry in former if entry] + [one.id for one in restored]


def _pages(store: Store, key: str, of: MemoryId | None) -> Iterator[Sequence[tuple[int, Noted]]]:
    """What a step did, the last first, with places; of one memory all at once."""
    most = AT_ONCE if of is None else MOST
    found = store.steps.changes(key, most, id=of)
    while found:
        yield found if of is None else [*found, *_superseded(store, key, of, found)]
        found = store.steps.changes(key, most, after=found[-1][0], id=of) if len(found) == most else ()


def _superseded(store: Store, key: str, of: MemoryId, own: Sequence[tuple[int, Noted]]) -> Iterator[tuple[int, Noted]]:
    """That others were superseded by a memory which the step made: they hold again without it."""
    if not any(isinstance(one, Change) and one.before is None for _, one in own):
        return
    pointing = store.memories.by_id([of], pointing=True).values()
    for id in [one.id for one in pointing if one.superseded_by == of]:
        for place, one in store.steps.changes(key, MOST, id=id):
            if isinstance(one, Change) and one.id == id and one.after is not None and one.after.superseded_by == of:
                yield place, one


def _page(store: Store, step: Undoable, noted: Sequence[Noted], moment: datetime) -> _Page:
    """
    Raises:
        Invalid, NotFound: A memory is not as the step left it, or somebody else would lose what they did since.
    """
    changes = [one for one in noted if isinstance(one, Change)]
    there = store.memories.by_id([one.id for one in changes])
    page = _Page([], [], [], [one for one in noted if isinstance(one, EdgeChange)])
    for one in changes:
        memory = there.get(one.id)
        if one.after is None:
            page.gone.append(_trashed(store, one, moment))
        elif memory is None:
            raise Invalid(f"memory {one.uid[:UID_PREFIX]} was deleted since", hint="`memory trash list` shows it.")
        elif not _same(memory, one):
            hint = f"`memory details {memory.short_id}` shows what it says; `memory undo {memory.short_id}` takes that back."
            raise Invalid(f"memory {memory.short_id} was changed since", hint=hint)
        elif one.before is None:
            page.made.append(memory)
        else:
            page.changed.append((one, memory))
    _check_others(store, step, page)
    return page


def _check_others(store: Store, step: Undoable, page: _Page) -> None:
    """
    Raises:
        Invalid: Somebody else has changed since what would be removed, or what joins it to others.
    """
    made = {one.id for one in page.made}
    edges = {edge[:-1] for one in page.joined for edge in one if edge is not None}
    children = [one.id for one in store.memories.by_id([*made], pointing=True).values() if one.parent_id in made]
    ends = {id for edge in edges for id in edge[:2] if not isinstance(id, str)}
    asked = sorted({*made, *children, *ends})
    for other, did in store.steps.since(step.key, asked) if asked else ():
        if other.by in (step.by, USER) and other.user in own(store):
            continue
        touched = _touched(did, made, edges)
        if touched is not None:
            short = next(iter(store.memories.by_id([touched]).values())).short_id
            who = " by ".join(filter(None, [other.verb or "a change", other.by or other.user]))
            hint = f"Deleting {short} would take that along: `memory delete {short}`." if touched in made else ""
            raise Invalid(f"memory {short} was changed or linked since: {who}, {minute(other.moment)}", hint=hint)


def _touched(did: Noted, made: Collection[MemoryId], edges: Collection[tuple[object, ...]]) -> MemoryId | None:
    """The memory that would be removed with what somebody did, or whose relation they changed since; None if none would."""
    if isinstance(did, Change):
        parent = did.after and did.after.parent_id
        return did.id if did.id in made else parent if parent in made else None
    edge = did.after or did.before
    assert edge is not None  # noqa: S101  # it was there before or after
    if edge[:-1] in edges:
        return edge[0]
    return next((id for id in edge[:2] if id in made), None)


def _trashed(store: Store, change: Change, moment: datetime) -> Trashed:
    for found in store.trash.page(AT_ONCE, named=change.uid):
        if found.until > moment and found.deleted_at == change.trashed_at:
            return found
    raise NotFound(f"memory {change.uid[:UID_PREFIX]} is no longer in the trash")


def _same(memory: Memory, change: Change) -> bool:
    """Whether a memory is as a step left it. That it was pinned since, or lost its parent, is no other text."""
    after, before, now = change.after, change.before, Facts.of(memory)
    for name in ("parent_id", "pinned"):
        if after is not None and (before is None or getattr(before, name) == getattr(after, name)):
            now = now._replace(**{name: getattr(after, name)})
    return now == after


def _named(page: _Page) -> Iterator[Named]:
    for memory in page.made:
        yield Named("removed", memory.uid, memory.short_id, memory.title or memory.what)
    for _, memory in page.changed:
        yield Named("changed", memory.uid, memory.short_id, memory.title or memory.what)
    for trashed in page.gone:
        values = json.loads(trashed.line)["memory"]
        yield Named("restored", trashed.uid, trashed.uid[:UID_PREFIX], values["title"] or values["what"])


# What it said before -------------------------------------------------------------------


def _former(store: Store, change: Change, memory: Memory, writer: Callable[[], Writer]) -> Entry | None:
    """What a memory said before, to be written; None if it says that now."""
    before, after = change.before, change.after
    assert before is not None  # noqa: S101  # it was changed, not made
    if change.trashed_at is not None:  # an undo put another text in its place
        line = read(_replaced(store, change))
        written = writer()
        entry = written.sanitizer.entry(line.memory.draft, before.updated_at, written.cutting)
        return entry._replace(history=tuple(map(written.sanitizer.revision, line.memory.history)))
    if not change.revisions and all(getattr(before, name) == getattr(after, name) for name in TEXTS):
        return None
    found = store.memories.details(memory.id)
    if found is None or len(found.history) < change.revisions:
        raise Invalid(f"the earlier text of memory {memory.short_id} is not stored")
    old, body = found[:2]
    if change.revisions:
        _, old, body = found.history[change.revisions - 1]
    texts = {name: getattr(old, name) for name in SHARED}
    if old.kind is not Kind.NOTE and old.what == body[:WHAT_OF_BODY]:
        texts["what"] = ""  # it is the beginning of the body
    draft = Draft(**texts | {"body": body[: before.body_size]})  # of what has only grown, the beginning
    # Feedback that says the same words once more leaves no history of its former metadata.
    if not change.revisions and (old.kind is not Kind.ENTITY or content_hash(draft)[:HASH] != before.content_hash):
        raise Invalid(f"the earlier text of memory {memory.short_id} is not stored")
    written = writer()
    return written.sanitizer.entry(draft, before.updated_at, written.cutting)


def _replaced(store: Store, change: Change) -> Trashed:
    for found in store.trash.page(MOST, named=change.uid, replaced=True):
        if found.deleted_at == change.trashed_at:
            return found
    raise NotFound(f"the text of memory {change.uid[:UID_PREFIX]} is no longer stored")


class _Said(NamedTuple):
    """What became of the text of a memory: see `memory.store.journal.Change`."""

    revisions: int = 0
    trashed_at: datetime | None = None


def _say_again(
    store: Store, former: Sequence[tuple[Change, Entry | None]], keep: Keep, undo: Undoable
) -> dict[MemoryId, _Said]:
    """Put former texts in place of what memories say now, which the trash gets for a redo if there is a day."""
    rewritten = [change.id for change, entry in former if entry]
    if rewritten and keep.days:
        replaced(store, rewritten, keep, undo)
    texts = dict.fromkeys((change.id for change, _ in former), _Said())
    for change, entry in former:
        if entry is None:
            continue
        linked = _linked(store, change)
        check_one(store, linked, entry.draft)
        revisions = _rewrite(store, change, entry._replace(draft=replace(entry.draft, parent_id=linked.parent_id)))
        texts[change.id] = _Said(revisions, None if revisions or not keep.days else keep.moment)
        if revisions:  # its history knows again what it said
            store.trash.remove([change.uid], deleted_at=keep.moment)
    return texts


def _linked(store: Store, change: Change) -> Memory:
    """A memory with the links that it had before, as far as what they lead to is there."""
    memory = store.memories.by_id([change.id])[change.id]
    different = [name for name in LINKS if getattr(change.before, name) != getattr(change.after, name)]
    back = memory._replace(**{name: getattr(change.before, name) for name in different})
    there = store.memories.by_id([id for id in (back.parent_id, back.superseded_by) if id is not None])
    parent, successor = (id if id in there else None for id in (back.parent_id, back.superseded_by))
    return back._replace(parent_id=parent, superseded_by=successor)


def _link_again(store: Store, change: Change, former: Memory, said: _Said) -> Change:
    """The same of its links, once what comes back is there; all of it, as a change of what it was."""
    store.memories.set_links([_linked(store, change)])
    return Change.of(former, store.memories.by_id([change.id])[change.id], said.revisions, trashed_at=said.trashed_at)


def _rewrite(store: Store, change: Change, entry: Entry) -> int:
    """Put the former text in place of that of a memory; how many revisions its history has now that it had not."""
    if change.trashed_at is None:
        store.memories.rewrite(change.id, entry, undone=change.revisions)
        return 0
    details = store.memories.details(change.id)
    assert details is not None  # noqa: S101  # it is there in this transaction
    more = entry.history[: len(entry.history) - len(details.history)]
    for revision in (*reversed(more),) or (None,):
        store.memories.rewrite(change.id, entry, revision)
    store.trash.remove([change.uid], deleted_at=change.trashed_at)
    return len(more)


def _remove(store: Store, ids: Sequence[MemoryId], keep: Keep, undo: Undoable) -> list[Noted]:
    if keep.days:
        return [Change.of(one, None, trashed_at=keep.moment) for one in into_trash(store, ids, keep, undo)]
    if ids:
        purge(store, ids)
    return []


def _join_again(store: Store, joined: Iterable[EdgeChange]) -> list[Noted]:
    """Edges as they were, as far as both ends are there and are what they were."""
    did: list[Noted] = []
    for before, after in joined:
        gone = after if after is not None and any(store.graph.remove([after])) else None
        again = before if before is not None and _joinable(store, before) and any(store.graph.add([before])) else None
        if gone is not None or again is not None:
            did.append(EdgeChange(gone, again))
    return did


def _joinable(store: Store, edge: Edge) -> bool:
    there = store.memories.by_id(edge[:2])
    kinds = [there[id].kind is Kind.ENTITY for id in edge[:2] if id in there]
    return kinds == [True, not isinstance(edge, Attached)]

"""Undo: a step is taken back, if what it did is still as it left it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.draft import SHARED, Draft, content_hash
from memory.schema.errors import WHAT_OF_BODY, Invalid, NotFound, kept_before
from memory.schema.kinds import Kind
from memory.schema.memory import UID_PREFIX, Memory, MemoryId
from memory.store import Attached
from memory.store.trash import Change, Facts, Joined
from memory.write.removing import AT_ONCE, Keep, into_trash, purge
from memory.write.rules import check_one
from memory.write.trash import put_back, ready

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from memory.store import Edge, Entry, Store
    from memory.store.trash import Noted, Step, Thrown
    from memory.write.save import Writer

TOLD = 5
"""Memories that are named."""

TEXTS = ("content_hash", "body_size", "updated_at")
"""Facts that differ where a memory says something else."""

LINKS = ("status", "superseded_by", "parent_id", "pinned")


class Named(NamedTuple):
    """
    What happens to a memory.

    Attributes:
        done: "removed", "changed" or "restored".
        title: What it says, if it has none.
    """

    done: str
    uid: str
    short_id: str
    title: str


class Undoing(NamedTuple):
    """
    What taking back a step does.

    Attributes:
        removed, changed, restored: How many memories.
        joined: How many relations and links.
        named: The first few memories.
    """

    step: Step
    removed: int
    changed: int
    restored: int
    joined: int
    named: tuple[Named, ...]


class _Page(NamedTuple):
    """A part of a step, as things stand."""

    made: list[Memory]
    changed: list[tuple[Change, Memory]]
    gone: list[Thrown]
    joined: list[Joined]


def planned(store: Store, step: Step, moment: datetime) -> Undoing:
    """
    What taking back a step would do; nothing is changed.

    Raises:
        Invalid: A memory was changed since.
        NotFound: One that it deleted no longer lies in the trash.
    """
    counts: Counter[str] = Counter()
    named: list[Named] = []
    with store.snapshot():
        for noted in _pages(store, step.key):
            page = _page(store, noted, moment)
            some = [*_named(page)]
            counts.update(one.done for one in some)
            counts["joined"] += len(page.joined)
            named = [*named, *some][:TOLD]
    removed, changed, restored, joined = (counts[what] for what in ("removed", "changed", "restored", "joined"))
    return Undoing(step, removed, changed, restored, joined, tuple(named))


def take_back(writer: Writer, step: Step, days: int, progress: Callable[[int, int], None]) -> Undoing:
    """
    Take a step back; what it did. What it made goes to the trash, for so many days.

    In one transaction as long as it did no more than `AT_ONCE`; else in several, each of which is forgotten with what it
    took back: the same call goes on after an interruption. Raises what `planned` does, and then nothing was changed,
    unless others are at work at the same time.

    Raises:
        Invalid: Another memory stands in the place of one that would come back.
    """
    store, done = writer.store, 0
    plan = planned(store, step, writer.moment)
    goes_on = "{:,} of {:,} changes were taken back before that; the same call goes on."
    with kept_before(lambda: goes_on.format(done, step.size) if done else ""):
        while found := store.steps.changes(step.key, AT_ONCE):
            _take_back(writer, step, found, Keep(writer.moment, days))
            done += len(found)
            progress(done, step.size)
    return plan


def _take_back(writer: Writer, step: Step, found: Sequence[tuple[int, Noted]], keep: Keep) -> None:
    """A part of it, in one transaction."""
    store, noted = writer.store, [one for _, one in found]
    page = _page(store, noted, writer.moment)
    former = [(change, _former(writer, change, memory)) for change, memory in page.changed]
    back = ready(writer, page.gone)
    with store.transaction():
        page = _page(store, noted, writer.moment)  # nobody was faster
        _remove(store, [one.id for one in page.made], keep)
        for change, entry in former:
            _change_back(store, change, entry)
        _join_again(store, page.joined)
        put_back(store, back)
        store.steps.remove(step.key, [place for place, _ in found])


def _pages(store: Store, key: str) -> Iterator[list[Noted]]:
    after = None
    while found := store.steps.changes(key, AT_ONCE, after=after):
        yield [one for _, one in found]
        after = found[-1][0]


def _page(store: Store, noted: Sequence[Noted], moment: datetime) -> _Page:
    """
    Raises:
        Invalid, NotFound: A memory is not as the step left it.
    """
    changes = [one for one in noted if isinstance(one, Change)]
    there = store.memories.by_id([one.id for one in changes])
    page = _Page([], [], [], [one for one in noted if isinstance(one, Joined)])
    for one in changes:
        memory = there.get(one.id)
        if one.after is None:
            page.gone.append(_thrown(store, one, moment))
        elif memory is None:
            raise Invalid(f"memory {one.uid[:UID_PREFIX]} was deleted since", hint="`memory trash list` shows it.")
        elif not _same(memory, one):
            hint = f"`memory details {memory.short_id}` shows what it says; `memory undo {memory.short_id}` takes that back."
            raise Invalid(f"memory {memory.short_id} was changed since", hint=hint)
        elif one.before is None:
            page.made.append(memory)
        else:
            page.changed.append((one, memory))
    return page


def _thrown(store: Store, change: Change, moment: datetime) -> Thrown:
    for found in store.trash.page(AT_ONCE, named=change.uid):
        if found.until > moment and found.deleted_at == change.thrown_at:
            return found
    raise NotFound(f"memory {change.uid[:UID_PREFIX]} no longer lies in the trash")


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
    for thrown in page.gone:
        values = json.loads(thrown.line)["memory"]
        yield Named("restored", thrown.uid, thrown.uid[:UID_PREFIX], values["title"] or values["what"])


# What it said before -------------------------------------------------------------------


def _former(writer: Writer, change: Change, memory: Memory) -> Entry | None:
    """What a memory said before, to be written; None if it says that now."""
    before, after = change.before, change.after
    assert before is not None  # noqa: S101  # it was changed, not made
    if not change.revisions and all(getattr(before, name) == getattr(after, name) for name in TEXTS):
        return None
    found = writer.store.memories.details(memory.id)
    if found is None or len(found.history) < change.revisions:
        raise Invalid(f"what memory {memory.short_id} said before is not known")
    old, body = found[:2]
    if change.revisions:
        _, old, body = found.history[change.revisions - 1]
    texts = {name: getattr(old, name) for name in SHARED}
    if old.kind is not Kind.NOTE and old.what == body[:WHAT_OF_BODY]:
        texts["what"] = ""  # it is the beginning of the body
    draft = Draft(**texts | {"body": body[: before.body_size]})  # of what has only grown, the beginning
    # Feedback that says the same words once more leaves no history of its former metadata.
    if not change.revisions and (old.kind is not Kind.ENTITY or content_hash(draft) != before.content_hash):
        raise Invalid(f"what memory {memory.short_id} said before is not known")
    return writer.sanitizer.entry(draft, before.updated_at, writer.cutting)


def _change_back(store: Store, change: Change, entry: Entry | None) -> None:
    before, after = change.before, change.after
    memory = store.memories.by_id([change.id])[change.id]
    different = [name for name in LINKS if getattr(before, name) != getattr(after, name)]
    back = memory._replace(**{name: getattr(before, name) for name in different})
    there = store.memories.by_id([id for id in (back.parent_id, back.superseded_by) if id is not None])
    if back.parent_id not in there:
        back = back._replace(parent_id=None)
    if back.superseded_by not in there:
        back = back._replace(superseded_by=None)
    if entry is not None:
        check_one(store, memory, entry.draft)
        placed = entry._replace(draft=replace(entry.draft, parent_id=back.parent_id))
        store.memories.rewrite(memory.id, placed, undone=change.revisions)
    store.memories.set_links([back])


def _remove(store: Store, ids: Sequence[MemoryId], keep: Keep) -> None:
    if keep.days:
        into_trash(store, ids, keep)
    elif ids:
        purge(store, ids)


def _join_again(store: Store, joined: Iterable[Joined]) -> None:
    """Edges as they were, as far as both ends are there and are what they were."""
    for before, after in joined:
        if after is not None:
            store.graph.remove([after])
        if before is not None and _joinable(store, before):
            store.graph.add([before])


def _joinable(store: Store, edge: Edge) -> bool:
    there = store.memories.by_id(edge[:2])
    kinds = [there[id].kind is Kind.ENTITY for id in edge[:2] if id in there]
    return kinds == [True, not isinstance(edge, Attached)]

"""The part of an engine that deletes, restores and undoes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Notice
from memory.schema.errors import Ambiguous, Invalid, NotFound, StoreFull, clipped_repr, kept_before
from memory.schema.moments import minute
from memory.schema.query import check_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from datetime import datetime

    from memory.engine.documents import Documents
    from memory.engine.vectors import Vectors
    from memory.keep.jsonl import TrashLine
    from memory.keep.removing import Aged, Keep
    from memory.keep.save import Writer
    from memory.keep.undo import Undoing as Undoing
    from memory.schema.draft import Draft
    from memory.schema.memory import Memory, MemoryId, Reference
    from memory.store import Store
    from memory.store.journal import Trashed, Undoable as Undoable

PAGE = 100  # lines of the trash read at once


OWED = Notice(
    "some bytes of memories deleted for good are still in the database",
    "`memory trash empty` removes them, once no program reads them and the disk has room to rewrite the file.",
)


def lying(store: Store, *, fix: bool) -> tuple[bool, str, str, bool]:
    """
    The doctor's check of the trash: whether no bytes of permanently deleted memories are left, a clause, a hint, and
    whether it was repaired.

    Args:
        fix: Erase the bytes.
    """
    counts = store.counts()
    if counts.unwiped:
        mended = fix and _wiped(store)
        return mended, OWED.text, OWED.hint, mended
    deleted = "1 deleted memory" if counts.trashed == 1 else f"{counts.trashed:,} deleted memories"
    told = f"{deleted} can be restored, {counts.trash_bytes / 1e3:,.1f} KB"
    return True, told if counts.trashed else "it is empty", "", False


def _wiped(store: Store) -> bool:
    """Erase the bytes of permanently deleted memories, also in files that killed writers left beside the database."""
    from pathlib import Path

    from memory.config.files import sweep
    from memory.keep.removing import freeing

    if store.path:
        sweep(Path(store.path).parent)
    try:
        return freeing(store.wipe)()
    except StoreFull:
        return False  # the rows are deleted; `OWED` reports the remaining bytes


class Deleted(NamedTuple):
    """
    A memory in the trash.

    Attributes:
        short_id: The shortest beginning of its uid that is unique in the trash.
        step: The key of the step that deleted it; empty if unknown.
        user: The person who deleted it; empty if unknown.
    """

    short_id: str
    uid: str
    draft: Draft
    deleted_at: datetime
    until: datetime
    step: str
    user: str


KEY = 8
"""Characters of a step's key that are shown, and the fewest that a reference needs."""


def is_key(text: str) -> bool:
    """Whether this may be the beginning of the key of a step."""
    return KEY <= len(text) <= 32 and set(text.lower()) <= set("0123456789abcdef")


class Trash:
    """
    The trash, and undo. `memory.engine.Engine.trash` is one.

    Deleted memories disappear from searches, counts, lists and exports at once.
    """

    def __init__(
        self, store: Store, now: Callable[[], datetime], days: int, *, documents: Documents, vectors: Vectors
    ) -> None:
        self._store, self._now, self._days = store, now, days
        self._documents, self._vectors = documents, vectors

    @property
    def keep(self) -> Keep:
        """How long memories deleted now can be restored."""
        from memory.keep.removing import Keep

        return Keep(self._now(), self._days)

    # Deleting ------------------------------------------------------------

    def there(self, reference: Reference) -> Memory:
        """
        The memory to delete.

        Raises:
            NotFound, Ambiguous: The reference matches no memory, or several. The hint says if it is in the trash.
        """
        try:
            return self._documents.get(reference)
        except NotFound as error:
            try:
                lying = self._short(self.named(reference).uid)
            except (NotFound, Ambiguous):
                raise error from None
            hint = f"It is in the trash: `memory trash empty {lying}` deletes it for good."
            raise NotFound(str(error), hint=hint) from error

    def delete(self, reference: Reference, *, purge: bool = False) -> Memory:
        """
        Move a memory to the trash, with its chunks and vectors. It can be restored for `trash.days`.

        Args:
            purge: Delete it permanently and erase its bytes from the file, which rewrites the whole file. The setting
                `trash.days: 0` does the same.

        Returns:
            The deleted memory.

        Raises:
            NotFound, Ambiguous: The reference matches no memory, or several.
        """
        from memory.keep.removing import throw_away

        memory = self.there(reference)
        keep = self.keep._replace(days=0) if purge else self.keep
        if not throw_away(self._store, [memory.id], keep):
            raise NotFound(f"no memory {clipped_repr(reference)}")
        self.wipe(keep, 1)
        return memory

    def cleanup(self, days: int = 90, *, kinds: Iterable[str] = (), dry_run: bool = True) -> Aged:
        """
        Move session memories older than some days to the trash. They can be restored for `trash.days`.

        Args:
            days: Minimum age, from 0.
            kinds: Only these kinds; by default all that belong to a session, so not the knowledge base.
            dry_run: Only count them.

        Raises:
            Invalid: The number of days is out of range, or there is no such kind.
        """
        from memory.keep.removing import cleanup

        keep = self.keep
        gone = cleanup(self._store, days, kinds, keep, dry_run=dry_run)
        self.wipe(keep, 0 if dry_run else gone.memories)
        return gone

    def wipe(self, keep: Keep, count: int) -> None:
        """
        Erase the bytes of memories or tool calls that were just deleted permanently, by rewriting the file.

        Does nothing if `keep` sends them to the trash. If another process is reading the file, the bytes stay for now:
        `owed` says so.

        Args:
            keep: How long the deleted memories can be restored.
            count: Number of memories or calls; 0 does nothing.
        """
        if count and not keep.days:
            _wiped(self._store)

    def owed(self) -> tuple[Notice, ...]:
        """A notice if bytes of permanently deleted memories are still in the file."""
        return (OWED,) if self._store.counts().unwiped else ()

    # What lies there -------------------------------------------------------

    def rows(self, users: Collection[str] | None = None, step: str | None = None) -> Iterator[Trashed]:
        """
        Everything that can be restored, last deleted first, read a page at a time.

        Args:
            users: Only memories that one of these people deleted; "" stands for an unknown person.
            step: Only memories that the step with this key deleted.
        """
        after = None
        while page := self._store.trash.page(PAGE, after=after, users=users, step=step):
            yield from (one for one in page if one.until > self._now())
            after = page[-1]

    def recent(self, limit: int = 20, *, user: str | None = None) -> Sequence[Deleted]:
        """
        The memories deleted last, latest first.

        Args:
            limit: Maximum number, 1..10,000.
            user: Only memories that this person deleted.

        Raises:
            Invalid: The limit is out of range.
        """
        from itertools import islice

        check_limit(limit)
        return [self._shown(one) for one in islice(self.rows(None if user is None else {user}), limit)]

    def _shown(self, one: Trashed) -> Deleted:
        from memory.keep.trash import read

        draft = read(one).memory.draft
        return Deleted(self._short(one.uid), one.uid, draft, one.deleted_at, one.until, one.step, one.user)

    def _short(self, uid: str) -> str:
        from memory.schema.memory import UID_PREFIX
        from memory.store.records import short_id

        alike = self._store.trash.page(PAGE, named=uid[:UID_PREFIX])
        return short_id(uid, *(one.uid for one in alike if one.uid != uid))

    def named(self, reference: Reference) -> Trashed:
        """
        The memory in the trash that a reference matches.

        Raises:
            NotFound, Ambiguous: The reference matches nothing that can be restored, or several memories.
        """
        text = str(reference).strip()
        found = [one for one in self._store.trash.page(PAGE, named=text) if one.until > self._now()]
        if isinstance(reference, int):
            found = [one for one in found if one.id == reference]
        match list({one.uid: one for one in reversed(found)}.values()):  # for each uid, the last deleted
            case []:
                hint = "`memory trash list` shows what can be restored."
                raise NotFound(f"no memory {clipped_repr(reference)} in the trash", hint=hint)
            case [one]:
                return one
            case several:
                raise Ambiguous(text, [one.uid for one in several])

    def restore(
        self, references: Sequence[Reference], *, step: str | None = None
    ) -> tuple[list[Memory], tuple[Notice, ...]]:
        """
        Restore memories with their ids, all or none; returns them and notices.

        Relations and links come back if their other end still exists. Keywords find the memories at once; their vectors
        are made again.

        Args:
            references: Ids, uids or beginnings of uids.
            step: Also everything that this step deleted (e.g. the undo of an import), by the beginning of its key.

        Raises:
            NotFound, Ambiguous: A reference matches nothing in the trash, or several memories.
            Invalid: Another memory now has the same name or content.
        """
        from memory.keep.trash import ready, restore

        rows = list(dict.fromkeys([*map(self.named, references), *(() if step is None else self._of_step(step))]))
        writer = self._documents.writer()
        found = restore(self._store, ready(writer, rows))
        return found, self._embedded(writer, [one.id for one in found])

    def _embedded(self, writer: Writer, ids: Sequence[MemoryId]) -> tuple[Notice, ...]:
        """Embed memories that were restored or changed; returns notices."""
        notices = writer.embed_rest(ids)
        self._vectors.saved(ids)
        return notices

    def _of_step(self, key: str) -> list[Trashed]:
        """The memories in the trash that a step deleted, by the beginning of its key; last deleted first."""
        found: dict[str, dict[str, Trashed]] = {}
        for one in self.rows():
            if is_key(key) and one.step.startswith(key.lower()):
                found.setdefault(one.step, {}).setdefault(one.uid, one)
        match [*found.values()]:
            case []:
                hint = "`memory trash list` shows of which step each memory is."
                raise NotFound(f"the trash has nothing of step {clipped_repr(key)}", hint=hint)
            case [some]:
                return [*some.values()]
        raise Invalid(f"several steps begin with {clipped_repr(key)}", hint=f"They are {', '.join(sorted(found))}.")

    def empty(self, references: Sequence[Reference] = (), *, everyones: bool = False) -> int:
        """
        Permanently delete the memories in the trash and erase their bytes; returns how many.

        Args:
            references: Only these memories.
            everyones: Also memories that other people deleted, in a shared store.

        Raises:
            NotFound, Ambiguous: A reference matches nothing in the trash, or several memories. Nothing was deleted.
        """
        from memory.keep.removing import forget_trashed

        rows = [self.named(one) for one in references]
        users = None if everyones else self._own
        gone = 0
        with kept_before(lambda: f"{gone:,} were deleted for good before that; the same call goes on." if gone else ""):
            while some := rows or self._store.trash.page(PAGE, users=users):
                ids = [one.id for one in some if one.id is not None]
                gone += forget_trashed(self._store, [one.uid for one in some], ids)
                if rows:
                    break
            while not rows and (former := self._store.trash.page(PAGE, users=users, replaced=True)):  # for redo
                self._store.trash.remove([one.uid for one in former], purged=True)
        _wiped(self._store)
        return gone

    def mine(self) -> int:
        """Number of memories in the trash that the user, or an unknown person, deleted."""
        return sum(1 for _ in self.rows(self._own)) if self._store.shared else self._store.counts().trashed

    # Undo ------------------------------------------------------------------

    @property
    def _own(self) -> frozenset[str]:
        from memory.keep.rules import own

        return own(self._store)

    def steps(self, limit: int = 20, *, user: str | None = None, undone: bool | None = False) -> Sequence[Undoable]:
        """
        The steps that can be undone, latest first.

        Args:
            limit: Maximum number, 1..10,000.
            user: Only steps of this person; None takes everybody's.
            undone: True lists the undos that can be redone instead; None lists both.

        Raises:
            Invalid: The limit is out of range.
        """
        check_limit(limit)
        return self._store.steps.recent(limit, users=None if user is None else {user}, undone=undone)

    def last(self, reference: Reference | None = None, *, step: str | None = None) -> Undoing:
        """
        Plan an undo, for `undo`; changes nothing.

        Args:
            reference: Undo only the last change of this memory, by any program of the user; None takes the last step of
                the user's commands.
            step: Undo this step of the user, by the beginning of its key.

        Raises:
            NotFound: There is nothing to undo, or a memory it deleted can no longer be restored.
            Invalid: A memory was changed since, or the step is another person's.
        """
        from memory.keep.undo import planned

        if step is not None:
            return planned(self._store, self._named_step(step), self._now())
        if reference is None:
            return planned(self._store, self._last_step(), self._now())
        found, id = self._last_of(reference)
        return planned(self._store, found, self._now(), id)

    def last_undo(self) -> Undoing:
        """
        Plan a redo of the user's last undo, for `redo`; changes nothing.

        Raises:
            NotFound: The user has undone nothing, or a memory it removed can no longer be restored.
            Invalid: A memory was changed since.
        """
        from memory.keep.undo import planned

        if (step := self._store.steps.last(users=self._own, undone=True)) is None:
            raise NotFound("nothing to redo: you have undone nothing")
        return planned(self._store, step, self._now())

    def _last_step(self) -> Undoable:
        from memory.schema.step import USER

        if (step := self._store.steps.last(by=USER, users=self._own)) is None:
            hint = "`memory undo ID` takes back the last change of a memory by an agent or a program of yours."
            raise NotFound("nothing to undo: no command made a change that can still be undone", hint=hint)
        return step

    def _named_step(self, key: str) -> Undoable:
        found = self._store.steps.recent(2, key=key.lower(), undone=None) if is_key(key) else ()
        match found:
            case []:
                raise NotFound(f"there is no step {clipped_repr(key)}", hint="`memory history` shows steps.")
            case [step]:
                return self._checked_own(step, f"step {key}")
        raise Invalid(f"several steps begin with {clipped_repr(key)}", hint="Give more characters of it.")

    def _last_of(self, reference: Reference) -> tuple[Undoable, MemoryId]:
        try:
            id: MemoryId | None = self._documents.resolve(reference)
        except NotFound:
            id = self.named(reference).id
        if id is None or (step := self._store.steps.last(id=id)) is None:
            raise NotFound(f"nothing to undo for memory {clipped_repr(reference)}")
        return self._checked_own(step, f"the last change of memory {clipped_repr(reference)}"), id

    def _checked_own(self, step: Undoable, what: str) -> Undoable:
        if step.user not in self._own:
            told = f"{what} is by {step.user} ({step.verb or 'a program'}, {minute(step.moment)})"
            raise Invalid(f"{told}: you can undo only your own changes", hint="Correct it with `memory update`.")
        return step

    def undo(self, plan: Undoing, progress: Callable[[int, int], None]) -> tuple[Undoing, tuple[Notice, ...]]:
        """
        Carry out a plan of `last` or `last_undo`; returns what was done, and notices. `redo` is the same method.

        Memories that this removes go to the trash.

        Args:
            plan: From `last` or `last_undo`.
            progress: Called with the number of finished changes and the total.

        Raises:
            Invalid, NotFound: Another process changed one of the memories meanwhile.
        """
        from memory.keep.undo import take_back

        keep = self.keep
        writer = cache(self._documents.writer)
        done, back = take_back(self._store, plan, keep, writer, progress)
        notices = self._embedded(writer(), back) if back else ()
        self.wipe(keep, done.removed)
        return done, notices

    redo = undo
    """A redo is the undo of an undo."""

    # Export and import -------------------------------------------------------

    def bring(self, found: Sequence[TrashLine]) -> int:
        """Add the trash of an export to this one; returns how many memories are new."""
        from memory.keep.trash import bring

        return bring(self._documents.writer(), found, self._documents.clean)

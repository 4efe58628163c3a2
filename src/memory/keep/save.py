"""Saving: entries become memories, their chunks and, if the embedder answers, their vectors."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.keep.entry import USUAL, Cutting, Sanitizer, entry, excerpts
from memory.keep.removing import expire
from memory.keep.rules import known_memories, replace_memory, write_entries
from memory.schema.answer import Notice
from memory.schema.draft import SHARED, Draft, Saved
from memory.schema.errors import WHAT_OF_BODY, EmbedError, SpaceMismatch, StoreBusy, StoreFull, clipped_repr
from memory.schema.kinds import Kind
from memory.schema.space import Embedded, Window
from memory.schema.step import SAVE, purpose
from memory.vectors.backfill import AT_ONCE, LATER, Backfill, drain, unembedded, waiting
from memory.vectors.registry import embedded

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from memory.keep.jsonl import MemoryLine
    from memory.schema.memory import Details, Memory, MemoryId
    from memory.store import Entry, Store
    from memory.vectors.registry import Embedders

IN_BACKGROUND = "They are embedded in the background; until then words find them."
"""A hint: who embeds what waits."""

TOKENS_AT_ONCE = 7_200
"""The most tokens of those chunks: as many as 16 of the usual size. A chunk that is not cut may have thousands."""


class _Changed(Exception):
    """Somebody else changed a memory after it was read."""


class Writer(NamedTuple):
    """
    Writes memories: with given settings, at a given time.

    Attributes:
        waiting: Filled with the memories that `save` stored without vectors.
    """

    store: Store
    embedders: Embedders
    backfill: Backfill
    sanitizer: Sanitizer
    moment: datetime
    waiting: list[MemoryId]
    cutting: Cutting = USUAL

    def save(
        self,
        drafts: Sequence[Draft | MemoryLine],
        *,
        supersedes: MemoryId | None = None,
        entities: tuple[MemoryId, ...] = (),
        renews: tuple[str, ...] = (),
    ) -> list[Saved]:
        """
        Save drafts and memories of an export, all or none. If embedding fails, they are saved with a notice.

        Args:
            drafts: Memories of an export keep their uid, times and history.
            supersedes, entities, renews: For each draft; see `memory.store.Entry`.

        Raises:
            NotFound, Invalid: A superseded memory does not exist, or is already superseded. Nothing was saved.
            Invalid: A `<redacted>` is not closed, or a text is too long after markers replaced its secrets.
            ConfigError: A rule of `.memoryignore` cannot be used.
        """
        # Secrets out, then hash and chunks. First of all, so that no model, no log and no other program meets a secret,
        # and a draft that is refused has cost nobody a lock.
        entries: Sequence[Entry] = [
            self.sanitizer.entry(one, self.moment, self.cutting) if isinstance(one, Draft) else self.brought(one)
            for one in drafts
        ]
        entries = [
            one._replace(supersedes=supersedes, entities=entities, renews=renews or one.renews) for one in entries
        ]

        # One look at the store before others have to wait: what is known needs no vectors, and whether anything is over in
        # the trash. Both are guesses, since others may write until the transaction begins, which looks again.
        with self.store.snapshot():
            known = known_memories(self.store, entries) if self.embedders.enabled else []
            over = self.store.trash.page(1, ended=self.moment, replaced=None)

        # Vectors, if the chunks are few and the model runs in this process: such memories are found by meaning at once.
        entries, failure = self._embed(entries, without={number for number, one in enumerate(known) if one is not None})

        # One transaction, in which nothing is waited for but the disk: once it ends, the memories survive whatever happens.
        # What is over in the trash goes with it.
        with self.store.transaction() if over else nullcontext():
            saved = write_entries(self.store, entries)
            if over:
                expire(self.store, self.moment)

        # The rest of the vectors, as far as a save waits for them. From here on, what fails is a notice: all is kept.
        self._learn(entries)
        for one, new in zip(saved, entries, strict=True):
            if not (one.known or new.embedded or new.draft.keyword_only):
                self.waiting.append(one.memory.id)
        notices = failure or self.embed_rest(self.waiting)
        return [
            replace(one, notices=_unsaid(one.memory, new) if one.known else new.notices + notices)
            for one, new in zip(saved, entries, strict=True)
        ]

    def brought(self, line: MemoryLine) -> Entry:
        """The entry that restores a memory of an export."""
        made = self.sanitizer.entry(line.draft, self.moment, self.cutting)
        made = made._replace(renews=line.renews or made.renews)
        if line.memory is None:
            return made
        history = tuple(map(self.sanitizer.revision, line.history))
        return made._replace(uid=line.memory.uid, unless_known=line.foreign, restored=line.memory, history=history)

    def update(self, former: Details, changes: Mapping[str, Any]) -> Saved | None:
        """
        Replace texts of a memory; returns None if another process changed it meanwhile.

        If nothing changes, nothing is written and the result is `known`.

        Args:
            changes: Fields of a draft with their new values. None clears a field, but is ignored for `kind` and
                `keyword_only`.

        Raises:
            NotFound: There is no such memory.
            Invalid: A value is not valid for a draft.
        """
        saved = self.update_all([(former, changes)])
        return None if saved is None else saved[0]

    def update_all(self, revised: Sequence[tuple[Details, Mapping[str, Any]]]) -> list[Saved] | None:
        """
        Replace texts of several memories in one transaction; None, and no change, if another process changed one
        meanwhile.
        """
        plans = [self._revised(former, changes) for former, changes in revised]
        entries: Sequence[Entry] = [made for made, _ in plans if made is not None]
        if not entries:  # no lock is needed to change nothing
            return [
                Saved(former.memory, known=True, notices=said)
                for (former, _), (_, said) in zip(revised, plans, strict=True)
            ]
        entries, failure = self._embed(entries)
        embedded = iter(entries)
        plans = [(made and next(embedded), notices) for made, notices in plans]
        saved: list[Saved] = []
        try:
            with self.store.transaction():
                expire(self.store, self.moment)
                for (former, _), (made, notices) in zip(revised, plans, strict=True):
                    saved.append(self._replaced(former, made, notices))
        except _Changed:
            return None
        self._learn(entries)
        failure = failure or self.embed_rest([one.memory.id for one in saved if not one.known])
        return [one if one.known else replace(one, notices=one.notices + failure) for one in saved]

    def _replaced(self, former: Details, made: Entry | None, notices: tuple[Notice, ...]) -> Saved:
        if made is None:
            return Saved(former.memory, known=True, notices=notices)
        if (saved := replace_memory(self.store, former.memory.id, made, former=former)) is None:
            raise _Changed
        return replace(saved, notices=notices)

    def _revised(self, former: Details, changes: Mapping[str, Any]) -> tuple[Entry | None, tuple[Notice, ...]]:
        """The entry that replaces a memory, None if nothing changes, and notices."""
        texts = {name: getattr(former.memory, name) for name in SHARED} | {"body": former.body}
        if former.memory.kind is not Kind.NOTE and former.memory.what == former.body[:WHAT_OF_BODY]:
            texts["what"] = ""  # it was the beginning of the body, and will be again
        fixed = {"kind", "keyword_only"}
        changes = {name: new for name, new in changes.items() if new is not None or name not in fixed}
        draft, flags, notices = self.sanitizer.draft(Draft(**texts | changes))
        if draft == Draft(**texts):
            return None, notices
        return entry(draft, self.moment, self.cutting)._replace(flags=flags, grown=_grown(texts, draft)), notices

    def _learn(self, entries: Sequence[Entry]) -> None:
        """Do what follows from vectors that were written with their memories."""
        if not (count := sum(len(one.chunks) for one in entries if one.embedded is not None)):
            return
        with suppress(EmbedError, SpaceMismatch):  # whoever asks next is told
            self.embedders.keep_fingerprint()
        if not self.backfill.background:  # else a thread does, once the save is done
            self.backfill.learn(count)

    def _embed(
        self, entries: Sequence[Entry], *, without: Collection[int] = ()
    ) -> tuple[Sequence[Entry], tuple[Notice, ...]]:
        """
        Entries with their vectors, if they are few, else as they are; with a notice if embedding failed.

        Args:
            without: Places of those that need none.
        """
        wanted = {n: one for n, one in enumerate(entries) if n not in without and not one.draft.keyword_only}
        if not self.embedders.enabled or not wanted:
            return entries, ()
        try:
            embedder = self.embedders.saving()
            if embedder is None or self.backfill.policy != "eager" or embedder.host or _many(wanted.values()):
                return entries, ()
            pieces = [piece for one in wanted.values() for piece in excerpts(one.draft, one.chunks)]
            with purpose(SAVE):
                made = embedded(embedder, pieces, self.backfill.overlap)
        except SpaceMismatch as error:
            text = "saved, but found only by keyword: the stored vectors belong to another model"
            return entries, (Notice(text, error.hint),)
        except EmbedError as error:
            return entries, (Notice(f"saved, but found only by keyword for now: {error}", error.hint),)
        own = dict(zip(wanted, _shared_out(wanted.values(), made), strict=True))
        return [one._replace(embedded=own.get(number)) for number, one in enumerate(entries)], ()

    def embed_rest(
        self, ids: Sequence[MemoryId], progress: Callable[[int, int], None] = lambda _done, _total: None
    ) -> tuple[Notice, ...]:
        """
        Embed chunks of memories that were just written, if the policy is eager, as far as `Backfill` allows. Other
        waiting chunks are not embedded.

        Args:
            progress: Called with the number of finished chunks and the total.

        Returns:
            Notices about these memories.
        """
        store, backfill = self.store, self.backfill
        if backfill.policy != "eager" or not self.embedders.enabled or not ids:
            return ()
        try:
            self.embedders.keep_fingerprint()
            if 0 < (chunks := waiting(store, ids)) <= backfill.own:
                progress(0, chunks)  # the first batch may take seconds
                chunks = drain(store, self.embedders, backfill, memories=ids, progress=progress).left
        except (EmbedError, SpaceMismatch) as error:
            return (Notice(f"saved, but found only by keyword for now: {error}", error.hint),)
        except (StoreBusy, StoreFull) as error:
            return (unembedded(error),)
        if not chunks:
            return ()
        failed = sorted(one for one in store.queue.waiting(ids) if one.failed)
        why = f"; the model refused one: {failed[0].last_error}" if failed else ""
        verb = "chunk waits for its vector" if chunks == 1 else "chunks wait for their vectors"
        text = f"saved; {chunks:,} {verb}{why}"
        return (Notice(text, IN_BACKGROUND if backfill.background else LATER),)


def _many(entries: Collection[Entry]) -> bool:
    """Whether entries are written before they are embedded, because that takes the local model over half a second."""
    chunks = [piece for one in entries for piece in one.chunks]
    return len(chunks) > AT_ONCE or sum(piece.token_count for piece in chunks) > TOKENS_AT_ONCE


def _shared_out(entries: Collection[Entry], made: Embedded) -> Iterator[Embedded]:
    """The vectors of each entry's own chunks."""
    first = 0
    for one in entries:
        last = first + len(one.chunks)
        own = [w for w in made.windows if first <= w.chunk < last]
        windows = tuple(Window(w.chunk - first, w.window, row) for row, w in enumerate(own))
        yield Embedded(made.space, made.vectors[[w.row for w in own]], windows)
        first = last


def _unsaid(known: Memory, made: Entry) -> tuple[Notice, ...]:
    """A notice if a memory of the same name existed whose content differs from what was to be saved."""
    if known.content_hash == made.content_hash or known.uid == made.uid:
        return ()
    text = f"{known.kind} {clipped_repr(known.title)} already exists, as memory {known.short_id}: nothing was added"
    return (Notice(text, "`memory graph observe` and `engine.graph.observe` add to it."),)


def _grown(former: Mapping[str, Any], draft: Draft) -> bool:
    """Whether an entity only has more observations than before, which may happen every minute."""
    longer = draft.body.startswith(former["body"]) and draft == replace(Draft(**former), body=draft.body)
    return draft.kind is Kind.ENTITY and longer

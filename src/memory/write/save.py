"""Saving: entries become memories, their chunks and, if the embedder answers, their vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.embed.usage import SAVE, purpose
from memory.schema.answer import Notice
from memory.schema.draft import SHARED, Draft, Saved
from memory.schema.errors import EmbedError, SpaceMismatch, StoreBusy
from memory.schema.kinds import Kind
from memory.schema.limits import WHAT_OF_BODY, clipped_repr
from memory.schema.space import Embedded, Window
from memory.text.tokens import passage
from memory.write.backfill import drain, embedded, many
from memory.write.entry import USUAL, entry, excerpts
from memory.write.rules import known_memories, replace_memory, write_entries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memory.embed.registry import Embedders
    from memory.schema.document import Details
    from memory.schema.memory import Memory, MemoryId
    from memory.store import Entry, Store
    from memory.write.backfill import Backfill
    from memory.write.entry import Cutting
    from memory.write.jsonl import MemoryLine
    from memory.write.sanitize import Sanitizer


class Writer(NamedTuple):
    """What memories are written with, and the moment of writing."""

    store: Store
    embedders: Embedders
    backfill: Backfill
    sanitizer: Sanitizer
    moment: datetime
    cutting: Cutting = USUAL

    def entry(
        self,
        draft: Draft,
        *,
        supersedes: MemoryId | None = None,
        entities: tuple[MemoryId, ...] = (),
        renews: tuple[str, ...] = (),
    ) -> Entry:
        """
        A draft ready to be written: without secrets, cut into chunks.

        Args:
            supersedes, entities, renews: See `memory.store.Entry`.

        Raises:
            Invalid: A `<redacted>` is not closed, or a text is too long after markers replaced its secrets.
            ConfigError: A rule of `.memoryignore` cannot be used.
        """
        clean, flags, notices = self.sanitizer.draft(draft)
        made = entry(clean, self.moment, self.cutting)._replace(flags=flags, notices=notices)
        return made._replace(supersedes=supersedes, entities=entities, renews=renews or made.renews)

    def restored(self, line: MemoryLine) -> Entry:
        """The entry for a memory of an export, with its uid, its times and its history if it has them."""
        made = self.entry(line.draft, renews=line.renews)
        if line.memory is None:
            return made
        history = tuple(map(self.sanitizer.revision, line.history))
        return made._replace(uid=line.memory.uid, unless_known=False, restored=line.memory, history=history)

    def save(self, entries: Sequence[Entry]) -> list[Saved]:
        """
        Save entries, all in one transaction.

        A few chunks for a model in this process are embedded first, so that they are found by meaning at once.
        All others are written first and embedded afterwards, as long as `Backfill` allows.
        The write lock is never held while waiting for a model or the network. An embedder that fails costs a notice,
        never a memory.

        Raises:
            NotFound, Invalid: A superseded memory does not exist, or was superseded already. Nothing was saved.
        """
        # Known content is looked up before the transaction only to spare embedding it; `write_entries` decides,
        # under the lock.
        known = known_memories(self.store, entries)
        new, failure = _embed([one for one, there in zip(entries, known, strict=True) if there is None], self)
        fresh = iter(new)
        saved = write_entries(
            self.store, [next(fresh) if there is None else one for one, there in zip(entries, known, strict=True)]
        )
        notices = failure or _embed_rest(saved, self)
        return [
            replace(one, notices=_unsaid(one.memory, made) if one.known else made.notices + notices)
            for one, made in zip(saved, entries, strict=True)
        ]

    def update(self, former: Details, changes: Mapping[str, Any]) -> Saved | None:
        """
        Replace texts of a memory; None if someone else changed it meanwhile.

        If nothing changes, nothing is written and the result is `known`.

        Args:
            changes: Fields of a draft with their new values. None clears a field, but is ignored for `kind` and
                `keyword_only`.

        Raises:
            NotFound: No such memory.
            Invalid: A value that a draft does not take.
        """
        texts = {name: getattr(former.memory, name) for name in SHARED} | {"body": former.body}
        if former.memory.kind is not Kind.NOTE and former.memory.what == former.body[:WHAT_OF_BODY]:
            texts["what"] = ""  # it was the beginning of the body, and will be again
        fixed = {"kind", "keyword_only"}
        changes = {name: new for name, new in changes.items() if new is not None or name not in fixed}
        draft, flags, notices = self.sanitizer.draft(Draft(**texts | changes))
        if draft == Draft(**texts):
            return Saved(former.memory, known=True, notices=notices)
        made = entry(draft, self.moment, self.cutting)._replace(flags=flags, grown=_grown(texts, draft))
        entries, failure = _embed([made], self)
        saved = replace_memory(self.store, former.memory.id, entries[0], former=former)
        return None if saved is None else replace(saved, notices=notices + (failure or _embed_rest([saved], self)))


def _unsaid(known: Memory, made: Entry) -> tuple[Notice, ...]:
    """A notice if a memory of the same name existed whose content differs from what was to be saved."""
    if known.content_hash == made.content_hash or known.uid == made.uid:
        return ()
    text = f"{known.kind} {clipped_repr(known.title)} is there already, as memory {known.id}: nothing was added"
    return (Notice(text, "`memory graph observe` and `engine.graph.observe` add to it."),)


def _grown(former: Mapping[str, Any], draft: Draft) -> bool:
    """Whether an entity only has more observations than before, which may happen every minute."""
    longer = draft.body.startswith(former["body"]) and draft == replace(Draft(**former), body=draft.body)
    return draft.kind is Kind.ENTITY and longer


def _embed_rest(saved: Sequence[Saved], writer: Writer) -> tuple[Notice, ...]:
    """Embed the queue if the policy is eager; returns notices for the caller."""
    store, embedders, backfill = writer[:3]
    if backfill.policy != "eager" or not embedders.enabled:
        return ()
    try:
        embedders.keep_fingerprint()
        left = drain(store, embedders, backfill).left
    except (EmbedError, SpaceMismatch) as error:
        return (Notice(f"kept, to be found by keyword only for now: {error}", error.hint),)
    except StoreBusy as error:
        return (Notice(f"kept, but what waits was not embedded: {error}", error.hint),)
    waiting = store.queue.unembedded([one.memory.id for one in saved if not one.known]) if left else {}
    if not (chunks := sum(one.chunks for one in waiting.values())):
        return ()
    why = next((f"; the model did not take one: {one.last_error}" for one in waiting.values() if one.failed), "")
    text = f"kept; {chunks:,} of its chunks wait for their vectors{why}"
    return (Notice(text, "The next saves and searches go on with it; `memory embed` does it now."),)


def _embed(entries: list[Entry], writer: Writer) -> tuple[list[Entry], tuple[Notice, ...]]:
    """The entries with vectors if they are few, else as they are; with a notice if embedding failed."""
    embedders, backfill = writer.embedders, writer.backfill
    wanted = [one for one in entries if not one.draft.keyword_only]
    if not embedders.enabled or not wanted:
        return entries, ()
    try:
        embedder = embedders.saving()
        if backfill.policy != "eager" or embedder.host or many([piece for one in wanted for piece in one.chunks]):
            return entries, ()
        pieces = [piece for one in wanted for piece in excerpts(one.draft, one.chunks)]
        passages = [passage(piece, backfill.overlap) for piece in pieces]
        with purpose(SAVE):
            made = embedded(embedder, passages)
    except SpaceMismatch as error:
        return entries, (
            Notice("kept, but the stored vectors are of another model: found by keyword only", error.hint),
        )
    except EmbedError as error:
        return entries, (Notice(f"kept, to be found by keyword only for now: {error}", error.hint),)
    shared = iter(_shared_out(wanted, made))
    return [one if one.draft.keyword_only else next(shared) for one in entries], ()


def _shared_out(entries: list[Entry], made: Embedded) -> list[Entry]:
    """Give each entry the vectors of its own chunks."""
    result: list[Entry] = []
    first = 0
    for one in entries:
        last = first + len(one.chunks)
        own = [w for w in made.windows if first <= w.chunk < last]
        rows = made.vectors[[w.row for w in own]]
        windows = tuple(Window(w.chunk - first, w.window, row) for row, w in enumerate(own))
        result.append(one._replace(embedded=Embedded(made.space, rows, windows)))
        first = last
    return result

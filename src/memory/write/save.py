"""Saving: entries become memories, their chunks and, when the embedder answers, their vectors."""

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
from memory.text.passage import passage
from memory.write.backfill import drain, embedded, many
from memory.write.entry import USUAL, entry, excerpts

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
    """What memories are written with, and the moment that they are written at."""

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
        A draft as it is to be written: without its secrets, cut into chunks.

        Args:
            supersedes, entities, renews: See `memory.store.Entry`.

        Raises:
            Invalid: A `<redacted>` is not closed, or a text is too long once its secrets have names.
            ConfigError: A rule of `.memoryignore` cannot be used.
        """
        clean, flags, notices = self.sanitizer.draft(draft)
        made = entry(clean, self.moment, self.cutting)._replace(flags=flags, notices=notices)
        return made._replace(supersedes=supersedes, entities=entities, renews=renews or made.renews)

    def restored(self, line: MemoryLine) -> Entry:
        """What a line of an export brings back, with its uid, its times and its history if it has them."""
        made = self.entry(line.draft, renews=line.renews)
        if line.memory is None:
            return made
        history = tuple(map(self.sanitizer.revision, line.history))
        return made._replace(uid=line.memory.uid, unless_known=False, restored=line.memory, history=history)

    def save(self, entries: Sequence[Entry]) -> list[Saved]:
        """
        Keep entries, all in one transaction.

        Little that a model in this process embeds is embedded before, so that it is found by its meaning at once. All
        else is kept first and embedded after, as long as `Backfill` allows. No model and no network is ever waited for
        with the write lock held, and an embedder that fails costs a notice, never a memory.

        Raises:
            NotFound, Invalid: What an entry supersedes is not there, or was superseded already. Nothing was kept.
        """
        known = self.store.memories.known(entries)
        new, failure = _embed([one for one, id in zip(entries, known, strict=True) if id is None], self)
        fresh = iter(new)
        saved = self.store.memories.write_entries(
            [next(fresh) if id is None else one for one, id in zip(entries, known, strict=True)]
        )
        notices = failure or _embed_rest(saved, self)
        return [
            replace(one, notices=_unsaid(one.memory, made) if one.known else made.notices + notices)
            for one, made in zip(saved, entries, strict=True)
        ]

    def update(self, former: Details, changes: Mapping[str, Any]) -> Saved | None:
        """
        Put changed texts in place of a memory's; None if somebody else changed it meanwhile.

        Nothing is written, and the result is `known`, when nothing changes.

        Args:
            changes: Fields of a draft with their new values; None takes away what there is, but never a kind or that
                a memory is kept from models.

        Raises:
            NotFound: No such memory.
            Invalid: A value that a draft does not take.
        """
        texts = {name: getattr(former.memory, name) for name in SHARED} | {"body": former.body}
        if former.memory.kind is not Kind.NOTE and former.memory.what == former.body[:WHAT_OF_BODY]:
            texts["what"] = ""  # the body spoke for it, and does so again
        fixed = {"kind", "keyword_only"}
        changes = {name: new for name, new in changes.items() if new is not None or name not in fixed}
        draft, flags, notices = self.sanitizer.draft(Draft(**texts | changes))
        if draft == Draft(**texts):
            return Saved(former.memory, known=True, notices=notices)
        made = entry(draft, self.moment, self.cutting)._replace(flags=flags, grown=_grown(texts, draft))
        entries, failure = _embed([made], self)
        saved = self.store.memories.replace(former.memory.id, entries[0], former=former)
        return None if saved is None else replace(saved, notices=notices + (failure or _embed_rest([saved], self)))


def _unsaid(known: Memory, made: Entry) -> tuple[Notice, ...]:
    """What to say of a memory that was there by its name and does not say what was to be kept."""
    if known.content_hash == made.content_hash or known.uid == made.uid:
        return ()
    text = f"{known.kind} {clipped_repr(known.title)} is there already, as memory {known.id}: nothing was added"
    return (Notice(text, "`memory graph observe` and `engine.graph.observe` add to it."),)


def _grown(former: Mapping[str, Any], draft: Draft) -> bool:
    """Whether an entity has more to say than before and is otherwise as it was: that may happen every minute."""
    longer = draft.body.startswith(former["body"]) and draft == replace(Draft(**former), body=draft.body)
    return draft.kind is Kind.ENTITY and longer


def _embed_rest(saved: Sequence[Saved], writer: Writer) -> tuple[Notice, ...]:
    """Embed what waits, if that is to be done at once; what the caller should know of it."""
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
    """The entries with their vectors, if there are few to make; as they are with a notice if there is no use in trying."""
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
    """Vectors of the chunks of all entries, given to each its own."""
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

"""Saving: a draft becomes a memory, its chunks and, when the embedder answers, their vectors."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from memory.embed import embedded
from memory.embed.usage import SAVE, purpose
from memory.schema.draft import SHARED, Draft
from memory.schema.errors import EmbedError, Refused, SpaceMismatch, StoreBusy
from memory.schema.kinds import RULES, Kind
from memory.schema.limits import WHAT_OF_BODY, short
from memory.schema.memory import OVERLAP, Chunk, ChunkId, ChunkType, Excerpt, MemoryId
from memory.schema.query import Notice
from memory.schema.space import Embedded, Window
from memory.store import Entry
from memory.text.bigrams import indexed
from memory.text.chunk import chunk
from memory.text.identifiers import parts
from memory.text.passage import passage
from memory.text.tokens import letters, tokens
from memory.write.backfill import drain, many

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from memory.embed.registry import Embedders
    from memory.schema.memory import Memory
    from memory.store import Kept, Revision, Store, Whole
    from memory.write.backfill import Backfill
    from memory.write.sanitize import Sanitized, Sanitizer


@dataclass(frozen=True, slots=True)
class Saved:
    """
    What became of a draft.

    Attributes:
        known: The same was kept before in the same scope; `memory` is that one, and nothing was written.
        chunks: How many the body is cut into, the head of a note among them.
        renewed: It was there and says now what the draft says.
    """

    memory: Memory
    known: bool
    notices: tuple[Notice, ...] = ()
    chunks: int = 1
    renewed: bool = False


class Cutting(NamedTuple):
    """
    How bodies are cut into chunks; see the settings `chunking`.

    Attributes:
        size: Tokens of a chunk at most, of the kinds whose rule says that they are cut.
        sizes: The same of kinds for which it is another; None leaves their bodies whole.
        counter: Gives what counts tokens; called for bodies that may have more than the size.
    """

    size: int = 450
    sizes: Mapping[Kind, int | None] = MappingProxyType({})
    counter: Callable[[], Callable[[str], int]] = lambda: tokens

    def of(self, kind: Kind) -> int | None:
        """The size for a kind; None leaves its bodies whole."""
        return self.sizes.get(kind, self.size if RULES[kind].chunked else None)


_USUAL = Cutting()


class Saving(NamedTuple):
    """What a save works with."""

    store: Store
    embedders: Embedders
    backfill: Backfill
    sanitizer: Sanitizer
    cutting: Cutting = _USUAL


@dataclass(frozen=True, slots=True)
class Plan:
    """A draft and what is to be written with it, before anything was embedded."""

    draft: Draft
    supersedes: MemoryId | None = None
    restored: Memory | None = None  # of an export: brings back uid, times and status
    history: tuple[Revision, ...] = ()
    flags: tuple[str, ...] = ()
    renews: tuple[str, ...] = ()  # see `Entry`
    entities: tuple[MemoryId, ...] = ()


def save(plans: Sequence[Plan], saving: Saving, *, moment: datetime) -> list[Saved]:
    """
    Keep drafts, all in one transaction, without the secrets in them.

    Little that a model in this process embeds is embedded before, so that it is found by its meaning at once. All
    else is kept first and embedded after, as long as `Backfill` allows. No model and no network is ever waited for
    with the write lock held, and an embedder that fails costs a notice, never a memory.

    Raises:
        NotFound, Invalid: What a plan supersedes is not there, or was superseded already. Nothing was kept.
        ConfigError: A rule of `.memoryignore` cannot be used. Nothing was kept.
    """
    sanitizer, store = saving.sanitizer, saving.store
    sanitized = [sanitizer.draft(plan.draft) for plan in plans]
    drafted = [
        entry(_clean(*one, sanitizer=sanitizer), moment, saving.cutting) for one in zip(plans, sanitized, strict=True)
    ]
    known = store.known(drafted)
    new, told = _embed([one for one, id in zip(drafted, known, strict=True) if id is None], saving)
    fresh = iter(new)
    kept = store.write_entries([next(fresh) if id is None else one for one, id in zip(drafted, known, strict=True)])
    notices = _filled(kept, told, saving, moment=moment)
    return [
        Saved(
            one.memory,
            one.known,
            _told(one.memory, made) if one.known else clean.notices + notices,
            len(made.chunks),
            one.renewed,
        )
        for one, clean, made in zip(kept, sanitized, drafted, strict=True)
    ]


def _told(known: Memory, made: Entry) -> tuple[Notice, ...]:
    """What to say of a memory that was there by its name and does not say what was to be kept."""
    if known.content_hash == made.content_hash or known.uid == made.uid:
        return ()
    said = f"{known.kind} {short(known.title)} is there already, as memory {known.id}: nothing was added"
    return (Notice(said, "`memory graph observe` and `engine.graph.observe` add to it."),)


def _clean(plan: Plan, sanitized: Sanitized, *, sanitizer: Sanitizer) -> Plan:
    history = tuple(map(sanitizer.revision, plan.history))
    return replace(plan, draft=sanitized.draft, flags=sanitized.flags, history=history)


def update(former: Whole, changes: Mapping[str, Any], saving: Saving, *, moment: datetime) -> Saved | None:
    """
    Put changed texts in place of a memory's; None if somebody else changed it meanwhile.

    Nothing is written, and the result is `known`, when nothing changes.

    Args:
        changes: Fields of a draft with their new values; None takes away what there is, but never a kind or that a
            memory is kept from models.

    Raises:
        NotFound: No such memory.
        Invalid: A value that a draft does not take.
    """
    texts = {name: getattr(former.memory, name) for name in SHARED} | {"body": former.body}
    if former.memory.kind is not Kind.NOTE and former.memory.what == former.body[:WHAT_OF_BODY]:
        texts["what"] = ""  # the body spoke for it, and does so again
    changes = {name: new for name, new in changes.items() if new is not None or name not in {"kind", "keyword_only"}}
    draft, flags, said = saving.sanitizer.draft(Draft(**texts | changes))
    if draft == Draft(**texts):
        return Saved(former.memory, known=True, notices=said)
    made = entry(Plan(draft, flags=flags), moment, saving.cutting)._replace(grown=_grown(texts, draft))
    entries, told = _embed([made], saving)
    kept = saving.store.replace(former.memory.id, entries[0], former=former)
    if kept is None:
        return None
    notices = _filled([kept], told, saving, moment=moment)
    return Saved(kept.memory, known=False, notices=said + notices, chunks=len(entries[0].chunks))


def _grown(former: Mapping[str, Any], draft: Draft) -> bool:
    """Whether an entity has more to say than before and is otherwise as it was: that may happen every minute."""
    longer = draft.body.startswith(former["body"]) and draft == replace(Draft(**former), body=draft.body)
    return draft.kind is Kind.ENTITY and longer


def _filled(kept: Sequence[Kept], told: tuple[Notice, ...], saving: Saving, *, moment: datetime) -> tuple[Notice, ...]:
    """Embed what waits, if that is to be done at once; what the caller should know of it."""
    store, embedders, backfill = saving[:3]
    if told or backfill.policy != "eager" or not embedders.enabled:
        return told
    try:
        embedders.keep_fingerprint(embedders.configured())
        drain(store, embedders, backfill, moment=moment)
    except (EmbedError, SpaceMismatch) as error:
        return (Notice(f"kept, to be found by keyword only for now: {error}", error.hint),)
    except StoreBusy as error:
        return (Notice(f"kept, but what waits was not embedded: {error}", error.hint),)
    if not any(one.queued for one in kept):
        return ()
    waiting = store.unembedded([one.memory.id for one in kept if one.queued])
    if not (chunks := sum(one.chunks for one in waiting.values())):
        return ()
    why = next((f"; the model did not take one: {one.last_error}" for one in waiting.values() if one.failed), "")
    said = f"kept; {chunks:,} of its chunks wait for their vectors{why}"
    return (Notice(said, "The next saves and searches go on with it; `memory embed` does it now."),)


def entry(plan: Plan, moment: datetime, cutting: Cutting = _USUAL) -> Entry:
    """Everything but the vectors."""
    draft, rule = plan.draft, RULES[plan.draft.kind]
    if rule.family != "note" and not draft.what:
        draft = replace(draft, what=draft.body[:WHAT_OF_BODY])
    chunks = chunked(draft, cutting)
    pieces = _excerpts(draft, chunks)
    return Entry(
        draft=draft,
        uid=plan.restored.uid if plan.restored else uuid4().hex,
        moment=moment,
        content_hash=content_hash(draft),
        chunks=chunks,
        grams=tuple(_beside(_indexed_text(piece, draft)) for piece in pieces),
        supersedes=plan.supersedes,
        unless_known=plan.restored is None,
        restored=plan.restored,
        history=plan.history,
        flags=plan.flags,
        renews=plan.renews or (rule.one if rule.renewed else ()),
        entities=plan.entities,
    )


def chunked(draft: Draft, cutting: Cutting = _USUAL) -> tuple[Chunk, ...]:
    """
    The chunks of a draft, at least one; they tile its body.

    A note begins with its head, which covers nothing of the body: what is said in short is found by itself.
    """
    size = cutting.of(draft.kind)
    pieces = _whole(draft.body) if size is None else _cut(draft.body, size, cutting)
    if RULES[draft.kind].family == "note":
        head = Chunk(0, 0, 0, ChunkType.HEAD, token_count=tokens(f"{draft.title} {draft.what}"))
        pieces = (head, *(_moved(piece) for piece in pieces))
    pieces = pieces or _whole(draft.body)  # nothing but a byte order mark
    if not pieces:  # an entity of which nothing is known
        return (Chunk(0, 0, 0, ChunkType.TEXT),)
    if pieces[-1].stop < len(draft.body):  # a body of nothing but white space
        pieces = (*pieces, Chunk(len(pieces), pieces[-1].stop, len(draft.body), ChunkType.TEXT))
    return pieces


def _cut(body: str, size: int, cutting: Cutting) -> tuple[Chunk, ...]:
    if letters(body) <= size:  # one chunk, whoever counts: no vocabulary is read for it
        return chunk(body, size=size)
    try:
        return chunk(body, size=size, count=cutting.counter())
    except Refused:  # the counter of an embedder that was given failed
        return chunk(body, size=size)


def _whole(body: str) -> tuple[Chunk, ...]:
    return (Chunk(0, 0, len(body), ChunkType.TEXT, token_count=tokens(body)),) if body else ()


def _moved(piece: Chunk) -> Chunk:
    return Chunk(
        piece.index + 1, piece.start, piece.stop, piece.type, piece.header_path, piece.level, piece.token_count
    )


def content_hash(draft: Draft) -> str:
    """SHA-256 over what is said: for a note all of it, for other kinds the body (CAP D9)."""
    if RULES[draft.kind].family != "note":
        return hashlib.sha256(draft.body.encode()).hexdigest()
    said = (draft.title, draft.what, draft.why, draft.impact, draft.description, draft.body, draft.category, draft.tags)
    more = (draft.related_files, dict(draft.metadata), draft.source)
    return hashlib.sha256(json.dumps((said, more), sort_keys=True).encode()).hexdigest()


def _excerpts(draft: Draft, chunks: Sequence[Chunk]) -> list[Excerpt]:
    texts = (draft.title, draft.what, draft.why, draft.impact)
    return [
        Excerpt(
            ChunkId(piece.index),
            MemoryId(0),
            piece,
            draft.what if piece.type is ChunkType.HEAD else draft.body[piece.start : piece.stop],
            draft.body[max(0, piece.start - OVERLAP) : piece.start],
            *texts,
            draft.tags,
        )
        for piece in chunks
    ]


def _beside(text: str) -> str:
    """What is indexed beside a text, as the index takes more for one word than people do."""
    return " ".join(filter(None, (indexed(text), *parts(text))))


def _indexed_text(piece: Excerpt, draft: Draft) -> str:
    """Everything the index holds of a chunk, to be looked through for scripts without spaces and names of code."""
    texts = [piece.title, *piece.chunk.header_path, piece.text]
    if piece.chunk.index == 0:
        texts += [piece.why, piece.impact, *piece.tags, draft.project or "", *draft.related_files]
    return "\n".join(texts)


def _embed(entries: list[Entry], saving: Saving) -> tuple[list[Entry], tuple[Notice, ...]]:
    """The entries with their vectors, if there are few to make; as they are with a notice if there is no use in trying."""
    embedders, backfill = saving.embedders, saving.backfill
    wanted = [one for one in entries if not one.draft.keyword_only]
    if not embedders.enabled or not wanted:
        return entries, ()
    try:
        embedder = embedders.saving()
        if backfill.policy != "eager" or not embedders.inside or many(piece for one in wanted for piece in one.chunks):
            return entries, ()
        excerpts = [_excerpts(one.draft, one.chunks) for one in wanted]
        passages = [[passage(piece, backfill.overlap) for piece in some] for some in excerpts]
        with purpose(SAVE):
            made = embedded(embedder, [text for texts in passages for text in texts])
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

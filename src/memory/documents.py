"""Documents: a memory read whole, a chunk with its neighbours, and what is too old taken away."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from memory.errors import Invalid, NotFound, StoreDamaged, StoreError
from memory.kinds import RULES, Kind, kind
from memory.limits import short
from memory.query import EVERYTHING, MOST, Notice, Scope
from memory.record import ChunkId, MemoryId, unread
from memory.store import Aged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from memory.record import Chunk, Memory
    from memory.store import Store, Whole

AROUND = 100  # chunks on either side of one, at most
SIGNS = ("\ufffd", "\\x00")
"""What a text may have been read as that is damaged, in what `repr` says of it: it is looked at then."""

PAGE = 500  # memories read at a time
AT_ONCE = 200  # memories removed in one transaction: others write in between


class Piece(NamedTuple):
    """A chunk with what it says."""

    id: ChunkId
    chunk: Chunk
    text: str


class Expanded(NamedTuple):
    """
    A chunk with its neighbours.

    Attributes:
        target: The chunk that was asked for.
        pieces: It and its neighbours, in order.
        text: The slice of the body that they cover; for a note's head, its `what` before it.
    """

    memory: Memory
    target: Chunk
    pieces: tuple[Piece, ...]
    text: str


class Document(NamedTuple):
    """
    A memory with its body, verbatim.

    Attributes:
        chunks: How many it is cut into.
        whole: Whether their slices, put together, are the body.
    """

    memory: Memory
    body: str
    chunks: int
    whole: bool


class Resumed(NamedTuple):
    """
    What an agent needs to go on with a session; memories of each sort latest first.

    Attributes:
        context: The latest `session_context` of the iteration; of the iterations before it if it has none.
        prompts: Every `input_prompt` of the session.
        reports, observations, working: The latest of each, of any iteration.
    """

    context: Memory | None
    prompts: tuple[Memory, ...]
    reports: tuple[Memory, ...]
    observations: tuple[Memory, ...]
    working: tuple[Memory, ...]


LATEST = 5
"""Reports, and working memories, that `resume` shows."""


def resume(store: Store, session: str, iteration: int | None) -> Resumed:
    """See `Engine.resume`."""

    def kept(kind: Kind, limit: int) -> tuple[Memory, ...]:
        return tuple(store.by_iteration(Scope(kinds=frozenset({kind}), sessions=frozenset({session})), limit))

    contexts = kept(Kind.SESSION_CONTEXT, MOST)
    upto = [one for one in contexts if iteration is None or (one.session_iter or 0) <= iteration]
    return Resumed(
        context=upto[0] if upto else None,
        prompts=kept(Kind.INPUT_PROMPT, MOST),
        reports=kept(Kind.REPORT, LATEST),
        observations=kept(Kind.REPORT_OBSERVATION, LATEST),
        working=kept(Kind.WORKING_MEMORY, LATEST),
    )


def expand(store: Store, chunk_id: int | str, around: int) -> Expanded:
    """See `Engine.expand`."""
    wanted = _chunk_id(chunk_id)
    if isinstance(around, bool) or not isinstance(around, int) or not 0 <= around <= AROUND:
        raise Invalid(f"chunks around one are 0..{AROUND}, a whole number, not {around!r}")
    if (found := store.excerpts([wanted]).get(wanted)) is None:
        raise NotFound(
            f"no chunk {short(chunk_id)}", hint="`memory search --granularity fine` shows the ids of chunks."
        )
    outline, whole = store.outline(found.memory), store.whole(found.memory)
    place = next((i for i, (id, _) in enumerate(outline) if id == wanted), None)
    if whole is None or place is None:
        raise NotFound(f"chunk {wanted} was removed just now")
    shown = outline[max(0, place - around) : place + around + 1]
    note = RULES[whole.memory.kind].family == "note"
    what = whole.memory.what if note else ""  # of other kinds it is the beginning of the body
    pieces = tuple(Piece(id, one, whole.body[one.start : one.stop] or what) for id, one in shown)
    head = [what] if shown[0][1].start == shown[0][1].stop else []
    texts = (*head, whole.body[shown[0][1].start : shown[-1][1].stop])
    return Expanded(whole.memory, outline[place][1], pieces, "\n\n".join(filter(None, texts)))


def _chunk_id(given: int | str) -> ChunkId:
    text = str(given).strip()
    if isinstance(given, bool) or not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Invalid(f"a chunk has a number as its id, not {short(given)}")
    return ChunkId(int(text))


def reconstruct(store: Store, id: MemoryId) -> Document:
    """See `Engine.reconstruct`."""
    if (found := store.whole(id)) is None:
        raise NotFound(f"no memory {id}")
    outline = store.outline(id)
    whole = "".join(found.body[one.start : one.stop] for _, one in outline) == found.body
    return Document(found.memory, found.body, len(outline), whole)


SHORT_LIVED = frozenset(
    name for name, rule in RULES.items() if rule.family == "session" and "session_id" in rule.required
)
"""The kinds that `cleanup` removes unless it is told which."""


def cleanup(store: Store, days: int, kinds: Iterable[str], *, moment: datetime, dry_run: bool) -> Aged:
    """See `Engine.cleanup`."""
    if isinstance(days, bool) or not isinstance(days, int) or not 0 <= days <= 36_500:
        raise Invalid(f"days are 0..36,500, a whole number, not {days!r}")
    scope = EVERYTHING._replace(kinds=frozenset(map(kind, kinds)) or SHORT_LIVED)
    before = moment - timedelta(days=days)
    if dry_run:
        return store.aged(scope, before)
    gone = Aged(0, 0)
    try:
        while (some := store.forget(scope, before, AT_ONCE)).memories:
            gone = Aged(gone.memories + some.memories, gone.chunks + some.chunks)
    except StoreError as error:
        if not gone.memories:
            raise
        done = f"{gone.memories:,} memories with {gone.chunks:,} chunks were removed before; the same call goes on."
        raise type(error)(str(error), hint=done) from error
    return gone


def unreadable(memories: Iterable[Memory]) -> tuple[Notice, ...]:
    """What is to be said of those that are shown although not all of them can be read."""
    return tuple(
        Notice(
            f"memory {memory.id} ({memory.uid}) is damaged: its {', '.join(fields)} cannot be read",
            "`memory export` writes what can be read; then import that into a new place.",
        )
        for memory in memories
        if (fields := unread(memory))
    )


def every(store: Store, lost: Callable[[str], None] | None = None) -> Iterator[Whole]:
    """
    Every memory with its body and its history, oldest first.

    Args:
        lost: Told what of a damaged store cannot be read; what can be comes nevertheless. Bytes that are no text are U+FFFD.

    Raises:
        StoreDamaged: Something cannot be read, and nobody is told.
    """
    after = MemoryId(0)
    while ids := store.ids(after, PAGE):
        for id in ids:
            try:
                found = _salvaged(store, id, lost)
            except StoreDamaged as error:
                if lost is None:
                    raise
                lost(str(error) if f"memory {id} " in str(error) else f"memory {id} cannot be read: {error}")
            else:
                if found is not None:  # else it was deleted meanwhile
                    yield found
        after = ids[-1]


def _salvaged(store: Store, id: MemoryId, lost: Callable[[str], None] | None) -> Whole | None:
    try:
        found = store.whole(id)
        if found is None or not any(sign in f"{found!r}" for sign in SIGNS):
            return found
    except StoreDamaged:
        if lost is None:
            raise
    if (kept := store.salvaged(id)) is None:
        return None
    if kept.lost:
        memory = kept.whole.memory
        what = f"memory {id} ({memory.uid}): {', '.join(kept.lost)} cannot be read, or not all of it"
        if lost is None:
            raise StoreDamaged(what)
        lost(f"{what}; the rest is exported")
    return kept.whole

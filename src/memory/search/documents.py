"""Documents: a whole memory, a chunk with its neighbours, and what a session resumes with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.document import Document, Expanded, Piece, Resumed
from memory.schema.errors import Invalid, NotFound
from memory.schema.kinds import RULES, Kind
from memory.schema.limits import AROUND, clipped_repr
from memory.schema.memory import ChunkId, MemoryId
from memory.schema.query import MOST, Scope
from memory.store import Order

if TYPE_CHECKING:
    from memory.schema.memory import Memory
    from memory.store import Store

LATEST = 5
"""The most reports, observations and working memories, each, that `resume` shows."""


def resume(store: Store, session: str, iteration: int | None) -> Resumed:
    """See `Engine.resume`."""

    def kept(kind: Kind, limit: int) -> tuple[Memory, ...]:
        scope = Scope(kinds=frozenset({kind}), sessions=frozenset({session}))
        return tuple(store.memories.page(scope, limit, order=Order.ITERATION))

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
    if (found := store.memories.excerpts([wanted]).get(wanted)) is None:
        raise NotFound(
            f"no chunk {clipped_repr(chunk_id)}", hint="`memory search --granularity fine` shows the ids of chunks."
        )
    outline, details = (
        store.memories.outlines([found.memory]).get(found.memory, ()),
        store.memories.details(found.memory),
    )
    place = next((i for i, (id, _) in enumerate(outline) if id == wanted), None)
    if details is None or place is None:
        raise NotFound(f"chunk {wanted} was removed just now")
    shown = outline[max(0, place - around) : place + around + 1]
    note = RULES[details.memory.kind].family == "note"
    what = details.memory.what if note else ""  # other kinds: it is the beginning of the body
    pieces = tuple(Piece(id, one, details.body[one.start : one.stop] or what) for id, one in shown)
    head = [what] if shown[0][1].start == shown[0][1].stop else []
    texts = (*head, details.body[shown[0][1].start : shown[-1][1].stop])
    return Expanded(details.memory, outline[place][1], pieces, "\n\n".join(filter(None, texts)))


def _chunk_id(value: int | str) -> ChunkId:
    text = str(value).strip()
    if isinstance(value, bool) or not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Invalid(f"a chunk has a number as its id, not {clipped_repr(value)}")
    return ChunkId(int(text))


def reconstruct(store: Store, id: MemoryId) -> Document:
    """See `Engine.reconstruct`."""
    if (found := store.memories.details(id)) is None:
        raise NotFound(f"no memory {id}")
    outline = store.memories.outlines([id]).get(id, ())
    whole = "".join(found.body[one.start : one.stop] for _, one in outline) == found.body
    return Document(found.memory, found.body, len(outline), whole)

"""What an agent reads: before it starts, within a token budget; to resume a session; a memory whole, or around a chunk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from memory.schema.answer import Answer, Notice, Outcome, Tier
from memory.schema.errors import AROUND, EmbedError, Invalid, NotFound, SpaceMismatch, clipped_repr
from memory.schema.kinds import OF_NO_RUN, PREFERENCE, RESEARCH_KINDS, RULES, TOLD, Kind
from memory.schema.memory import ChunkId, Document, Expanded, Memory, MemoryId, Piece, Resumed
from memory.schema.query import EVERYTHING, MOST, NONE, Mode, Query, Scope
from memory.search.shape import unreadable
from memory.store import Order, Store
from memory.text.display import WIDEST, fenced, in_short
from memory.text.tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from memory.vectors.registry import Embedders


BARELY = 0.2
"""Share of a task's words, by weight, that a memory must hold to count as being about it when no model was asked."""


FOUND = ("About the task:", "Perhaps:")
"""Headings of what a search found."""

PERHAPS = 3
"""The most memories to show if a model was asked and none seems to be about the task: the nearest, should it be wrong."""

PINNED, ALWAYS = 2, 3
"""At most half of the limit goes to pinned memories, then a third of the rest to preferences."""

SEMANTIC = ("auto", "always", "never")
"""Whether vectors may be used."""

ASKED = (Tier.HYBRID, Tier.VECTOR)
"""Tiers of an answer for which a model was asked."""


@dataclass(frozen=True, slots=True)
class Context:
    """
    The result of `Engine.context`.

    Attributes:
        memories: In reading order: pinned ones, those about the task, preferences and other memories of every project,
            then the most recently changed.
        text: What an agent reads: Markdown, fenced as data (`memory.text.display`); empty without memories.
        tokens: Estimated size of the text; never over the budget.
        omitted: Memories that were found but did not fit.
        more: Memories in scope that are not shown, found or not.
        answer: How the memories about the task were found; None without a task.
    """

    memories: tuple[Memory, ...]
    text: str
    tokens: int
    omitted: int
    answer: Answer | None = None
    more: int = 0
    notices: tuple[Notice, ...] = ()


Beside: TypeAlias = "Callable[[int, tuple[Notice, ...]], str]"

FENCE = tokens(WIDEST)
"""Tokens of the budget that the fence around the text takes."""


@dataclass(frozen=True, slots=True)
class Room:
    """
    Attributes:
        limit: Most memories to show.
        tokens: Budget for the text and what `beside` adds to it.
        topup_recent: Fill up with recent memories.
        beside: Makes the text that follows, from how many more memories there are and the notices.
    """

    limit: int = 10
    tokens: int = 2000
    topup_recent: bool = True
    beside: Beside | None = None

    def __post_init__(self) -> None:
        if self.limit < 1 or self.tokens < 1:
            raise Invalid(f"a context has room for at least 1 memory and 1 token, not {self.limit} and {self.tokens}")


def context(
    store: Store,
    embedders: Callable[[], Embedders],
    search: Callable[[Query], Answer],
    scope: Scope,
    *,
    about: str,
    semantic: str,
    room: Room,
    now: datetime,
) -> Context:
    """
    What has ended stands behind what holds, among what is pinned, always holds or is recent.

    Args:
        search: `memory.search.search.search` with its other arguments already bound.
        about: The task at hand; if empty, only recent memories are shown.
        semantic: One of `SEMANTIC`.

    Raises:
        Invalid: `semantic` is none of these.
    """
    if semantic not in SEMANTIC:
        raise Invalid(f"semantic is auto, always or never, not {semantic!r}")
    scope, latest = _scopes(scope, store)
    answer: Answer | None = None
    notices: tuple[Notice, ...] = ()
    if about.strip():
        mode, notices = _mode(semantic, embedders())
        answer = _answered(search, Query(about, limit=room.limit, mode=mode, scope=scope, longer=False, excludes=False))
        notices += answer.notices
        if answer.hits and not _fits(answer):
            notices += (Notice("nothing saved seems to be about the task"),)
    pinned, unseen = _pinned(store, scope, room.limit)
    rest = _groups(store, latest, answer, room, pinned)
    groups = [("Pinned:", pinned), *rest] if pinned else rest
    groups = [
        (heading, some if heading in FOUND else sorted(some, key=lambda one: one.ended(now)))
        for heading, some in groups
    ]
    shown = unreadable([one for _, some in groups for one in some])
    notices = tuple(dict.fromkeys((*notices, *unseen, *shown)))
    total = store.memories.count(scope)
    left = room.tokens - FENCE - tokens(room.beside(total, notices) if room.beside else "")
    memories, text, omitted = pack(groups, replace(room, tokens=max(1, left)))
    text = fenced(text)
    return Context(memories, text, tokens(text), omitted, answer, max(0, total - len(memories)), notices)


def _pinned(store: Store, scope: Scope, limit: int) -> tuple[Sequence[Memory], tuple[Notice, ...]]:
    """What is pinned in scope, the latest first, and a notice if not all of it is shown."""
    pinned, most = scope._replace(pinned=True), -(-limit // PINNED)
    found = store.memories.page(pinned, most)
    more = store.memories.count(pinned) - most if len(found) == most else 0
    if more < 1:
        return found, ()
    said = "1 more is pinned" if more == 1 else f"{more:,} more are pinned"
    return found, (Notice(said, "`memory unpin ID` unpins one."),)


def _groups(
    store: Store, scope: Scope, answer: Answer | None, room: Room, pinned: Sequence[Memory]
) -> list[tuple[str, Sequence[Memory]]]:
    """What follows the pinned memories, by heading. They may leave no room, and then it is nothing."""
    topup, left = answer is None or room.topup_recent, room.limit - len(pinned)
    always = _always(store, scope, left // ALWAYS, pinned) if topup else []
    hits = answer.hits[: _shown(answer)] if answer else ()
    shown = {one.id for one in (*pinned, *always)}
    found = [hit.memory for hit in hits if hit.score > 0 and hit.memory.id not in shown]
    recent = store.memories.page(scope, room.limit + len(found) + len(always)) if topup else ()
    heading = FOUND[0] if answer and _fits(answer) else FOUND[1]
    about = (heading, found[: max(0, left - len(always))])
    return [about, ("Always:", always), ("Recent:" if answer or pinned or always else "", recent)]


def _always(store: Store, scope: Scope, most: int, shown: Sequence[Memory]) -> list[Memory]:
    """Preferences, and what holds in every project, the latest first: what is saved later would push them out."""
    scopes = [scope._replace(categories=frozenset({PREFERENCE}))]
    if NONE in scope.projects and scope.projects != {NONE}:
        scopes.append(scope._replace(projects=frozenset({NONE})))
    found = {one.id: one for one in shown}
    for some in scopes if most else ():
        found |= {one.id: one for one in store.memories.page(some, most + len(found))}
    return list(found.values())[len(shown) :][:most]


def _scopes(scope: Scope, store: Store) -> tuple[Scope, Scope]:
    """The scope to search, and the scope of recent memories: those of a research run only if asked for."""
    if scope.kinds or scope.runs:
        return scope, scope
    # Without a run there is nothing to leave out, and a narrower scope takes longer.
    runs = store.memories.count(EVERYTHING._replace(kinds=frozenset(RESEARCH_KINDS)), most=1)
    return scope._replace(kinds=OF_NO_RUN) if runs else scope, scope._replace(kinds=TOLD)


def _shown(answer: Answer) -> int:
    """How many hits to show: all of an answer that fits, else the nearest, if any were compared."""
    if _fits(answer):
        return len(answer.hits)
    return PERHAPS if answer.tier in ASKED else 0


def _fits(answer: Answer) -> bool:
    """
    Whether the answer may be about the task.

    Where no model was asked, a fifth of the task's words is enough: a task names much that no memory mentions.
    """
    if answer.outcome is not Outcome.NOTHING_RELEVANT:
        return True
    return answer.tier not in ASKED and any(hit.coverage >= BARELY for hit in answer.hits)


def _mode(semantic: str, embedders: Embedders) -> tuple[Mode, tuple[Notice, ...]]:
    if semantic == "always":
        return Mode.HYBRID, ()
    if semantic == "never" or not embedders.enabled:
        return Mode.KEYWORD, ()
    try:
        if embedders.warm:
            return Mode.TIERED, ()
    except EmbedError as error:
        return Mode.KEYWORD, (Notice(f"keywords only: {error}", error.hint),)
    return Mode.KEYWORD, (Notice("keywords only: the model is not loaded yet"),)


def _answered(search: Callable[[Query], Answer], query: Query) -> Answer:
    """Answer by keyword if the model fails: an agent's start must not depend on it."""
    try:
        return search(query)
    except (EmbedError, SpaceMismatch) as error:
        answer = search(replace(query, mode=Mode.KEYWORD))
        answer = answer._replace(notices=(Notice(f"keywords only: {error}", error.hint), *answer.notices))
        if not answer.hits:
            return answer
        return answer._replace(outcome=Outcome.DEGRADED, worth="the model was needed and did not answer")


def pack(groups: Iterable[tuple[str, Iterable[Memory]]], room: Room) -> tuple[tuple[Memory, ...], str, int]:
    """
    Take memories in order, each once, as long as they fit; skip a memory that is too long instead of cutting it.

    Args:
        groups: Each with the heading that precedes its memories; empty for none.

    Returns:
        The memories taken, their text, and how many were skipped.
    """
    taken: dict[int, Memory] = {}
    passed: set[int] = set()
    text, left = "", room.tokens
    for heading, candidates in groups:
        head = f"{heading}\n" if heading else ""
        for memory in candidates:
            if memory.id in taken or memory.id in passed or len(taken) == room.limit:
                continue
            more = head + in_short(memory)
            if (size := tokens(more)) <= left:  # they meet at the end of a line, so sizes add up
                taken[memory.id] = memory
                text, left, head = text + more, left - size, ""
            else:
                passed.add(memory.id)
    return tuple(taken.values()), text, len(passed)


# Documents: a session, a chunk with its neighbours, a whole memory ------------------

LATEST = 5
"""The most reports, observations and working memories, each, that `resume` shows."""


def resume(store: Store, session: str, iteration: int | None) -> Resumed:
    """See `Engine.resume`."""

    def kept(kind: Kind, limit: int) -> tuple[Memory, ...]:
        scope = Scope(kinds=frozenset({kind}), sessions=frozenset({session}))
        return tuple(store.memories.page(scope, limit, order=Order.ITERATION))

    contexts = kept(Kind.SESSION_CONTEXT, MOST)
    return Resumed(
        context=next((one for one in contexts if iteration is None or (one.session_iter or 0) <= iteration), None),
        prompts=kept(Kind.INPUT_PROMPT, MOST),
        reports=kept(Kind.REPORT, LATEST),
        observations=kept(Kind.REPORT_OBSERVATION, LATEST),
        working=kept(Kind.WORKING_MEMORY, LATEST),
    )


def expand(store: Store, chunk_id: int | str, around: int) -> Expanded:
    """See `Engine.expand`."""
    text = str(chunk_id).strip()
    if isinstance(chunk_id, bool) or not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Invalid(f"a chunk has a number as its id, not {clipped_repr(chunk_id)}")
    wanted = ChunkId(int(text))
    if isinstance(around, bool) or not isinstance(around, int) or not 0 <= around <= AROUND:
        raise Invalid(f"chunks around one are 0..{AROUND}, a whole number, not {around!r}")
    if (found := store.memories.excerpts([wanted]).get(wanted)) is None:
        raise NotFound(
            f"no chunk {clipped_repr(chunk_id)}", hint="`memory search --granularity fine` shows the ids of chunks."
        )
    outline = store.memories.outlines([found.memory]).get(found.memory, ())
    details = store.memories.details(found.memory)
    place = next((i for i, (id, _) in enumerate(outline) if id == wanted), None)
    if details is None or place is None:
        raise NotFound(f"chunk {wanted} was just removed")
    shown = outline[max(0, place - around) : place + around + 1]
    # For other kinds than notes it is the beginning of the body.
    what = details.memory.what if RULES[details.memory.kind].family == "note" else ""
    pieces = tuple(Piece(id, one, details.body[one.start : one.stop] or what) for id, one in shown)
    first, last = shown[0][1], shown[-1][1]
    texts = filter(None, (what if first.start == first.stop else "", details.body[first.start : last.stop]))
    return Expanded(details.memory, outline[place][1], pieces, "\n\n".join(texts))


def reconstruct(store: Store, id: MemoryId) -> Document:
    """See `Engine.reconstruct`."""
    if (found := store.memories.details(id)) is None:
        raise NotFound(f"no memory {id}")
    outline = store.memories.outlines([id]).get(id, ())
    whole = "".join(found.body[one.start : one.stop] for _, one in outline) == found.body
    return Document(found.memory, found.body, len(outline), whole)

"""Entries as a save would make them, with as little said as a test needs, and short ways to keep and find them."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from memory.keep.removing import Keep
from memory.keep.rules import write_entries
from memory.schema.answer import Searched
from memory.schema.draft import Draft
from memory.schema.kinds import Kind
from memory.schema.memory import Chunk, ChunkType, MemoryId
from memory.schema.query import EVERYTHING, Term
from memory.schema.space import Embedded, Space, UsageEntry, Window
from memory.store import Entry
from memory.store.narrow import rounded
from memory.text.terms import grams

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory.schema.answer import Ranking
    from memory.schema.draft import Saved
    from memory.schema.memory import ChunkId, Excerpt, Memory
    from memory.schema.space import Vectors
    from memory.store import Store

SPACE = Space("test", "first", 1, 8)
OTHER = Space("test", "second", 1, 8)
BEYOND = 1 << 70  # no store counts that far
TOLERANCE = 1e-5  # of cosines in 32 bits
START = datetime(2026, 1, 1, tzinfo=UTC)
KEEP = Keep(START, 30)


def at(seconds: float) -> datetime:
    """A moment after the start of the test."""
    return START + timedelta(seconds=seconds)


def unit(*numbers: float) -> Vectors:
    """A vector of length 1 in `SPACE`, as every store can keep it; missing numbers are 0."""
    vector = np.zeros(SPACE.dimension, np.float32)
    vector[: len(numbers)] = numbers
    return rounded(vector / np.linalg.norm(vector))


def directions(count: int, seed: int = 0) -> Vectors:
    """Random vectors of length 1 in `SPACE`, as every store can keep them."""
    made = np.random.default_rng(seed).normal(size=(count, SPACE.dimension))
    return rounded(made / np.linalg.norm(made, axis=1, keepdims=True))


def embedded(
    vectors: Sequence[Vectors] | Vectors, chunks: Iterable[int] | None = None, space: Space = SPACE
) -> Embedded:
    """Vectors, one a chunk, or as many windows as a chunk is named."""
    owners = list(range(len(vectors)) if chunks is None else chunks)
    windows = [Window(chunk, owners[:row].count(chunk), row) for row, chunk in enumerate(owners)]
    return Embedded(space, np.asarray(vectors, np.float32).reshape(len(owners), space.dimension), tuple(windows))


def cut(body: str, size: int) -> tuple[Chunk, ...]:
    """Chunks of so many characters; a head before them, as a note has."""
    starts = range(0, len(body), size)
    texts = [
        Chunk(number, start, min(start + size, len(body)), ChunkType.TEXT, ("# Guide", "## Setup"), 2, 1)
        for number, start in enumerate(starts, start=1)
    ]
    return (Chunk(0, 0, 0, ChunkType.HEAD), *texts)


def note(
    what: str = "something",
    *,
    body: str = "",
    size: int = 1000,
    moment: datetime = START,
    uid: str | None = None,
    embedded: Embedded | None = None,
    supersedes: Any = None,
    unless_known: bool = False,
    **fields: Any,
) -> Entry:
    """A note with a head, and its body in chunks of `size` characters."""
    draft = Draft(title=fields.pop("title", "note"), what=what, body=body, **fields)
    chunks = cut(body, size)
    return Entry(
        draft=draft,
        uid=uid or uuid4().hex,
        moment=moment,
        content_hash=hashlib.sha256(f"{draft.title}\0{what}\0{body}".encode()).hexdigest(),
        chunks=chunks,
        grams=grams([what if chunk.type is ChunkType.HEAD else body[chunk.start : chunk.stop] for chunk in chunks]),
        embedded=embedded,
        unless_known=unless_known,
        supersedes=supersedes,
    )


def prompt(body: str, **fields: Any) -> Entry:
    """A kind that may be kept twice, in one chunk."""
    draft = Draft(kind=Kind.INPUT_PROMPT, **{"session_id": "s", "session_iter": 1, "body": body} | fields)
    chunk = Chunk(0, 0, len(body), ChunkType.TEXT)
    digest = hashlib.sha256(body.encode()).hexdigest()
    return Entry(draft=draft, uid=uuid4().hex, moment=START, content_hash=digest, chunks=(chunk,), grams=grams([body]))


def request(when: float = 0, /, **fields: Any) -> UsageEntry:
    """A request to a host so many seconds after the start, of 10 tokens if nothing else is said."""
    given: dict[str, Any] = {"purpose": "save", "host": "https://one.example", "tokens": 10, **fields}
    return UsageEntry(at(when), given.pop("provider", "openai"), given.pop("model", "small"), **given)


def within(when: float = 0, /, **fields: Any) -> UsageEntry:
    """What was embedded inside this process."""
    return request(when, **{"provider": "local", "host": "", **fields})


def words(*texts: str, prefix: bool = False) -> list[Term]:
    return [Term(text, prefix=prefix) for text in texts]


def search(after: float = 0, **said: Any) -> Searched:
    """A search so many seconds after the start of the test."""
    usual = Searched(at(after), "search_coarse_all", "keyword", 0.0125, 5, 3, ())
    return usual._replace(**said)


def write(store: Store, entry: Entry) -> Saved:
    return write_entries(store, [entry])[0]


def kept(store: Store, *entries: Entry) -> list[MemoryId]:
    return [one.memory.id for one in write_entries(store, entries)]


def waiting(store: Store, limit: int = 9, tried_before: datetime | None = None) -> Sequence[Excerpt]:
    """What would be claimed: a claim that ends as it begins is none."""
    return store.queue.claim(limit, tried_before, now=START, until=START, by="")


def everything(store: Store) -> list[Memory]:
    """All memories, lowest id first."""
    return sorted(store.memories.page(EVERYTHING, 100_000), key=lambda memory: memory.id)


ANEW = unit(0, 0, 1).tobytes()
"""A fingerprint that no test gives otherwise."""


def emptied(store: Store, generation: int) -> None:
    """Take the vectors of a generation away, as when its model has become another one."""
    store.generations.mark(generation, unit(0, 1).tobytes())
    [former] = [one.fingerprint for one in store.generations.every() if one.id == generation]
    store.generations.mark(generation, ANEW, instead_of=former)


def outline(store: Store, id: MemoryId) -> Sequence[tuple[ChunkId, Chunk]]:
    """The chunks of a memory in order."""
    return store.memories.outlines([id]).get(id, [])


def heads(store: Store, *ids: MemoryId) -> list[ChunkId]:
    """The first chunk of each memory."""
    return [outline(store, id)[0][0] for id in ids]


def queued(store: Store, saved: Saved | None) -> int:
    """How many chunks of a memory wait for a vector."""
    return 0 if saved is None else sum(one.chunks for one in store.queue.waiting([saved.memory.id]))


def found(ranking: Ranking) -> list[MemoryId]:
    return [scored.memory for scored in ranking]


def nothing_was_kept(store: Store) -> bool:
    counts = store.counts()
    return (counts.memories, counts.chunks, counts.queued) == (0, 0, 0) and not everything(store)

"""
`RamStore`: the promises of the store in dictionaries, the slow and plain way.

It is the oracle that the SQLite store is compared with, and a store for tests. Nothing here is indexed, cached or
clever: every answer is worked out from everything that is there. It is one long file so that it can be read from top
to bottom beside the protocol.
"""

from __future__ import annotations

import math
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from memory.schema.answer import Scored
from memory.schema.document import Details
from memory.schema.draft import SHARED
from memory.schema.errors import Invalid, NotFound
from memory.schema.kinds import RULES, Kind, check_kind
from memory.schema.memory import OVERLAP, Chunk, ChunkId, ChunkType, Excerpt, Memory, MemoryId, Revision, Status
from memory.schema.query import NONE
from memory.schema.saved import Saved
from memory.store import (
    PRIOR,
    RESOLVED,
    SAME,
    SEARCHES,
    SPARSE,
    UID_PREFIX,
    Aged,
    Claim,
    Counts,
    Generation,
    Salvaged,
    Session,
    State,
    Waiting,
)
from memory.store.columns import WEIGHTS
from memory.store.phrases import Allowance, folded, forms, phrased, stems
from oracle.ram_graph import RamGraph
from oracle.ram_runs import RamRuns
from oracle.ram_sessions import ordered, session, sum_of, tally
from oracle.ram_term_vectors import RamTermVectors, forget, unlearn
from oracle.ram_usage import RamUsage

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence
    from datetime import datetime

    from memory.schema.answer import Ranking, Searched
    from memory.schema.query import Scope, Term
    from memory.schema.space import Space, Vectors, Window
    from memory.store import Entry, Learned, Links, TermVector, ToolCall

K1, B = 1.2, 0.75  # of FTS5's bm25()
FLOOR = 1e-6  # its idf of a term that more than half of all rows hold

Words: TypeAlias = "tuple[tuple[str, ...], ...]"
"""The tokens of each column of a chunk."""


@dataclass(frozen=True)
class _Piece:
    memory: MemoryId
    chunk: Chunk
    words: Words

    @property
    def length(self) -> int:
        return sum(map(len, self.words))


@dataclass(frozen=True)
class _QueueEntry:
    """In the queue."""

    attempts: int = 0
    error: str = ""
    tried_at: datetime | None = None
    claimed_until: datetime | None = None
    claimed_by: str = ""

    def due(self, tried_before: datetime | None) -> bool:
        return self.tried_at is None or (tried_before is not None and self.tried_at < tried_before)


@dataclass
class Data:
    """Values are never changed, so that copies of the dictionaries are a snapshot."""

    memories: dict[MemoryId, Memory] = field(default_factory=dict)
    bodies: dict[MemoryId, str] = field(default_factory=dict)
    history: dict[MemoryId, tuple[Revision, ...]] = field(default_factory=dict)
    pieces: dict[ChunkId, _Piece] = field(default_factory=dict)
    queue: dict[ChunkId, _QueueEntry] = field(default_factory=dict)
    generations: dict[int, Generation] = field(default_factory=dict)
    fingerprints: dict[int, Vectors] = field(default_factory=dict)
    vectors: dict[tuple[int, ChunkId, int], Vectors] = field(default_factory=dict)
    begun: dict[tuple[int, ChunkId], tuple[int, Vectors]] = field(default_factory=dict)
    learned: dict[int, Learned] = field(default_factory=dict)
    term_vectors: dict[tuple[int, str], TermVector] = field(default_factory=dict)
    relations: dict[tuple[MemoryId, MemoryId, str], datetime] = field(default_factory=dict)
    attached: dict[tuple[MemoryId, MemoryId], datetime] = field(default_factory=dict)
    calls: dict[int, ToolCall] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)  # the last id of each sort

    def copy(self) -> Data:
        return Data(*(dict(getattr(self, one.name)) for one in fields(self)))

    def next(self, sort: str) -> int:
        self.used[sort] = self.used.get(sort, 0) + 1
        return self.used[sort]


class RamStore(RamUsage):
    """The store in dictionaries. See `memory.store.Store`."""

    def __init__(self) -> None:
        super().__init__()
        self.data = Data()
        self._searches: list[Searched] = []
        self.lock = RLock()

    @contextmanager
    def change(self) -> Generator[Data]:
        with self.lock:
            before = self.data.copy()
            try:
                yield self.data
            except BaseException:
                self.data = before
                raise

    @property
    def graph(self) -> RamGraph:
        return RamGraph(self)

    @property
    def runs(self) -> RamRuns:
        return RamRuns(self)

    @property
    def term_vectors(self) -> RamTermVectors:
        return RamTermVectors(self)

    # Its other parts are itself, so that it can be read from top to bottom.

    @property
    def memories(self) -> RamStore:
        return self

    sessions = keywords = generations = vectors = queue = usage = memories

    # Memories ------------------------------------------------------------

    def write_entries(self, entries: Sequence[Entry]) -> Sequence[Saved]:
        with self.change():
            return [self._write_entry(entry) for entry in entries]

    def _write_entry(self, entry: Entry) -> Saved:
        data = self.data
        if (same := self._known(entry)) is not None:
            self._around(same, entry)
            return _saved(data.memories[same], entry, known=True)
        self._check_parent(entry)
        if entry.renews and (same := self._alike(entry) or self._one(entry, entry.renews)) is not None:
            self._around(same, entry)
            old = self._memory(same)
            again = entry._replace(grown=old.content_hash == entry.content_hash)
            return _saved(self._replaced(old, again), entry, renewed=True)
        id = MemoryId(data.next("memory"))
        data.memories[id] = _new(id, entry)
        data.bodies[id] = entry.draft.body
        data.history[id] = tuple(old._replace(memory=old.memory._replace(id=id)) for old in entry.history)
        self._write_chunks(id, entry)
        self._around(id, entry)
        return _saved(data.memories[id], entry)

    def _around(self, id: MemoryId, entry: Entry) -> None:
        if entry.supersedes is not None and entry.supersedes != id:
            self._supersede(entry.supersedes, by=id)
        for entity in entry.entities:
            if entry.draft.kind is Kind.ENTITY:
                raise Invalid("an entity is not about another")
            if self._memory(entity).kind is not Kind.ENTITY:
                raise NotFound(f"no entity {entity}")
            self.data.attached.setdefault((entity, id), entry.moment)

    def _write_chunks(self, id: MemoryId, entry: Entry) -> None:
        data = self.data
        ids = [ChunkId(data.next("chunk")) for _ in entry.chunks]
        for new, chunk, grams in zip(ids, entry.chunks, entry.grams, strict=True):
            words = tuple(stems(text) for text in _columns(data.memories[id], entry.draft.body, chunk, grams))
            data.pieces[new] = _Piece(id, chunk, words)
            if not entry.draft.keyword_only:
                data.queue[new] = _QueueEntry()
        if entry.draft.keyword_only:
            return
        if (given := entry.embedded) is not None:
            generation = self._living(given.space)
            if generation is None and not data.generations:
                generation = self.begin(given.space, entry.moment)
            if generation is not None:
                own = [window._replace(chunk=ids[window.chunk]) for window in given.windows]
                self.set_vectors(generation.id, given.vectors, own)

    def known(self, entries: Sequence[Entry]) -> Sequence[MemoryId | None]:
        with self.lock:
            return [self._known(entry) for entry in entries]

    def _known(self, entry: Entry) -> MemoryId | None:
        for memory in self.data.memories.values():
            if memory.uid == entry.uid:
                return memory.id
        rule = RULES[entry.draft.kind]
        if entry.renews:
            found = self._one(entry, entry.renews) if entry.restored else None
            newer = found and entry.restored and self._memory(found).updated_at >= entry.restored.updated_at
            return found if newer else None
        if rule.one:
            return self._one(entry, rule.one)
        return None if rule.repeats or not entry.unless_known else self._alike(entry)

    def _alike(self, entry: Entry) -> MemoryId | None:
        for memory in self.data.memories.values():
            same = all(getattr(memory, name) == getattr(entry.draft, name) for name in SAME)
            if same and memory.content_hash == entry.content_hash and memory.status is Status.ACTIVE:
                return memory.id
        return None

    def _one(self, entry: Entry, fields: Sequence[str]) -> MemoryId | None:
        found = [
            memory
            for memory in self.data.memories.values()
            if memory.kind is entry.draft.kind
            and (memory.status is Status.ACTIVE or memory.kind is Kind.ENTITY)
            and all(getattr(memory, name) == getattr(entry.draft, name) for name in fields)
        ]
        return max(found, key=lambda memory: (memory.updated_at, memory.id)).id if found else None

    def _check_parent(self, entry: Entry) -> None:
        if entry.draft.parent_id is not None:
            self._memory(entry.draft.parent_id)

    def _supersede(self, id: MemoryId, *, by: MemoryId) -> None:
        if self._memory(id).kind is Kind.ENTITY:
            raise Invalid(f"memory {id} is an entity: it cannot be superseded")
        if self._memory(id).status is Status.SUPERSEDED:
            if self._memory(id).superseded_by == by:
                return
            raise Invalid(f"memory {id} was superseded already")
        self.data.memories[id] = self._memory(id)._replace(status=Status.SUPERSEDED, superseded_by=by)

    def _memory(self, id: MemoryId) -> Memory:
        if id not in self.data.memories:
            raise NotFound(f"no memory {id}")
        return self.data.memories[id]

    def replace(self, id: MemoryId, entry: Entry, *, former: Details | None = None) -> Saved | None:
        with self.change() as data:
            old = self._memory(id)
            if former is not None and (len(data.history[id]), old.content_hash) != (
                len(former.history),
                former.memory.content_hash,
            ):
                return None
            self._check_parent(entry)
            check_kind(old.kind, entry.draft.kind)
            if (one := RULES[old.kind].one) and self._one(entry, one) not in {None, id}:
                raise Invalid(f"there is another {old.kind} of the same {', '.join(one)}")
            return _saved(self._replaced(old, entry), entry)

    def _replaced(self, old: Memory, entry: Entry) -> Memory:
        data, id = self.data, old.id
        if not entry.grown:
            data.history[id] = (Revision(entry.moment, old, data.bodies[id]), *data.history[id])
        removed = self._forget_chunks(id)
        data.memories[id] = old._replace(**_said(entry))
        data.bodies[id] = entry.draft.body
        self._write_chunks(id, entry)
        unlearn(data, removed)
        return data.memories[id]

    def link(self, links: Sequence[Links]) -> None:
        with self.change() as data:
            ids: dict[str | None, MemoryId] = {memory.uid: id for id, memory in data.memories.items()}
            for uid, parent, successor in links:
                if (id := ids.get(uid)) is None:
                    continue
                memory = data.memories[id]
                if memory.parent_id is None:
                    memory = memory._replace(parent_id=ids.get(parent))
                if memory.superseded_by is None and memory.status is Status.SUPERSEDED:
                    memory = memory._replace(superseded_by=ids.get(successor))
                data.memories[id] = memory

    def delete(self, id: MemoryId) -> bool:
        with self.change() as data:
            if id not in data.memories:
                return False
            unlearn(data, self._forget_chunks(id))
            gone = data.memories.pop(id)
            del data.bodies[id], data.history[id]
            data.relations = {key: at for key, at in data.relations.items() if id not in key[:2]}
            data.attached = {key: at for key, at in data.attached.items() if id not in key}
            heir = None if gone.superseded_by == id else gone.superseded_by
            for other in list(data.memories.values()):
                if other.parent_id == id:
                    data.memories[other.id] = other = other._replace(parent_id=None)  # noqa: PLW2901
                if other.superseded_by == id:
                    data.memories[other.id] = other._replace(status=gone.status, superseded_by=heir)
            return True

    def _forget_chunks(self, id: MemoryId) -> list[Words]:
        """What each said."""
        data = self.data
        gone = {chunk: piece.words for chunk, piece in data.pieces.items() if piece.memory == id}
        data.pieces = {chunk: piece for chunk, piece in data.pieces.items() if chunk not in gone}
        data.queue = {chunk: waiting for chunk, waiting in data.queue.items() if chunk not in gone}
        data.vectors = {key: vector for key, vector in data.vectors.items() if key[1] not in gone}
        data.begun = {key: one for key, one in data.begun.items() if key[1] not in gone}
        return list(gone.values())

    def resolve(self, reference: str) -> Sequence[tuple[MemoryId, str]]:
        prefix = reference.lower().replace("-", "")
        with self.lock:
            named = [m for m in self.data.memories.values() if _digits(reference) and m.id == int(reference)]
            begun = [m for m in self.data.memories.values() if len(prefix) >= UID_PREFIX and m.uid.startswith(prefix)]
        found = named + sorted((m for m in begun if m not in named), key=lambda m: m.uid)
        return [(memory.id, memory.uid) for memory in found][:RESOLVED]

    def by_id(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Memory]:
        with self.lock:
            return {id: self.data.memories[id] for id in ids if id in self.data.memories}

    def details(self, id: MemoryId) -> Details | None:
        with self.lock:
            data = self.data
            found = data.memories.get(id)
            return None if found is None else Details(found, data.bodies[id], data.history.get(id, ()))

    def touch(self, ids: Sequence[MemoryId], moment: datetime) -> None:
        with self.change() as data:
            for id in set(ids) & set(data.memories):
                old = data.memories[id]
                data.memories[id] = old._replace(accessed_at=moment, access_count=old.access_count + 1)

    def recent(self, scope: Scope, limit: int, after: Memory | None = None) -> Sequence[Memory]:
        with self.lock:
            found = [memory for memory in self.data.memories.values() if _inside(memory, scope)]
        if after is not None:
            found = [memory for memory in found if (memory.updated_at, memory.id) < (after.updated_at, after.id)]
        return sorted(found, key=lambda memory: (memory.updated_at, memory.id), reverse=True)[:limit]

    def count(self, scope: Scope) -> int:
        with self.lock:
            return sum(_inside(memory, scope) for memory in self.data.memories.values())

    def page(self, after: MemoryId, limit: int) -> Sequence[Memory]:
        with self.lock:
            return [self.data.memories[id] for id in sorted(self.data.memories) if id > after][:limit]

    def ids(self, after: MemoryId, limit: int) -> Sequence[MemoryId]:
        with self.lock:
            return sorted(id for id in self.data.memories if id > after)[:limit]

    def salvaged(self, id: MemoryId) -> Salvaged | None:
        found = self.details(id)
        return None if found is None else Salvaged(found, ())

    def excerpts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, Excerpt]:
        with self.lock:
            return {id: self._excerpt(id) for id in ids if id in self.data.pieces}

    def _excerpt(self, id: ChunkId) -> Excerpt:
        piece = self.data.pieces[id]
        memory, body, chunk = self.data.memories[piece.memory], self.data.bodies[piece.memory], piece.chunk
        before = body[max(0, chunk.start - OVERLAP) : chunk.start]
        said = (memory.title, memory.what, memory.why, memory.impact, memory.tags)
        return Excerpt(id, memory.id, chunk, _text(memory, body, chunk), before, *said)

    def texts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, str]:
        with self.lock:
            return {id: self._in_words(self.data.pieces[id]) for id in ids if id in self.data.pieces}

    def _in_words(self, piece: _Piece) -> str:
        columns = _columns(self.data.memories[piece.memory], self.data.bodies[piece.memory], piece.chunk, "")
        return "\n".join(filter(None, columns[: list(WEIGHTS).index("impact") + 1]))

    def outline(self, id: MemoryId) -> Sequence[tuple[ChunkId, Chunk]]:
        with self.lock:
            found = [(chunk, piece.chunk) for chunk, piece in self.data.pieces.items() if piece.memory == id]
        return sorted(found, key=lambda pair: pair[1].index)

    def outlines(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Sequence[tuple[ChunkId, Chunk]]]:
        with self.lock:
            return {id: self.outline(id) for id in ids if id in self.data.memories}

    def counts(self) -> Counts:
        with self.lock:
            memories = self.data.memories.values()
            waiting = self._waiting()
            failed = [one for one in waiting.values() if one.failed]
            return Counts(
                memories=len(memories),
                superseded=sum(memory.status is Status.SUPERSEDED for memory in memories),
                chunks=len(self.data.pieces),
                keyword_only=len(self.data.pieces) - len(self._embeddable()),
                queued=len(self.data.queue),
                failed=sum(one.failed for one in failed),
                last_error=max(self._tried(self.data.queue), default=(None, 0, ""))[2],
                waiting_memories=len(waiting),
                failed_memories=len(failed),
                kinds=tally(str(memory.kind) for memory in memories),
                projects=tally(memory.project for memory in memories if memory.project is not None)[:20],
                bytes=0,
            )

    # Keywords ------------------------------------------------------------

    def weigh(self, terms: Sequence[Term]) -> tuple[Term, ...]:
        with self.lock:
            found: list[Term] = []
            seen: set[tuple[tuple[str, ...], bool]] = set()
            held = [list(chain.from_iterable(piece.words)) for piece in self.data.pieces.values()]
            occurrences, chunks = Counter(chain.from_iterable(held)), Counter(chain.from_iterable(map(set, held)))
            allowance = Allowance(lambda token: (chunks[token], occurrences[token]))
            answers = {place: self._looked_for(terms[place], allowance) for place in allowance.order(phrased(terms))}
            for weighed in (one for place in range(len(terms)) for one in answers[place]):
                keys = {(stems(form.text), weighed.prefix) for form in forms([weighed])}
                if not keys <= seen:
                    seen |= keys
                    found.append(weighed)
            return tuple(found)

    def _looked_for(self, term: Term, allowance: Allowance) -> list[Term]:
        if not stems(term.text):
            return []
        if not allowance.take(*phrased([term])):
            return [term._replace(cut=True)]
        weighed = self._weighed(term)
        if weighed.prefix:
            allowance.took(weighed)
        if weighed.rows:
            return [weighed]
        parts = [one for part in term.parts for one in self._looked_for(part, allowance)]
        return parts if any(part.rows for part in parts) else [weighed]

    def _weighed(self, term: Term) -> Term:
        rows = self._rows(term)
        if rows < SPARSE and len(term.text) >= 3 and len(stems(term.text)) == 1 and not term.gram:
            longer = self._rows(term._replace(prefix=True))
            if longer > rows:
                term, rows = term._replace(prefix=True), longer
        total = len(self.data.pieces)
        return term._replace(rows=rows, weight=math.log(1 + (total + PRIOR - rows + 0.5) / (rows + 0.5)))

    def _rows(self, term: Term) -> int:
        return len({id for form in forms([term]) for id in self._frequencies(form)})

    def by_keyword(self, terms: Sequence[Term], scope: Scope, k: int) -> Ranking:
        with self.lock:
            return tuple(one for one in self._scores(terms) if _inside(self.data.memories[one.memory], scope))[:k]

    def keyword_scores(self, terms: Sequence[Term], ids: Sequence[ChunkId]) -> Ranking:
        wanted = set(ids)
        with self.lock:
            return tuple(one for one in self._scores(terms) if one.chunk in wanted)

    def _scores(self, terms: Sequence[Term]) -> Ranking:
        """Every chunk that holds a term, best first: https://www.sqlite.org/fts5.html#the_bm25_function."""
        pieces = self.data.pieces
        average = sum(piece.length for piece in pieces.values()) / max(1, len(pieces))
        scores: dict[ChunkId, float] = {}
        bits: dict[ChunkId, int] = {}
        for place, term in enumerate(forms(terms)):
            frequencies = self._frequencies(term)
            n = len(frequencies)
            idf = max(FLOOR, math.log((len(pieces) - n + 0.5) / (n + 0.5)))
            for id, often in frequencies.items():
                norm = K1 * (1 - B + B * pieces[id].length / average)
                scores[id] = scores.get(id, 0.0) + idf * often * (K1 + 1) / (often + norm)
                bits[id] = bits.get(id, 0) | 1 << place
        ranked = sorted(scores, key=lambda chunk: (-scores[chunk], chunk))
        found = tuple(Scored(id, pieces[id].memory, scores[id], bits[id], keyword=scores[id]) for id in ranked)
        return folded(found, terms)

    def _frequencies(self, term: Term) -> dict[ChunkId, float]:
        """How often each chunk that holds a term holds it, by the weights of the columns."""
        phrase = stems(term.text)
        found = {id: _often(piece.words, phrase, prefix=term.prefix) for id, piece in self.data.pieces.items()}
        return {id: often for id, often in found.items() if often}

    # Vectors -------------------------------------------------------------

    def every(self) -> Sequence[Generation]:
        with self.lock:
            return list(self.data.generations.values())

    def embedded_count(self, generation: int) -> int:
        with self.lock:
            return len(self._embedded(generation))

    def _embedded(self, generation: int) -> set[ChunkId]:
        return {chunk for own, chunk, _ in self.data.vectors if own == generation}

    def vectors_of(self, generation: int) -> dict[ChunkId, list[Vectors]]:
        """Of each chunk those of its windows, in order."""
        self._need(generation)
        found: dict[ChunkId, list[Vectors]] = {}
        for (own, chunk, _), vector in sorted(self.data.vectors.items(), key=lambda item: item[0]):
            if own == generation:
                found.setdefault(chunk, []).append(vector)
        return found

    def _need(self, generation: int) -> Generation:
        if generation not in self.data.generations:
            raise NotFound(f"no generation {generation} of vectors")
        return self.data.generations[generation]

    def _in_state(self, state: State) -> Generation | None:
        return next((found for found in self.data.generations.values() if found.state is state), None)

    def _living(self, space: Space) -> Generation | None:
        found = (self._in_state(State.ACTIVE), self._in_state(State.BUILDING))
        return next((generation for generation in found if generation is not None and generation.space == space), None)

    def begin(self, space: Space, moment: datetime) -> Generation:
        del moment  # nobody is told
        with self.change() as data:
            if (found := self._living(space)) is not None:
                return found
            state = State.BUILDING if self._in_state(State.ACTIVE) else State.ACTIVE
            if (unfinished := self._in_state(State.BUILDING)) is not None:
                self.drop(unfinished.id)
            retired = [old for old in data.generations.values() if (old.state, old.space) == (State.RETIRED, space)]
            new = retired[-1] if retired else Generation(data.next("generation"), space, state)
            data.generations[new.id] = new._replace(state=state)
            if state is State.ACTIVE:
                self._queue(new.id)
            return data.generations[new.id]

    def _embeddable(self) -> set[ChunkId]:
        data = self.data
        return {id for id, piece in data.pieces.items() if not data.memories[piece.memory].keyword_only}

    def _queue(self, active: int) -> None:
        missing = sorted(self._embeddable() - self._embedded(active))
        self.data.queue = {id: self.data.queue.get(id, _QueueEntry()) for id in missing}

    def pending(self, generation: int, after: ChunkId, limit: int) -> Sequence[Excerpt]:
        with self.lock:
            self._need(generation)
            ids = sorted(self._embeddable() - self._embedded(generation))
            return [self._excerpt(id) for id in ids if id > after][:limit]

    def set_vectors(self, generation: int, vectors: Vectors, windows: Sequence[Window]) -> int:
        with self.change() as data:
            if generation not in data.generations:
                return 0
            alive = {ChunkId(window.chunk) for window in windows} & self._embeddable()
            kept = {key: old for key, old in data.vectors.items() if key[0] != generation or key[1] not in alive}
            new = {(generation, ChunkId(w.chunk), w.window): vectors[w.row].copy() for w in windows if w.chunk in alive}
            data.vectors = kept | new
            data.begun = {key: one for key, one in data.begun.items() if key[0] != generation or key[1] not in alive}
            if data.generations[generation].state is State.ACTIVE:
                data.queue = {id: waiting for id, waiting in data.queue.items() if id not in alive}
            return len(alive)

    def queued(self) -> int:
        with self.lock:
            return len(self.data.queue)

    def waiting(self, limit: int, tried_before: datetime | None = None) -> Sequence[Excerpt]:
        with self.lock:
            due = [(entry.attempts, id) for id, entry in self.data.queue.items() if entry.due(tried_before)]
            return [self._excerpt(id) for _, id in sorted(due)[:limit]]

    def claim(
        self, limit: int, tried_before: datetime | None = None, *, now: datetime, until: datetime, by: str
    ) -> Sequence[Excerpt]:
        with self.change() as data:
            free = [
                (entry.attempts, id)
                for id, entry in data.queue.items()
                if entry.due(tried_before) and (entry.claimed_until is None or entry.claimed_until <= now)
            ]
            ids = [id for _, id in sorted(free)[:limit]]
            data.queue |= {id: replace(data.queue[id], claimed_until=until, claimed_by=by) for id in ids}
            return [self._excerpt(id) for id in ids]

    def claims(self, now: datetime) -> Sequence[Claim]:
        held: dict[str, list[datetime]] = {}
        with self.lock:
            for entry in self.data.queue.values():
                if entry.claimed_until is not None and entry.claimed_until > now:
                    held.setdefault(entry.claimed_by, []).append(entry.claimed_until)
        return [Claim(by, len(untils), max(untils)) for by, untils in sorted(held.items())]

    def release(self, ids: Sequence[ChunkId]) -> None:
        self._release({id for id in ids if id in self.data.queue})

    def release_of(self, holders: Sequence[str]) -> None:
        self._release({id for id, entry in self.data.queue.items() if entry.claimed_by in holders})

    def _release(self, ids: set[ChunkId]) -> None:
        with self.change() as data:
            data.queue |= {id: replace(data.queue[id], claimed_until=None, claimed_by="") for id in ids}

    def failed(self, ids: Sequence[ChunkId], error: str, moment: datetime) -> None:
        with self.change() as data:
            for id in set(ids) & set(data.queue):
                data.queue[id] = _QueueEntry(data.queue[id].attempts + 1, error, moment)

    def begun(self, generation: int, chunk: ChunkId, stamp: int) -> Vectors | None:
        with self.lock:
            known, vectors = self.data.begun.get((generation, chunk), (stamp, None))
            return vectors if known == stamp else None

    def add_begun(self, generation: int, chunk: ChunkId, stamp: int, vectors: Vectors, *, first: int) -> bool:
        with self.change() as data:
            known, before = data.begun.pop((generation, chunk), (stamp, None))
            if before is not None and known == stamp:
                data.begun[generation, chunk] = (stamp, before)
            there = 0 if before is None or known != stamp else len(before)
            if generation not in data.generations or chunk not in data.pieces or there != first:
                return False
            joined = vectors.copy() if before is None or not there else np.concatenate([before, vectors])
            data.begun[generation, chunk] = (stamp, joined)
            return True

    def unembedded(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Waiting]:
        with self.lock:
            return {id: waiting for id, waiting in self._waiting().items() if id in ids}

    def failures(self, limit: int) -> Sequence[Waiting]:
        with self.lock:
            found = sorted(self._waiting().items())
            tried = [(waiting.tried_at, waiting) for _, waiting in found if waiting.tried_at is not None]
        return [waiting for _, waiting in sorted(tried, key=lambda pair: pair[0], reverse=True)][:limit]

    def _waiting(self) -> dict[MemoryId, Waiting]:
        queued: dict[MemoryId, list[ChunkId]] = {}
        for id in self.data.queue:
            queued.setdefault(self.data.pieces[id].memory, []).append(id)
        found: dict[MemoryId, Waiting] = {}
        for memory, chunks in queued.items():
            tried = self._tried(chunks)
            at, _, error = max(tried, default=(None, 0, ""))
            found[memory] = Waiting(memory, len(chunks), len(tried), error, at)
        return found

    def _tried(self, chunks: Iterable[ChunkId]) -> list[tuple[datetime, ChunkId, str]]:
        """Of these chunks those that failed; the latest failure is the greatest."""
        entries = [(id, self.data.queue[id]) for id in chunks]
        return [(entry.tried_at, id, entry.error) for id, entry in entries if entry.tried_at is not None]

    def activate(self, generation: int, *, instead_of: int | None, former: State = State.RETIRED) -> bool:
        with self.change() as data:
            self._need(generation)
            before = self._in_state(State.ACTIVE)
            if (before.id if before else None) != instead_of:
                return False
            if before is not None and before.id == generation:
                return True
            unfinished = self._in_state(State.BUILDING)
            if former is State.BUILDING and unfinished is not None and unfinished.id != generation:
                self.drop(unfinished.id)
            if before is not None:
                data.generations[before.id] = before._replace(state=former)
            data.generations[generation] = data.generations[generation]._replace(state=State.ACTIVE)
            data.queue = {}
            self._queue(generation)
            return True

    def fingerprint(self, generation: int) -> Vectors | None:
        with self.lock:
            self._need(generation)
            return self.data.fingerprints.get(generation)

    def mark(self, generation: int, fingerprint: Vectors) -> None:
        with self.change() as data:
            if generation in data.generations:
                data.fingerprints.setdefault(generation, fingerprint.copy())

    def clear(self, generation: int, ids: Sequence[ChunkId] | None = None) -> None:
        with self.change() as data:
            cleared = self._need(generation)
            if ids is None:
                data.fingerprints.pop(generation, None)
                forget(data, generation)
                data.begun = {key: one for key, one in data.begun.items() if key[0] != generation}
            gone = {key for key in data.vectors if key[0] == generation and (ids is None or key[1] in ids)}
            data.vectors = {key: vector for key, vector in data.vectors.items() if key not in gone}
            if cleared.state is State.ACTIVE:
                self._queue(generation)

    def drop(self, generation: int) -> None:
        with self.change() as data:
            if generation in data.generations and data.generations[generation].state is not State.ACTIVE:
                del data.generations[generation]
                data.fingerprints.pop(generation, None)
                forget(data, generation)
                data.vectors = {key: vector for key, vector in data.vectors.items() if key[0] != generation}
                data.begun = {key: one for key, one in data.begun.items() if key[0] != generation}

    def by_vector(self, generation: int, vector: Vectors, scope: Scope, k: int) -> Ranking:
        with self.lock:
            self._need(generation)
            best: dict[ChunkId, float] = {}
            for (own, chunk, _), stored in self.data.vectors.items():
                if own == generation and _inside(self.data.memories[self.data.pieces[chunk].memory], scope):
                    best[chunk] = max(best.get(chunk, -2.0), _cosine(stored, vector))
            ranked = sorted(best, key=lambda chunk: (-best[chunk], chunk))[:k]
            return tuple(Scored(id, self.data.pieces[id].memory, best[id], cosine=best[id]) for id in ranked)

    def memory_similarities(self, generation: int, vector: Vectors, scope: Scope) -> Mapping[MemoryId, float]:
        with self.lock:
            self._need(generation)
            best: dict[MemoryId, float] = {}
            for (own, chunk, _), stored in self.data.vectors.items():
                memory = self.data.pieces[chunk].memory
                if own == generation and _inside(self.data.memories[memory], scope):
                    best[memory] = max(best.get(memory, -2.0), _cosine(stored, vector))
            return best

    def cosines(
        self, generation: int, vector: Vectors, other: Vectors, ids: Sequence[ChunkId]
    ) -> Mapping[ChunkId, tuple[float, float]]:
        with self.lock:
            self._need(generation)
            found: dict[ChunkId, tuple[float, float]] = {}
            for (own, chunk, _), stored in self.data.vectors.items():
                if own == generation and chunk in ids:
                    pair = (_cosine(stored, vector), _cosine(stored, other))
                    found[chunk] = max(found.get(chunk, pair), pair)
            return found

    def centre(self, generation: int) -> tuple[Vectors, int]:
        with self.lock:
            dimension = self._need(generation).space.dimension
            own = [vector for key, vector in self.data.vectors.items() if key[0] == generation]
            return np.asarray(own, dtype=np.float64).reshape(-1, dimension).sum(axis=0), len(own)

    # Sessions ------------------------------------------------------------

    def by_iteration(self, scope: Scope, limit: int, *, latest_first: bool = True) -> Sequence[Memory]:
        with self.lock:
            return ordered(self._all(scope), latest_first=latest_first)[:limit]

    def bodies(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, str]:
        with self.lock:
            return {id: self.data.bodies[id] for id in ids if id in self.data.bodies}

    def latest(self, limit: int, agent: str | None = None) -> tuple[Sequence[Session], int]:
        with self.lock:
            of: dict[str, list[Memory]] = {}
            for one in self.data.memories.values():
                if one.session_id is not None and agent in (None, one.agent_id):
                    of.setdefault(one.session_id, []).append(one)
            found = [session(id, kept, sum(self._sizes(kept))) for id, kept in of.items()]
        return sorted(sorted(found, key=lambda one: one.id), key=lambda one: one.active, reverse=True)[:limit], len(of)

    def summary(self, id: str) -> Session | None:
        with self.lock:
            kept = [one for one in self.data.memories.values() if one.session_id == id]
            return session(id, kept, sum(self._sizes(kept))) if kept else None

    def aged(self, scope: Scope, before: datetime) -> Aged:
        with self.lock:
            return sum_of(self._sizes(self._aged(scope, before)))

    def forget(self, scope: Scope, before: datetime, limit: int) -> Aged:
        with self.change():
            gone = self._aged(scope, before)[:limit]
            counted = sum_of(self._sizes(gone))
            for one in gone:
                self.delete(one.id)
            return counted

    def _all(self, scope: Scope) -> list[Memory]:
        return [one for one in self.data.memories.values() if _inside(one, scope)]

    def _aged(self, scope: Scope, before: datetime) -> list[Memory]:
        return sorted((one for one in self._all(scope) if one.created_at < before), key=lambda one: one.id)

    def _sizes(self, memories: Iterable[Memory]) -> list[int]:
        return [len(self.outline(one.id)) for one in memories]

    # Searches ------------------------------------------------------------

    def searched(self, one: Searched) -> None:
        with self.lock:
            self._searches.append(one)

    def searches(self, since: datetime | None = None) -> Sequence[Searched]:
        with self.lock:
            found = [one for one in self._searches if since is None or one.moment >= since]
        return sorted(found, key=lambda one: one.moment)[-SEARCHES:]

    # Care ----------------------------------------------------------------

    def check(self) -> Sequence[str]:
        return ()

    def lacking(self) -> int:
        return 0

    def repair(self) -> None:
        """Nothing is derived that could differ."""

    def close(self) -> None:
        """Nothing is held."""


def _said(entry: Entry) -> dict[str, Any]:
    """The fields of a memory that come of what an entry says."""
    draft = entry.draft
    shared = {name: getattr(draft, name) for name in SHARED} | {"metadata": dict(draft.metadata)}
    facts = {"content_hash": entry.content_hash, "body_size": len(draft.body), "flags": entry.flags}
    return shared | facts | {"updated_at": entry.moment}


def _saved(memory: Memory, entry: Entry, *, known: bool = False, renewed: bool = False) -> Saved:
    return Saved(memory, known, chunks=len(entry.chunks), renewed=renewed)


def _new(id: MemoryId, entry: Entry) -> Memory:
    first: dict[str, Any] = {
        "id": id,
        "uid": entry.uid,
        "status": Status.ACTIVE,
        "superseded_by": None,
        "created_at": entry.moment,
        "accessed_at": None,
        "access_count": 0,
    }
    if (old := entry.restored) is not None:
        brought = ("status", "created_at", "updated_at", "accessed_at", "access_count")
        first |= {name: getattr(old, name) for name in brought}
    return Memory(**_said(entry) | first)


def _text(memory: Memory, body: str, chunk: Chunk) -> str:
    return memory.what if chunk.type is ChunkType.HEAD else body[chunk.start : chunk.stop]


def _columns(memory: Memory, body: str, chunk: Chunk, grams: str) -> tuple[str, ...]:
    """What is indexed of a chunk, in the order of `WEIGHTS`."""
    heading = " ".join(header.lstrip("# ") for header in chunk.header_path)
    tags, files = " ".join(memory.tags), " ".join(memory.related_files)
    names = (memory.category or "", memory.project or "", memory.source or "")
    whole = (memory.why, memory.impact, tags, *names, files) if chunk.index == 0 else ("",) * 7
    return (memory.title, heading, _text(memory, body, chunk), *whole, grams)


def _often(words: Sequence[Sequence[str]], phrase: Sequence[str], *, prefix: bool) -> float:
    """The occurrences of a phrase, each worth the weight of its column; the last word may go on if it is a prefix."""
    if not phrase:
        return 0.0
    often = 0.0
    for column, weight in zip(words, WEIGHTS.values(), strict=True):
        for start in range(len(column) - len(phrase) + 1):
            *first, last = column[start : start + len(phrase)]
            if first == list(phrase[:-1]) and (last.startswith(phrase[-1]) if prefix else last == phrase[-1]):
                often += weight
    return often


def _inside(memory: Memory, scope: Scope) -> bool:
    allowed = (
        (scope.kinds, memory.kind),
        (scope.projects, memory.project or NONE),
        (scope.sources, memory.source),
        (scope.categories, memory.category),
        (scope.agents, memory.agent_id),
        (scope.sessions, memory.session_id),
        (scope.iterations, memory.session_iter),
        (scope.tasks, memory.task_code),
        (scope.runs, memory.query_id),
        (scope.statuses, memory.status),
    )
    return (
        all(not values or value in values for values, value in allowed)
        and (scope.among is None or memory.id in scope.among)
        and scope.tags <= set(memory.tags)
        and (scope.since is None or memory.updated_at >= scope.since)
        and (scope.until is None or memory.updated_at < scope.until)
    )


def _cosine(left: Vectors, right: Vectors) -> float:
    a, b = left.astype(np.float64), right.astype(np.float64)
    return float(a @ b / math.sqrt((a @ a) * (b @ b)))


def _digits(reference: str) -> bool:
    return reference.isascii() and reference.isdigit()

"""`SqliteStore`: each promise of the store as one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.times import iso
from memory.store import State
from memory.store.sqlite import keywords, memories, queue, rows, sameness, vectors as vector_rows
from memory.store.sqlite.database import Database
from memory.store.sqlite.health import SqliteHealth
from memory.store.sqlite.matrix import Matrix
from memory.store.sqlite.rows import listed, outlines, where
from memory.store.sqlite.usage import SqliteUsageLog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from memory.schema.answer import Ranking, Searched
    from memory.schema.document import Details
    from memory.schema.memory import Chunk, ChunkId, Excerpt, Memory, MemoryId, Revision
    from memory.schema.query import Scope, Term
    from memory.schema.saved import Saved
    from memory.schema.space import Space, Vectors, Window
    from memory.store import Aged, Claim, Counts, Entry, Generation, Links, Session, Waiting
    from memory.store.sqlite.begun import SqliteBegun
    from memory.store.sqlite.graph import SqliteGraph
    from memory.store.sqlite.runs import SqliteRuns
    from memory.store.sqlite.term_vectors import SqliteTermVectors


class SqliteStore(SqliteUsageLog, SqliteHealth):
    """The store in one SQLite file. Every method's promise stands in `memory.store.Store`."""

    def __init__(self, path: str | Path, *, busy_seconds: float = 30.0, damaged: bool = False) -> None:
        """
        Open the file, made if it is missing; its folder must be there.

        Args:
            damaged: Open what SQLite refuses as well, to read what can be read.

        Raises:
            StoreDamaged, StoreTooNew, StoreError: It cannot be used; it was not touched.
        """
        self._db = Database(str(path), busy_seconds, damaged=damaged)
        self._matrix = Matrix()
        self._vocabulary = keywords.Vocabulary()

    @property
    def path(self) -> str:
        return self._db.path

    @property
    def graph(self) -> SqliteGraph:
        from memory.store.sqlite.graph import SqliteGraph  # a search does without

        return SqliteGraph(self._db)

    @property
    def runs(self) -> SqliteRuns:
        from memory.store.sqlite.runs import SqliteRuns

        return SqliteRuns(self._db)

    @property
    def term_vectors(self) -> SqliteTermVectors:
        from memory.store.sqlite.term_vectors import SqliteTermVectors

        return SqliteTermVectors(self._db)

    @property
    def begun(self) -> SqliteBegun:
        from memory.store.sqlite.begun import SqliteBegun

        return SqliteBegun(self._db)

    # Memories ------------------------------------------------------------

    def write_entries(self, entries: Sequence[Entry]) -> Sequence[Saved]:
        with self._db.write() as db:
            return [memories.write_entry(db, entry) for entry in entries]

    def known(self, entries: Sequence[Entry]) -> Sequence[MemoryId | None]:
        with self._db.read() as db:
            return [sameness.known(db, entry) for entry in entries]

    def replace(self, id: MemoryId, entry: Entry, *, former: Details | None = None) -> Saved | None:
        with self._db.write() as db:
            return memories.replace(db, id, entry, former)

    def link(self, links: Sequence[Links]) -> None:
        with self._db.write() as db:
            for one in links:
                memories.link(db, one)

    def delete(self, id: MemoryId) -> bool:
        with self._db.write() as db:
            return memories.delete(db, [id]) > 0

    def resolve(self, reference: str) -> Sequence[tuple[MemoryId, str]]:
        with self._db.read() as db:
            return memories.resolve(db, reference)

    def memories(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Memory]:
        with self._db.read() as db:
            found = rows.memories(db, "m.id in (select value from json_each(?))", [listed(ids)])
            return {memory.id: memory for memory in found}

    def body(self, id: MemoryId) -> str | None:
        with self._db.read() as db:
            return memories.body(db, id)

    def details(self, id: MemoryId) -> Details | None:
        from memory.schema.document import Details  # a search does without

        with self._db.read() as db:
            body = memories.body(db, id)
            return None if body is None else Details(memories.fetched(db, id), body, tuple(memories.history(db, id)))

    def touch(self, ids: Sequence[MemoryId], moment: datetime) -> None:
        with self._db.write(durable=False, patience=0.1) as db:
            memories.access(db, ids, moment)

    def history(self, id: MemoryId) -> Sequence[Revision]:
        with self._db.read() as db:
            return memories.history(db, id)

    def recent(self, scope: Scope, limit: int, after: Memory | None = None) -> Sequence[Memory]:
        condition, values = where(scope)
        if after is not None:
            condition += " and (m.updated_at, m.id) < (?, ?)"
            values += [iso(after.updated_at), after.id]
        with self._db.read() as db:
            ordered = f"{condition} order by m.updated_at desc, m.id desc limit ?"
            return list(rows.memories(db, ordered, [*values, limit]))

    def count(self, scope: Scope) -> int:
        condition, values = where(scope)
        with self._db.read() as db:
            found: int = db.execute(f"select count(*) from memories m where {condition}", values).get
            return found

    def page(self, after: MemoryId, limit: int) -> Sequence[Memory]:
        with self._db.read() as db:
            return list(rows.memories(db, "m.id > ? order by m.id limit ?", [after, limit]))

    def excerpts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, Excerpt]:
        with self._db.read() as db:
            return memories.excerpts(db, ids)

    def texts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, str]:
        with self._db.read() as db:
            return keywords.texts(db, ids)

    def outline(self, id: MemoryId) -> Sequence[tuple[ChunkId, Chunk]]:
        with self._db.read() as db:
            return outlines(db, [id]).get(id, [])

    def outlines(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Sequence[tuple[ChunkId, Chunk]]]:
        with self._db.read() as db:
            return outlines(db, ids)

    def counts(self) -> Counts:
        from memory.store.sqlite import counts

        with self._db.read() as db:
            return counts.counts(db)

    # Keywords ------------------------------------------------------------

    def weigh(self, terms: Sequence[Term]) -> tuple[Term, ...]:
        with self._db.read() as db:
            return keywords.weigh(db, terms, self._vocabulary)

    def by_keyword(self, terms: Sequence[Term], scope: Scope, k: int) -> Ranking:
        with self._db.read() as db:
            return keywords.by_keyword(db, terms, scope, k, self._vocabulary)

    def keyword_scores(self, terms: Sequence[Term], ids: Sequence[ChunkId]) -> Ranking:
        with self._db.read() as db:
            return keywords.keyword_scores(db, terms, ids)

    # Vectors -------------------------------------------------------------

    def generations(self) -> Sequence[Generation]:
        with self._db.read() as db:
            return vector_rows.generations(db)

    def embedded_count(self, generation: int) -> int:
        with self._db.read() as db:
            return vector_rows.embedded_count(db, generation)

    def begin(self, space: Space, moment: datetime) -> Generation:
        with self._db.write() as db:
            id = vector_rows.begin(db, space, iso(moment))
            return next(found for found in vector_rows.generations(db) if found.id == id)

    def pending(self, generation: int, after: ChunkId, limit: int) -> Sequence[Excerpt]:
        with self._db.read() as db:
            return memories.pending(db, generation, after, limit)

    def set_vectors(self, generation: int, vectors: Vectors, windows: Sequence[Window]) -> int:
        with self._db.write(durable=False) as db:  # lost vectors can be made again
            return vector_rows.set_vectors(db, generation, vectors, windows)

    def queued(self) -> int:
        with self._db.read() as db:
            return queue.queued(db)

    def waiting(self, limit: int, tried_before: datetime | None = None) -> Sequence[Excerpt]:
        with self._db.read() as db:
            return memories.waiting(db, limit, tried_before)

    def claim(
        self, limit: int, tried_before: datetime | None = None, *, now: datetime, until: datetime, by: str
    ) -> Sequence[Excerpt]:
        with self._db.write(durable=False) as db:
            found = memories.unclaimed(db, limit, tried_before, now)
            queue.claim(db, [excerpt.id for excerpt in found], until, by)
            return found

    def claims(self, now: datetime) -> Sequence[Claim]:
        with self._db.read() as db:
            return queue.claims(db, now)

    def release(self, ids: Sequence[ChunkId]) -> None:
        with self._db.write(durable=False) as db:
            queue.release(db, ids)

    def release_of(self, holders: Sequence[str]) -> None:
        with self._db.write(durable=False) as db:
            queue.release_of(db, holders)

    def failed(self, ids: Sequence[ChunkId], error: str, moment: datetime) -> None:
        with self._db.write(durable=False) as db:
            queue.failed(db, ids, error, moment)

    def unembedded(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Waiting]:
        with self._db.read() as db:
            return queue.unembedded(db, ids)

    def failures(self, limit: int) -> Sequence[Waiting]:
        with self._db.read() as db:
            return queue.failures(db, limit)

    def activate(self, generation: int, *, instead_of: int | None, former: State = State.RETIRED) -> bool:
        with self._db.write() as db:
            return vector_rows.activate(db, generation, instead_of, former)

    def fingerprint(self, generation: int) -> Vectors | None:
        with self._db.read() as db:
            return vector_rows.fingerprint(db, generation)

    def mark(self, generation: int, fingerprint: Vectors) -> None:
        with self._db.write(durable=False) as db:
            vector_rows.mark(db, generation, fingerprint)

    def clear(self, generation: int, ids: Sequence[ChunkId] | None = None) -> None:
        with self._db.write() as db:
            vector_rows.clear(db, generation, ids)

    def drop(self, generation: int) -> None:
        with self._db.write() as db:
            vector_rows.drop(db, generation)

    def by_vector(self, generation: int, vector: Vectors, scope: Scope, k: int) -> Ranking:
        with self._db.read_vectors() as db:
            return vector_rows.by_vector(db, generation, vector, scope, k, matrix=self._matrix)

    def memory_similarities(self, generation: int, vector: Vectors, scope: Scope) -> Mapping[MemoryId, float]:
        with self._db.read_vectors() as db:
            return vector_rows.memory_similarities(db, generation, vector, scope, matrix=self._matrix)

    def cosines(
        self, generation: int, vector: Vectors, other: Vectors, ids: Sequence[ChunkId]
    ) -> Mapping[ChunkId, tuple[float, float]]:
        with self._db.read_vectors() as db:
            return vector_rows.cosines(db, generation, vector, other, ids)

    def centre(self, generation: int) -> tuple[Vectors, int]:
        with self._db.read() as db:
            return vector_rows.centre(db, generation)

    # Sessions: imported when asked for, since a search does without ---------

    def by_iteration(self, scope: Scope, limit: int, *, latest_first: bool = True) -> Sequence[Memory]:
        from memory.store.sqlite import sessions

        with self._db.read() as db:
            return sessions.by_iteration(db, scope, limit, latest_first=latest_first)

    def bodies(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, str]:
        from memory.store.sqlite import sessions

        with self._db.read() as db:
            return sessions.bodies(db, ids)

    def sessions(self, limit: int, agent: str | None = None) -> tuple[Sequence[Session], int]:
        from memory.store.sqlite import sessions

        with self._db.read() as db:
            return sessions.sessions(db, limit, agent)

    def session(self, id: str) -> Session | None:
        from memory.store.sqlite import sessions

        with self._db.read() as db:
            return sessions.session(db, id)

    def aged(self, scope: Scope, before: datetime) -> Aged:
        from memory.store.sqlite import sessions

        with self._db.read() as db:
            return sessions.aged(db, scope, before)

    def forget(self, scope: Scope, before: datetime, limit: int) -> Aged:
        from memory.store.sqlite import sessions

        with self._db.write() as db:
            return sessions.forget(db, scope, before, limit)

    # Searches ------------------------------------------------------------

    def searched(self, one: Searched) -> None:
        from memory.store.sqlite import searches

        searches.enter(self.path, one)

    def searches(self, since: datetime | None = None) -> Sequence[Searched]:
        from memory.store.sqlite import searches

        return searches.entered(self.path, since)

    def close(self) -> None:
        self._db.close()

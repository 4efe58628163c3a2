"""Where the vectors of chunks are kept, and the chunks that wait for one: two parts of every store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from memory.schema.errors import iso
from memory.schema.memory import ChunkId, Excerpt, MemoryId
from memory.store import strangers
from memory.store.generations import there, total
from memory.store.records import Values, key, moment, most
from memory.store.shared import Part
from memory.store.strangers import Comparison, against
from memory.store.values import Claim, Failure, Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from memory.schema.answer import Ranking
    from memory.schema.query import Scope
    from memory.schema.space import Plain, Vectors, Window


class VectorIndex(Part, ABC):
    """
    The vectors of chunks, in generations. A generation that is gone is NotFound, where nothing else is said.

    A chunk either has a vector in the active index version or is queued, unless its memory is found by keyword only: then it
    has neither, in no generation.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    @abstractmethod
    def pending(self, generation: int, after: ChunkId, limit: int) -> Sequence[Excerpt]:
        """Chunks without a vector in the generation whose id is above `after`, lowest first."""

    @abstractmethod
    def set_vectors(self, generation: int, vectors: Vectors | None, windows: Sequence[Window]) -> int:
        """
        Add vectors, shape (n, dimension), in place of those their chunks had. Chunks that are gone are skipped.
        In the active generation this takes chunks off the queue.

        Args:
            vectors: None takes away those the chunks of the windows had; in the active generation these are queued.

        Returns:
            How many chunks got vectors; 0 if the generation is gone.
        """

    def set_strangers(self, generation: int, vectors: Vectors | None, *, right: float = 0.0, stamp: int = 0) -> bool:
        """
        Keep questions that are strangers to the store in place of those that were kept, and compare them with all vectors
        of the generation: what comes of it is among `Generations.every`. From then on every vector that is added, by
        whatever method, is compared with them in the same transaction. They go with the generation, and when it is emptied.

        What is compared is compared in pieces, and nobody waits for the whole: until its end, those that were known stay
        as they were, whether they are compared anew or others follow them. If there were none, there are none until then.

        Args:
            vectors: Of the questions, shape (n, dimension), n at least 1. None compares those that are there anew.
            right, stamp: See `memory.schema.space.Strangers`.

        Returns:
            Whether there are strangers now; False if the generation is gone.
        """
        # Several transactions: to compare a million vectors takes seconds, for which nobody should wait with the lock.
        if vectors is not None and self._serving(generation):  # these serve until the new ones are known
            removal, done = self._removal(), self._whole(generation, against(vectors))
            return self._switch(generation, done, removal, right=right, stamp=stamp)
        comparison = self._begin(generation, vectors, right, stamp)
        return comparison is not None and self._end(generation, self._whole(generation, comparison))

    def _whole(self, generation: int, comparison: Comparison) -> Comparison:
        """A comparison at its end."""
        while (further := self._compared(generation, comparison)) is not None:
            comparison = further
        return comparison

    def _serving(self, generation: int) -> bool:
        """Whether there are strangers that were compared."""
        with self._db.read() as db:
            return strangers.compared_with(db, generation) is not None

    def _removal(self) -> int:
        with self._db.read() as db:
            return db.removal()

    def _switch(self, generation: int, done: Comparison, removal: int, *, right: float, stamp: int) -> bool:
        with self._db.write(durable=False) as db:
            if not there(db, generation):
                return False
            strangers.keep(db, generation, done.strangers, right, stamp)
            # Another vector may have the number of one that went: then all are compared in here, 0.4 s of 30,000, once.
            whole = db.removal() == removal
            return strangers.meet_anew(db, generation, total(db, generation)[0], done if whole else None)

    def _begin(self, generation: int, vectors: Vectors | None, right: float, stamp: int) -> Comparison | None:
        with self._db.write(durable=False) as db:  # lost, they are embedded again
            if not there(db, generation):
                return None
            if vectors is not None:
                strangers.keep(db, generation, vectors, right, stamp)
            return strangers.begin(db, generation)

    def _compared(self, generation: int, comparison: Comparison) -> Comparison | None:
        with self._db.read() as db:
            return strangers.compared(db, generation, comparison) if there(db, generation) else None

    def _end(self, generation: int, comparison: Comparison) -> bool:
        with self._db.write(durable=False) as db:
            if not there(db, generation):
                return False
            return strangers.ended(db, generation, comparison, total(db, generation)[0])

    @abstractmethod
    def by_vector(self, generation: int, vector: Vectors | Plain, scope: Scope, k: int) -> Ranking:
        """
        The k most similar chunks in scope, exactly: scope narrows before k counts, any k. A chunk's best window counts.
        Their cosines are exact too. Where vectors are `signed`, some of those at the end may be missed and the next ones
        named instead; of the first ten, at a million, less than two in a hundred.

        Args:
            vector: Shape (dimension,), float32, length 1.
        """

    @abstractmethod
    def memory_similarities(self, generation: int, vector: Vectors, scope: Scope) -> Mapping[MemoryId, float]:
        """
        Cosine of each memory in scope with `vector`, by its most similar window, up to 1e-5; what has no vector is left
        out.
        """

    @abstractmethod
    def cosines(
        self,
        generation: int,
        vector: Vectors | Plain,
        ids: Sequence[ChunkId],
        *,
        other: Vectors | Plain | None = None,
        shown: Vectors | Plain | None = None,
    ) -> Mapping[ChunkId, tuple[float, float, float]]:
        """
        Cosines of each chunk: of its window that is most similar to `vector`, with that and with `other`; and of the one
        that is most similar to `shown`, with that.

        Args:
            other, shown: None stands for `vector`.
        """

    def first_window(self, generation: int, id: ChunkId) -> Plain | None:
        """The vector of a chunk's first window, an array of "f"; None if it has none, or the generation is gone."""
        with self._db.read() as db:
            found = db.first_window(generation, id) if there(db, generation) else None
            return None if found is None else array("f", found)

    @abstractmethod
    def heads(self, generation: int, after: MemoryId, limit: int) -> tuple[Sequence[MemoryId], Vectors]:
        """
        Memories whose id is above `after`, lowest first, those that have it with the vector of their first chunk, by its
        first window: shape (n, dimension).
        """

    @abstractmethod
    def unsigned(self) -> bool:
        """
        Whether the active generation is so large that signatures of its vectors pay, and has none, or too many vectors are
        newer.
        """

    @abstractmethod
    def sign(self, going: Callable[[], bool] = lambda: True) -> bool:
        """
        Make signatures of the vectors of the active generation, by which the most similar are found without comparing all.
        They stand beside the store, or are an index of a server: without them everything is compared. Does nothing unless it is
        `unsigned`, or if another process is about it.

        Args:
            going: Whether to continue; asked from time to time, or before a server begins.

        Returns:
            Whether they were made.
        """

    @abstractmethod
    def signed(self, generation: int) -> int:
        """How many vectors of a generation had signatures when these were made; 0 if none are asked."""


# What waits for a vector -------------------------------------------------------


class Queue(Part):
    """
    Chunks that wait for a vector in the active index version, who embeds them at the moment, and the first windows of chunks
    that have too many to be embedded at once. Those answer no search: a chunk has the vectors of all its windows, or none.
    They go with the chunk, with the generation, and when `VectorIndex.set_vectors` gives the chunk its vectors.

    None of it needs to survive a power cut: what is lost is done again.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def queued(self) -> int:
        """How many chunks are in the queue."""
        return self._db.ask(lambda db: int(db.value("select count(*) from embed_queue")), once="queued")

    def claim(
        self,
        limit: int,
        tried_before: datetime | None = None,
        *,
        now: datetime,
        until: datetime,
        by: str,
        of: Sequence[MemoryId] | None = None,
    ) -> Sequence[Excerpt]:
        """
        Chunks in the queue that nobody claims `now`, those with the fewest failures first, of these the lowest id. They
        are claimed `until` then, so that two who backfill do not both embed them; a vector or `release` ends a claim.

        Args:
            tried_before: Leaves out those that failed at this moment or later; None takes only those never tried.
            by: Who claims them, as `claims` says it again.
            of: Only chunks of these memories.
        """
        with self._db.write(durable=False, lock=None) as db:
            due: str = "attempts = 0"
            values: Values = []
            if tried_before is not None:
                due, values = "(attempts = 0 or tried_at < ?)", [iso(tried_before)]
            if of is not None:
                due += f" and chunk_id in (select id from chunks where memory_id {db.IN})"
                values.append(db.ids(of))
            rows = db.rows(
                f"""select chunk_id from embed_queue where {due} and (claimed_until is null or claimed_until <= ?)
                    order by attempts, chunk_id limit ? {db.UNCLAIMED}""",
                (*values, iso(now), limit),
            )
            ids = [ChunkId(id) for (id,) in rows]
            claimed = f"update embed_queue set claimed_until = ?, claimed_by = ? where chunk_id {db.IN}"
            db.change(claimed, (iso(until), by, db.ids(ids)))
            found = {excerpt.id: excerpt for excerpt in db.excerpts(ids)}
            return [found[id] for id in ids if id in found]

    def claims(self, now: datetime) -> Sequence[Claim]:
        """What is claimed `now`: a line for each holder, in their order; the nameless one, of a former version, first."""
        with self._db.read() as db:
            rows = db.rows(
                """select coalesce(claimed_by, '') as holder, chunk_id, claimed_until from embed_queue
                   where claimed_until > ? order by holder, chunk_id""",
                (iso(now),),
            )
            claims = []
            for holder, own in groupby(rows, itemgetter(0)):
                _, ids, untils = zip(*own, strict=True)
                claims.append(Claim(holder, ids, moment(max(untils))))
            return claims

    def release(self, ids: Sequence[ChunkId], failure: Failure | None = None) -> None:
        """Give up the claims of queued chunks, and note on each that embedding it failed, if it did; others are skipped."""
        with self._db.write(durable=False) as db:
            noted = "" if failure is None else "attempts = attempts + 1, last_error = ?, tried_at = ?,"
            values = () if failure is None else (failure.error, iso(failure.moment))
            db.change(
                f"update embed_queue set {noted} claimed_until = null, claimed_by = null where chunk_id {db.IN}",
                (*values, db.ids(ids)),
            )

    def waiting(self, ids: Sequence[MemoryId] | None = None, *, limit: int | None = None) -> Sequence[Waiting]:
        """
        Memories with a chunk in the queue, the latest failure first, of those at one moment the lowest id.

        Args:
            ids: Only these; None takes those whose embedding failed.
        """
        with self._db.read() as db:
            queued = f"chunks c {db.JOIN} embed_queue q on q.chunk_id = c.id where c.memory_id"
            failed = f"""in (select f.memory_id from embed_queue t {db.JOIN} chunks f on f.id = t.chunk_id
                             where t.tried_at is not null)"""
            among, values = (failed, ()) if ids is None else (db.IN, (db.ids(ids),))
            rows = db.rows(
                f"""select c.memory_id, count(*), count(q.tried_at), max(q.tried_at) as latest from {queued} {among}
                    group by c.memory_id order by latest desc nulls last, c.memory_id limit ?""",
                (*values, most(limit)),
            )
            latest_last = f"""select c.memory_id, q.last_error from {queued} {db.IN}
                              order by q.tried_at nulls first, q.chunk_id"""
            errors: dict[int, str] = dict(db.rows(latest_last, (db.ids(id for id, *_ in rows),)))
            return [
                Waiting(MemoryId(id), chunks, failures, errors[id], None if at is None else moment(at))
                for id, chunks, failures, at in rows
            ]

    def partial(self, generation: int, chunk: ChunkId, stamp: int) -> Vectors | None:
        """
        The vectors that are there so far of a chunk that is not embedded to its end, shape (windows, dimension), in their order; None if that is nothing.

        Args:
            stamp: Of the text that is embedded: what is there of another does not count.
        """
        with self._db.read() as db:
            rows = db.rows(
                f"""select b.embeddings, g.dimension from begun b {db.JOIN} generations g on g.id = b.generation
                    where b.chunk_id = ? and b.generation = ? and b.stamp = ? order by b.first""",
                (key(chunk), key(generation), stamp),
            )
            if not rows:
                return None
            import numpy as np

            joined: Vectors = np.frombuffer(b"".join([blob for blob, _ in rows]), "<f4").reshape(-1, rows[0][1])
            return joined

    def add_partial(self, generation: int, chunk: ChunkId, stamp: int, vectors: Vectors, *, first: int) -> bool:
        """
        Keep the vectors of further windows. What is there of another text goes.

        Args:
            first: Number of the first window, from 0.

        Returns:
            Whether they are kept: not if the generation or the chunk is gone, or if `first` is not how many are there,
            for then somebody else continues.
        """
        with self._db.write(durable=False) as db:
            place = (key(chunk), key(generation))
            db.change("delete from begun where chunk_id = ? and generation = ? and stamp <> ?", (*place, stamp))
            there = db.value("select sum(windows) from begun where chunk_id = ? and generation = ?", place) or 0
            added = """insert into begun (chunk_id, generation, first, stamp, windows, embeddings)
                       select c.id, g.id, ?, ?, ?, ? from chunks c cross join generations g where c.id = ? and g.id = ?"""
            windows = (first, stamp, len(vectors), vectors.astype("<f4").tobytes())
            return there == first and db.changed(added, (*windows, *place)) > 0

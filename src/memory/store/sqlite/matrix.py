"""The vectors of a generation in memory, for processes that search more than once."""

from __future__ import annotations

import sys
import threading
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, cast

import apsw

from memory.schema import np
from memory.schema.answer import Ranking
from memory.store.generations import gone
from memory.store.narrow import widened
from memory.store.records import key
from memory.store.sections import Doubt
from memory.store.sqlite import derived, signatures
from memory.store.sqlite.held import (
    Added,
    Owned,
    VectorTable,
    alike,
    compared,
    lengths_of,
    nothing,
    room_for,
    sorted_by,
    speaking,
)
from memory.store.sqlite.rows import listed
from memory.store.sqlite.signatures import Signed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from memory.schema.space import Vectors
    from memory.store.sqlite.database import Database
    from memory.store.sqlite.held import Inside

MOST_BYTES = 256 << 20
"""A larger generation is scanned in the database."""

GONE_SHARE = 4
"""As soon as more than a quarter of what is held was forgotten, all is read anew."""

COLD_FROM = 100_000
"""Vectors from which on a scan takes longer than to import numpy."""

MOST_READ = 16_000
"""Vectors that are kept for the next search, at most 25 MB of them, where signatures name candidates."""

PART = 1000  # vectors copied at once

_OWNED = "v cross join chunks c on c.id = v.chunk_id"

_MOMENT = """
    select changes, vectors, dimension, (select ifnull(max(number), 0) from removals),
        (select stamp from derived where name = ?)
    from generations where id = ?
"""


class Snapshot(NamedTuple):
    """
    What a snapshot says of a generation.

    Attributes:
        source: What is read in place of a file that may not be written, if anything is.
        changes: How often its vectors changed.
        number: Of the last removal.
        stamp: Of the file of signatures, if there is one.
    """

    source: object
    generation: int
    changes: int
    vectors: int
    dimension: int
    number: int
    stamp: bytes | None


class Matrix:
    """
    Says which chunks may be among the most similar, and how similar they are, as the database would.

    A scan of 10,000 vectors takes SQLite 40 ms, a product with this matrix 0.3. It is read when a search finds the
    vectors as the search before it did, so that neither a single search nor the first of many saves pays for it. From then
    on it takes what is new and forgets what went, whichever process wrote it (docs/decisions/derived-files.md).

    A large generation has a file of signatures instead: from it the chunks that seem to be most similar are named.

    Attributes:
        signed: Whether it asks signatures, so that many candidates cost little more than few.
        unusable: A generation, and the stamp of a file that does not serve it: damaged, of another one, or too old.
    """

    def __init__(self, database: Database, *, exact: bool) -> None:
        """
        Args:
            exact: Compare with every vector, however many there are.
        """
        self._database, self._exact = database, exact
        self._lock = threading.Lock()
        self._seen: Snapshot | None = None
        self._held: tuple[Snapshot, VectorTable | Signed] | None = None
        self._alike: bool | None = None
        self._rows: _Rows | None = None
        self.signed = False
        self.unusable: tuple[int, bytes] | None = None

    def moment(self, db: apsw.Connection, generation: int) -> Snapshot:
        """
        What a snapshot says of a generation; without the stamp of a file that is not to be asked.

        Args:
            db: In a transaction, so that what is read belongs together.

        Raises:
            NotFound: The generation is gone.
        """
        found = self._database.remembered.once(
            db, ("moment", generation), lambda: db.execute(_MOMENT, (signatures.NAME, key(generation))).get
        )
        if found is None:
            raise gone(generation)
        now = Snapshot(self._database.frozen, generation, *found)
        large = now.vectors >= signatures.FROM and not self._exact
        return now if large and (generation, now.stamp) != self.unusable else now._replace(stamp=None)

    def most_similar(
        self,
        db: apsw.Connection,
        generation: int,
        vector: bytes,
        count: int,
        *,
        inside: Callable[[], Inside] | None = None,
    ) -> tuple[NDArray[np.int64] | None, Ranking | None]:
        """
        At least `count` chunks: the most similar, and all that tie with the last of them; None if the matrix is not held, or
        so many are asked for or tie that a scan costs less. And the first `count` of them, best first, with their cosines, as
        the database computes them; None if their vectors are not held.

        Args:
            vector: float32.
            inside: Gives the memories to look at; None looks at all chunks.

        Raises:
            NotFound: The generation is gone.
        """
        now = self.moment(db, generation)
        held = self._current(db, now)
        among = None if held is None else held.nearest(vector, count, None if inside is None else inside())
        if among is None or (owned := self._owned(db, now, among.tolist())) is None:
            return among, None
        owned, (cosines,) = compared(owned, [vector])
        best = speaking(owned.chunks, cosines)
        best = best[np.lexsort((-owned.chunks[best], -cosines[best]))][:count]
        scores = cosines[best].tolist()
        return among, Ranking(owned.chunks[best].tolist(), owned.memories[best].tolist(), scores, cosines=scores)

    def cosines(
        self, db: apsw.Connection, generation: int, vectors: Sequence[bytes], chunks: Sequence[int]
    ) -> dict[int, tuple[float, float, float]] | None:
        """See `memory.store.vectors.VectorIndex.cosines`; None if their vectors are not held."""
        if (owned := self._owned(db, self.moment(db, generation), chunks)) is None:
            return None
        owned, (cosines, others, shown) = compared(owned, vectors)
        best, own = (speaking(owned.chunks, values) for values in (cosines, shown))
        found = zip(cosines[best].tolist(), others[best].tolist(), shown[own].tolist(), strict=True)
        return dict(zip(owned.chunks[best].tolist(), found, strict=True))

    def _owned(self, db: apsw.Connection, now: Snapshot, chunks: Sequence[int]) -> Owned | None:
        """The rows of some chunks; None if they are not held, or the database computes otherwise on this machine."""
        held = self._held  # others may bring it up to date meanwhile
        if self._alike is False or held is None or held[0] != now:
            return None
        if self._alike is None:
            self._alike = alike(db)
            return self._owned(db, now, chunks)
        if now.stamp is None:
            return cast("VectorTable", held[1]).rows_of(chunks)
        signed, read, of = cast("Signed", held[1]), self._rows, (now.source, now.generation, now.stamp)
        if read is None or read.of != of:
            self._rows = read = _Rows(of, signed, now.dimension)
        return signed.rows_of(chunks, lambda rows: read.at(db, now.generation, rows))

    def memory_similarities(
        self, db: apsw.Connection, generation: int, vector: bytes, memories: Sequence[int]
    ) -> dict[int, float] | None:
        """The best cosine of each of these memories, up to `LAST_DIGITS`; None if the matrix is not held."""
        held = self._current(db, self.moment(db, generation))
        return None if held is None else held.memory_similarities(vector, memories)

    def _current(self, db: apsw.Connection, now: Snapshot) -> VectorTable | Signed | None:
        with self._lock:
            if self._held is not None and self._held[0] == now:
                return self._held[1]
            # What is not committed may be rolled back, and other vectors then have the same number of changes.
            if db.txn_state("main") == apsw.SQLITE_TXN_WRITE or self._newer(now):
                return None
            self._held = self._caught_up(db, now) or self._read(db, now)
            self._seen = now
            self.signed = self._held is not None and self._held[0].stamp is not None
            return None if self._held is None else self._held[1]

    def _newer(self, now: Snapshot) -> bool:
        """Whether what is held is newer than the snapshot of a thread that began before; it stays for the others."""
        held = self._held and self._held[0]
        return held is not None and held[:2] == now[:2] and (held.changes, held.number) > (now.changes, now.number)

    def _caught_up(self, db: apsw.Connection, now: Snapshot) -> tuple[Snapshot, VectorTable | Signed] | None:
        """The matrix brought up to this snapshot; None if the removal log does not reach back far enough."""
        if self._held is None or self._held[0][:2] != now[:2] or self._held[0].stamp != now.stamp:
            return None
        before, held = self._held
        gone = derived.since(db, before.number, now.generation)
        if gone is None:
            return None
        held = held.without(gone.chunks)
        # Rows are used again, but only beyond the last row that is left.
        added = _added(db, now, held.last)
        # Another program may have written to the tables: then some are missing.
        if held.alive + len(added.chunks) != now.vectors or held.gone * GONE_SHARE > held.alive:
            return None
        held = held.plus(added)
        return (now, held) if held.size <= MOST_BYTES else None

    def _read(self, db: apsw.Connection, now: Snapshot) -> tuple[Snapshot, VectorTable | Signed] | None:
        again = self._seen == now
        if now.stamp is not None and (again or "numpy" in sys.modules or now.vectors >= COLD_FROM):
            self._held = self._signed(db, now)
            if (caught_up := self._caught_up(db, now)) is not None:
                return caught_up
            self.unusable = (now.generation, now.stamp)
        return (now, _read(db, now)) if again and now.stamp is None and _bytes(now) <= MOST_BYTES else None

    def _signed(self, db: apsw.Connection, now: Snapshot) -> tuple[Snapshot, Signed] | None:
        """What is in the file of signatures, as of when it was made."""
        try:
            found = signatures.opened(self._database.path, db, now.generation, now.dimension)
        except Doubt as doubt:
            import logging

            logging.getLogger("memory").warning("searches compare all vectors: %s", doubt)
            return None
        if found is None:
            return None
        facts = found[0].head["facts"]
        before = now._replace(changes=facts["changes"], vectors=facts["vectors"], number=facts["number"])
        return before, Signed(found[1], nothing(now.dimension))


class _Rows:
    """
    Vectors of rows of a file that were read for a search. It asks for most of them again, and so may the next.

    Only rows that did not go since are asked for: these stay what they are, whoever writes.
    """

    def __init__(self, of: tuple[object, ...], signed: Signed, dimension: int) -> None:
        """
        Args:
            of: What tells the file from every other.
        """
        self.of, self._places = of, signed.file.places
        self._slots = np.zeros(len(self._places), np.int32)  # where in the room the vector of each row is
        self._room = np.zeros((MOST_READ, dimension), np.float32)  # its first is of rows without a vector, or not read
        self._used = 1
        self._lock = threading.Lock()

    def at(self, db: apsw.Connection, generation: int, rows: NDArray[np.int64]) -> Vectors:
        """The vectors of these rows, shape (n, dimension); 0 where there is none, which nothing is compared with."""
        with self._lock:
            new = rows[self._slots[rows] == 0]
            if self._used + len(new) > len(self._room):
                self._slots[:], self._used, new = 0, 1, rows
                if len(new) >= len(self._room):
                    self._room = np.zeros((len(new) + 1, self._room.shape[1]), np.float32)
            if len(new):
                found = _embeddings_at(db, generation, self._places[new].tolist())
                to = np.arange(self._used, self._used + len(found))
                self._room[to] = widened(b"".join(found.values()), self._room.shape[1])
                self._slots[new[[*found]]] = to
                self._used += len(found)
            return self._room.take(self._slots[rows], axis=0)


def _bytes(now: Snapshot) -> int:
    return now.vectors * now.dimension * 4


def _added(db: apsw.Connection, now: Snapshot, after: int) -> Added:
    """The rows of a generation beyond a place, in the order of their places."""
    rows: list[tuple[int, int, int, bytes]] = db.execute(
        f"""select v.chunk_id, c.memory_id, v.row, v.embedding
            from vectors_{now.generation} {_OWNED}
            where v.row > ? order by v.row""",
        (after,),
    ).fetchall()  # type: ignore[assignment]  # as the columns are declared
    ids = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3)
    embeddings = widened(b"".join([row[3] for row in rows]), now.dimension)
    return Added(ids[:, 0], ids[:, 1], ids[:, 2], embeddings)


def _read(db: apsw.Connection, now: Snapshot) -> VectorTable:
    owners: Iterable[tuple[int, int, int]] = db.execute(
        f"""select v.chunk_id, c.memory_id, v.row
            from vectors_{now.generation} {_OWNED}
            cross join memories m on m.id = c.memory_id
            order by m.kind, m.project, m.session_id, m.id, v.row"""
    )
    ids = np.array(list(owners), np.int64).reshape(-1, 3)
    count = len(ids)
    room = room_for(2 * count, now.dimension)
    order = np.argsort(ids[:, 2])  # as the file has them
    rows = iter(db.execute(f"select v.embedding from vectors_{now.generation} {_OWNED} order by v.row"))
    for first in range(0, count, PART):  # never two copies of all
        part = [embedding for (embedding,) in islice(rows, PART)]
        room[order[first : first + PART]] = widened(b"".join(part), now.dimension)
    chunks, memories, places = (ids[:, column].copy() for column in range(3))
    lengths = lengths_of(room[:count])
    return VectorTable(chunks, memories, places, room[:count], lengths, count, 0, room, sorted_by(chunks))


def _embeddings_at(db: apsw.Connection, generation: int, rows: Sequence[int]) -> dict[int, bytes]:
    """Where in these rows there is an embedding, and which. For those that searches compare: it reads no more than blocks."""
    return dict(
        db.execute(
            f"""select w.key, substr(b.embeddings, w.value % 6 * (length(b.embeddings) / 6) + 1, length(b.embeddings) / 6)
                from json_each(?) w cross join vector_blocks_{generation} b on b.block = w.value / 6""",
            (listed(rows),),
        )
    )

"""
The vectors of a large generation in a file: one bit a dimension, to find candidates, and 8 bits, to rank them.

Exact cosines of what is left are the database's to compute. What is newer than the file is held in memory, exactly
(docs/decisions/derived-files.md).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from memory.schema import np
from memory.store.narrow import widened
from memory.store.sections import Doubt, Reader, Section
from memory.store.sqlite import derived
from memory.store.sqlite.held import LARGE_SHARE, Owned, VectorTable, distinct, sorted_by

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    import apsw
    from numpy.typing import NDArray

    from memory.schema.space import Vectors
    from memory.store.sqlite.database import Database
    from memory.store.sqlite.derived import Making
    from memory.store.sqlite.held import Added, Inside, Sorted

NAME, VERSION = "vectors", 2

FROM = 100_000
"""Vectors from which on a product with all takes longer than the model takes for a question. Fewer need no file."""

NEWER_SHARE = 16
"""The file is made again when more than a sixteenth of the vectors are newer, or went."""

CANDIDATES, CANDIDATES_SHARE = 8_000, 250
"""
Vectors that are nearest by their bits and are ranked in 8, or one in so many if these are more. Of the first ten all are
among them at 100,000, of the first hundred .994; of the first ten .9987 at a million.
"""

FEW = 20_000
"""Vectors in scope that are ranked in 8 bits without a look at their bits."""

RANKED = 200
"""Of which so many are compared exactly, or five for three that are asked for."""

FEW_SHARE = 200
"""Fewer memories than one in so many vectors are looked up one by one; more are passed through with a mask."""

SOME_SHARE = 4
"""Of fewer rows than one in so many the bits are taken, not those of all."""

WIDENED = 256
"""Codes widened at once, which stay in the processor's cache: half the time of all at once."""

PART = 16_384  # signatures compared at once, which stay in the processor's cache; vectors written at once


class Signatures(NamedTuple):
    """
    Vectors in a file.

    Attributes:
        chunks, memories, places: See `memory.store.sqlite.held.VectorTable`.
        bits: Of each 64 dimensions an array, shape (n,), uint64: whether a vector is above the mean in them.
        codes, scales: Shape (n, dimension), int8, and (n,): a vector is about their product.
        mean: Shape (dimension,).
        there: Which of them did not go since; None if all are there.
        alive: How many these are.
        order: Of the rows.
        owners: The same by memory.
    """

    chunks: NDArray[np.int64]
    memories: NDArray[np.int64]
    places: NDArray[np.int64]
    bits: Sequence[NDArray[np.uint64]]
    codes: NDArray[np.int8]
    scales: Vectors
    mean: Vectors
    there: NDArray[np.bool_] | None
    alive: int
    order: Sorted
    owners: Sorted

    @property
    def last(self) -> int:
        """The highest place of a vector that did not go; 0 if there is none."""
        if not self.alive:
            return 0
        after = 0 if self.there is None else int(self.there[::-1].argmax())
        return int(self.places[len(self.places) - 1 - after])

    def without(self, chunks: Collection[int]) -> Signatures:
        """The same less the vectors of some chunks."""
        from memory.store.sqlite.held import chosen

        gone = chosen(self.chunks, [*chunks]) if chunks else None
        if gone is None or not gone.any():
            return self
        there = ~gone if self.there is None else self.there & ~gone
        return self._replace(there=there, alive=int(np.count_nonzero(there)))

    def owned(self, memories: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of some memories, which are ascending, less those that went; ascending."""
        from memory.store.sqlite.held import chosen

        if len(memories) * FEW_SHARE < len(self.memories):
            rows = np.sort(self.owners.of_each(memories))
        else:
            rows = np.flatnonzero(chosen(self.memories, memories))
        return rows if self.there is None else rows[self.there[rows]]

    def nearest(self, vector: bytes, count: int, among: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """
        The chunks that seem to be the most similar: at least `count`, if there are as many.

        Args:
            among: The rows to look at, ascending; None takes all.
        """
        query = np.frombuffer(vector, np.float32)
        if among is None and self.there is not None:
            among = np.flatnonzero(self.there)
        size = max(RANKED, count * 5 // 3)
        while True:
            if among is not None and len(among) <= FEW:
                rows = among
            else:
                most = max(CANDIDATES, len(self.chunks) // CANDIDATES_SHARE, 8 * size)
                rows = self._nearest_by_bits(query, most, among)
            scores = self._products(rows, query)
            best = rows if len(rows) <= size else rows[np.argpartition(-scores, size - 1)[:size]]
            chunks: NDArray[np.int64] = distinct(self.chunks[best])
            if len(chunks) >= count or len(best) < size:
                return chunks
            size *= 2  # several windows of one chunk were among the best

    def _products(self, rows: NDArray[np.int64], query: Vectors) -> Vectors:
        """Of some rows with a vector, about."""
        products = np.empty(len(rows), np.float32)
        for first in range(0, len(rows), WIDENED):
            part = slice(first, first + WIDENED)
            np.vecdot(self.codes.take(rows[part], axis=0).astype(np.float32), query, out=products[part])
        return products * self.scales[rows]

    def _nearest_by_bits(self, query: Vectors, count: int, among: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """At least `count` rows, of some or of all, if there are as many."""
        if among is not None and len(among) * SOME_SHARE < len(self.chunks):
            return among[_least(self._distances(query, among), count)]
        distances = self._distances(query)
        return _least(distances, count) if among is None else among[_least(distances[among], count)]

    def _distances(self, query: Vectors, among: NDArray[np.int64] | None = None) -> NDArray[np.uint16]:
        """In how many dimensions the query is on the other side of the mean: of each row, or of some."""
        signature = _bits(query[None], self.mean)[0]
        distances = np.zeros(len(self.chunks if among is None else among), np.uint16)
        others, counts = np.empty(PART, np.uint64), np.empty(PART, np.uint8)
        for first in range(0, len(distances), PART):
            part = distances[first : first + PART]
            rows = slice(first, first + PART)
            for word, column in zip(signature, self.bits, strict=True):
                own = column[rows] if among is None else column.take(among[rows])
                differing = np.bitwise_xor(own, word, out=others[: len(part)])
                part += np.bitwise_count(differing, out=counts[: len(part)])
        return distances


def opened(path: str, db: apsw.Connection, generation: int, dimension: int) -> tuple[Reader, Signatures] | None:
    """
    What is in the file of a generation; None if there is no file, or one of another generation.

    Raises:
        Doubt: It is not as it was written.
    """
    if (stamp := derived.stamp(db, NAME)) is None:
        return None
    file = derived.opened(path, NAME, VERSION, stamp)
    if (file.head["facts"]["generation"], file.head["facts"]["dimension"]) != (generation, dimension):
        return None
    ids = [file.section(name) for name in ("chunks", "memories", "places")]
    bits = [file.section(f"bits{word}") for word in range(_words(dimension))]
    codes = [file.section(name) for name in ("codes", "scales", "mean")]
    orders = [sorted_by(column) for column in ids[:2]]
    return file, Signatures(ids[0], ids[1], ids[2], bits, codes[0], codes[1], codes[2], None, len(ids[0]), *orders)


def worth(database: Database) -> bool:
    """Whether the answering generation is large enough for a file, and has none, or one that is too old."""
    with database.read() as db:
        found = db.execute("select id, vectors, dimension, changes from generations where state = 'active'").fetchone()
        if found is None or found[1] < FROM:
            return False
        generation, vectors, dimension, changes = found
        try:
            facts = _facts(database.path, db)
        except Doubt:
            return True
        if facts is None or (facts["generation"], facts["dimension"]) != (generation, dimension):
            return True
        gone = derived.since(db, facts["number"], generation)
        if gone is None or changes < facts["changes"]:
            return True
        went = len(gone.chunks)
        new = vectors + went - facts["vectors"]
        return bool((went + new) * NEWER_SHARE > vectors)


def _facts(path: str, db: apsw.Connection) -> Mapping[str, int] | None:
    """What the file was made from; None if there is none. Its sections are not checked."""
    stamp = derived.stamp(db, NAME)
    return None if stamp is None else derived.opened(path, NAME, VERSION, stamp).head["facts"]


def signed(db: apsw.Connection, path: str, generation: int) -> int:
    """How many vectors of a generation have signatures that are asked; 0 if there are none."""
    vectors = db.execute("select vectors from generations where id = ?", (generation,)).get
    try:
        facts = _facts(path, db)
    except Doubt:
        return 0
    return facts["vectors"] if facts and facts["generation"] == generation and (vectors or 0) >= FROM else 0


def make(database: Database, going: Callable[[], bool]) -> bool:
    """
    Make the file of the answering generation; False if another process does, or `going` says no.

    Raises:
        StoreError: It cannot be written.
    """
    with database.read() as db:
        generation, vectors, dimension, changes = db.execute(
            "select id, vectors, dimension, changes from generations where state = 'active'"
        ).get
        count = db.execute(f"select count(*) from vectors_{generation} v join chunks c on c.id = v.chunk_id").get
        facts = {
            "generation": generation,
            "dimension": dimension,
            "changes": changes,
            "vectors": vectors,
            "number": derived.latest(db),
        }
        with derived.making(database, NAME, VERSION, facts=facts, sections=_sections(count, dimension)) as made:
            if made is None:
                return False
            if not all(going() for _ in _filled(db, made, generation, dimension)):
                made.abandoned = True
                return False
    derived.publish(database, NAME, made.stamp)
    return True


def _sections(count: int, dimension: int) -> Mapping[str, Section]:
    return {
        **{name: Section("<i8", (count,)) for name in ("chunks", "memories", "places")},
        **{f"bits{word}": Section("<u8", (count,)) for word in range(_words(dimension))},
        "codes": Section("|i1", (count, dimension)),
        "scales": Section("<f4", (count,)),
        "mean": Section("<f4", (dimension,)),
    }


def _filled(db: apsw.Connection, made: Making, generation: int, dimension: int) -> Iterator[None]:
    """Fill the sections, part by part."""
    total, vectors = db.execute("select total, vectors from generations where id = ?", (generation,)).get
    mean = (np.frombuffer(total) / max(vectors, 1)).astype(np.float32)
    made.put("mean", mean)
    rows = iter(
        db.execute(
            f"""select v.chunk_id, c.memory_id, v.row, v.embedding
                from vectors_{generation} v cross join chunks c on c.id = v.chunk_id order by v.row"""
        )
    )
    first = 0
    while part := list(islice(rows, PART)):
        for place, name in enumerate(("chunks", "memories", "places")):
            made.put(name, np.array([row[place] for row in part], np.int64), first)
        embeddings = widened(b"".join([row[3] for row in part]), dimension)
        for word, column in enumerate(_bits(embeddings, mean).T):
            made.put(f"bits{word}", column, first)
        codes, scales = _coded(embeddings)
        made.put("codes", codes, first)
        made.put("scales", scales, first)
        first += len(part)
        yield


def _coded(embeddings: Vectors) -> tuple[NDArray[np.int8], Vectors]:
    """In 8 bits, each with a scale of its own; damaged numbers are 0."""
    sound = np.nan_to_num(embeddings, nan=0.0, posinf=0.0, neginf=0.0)
    scales = np.maximum(np.abs(sound).max(axis=1), np.float32(1e-30)) / np.float32(127)
    return np.rint(sound / scales[:, None]).astype(np.int8), scales


def _words(dimension: int) -> int:
    return -(-dimension // 64)


def _bits(embeddings: Vectors, mean: Vectors) -> NDArray[np.uint64]:
    """Shape (n, words)."""
    packed = np.packbits(embeddings > mean, axis=1)
    padded = np.zeros((len(packed), 8 * _words(len(mean))), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8")


def _least(distances: NDArray[np.uint16], count: int) -> NDArray[np.int64]:
    """Where the least distances are: at least `count`, if there are as many."""
    # Counting them costs less than any sort.
    most = int(np.searchsorted(np.bincount(distances).cumsum(), count))
    return np.flatnonzero(distances <= most)


class Signed(NamedTuple):
    """Vectors in a file, and those that are newer in memory: what `VectorTable` is to a small generation."""

    file: Signatures
    newer: VectorTable

    @property
    def alive(self) -> int:
        return self.file.alive + self.newer.alive

    @property
    def gone(self) -> int:
        return self.newer.gone

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return self.newer.size

    @property
    def last(self) -> int:
        return max(self.file.last, self.newer.last)

    def without(self, chunks: Collection[int]) -> Signed:
        return Signed(self.file.without(chunks), self.newer.without(chunks))

    def plus(self, added: Added) -> Signed:
        return self._replace(newer=self.newer.plus(added))

    def nearest(self, vector: bytes, count: int, inside: Inside | None) -> NDArray[np.int64] | None:
        """See `VectorTable.nearest`; nearly the most similar."""
        if inside is not None and count * LARGE_SHARE >= len(inside):
            return None  # the database compares them exactly, in less time than it takes to find their rows
        among = (
            None if inside is None else self.file.owned(inside if isinstance(inside, np.ndarray) else np.sort(inside))
        )
        if count * LARGE_SHARE >= (self.alive if among is None else len(among)):
            return None
        return np.concatenate((self.file.nearest(vector, count, among), self.newer.first(vector, count, inside)))

    def rows_of(self, chunks: Sequence[int], read: Callable[[NDArray[np.int64]], Vectors]) -> Owned:
        """
        The rows of some chunks.

        Args:
            read: The vectors of these rows of the file.
        """
        file, newer, rows = self.file, self.newer.rows_of(chunks), self.file.order.of(chunks)
        if file.there is not None:
            rows = rows[file.there[rows]]
        return Owned(
            np.concatenate((file.chunks[rows], newer.chunks)),
            np.concatenate((file.memories[rows], newer.memories)),
            np.concatenate((read(rows), newer.rows)),
        )

    def memory_similarities(self, _vector: bytes, _memories: Sequence[int]) -> None:
        """The database knows them exactly."""
        return

"""Vectors held in memory: rows that are added and forgotten, products with them, and cosines as the database computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.schema import np

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import apsw
    from numpy.typing import NDArray

    from memory.schema.space import Vectors

    Inside: TypeAlias = Sequence[int] | NDArray[np.int64]
    """Memories to look at, ascending where it is an array."""

LAST_DIGITS = 1e-5
"""Sums of float32 taken in another order differ by less; what is this near to the last one counts as a tie."""

LARGE_SHARE = 4
"""From a quarter of all chunks on, naming them costs more than a scan."""

FEW_SHARE = 4
"""Of fewer than a quarter of the rows between the first and the last, a copy takes less than a product with all."""


class Added(NamedTuple):
    """
    Rows to hold, of the same length.

    Attributes:
        places: The row of each: the order in which they were written.
    """

    chunks: NDArray[np.int64]
    memories: NDArray[np.int64]
    places: NDArray[np.int64]
    rows: Vectors


class Owned(NamedTuple):
    """
    The rows of some chunks; those of one chunk in the order in which they were written.

    Attributes:
        chunks, memories: Of each row, shape (n,).
        rows: Shape (n, dimension).
    """

    chunks: NDArray[np.int64]
    memories: NDArray[np.int64]
    rows: Vectors


class Sorted(NamedTuple):
    """
    Rows sorted by chunk; those of one chunk in the order in which they were written.

    Attributes:
        rows: Where each is, shape (n,); None where they are sorted as they stand.
        chunks: Of each, ascending.
        alone: Whether no chunk has several rows.
    """

    rows: NDArray[np.int64] | None
    chunks: NDArray[np.int64]
    alone: bool

    def of(self, chunks: Sequence[int]) -> NDArray[np.int64]:
        """Where the rows of some chunks are, lowest chunk first."""
        return self.of_each(np.array(sorted({*chunks}), np.int64))

    def of_each(self, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same of chunks that are ascending, each once."""
        first = self.chunks.searchsorted(wanted)
        if self.alone:
            places = first[self.chunks.take(first, mode="clip") == wanted] if len(self.chunks) else first[:0]
        else:
            counts = self.chunks.searchsorted(wanted, "right") - first
            places = np.arange(counts.sum()) + np.repeat(first - (counts.cumsum() - counts), counts)
        found: NDArray[np.int64] = places if self.rows is None else self.rows[places]
        return found


class VectorTable(NamedTuple):
    """
    What is held at one moment. It never changes: vectors that are added go beyond its end, into room that the next one
    shares.

    Attributes:
        chunks, memories: Of each row, shape (n,); 0 of a row that was forgotten.
        places: See `Added`.
        rows: Shape (n, dimension).
        lengths: Of each row, shape (n,): of rounded numbers it is not quite 1.
        sorted: How many rows of one kind, and of one project or session in it, stand together: they are asked for together.
        gone: How many rows were forgotten.
        room: The array of which `rows` is the beginning; what is not used of it takes no memory.
        order: Of the rows.
    """

    chunks: NDArray[np.int64]
    memories: NDArray[np.int64]
    places: NDArray[np.int64]
    rows: Vectors
    lengths: Vectors
    sorted: int
    gone: int
    room: Vectors
    order: Sorted

    @property
    def alive(self) -> int:
        """Rows that were not forgotten."""
        return len(self.chunks) - self.gone

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return self.rows.nbytes

    @property
    def last(self) -> int:
        """The highest place of a row that was not forgotten; 0 if there is none."""
        return int(self.places[self.chunks > 0].max(initial=0))

    def without(self, chunks: Collection[int]) -> VectorTable:
        """The same less the rows of some chunks."""
        if not chunks:
            return self
        forgotten = chosen(self.chunks, [*chunks])
        if not (count := int(np.count_nonzero(forgotten))):
            return self
        left = [np.where(forgotten, 0, ids) for ids in (self.chunks, self.memories)]
        return self._replace(chunks=left[0], memories=left[1], gone=self.gone + count, order=sorted_by(left[0]))

    def plus(self, added: Added) -> VectorTable:
        """The same and more rows; only of the latest one, by one thread at a time."""
        before, count = len(self.chunks), len(self.chunks) + len(added.chunks)
        room = self.room
        if count > len(room):
            room = room_for(2 * count, self.rows.shape[1])
            room[:before] = self.rows
        room[before:count] = added.rows
        ids = [np.concatenate(pair) for pair in zip(self[:3], added[:3], strict=True)]
        lengths = np.concatenate((self.lengths, lengths_of(added.rows)))
        return VectorTable(
            ids[0], ids[1], ids[2], room[:count], lengths, self.sorted, self.gone, room, sorted_by(ids[0])
        )

    def nearest(self, vector: bytes, count: int, inside: Inside | None) -> NDArray[np.int64] | None:
        """
        At least `count` chunks: the most similar, and all that tie with the last of them. None if so many are asked for or
        tie that a scan costs less.

        Args:
            vector: float32.
            inside: The memories to look at; None takes all.
        """
        among = self._among(inside)
        if count * LARGE_SHARE >= (len(self.chunks) if among is None else len(among)):
            return None
        return _best(*self._scores(vector, among), count)

    def first(self, vector: bytes, count: int, inside: Inside | None) -> NDArray[np.int64]:
        """
        The most similar chunks: at least `count`, if there are as many, and perhaps not all that tie with the last.

        Args:
            vector, inside: See `nearest`.
        """
        owners, scores = self._scores(vector, self._among(inside))
        found = distinct(owners)
        size = count
        while size < len(owners) and len(found) > count:
            some = distinct(owners[np.argpartition(-scores, size)[:size]])
            if len(some) >= count:
                found = some
            size *= 2
        return found[found > 0]

    def _among(self, inside: Inside | None) -> NDArray[np.int64] | None:
        """The rows of some memories; None for all."""
        if inside is None or not len(self.memories):
            return None
        return np.flatnonzero(chosen(self.memories, inside))

    def _scores(self, vector: bytes, among: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], Vectors]:
        """Chunks and cosines, row by row."""
        owners = self.chunks if among is None else self.chunks[among]
        scores = self._cosines(vector, among)
        if among is None and self.gone:
            scores[owners == 0] = -np.inf
        return owners, scores

    def rows_of(self, chunks: Sequence[int]) -> Owned:
        """The rows of some chunks."""
        rows = self.order.of(chunks)
        return Owned(self.chunks[rows], self.memories[rows], self.rows.take(rows, axis=0))

    def memory_similarities(self, vector: bytes, memories: Sequence[int]) -> dict[int, float]:
        """The best cosine of each of these memories, up to `LAST_DIGITS`."""
        among = np.flatnonzero(chosen(self.memories, memories))
        if not len(among):
            return {}
        owners, cosines = self.memories[among], self._cosines(vector, among)
        order = np.argsort(owners, kind="stable")
        owners, cosines = owners[order], cosines[order]
        firsts = np.flatnonzero(np.diff(owners, prepend=-1))
        return dict(zip(owners[firsts].tolist(), np.maximum.reduceat(cosines, firsts).tolist(), strict=True))

    def _cosines(self, vector: bytes, among: NDArray[np.int64] | None) -> Vectors:
        """Of some rows with a vector of length 1; None takes all."""
        query = np.frombuffer(vector, np.float32)
        if among is None:
            cosines: Vectors = np.vecdot(self.rows, query) / self.lengths
            return cosines
        # Those that stand together first: what was added later stands at the end, whatever it is of.
        split = int(np.searchsorted(among, self.sorted))
        parts = [_some(self.rows, query, part) for part in (among[:split], among[split:])]
        return np.concatenate(parts) / self.lengths[among]


def nothing(dimension: int) -> VectorTable:
    """Of no vectors."""
    ids, room = np.empty(0, np.int64), room_for(0, dimension)
    return VectorTable(ids, ids, ids, room, lengths_of(room), 0, 0, room, sorted_by(ids))


def sorted_by(chunks: NDArray[np.int64]) -> Sorted:
    """Rows of these chunks, sorted."""
    rows = None if (chunks[1:] >= chunks[:-1]).all() else np.argsort(chunks, kind="stable")
    ordered = chunks if rows is None else chunks[rows]
    there = ordered[np.searchsorted(ordered, 1) :]  # deleted rows have chunk id 0
    return Sorted(rows, ordered, bool((there[1:] > there[:-1]).all()))


def room_for(count: int, dimension: int) -> Vectors:
    """Room for some rows, of which nothing is set."""
    # Not the bytes of the database: numpy asks for huge pages, and a product takes two thirds of the time.
    return np.empty((count, dimension), np.float32)


def lengths_of(rows: Vectors) -> Vectors:
    """Of each row; 1 of one that has none, because it is damaged."""
    with np.errstate(all="ignore"):
        lengths: Vectors = np.sqrt(np.vecdot(rows, rows))
    return np.where((lengths > 0) & (lengths < np.inf), lengths, np.float32(1))


def _some(rows: Vectors, query: Vectors, among: NDArray[np.int64]) -> Vectors:
    """Not `@`, which waits 8 ms for a second processor that is taken."""
    if not len(among):
        return np.empty(0, np.float32)
    first, last = among[0], among[-1] + 1
    if len(among) * FEW_SHARE < last - first:
        few: Vectors = np.vecdot(rows.take(among, axis=0), query)
        return few
    products: Vectors = np.vecdot(rows[first:last], query)[among - first]
    return products


def distinct(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """As `np.unique`, which imports `numpy.ma`: a tenth of what the first search of a process takes."""
    ordered = np.sort(ids)
    return ordered[np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))]


def _best(owners: NDArray[np.int64], scores: Vectors, count: int) -> NDArray[np.int64] | None:
    size = count
    while size < len(scores):
        edge = np.partition(scores, -size)[-size]
        chunks: NDArray[np.int64] = distinct(owners[scores >= edge - LAST_DIGITS])
        if len(chunks) * LARGE_SHARE > len(scores):
            return None
        if len(chunks) >= count:
            return chunks
        size *= 2  # several windows of one chunk were among the best
    return None


# Cosines ----------------------------------------------------------------------


def cosines(rows: Vectors, vectors: Vectors) -> NDArray[np.float64]:
    """
    What `1 - vec_distance_cosine(…)` says, to the last bit.

    sqlite-vec adds float32 after float32 and rounds the distance. Sums along columns take the same order.

    Args:
        rows: Shape (n, dimension).
        vectors: Shape (k, dimension).

    Returns:
        Shape (k, n); not finite where a row is damaged.
    """
    alone = len(rows) == 1
    columns = np.ascontiguousarray((np.repeat(rows, 2, axis=0) if alone else rows).T)  # one column is added in parts
    pair = np.ascontiguousarray(vectors[[*range(len(vectors)), 0]].T)
    with np.errstate(all="ignore"):
        products = np.einsum("ik,ij->kj", pair[:, :-1], columns)
        lengths, own = (np.sqrt(np.einsum("ij,ij->j", some, some).astype(np.float64)) for some in (columns, pair))
        distances = (1 - products / (own[:-1, None] * lengths)).astype(np.float32)
    found: NDArray[np.float64] = 1 - distances.astype(np.float64)
    return found[:, :1] if alone else found


def speaking(chunks: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.intp]:
    """The row that speaks for each chunk, lowest chunk first: that with the highest value, of equal ones the first."""
    if (chunks[1:] > chunks[:-1]).all():  # as where no chunk has several
        return np.arange(len(chunks))
    order = np.lexsort((-values, chunks))
    found: NDArray[np.intp] = order[np.flatnonzero(np.diff(chunks[order], prepend=-1))]
    return found


def compared(owned: Owned, vectors: Sequence[bytes]) -> tuple[Owned, NDArray[np.float64]]:
    """The rows that are sound, and their cosines with some vectors, shape (vectors, rows)."""
    found = cosines(owned.rows, np.frombuffer(b"".join(vectors), np.float32).reshape(len(vectors), -1))
    sound = np.isfinite(found).all(axis=0)
    if sound.all():
        return owned, found
    return Owned(owned.chunks[sound], owned.memories[sound], owned.rows[sound]), found[:, sound]


def alike(db: apsw.Connection) -> bool:
    """Whether the database computes so on this machine: another compiler may round fewer times."""
    made = np.random.default_rng(0).standard_normal((8, 384)).astype(np.float32)
    rows, vectors = made[:6], made[6:]
    asked = [[db.execute("select 1 - vec_distance_cosine(?, ?)", (row.tobytes(), one.tobytes())).get for row in rows]
             for one in vectors]  # fmt: skip
    return bool((cosines(rows, vectors) == np.array(asked)).all())


SPARSE = 8  # times as high as there are many, ids need no mask


def chosen(ids: NDArray[np.int64], some: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_]:
    """
    A mask of the ids that are among some: as `np.isin`, in a fifth of its time where ids are dense.

    Args:
        ids: Shape (n,), not negative.
        some: Not negative, in any order.
    """
    wanted = np.asarray(some, np.int64)
    most = int(wanted.max(initial=0))
    if most > SPARSE * len(ids):
        return np.isin(ids, wanted)
    mask = np.zeros(most + 2, np.bool_)  # its end stands for all higher ids
    mask[wanted] = True
    found: NDArray[np.bool_] = mask.take(ids, mode="clip")
    return found

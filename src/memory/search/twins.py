"""
Which memories say nearly the same, of all that there are: by their words and by their vectors.

Not every pair is compared, but those in a block together: texts whose words have the same smallest hashes (MinHash, Broder
1997, "On the resemblance and containment of documents"), and vectors that stand together in the order of the sides of
random planes they are on (Charikar 2002, "Similarity Estimation Techniques from Rounding Algorithms"; Bawa, Condie and
Ganesan 2005, "LSH Forest"), in several tables, so that hardly a pair is missed.
Of those each memory keeps the few that are most like it.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from heapq import nsmallest
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.schema import np
from memory.search.similar import IN_COMMON, apart, names, said
from memory.search.versions import in_common
from memory.text.terms import STOP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from memory.schema.memory import Memory, MemoryId
    from memory.schema.space import Vectors

    Ints = NDArray[np.int64]
    Together: TypeAlias = Callable[[Ints, Ints], NDArray[np.bool_]]

MOST = 2_000  # pairs of one answer: nobody reviews more
BLOCK = 12  # texts of one block that are all compared; of more, each with those beside it
NEAREST = 6  # of each memory, by words and by vectors: in a series, as of notes on every build, all are alike
LEAST = 0.25  # share of hashes that two texts have in common, below which their words are not looked at
WINDOW, WINDOWS = 64, 64  # vectors that are all compared, and how many such at a time: some MB, which caches hold
ALONE = 2**19  # multiplications from which on a product is shared among threads: see memory.vectors.local.embedder
SLAB = 8192  # pairs whose vectors are read at a time

TABLES, ROWS = 16, 3
"""Of hashes: a pair that has six of ten words in common is in a block together with a chance of 0.98."""

PLANES, SIDES = 32, 16
"""Planes of a table, and tables. A window begins elsewhere in each table, so that no pair is always cut apart."""

ALIKE = 0.9
"""Cosine from which on two texts say nearly the same. Believed: models differ, and people look at each pair."""

PRIME = (1 << 31) - 1
SEED = 11

_WORD = re.compile(r"\w+")


class Twins(NamedTuple):
    """
    Two memories that say nearly the same.

    Attributes:
        one, other: The older one first.
        words: Share of what one says that the other says too, by the words' weights, on average of both, 0..1.
        cosine: Of their vectors; None if one has none.
    """

    one: MemoryId
    other: MemoryId
    words: float
    cosine: float | None

    @property
    def alike(self) -> float:
        return max(self.words, self.cosine or 0.0)


def twins(
    memories: Sequence[Memory],
    ids: Sequence[MemoryId],
    vectors: Vectors | None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[Twins]:
    """
    Pairs of one kind, run and project, or of no project, most alike first. The titles of none name different things.

    Args:
        ids: Of the memories that have vectors, lowest first.
        vectors: Shape (n, dimension), float32, rows of length 1; None if there are none.
        progress: Called with the tables that are done, and with how many there are.
    """
    if not memories:
        return []
    steps = TABLES + (SIDES if vectors is not None else 0)
    together, texts = _togetherness(memories), _Texts(memories)
    named = cache(lambda place: names(memories[place]))
    found = texts.pairs(together, lambda done: progress(done, steps))
    near: set[tuple[int, int]] = set()
    if vectors is not None:
        places = {memory.id: place for place, memory in enumerate(memories)}
        own = np.array([places.get(id, -1) for id in ids], np.int64)
        near = _near(vectors, own, together, lambda done: progress(TABLES + done, steps))
    pairs, shares = [], []
    for a, b in found | near:
        if not apart(named(a), named(b)) and ((words := texts.share(a, b)) >= IN_COMMON or (a, b) in near):
            pairs.append((a, b))
            shares.append(words)
    rows = {id: row for row, id in enumerate(ids)}
    known = [(rows.get(memories[a].id, -1), rows.get(memories[b].id, -1)) for a, b in pairs]
    cosines = _cosines(vectors, np.array(known, np.int64).reshape(-1, 2))
    alike = []
    for (a, b), words, cosine in zip(pairs, shares, cosines, strict=True):
        one, other = sorted((memories[a].id, memories[b].id))
        alike.append(Twins(one, other, words, cosine))
    return nsmallest(MOST, alike, key=lambda pair: (-pair.alike, pair.one, pair.other))


def _cosines(vectors: Vectors | None, pairs: Ints) -> list[float | None]:
    """
    Of pairs of vectors; None where one is missing.

    Args:
        pairs: Shape (n, 2), rows of the vectors; -1 is none.
    """
    cosines: list[float | None] = [None] * len(pairs)
    there = np.flatnonzero((pairs >= 0).all(axis=1))
    for at in range(0, len(there) if vectors is not None else 0, SLAB):
        assert vectors is not None  # noqa: S101  # there are no steps otherwise
        places = there[at : at + SLAB]
        ones, others = vectors[pairs[places, 0]], vectors[pairs[places, 1]]
        for place, cosine in zip(places.tolist(), np.einsum("ij,ij->i", ones, others).tolist(), strict=True):
            cosines[place] = cosine
    return cosines


def _togetherness(memories: Sequence[Memory]) -> Together:
    """Whether two places are of one kind and run, and of one project, or one of them of none."""
    groups: dict[object, int] = {}
    projects: dict[str | None, int] = {None: -1}
    group = np.array([groups.setdefault((one.kind, one.query_id), len(groups)) for one in memories])
    project = np.array([projects.setdefault(one.project, len(projects)) for one in memories])

    def together(ones: Ints, others: Ints) -> NDArray[np.bool_]:
        near = (project[ones] == project[others]) | (project[ones] < 0) | (project[others] < 0)
        wanted: NDArray[np.bool_] = near & (group[ones] == group[others])
        return wanted

    return together


class _Closest:
    """Pairs of places, the lower one first: those that are among the `NEAREST` of one of the two."""

    def __init__(self, count: int) -> None:
        """
        Args:
            count: Of places.
        """
        self._pairs = np.empty(0, np.int64)
        """The lower place in the upper 32 bits, the other in the lower ones."""
        self._alike = np.empty(0, np.float32)
        self._least = np.full(count, -1.0, np.float32)
        """How much alike the last of the nearest of a place is; -1 as long as there are fewer."""

    def add(self, ones: Ints, others: Ints, alike: NDArray[np.float32]) -> None:
        """
        Args:
            alike: 0 or more.
        """
        near = (alike > self._least[ones]) | (alike > self._least[others])
        ones, others = ones[near], others[near]
        pairs = np.concatenate((self._pairs, np.minimum(ones, others) << 32 | np.maximum(ones, others)))
        pairs, first = np.unique(pairs, return_index=True)
        alike = np.concatenate((self._alike, alike[near]))[first]
        both = np.concatenate((pairs >> 32, pairs & 0xFFFFFFFF))
        # Bits of floats from 0 on have their order, so that one number is sorted in place of two keys.
        order = np.argsort(both << 32 | (0x7FFFFFFF - np.tile(alike, 2).view(np.int32)), kind="stable")
        begins = np.flatnonzero(np.diff(both[order], prepend=-1))
        rank = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
        kept = np.zeros(len(both), np.bool_)
        kept[order] = rank < NEAREST
        last = order[rank == NEAREST - 1]
        self._least[both[last]] = alike[last % len(pairs)] if len(last) else 0
        kept = kept[: len(pairs)] | kept[len(pairs) :]
        self._pairs, self._alike = pairs[kept], alike[kept]

    def all(self) -> set[tuple[int, int]]:
        return {*zip((self._pairs >> 32).tolist(), (self._pairs & 0xFFFFFFFF).tolist(), strict=True)}


class _Texts:
    """What memories say, as sets of words with weights."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        known: dict[str, int] = {}
        self._words = [
            {known.setdefault(word, len(known)) for word in _WORD.findall(said(memory).casefold()) if word not in STOP}
            for memory in memories
        ]
        counts = Counter(word for words in self._words for word in words)
        self._weights = np.log1p([len(memories) / counts[word] for word in range(len(known))]).tolist()
        self._totals = [sum(map(self._weights.__getitem__, words)) for words in self._words]

    def pairs(self, together: Together, progress: Callable[[int], None]) -> set[tuple[int, int]]:
        """Pairs of places, the lower one first, that are in a block together and have some words in common."""
        sizes = np.array([*map(len, self._words)], np.int64)
        filled = np.flatnonzero(sizes)
        hashes = self._hashes(sizes, filled)
        closest = _Closest(len(sizes))
        for table in range(TABLES if len(filled) else 0):
            order = _in_order(hashes, table)
            places, ordered = filled[order], hashes[order]
            found: list[tuple[Ints, Ints, NDArray[np.float32]]] = []
            for step, beside in enumerate(_beside(ordered, table), start=1):
                ones = beside[together(places[beside], places[beside + step])]
                same = (ordered[ones] == ordered[ones + step]).view(np.uint64)  # eight bytes at a time, each 0 or 1
                common = np.bitwise_count(same).sum(axis=1).astype(np.float32) / hashes.shape[1]
                enough = common >= LEAST
                found.append((places[ones[enough]], places[ones[enough] + step], common[enough]))
            if found:
                closest.add(*map(np.concatenate, zip(*found, strict=True)))
            progress(table + 1)
        return closest.all()

    def _hashes(self, sizes: Ints, filled: Ints) -> NDArray[np.int32]:
        """The smallest hashes of the words of texts that have some, a row each."""
        flat = np.fromiter(chain.from_iterable(self._words), np.int64, int(sizes.sum()))
        every = np.arange(len(self._weights))
        starts = np.concatenate(([0], sizes.cumsum()))[filled]
        random = np.random.default_rng(SEED)
        hashes = np.empty((len(filled), TABLES * ROWS), np.int32)
        for number, (factor, start) in enumerate(random.integers(1, PRIME, (TABLES * ROWS, 2))):
            if len(filled):
                hashes[:, number] = np.minimum.reduceat(
                    ((every * factor + start) % PRIME).astype(np.int32)[flat], starts
                )
        return hashes

    def share(self, a: int, b: int) -> float:
        wholes = self._totals[a], self._totals[b]
        return in_common(self._words[a], self._words[b], self._weights.__getitem__, wholes)


def _in_order(hashes: NDArray[np.int32], table: int) -> Ints:
    """The rows by their hashes of a table, and by those of the next: of one block, the more alike stand together."""
    following = hashes[:, (table + 1) * ROWS % hashes.shape[1]]
    return np.lexsort((following, *hashes[:, table * ROWS : (table + 1) * ROWS].T))


def _beside(ordered: NDArray[np.int32], table: int) -> Iterator[Ints]:
    """For each step from 1 on, the rows in order that have the hashes of a table in common with the one so far behind."""
    own = ordered[:, table * ROWS : (table + 1) * ROWS]
    ones = np.arange(len(own))
    for step in range(1, min(BLOCK, len(own))):
        ones = ones[: np.searchsorted(ones, len(own) - step)]
        ones = ones[(own[ones] == own[ones + step]).all(axis=1)]  # who differs from one differs from all behind it
        if not len(ones):
            return
        yield ones


def _near(vectors: Vectors, places: Ints, together: Together, progress: Callable[[int], None]) -> set[tuple[int, int]]:
    """
    Pairs of places, the lower one first, whose vectors are alike.

    Args:
        places: Of the vectors; -1 is none.
    """
    random = np.random.default_rng(SEED)
    rows = np.flatnonzero(places >= 0)
    closest = _Closest(int(places.max(initial=-1)) + 1)
    for table in range(SIDES if len(rows) else 0):
        planes = random.standard_normal((vectors.shape[1], PLANES)).astype(np.float32)
        order = rows[np.argsort(_sides(vectors, planes)[rows], kind="stable")]
        starts = np.arange(-(table * WINDOW // SIDES), len(order), WINDOW)
        windows = order[(starts[:, None] + np.arange(WINDOW)).clip(0, len(order) - 1)]
        parts = (windows[at : at + WINDOWS] for at in range(0, len(windows), WINDOWS))
        found = [_alike(vectors, part, places, together) for part in parts]
        closest.add(*map(np.concatenate, zip(*found, strict=True)))
        progress(table + 1)
    return closest.all()


def _sides(vectors: Vectors, planes: Vectors) -> NDArray[np.uint32]:
    """On which sides of the planes, 32 columns, each vector is, a bit each: who begins alike is near."""
    # In products that stay in this thread: threads that wait for each other take ten times as long on a busy machine.
    tile = max((ALONE - 1) // planes.size, 1)
    whole = len(vectors) // tile * tile
    tiles = (vectors[:whole].reshape(-1, tile, vectors.shape[1]) @ planes, vectors[None, whole:] @ planes)
    above = np.concatenate([part.reshape(-1, PLANES) for part in tiles]) > 0
    return np.packbits(above, axis=1).view(">u4")[:, 0].astype(np.uint32)


def _alike(vectors: Vectors, windows: Ints, places: Ints, together: Together) -> tuple[Ints, Ints, NDArray[np.float32]]:
    """The `NEAREST` of each place in its window whose cosine is `ALIKE` or more, with that; windows are rows of rows."""
    own = vectors[windows]
    step = ALONE // 2 // WINDOW**2  # a product of a matrix with itself is shared sooner
    parts = (own[..., at : at + step] for at in range(0, own.shape[2], step))
    cosines = np.add.reduce([part @ part.swapaxes(1, 2) for part in parts])
    window, row = np.nonzero((cosines >= ALIKE).sum(axis=2) > 1)  # itself is one
    some, beside = cosines[window, row], windows[window]
    one = windows[window, row][:, None]
    some[(one == beside) | ~together(places[one], places[beside])] = -1.0
    nearest = np.argpartition(-some, NEAREST - 1, axis=1)[:, :NEAREST]
    found = np.take_along_axis(some, nearest, axis=1)
    row, column = np.nonzero(found >= ALIKE)
    return places[one[row, 0]], places[beside[row, nearest[row, column]]], found[row, column]

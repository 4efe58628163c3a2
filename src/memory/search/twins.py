"""
Which memories say nearly the same, of all that there are: by their words and by their vectors.

Not every pair is compared, but those in a block together: texts whose words have the same smallest hashes (MinHash, Broder
1997, "On the resemblance and containment of documents"), and vectors on the same side of random planes (Charikar 2002,
"Similarity Estimation Techniques from Rounding Algorithms"), in several tables, so that hardly a pair is missed.
Of those each memory keeps the few that are most like it.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.search.similar import IN_COMMON, apart, names, said
from memory.text.terms import STOP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.memory import Memory, MemoryId
    from memory.schema.space import Vectors

    Ints = NDArray[np.int64]
    Together: TypeAlias = Callable[[Ints, Ints], NDArray[np.bool_]]

MOST = 2_000  # pairs of one answer: nobody reviews more
BLOCK = 12  # texts of one block that are all compared; of more, each with those beside it
NEAREST = 6  # of each memory, by words and by vectors: in a series, as of notes on every build, all are alike
LEAST = 0.25  # share of hashes that two texts have in common, below which their words are not looked at
SIDE = 512  # vectors of one block that are all compared

TABLES, ROWS = 16, 3
"""Of hashes: a pair that has six of ten words in common is in a block together with a chance of 0.98."""

PLANES, SIDES = 14, 16
"""Planes of a table, and tables: a pair of a cosine of 0.92 is in a block together with a chance of 0.93."""

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
    import numpy as np

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
    rows, alike = {id: row for row, id in enumerate(ids)}, []
    for a, b in found | near:
        words = texts.share(a, b)
        if (words >= IN_COMMON or (a, b) in near) and not apart(named(a), named(b)):
            one, other = sorted((memories[a].id, memories[b].id))
            cosine = None
            if vectors is not None and one in rows and other in rows:
                cosine = float(vectors[rows[one]] @ vectors[rows[other]])
            alike.append(Twins(one, other, words, cosine))
    return sorted(alike, key=lambda pair: (-pair.alike, pair.one, pair.other))[:MOST]


def _togetherness(memories: Sequence[Memory]) -> Together:
    """Whether two places are of one kind and run, and of one project, or one of them of none."""
    import numpy as np

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

    def __init__(self) -> None:
        import numpy as np

        self._pairs = np.empty((0, 2), np.int64)
        self._alike = np.empty(0, np.float32)

    def add(self, ones: Ints, others: Ints, alike: NDArray[np.float32]) -> None:
        import numpy as np

        pairs = np.concatenate((self._pairs, np.stack((np.minimum(ones, others), np.maximum(ones, others)), axis=1)))
        alike = np.concatenate((self._alike, alike))
        _, first = np.unique(pairs[:, 0] << 32 | pairs[:, 1], return_index=True)
        pairs, alike = pairs[first], alike[first]
        both = np.concatenate((pairs[:, 0], pairs[:, 1]))
        order = np.lexsort((-np.tile(alike, 2), both))
        begins = np.searchsorted(both[order], both[order])
        kept = np.zeros(len(both), np.bool_)
        kept[order] = np.arange(len(both)) - begins < NEAREST
        kept = kept[: len(pairs)] | kept[len(pairs) :]
        self._pairs, self._alike = pairs[kept], alike[kept]

    def all(self) -> set[tuple[int, int]]:
        return {(one, other) for one, other in self._pairs.tolist()}


class _Texts:
    """What memories say, as sets of words with weights."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        import numpy as np

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
        import numpy as np

        sizes = np.array([*map(len, self._words)], np.int64)
        filled = np.flatnonzero(sizes)
        hashes = self._hashes(sizes, filled)
        closest = _Closest()
        for table in range(TABLES if len(filled) else 0):
            found = []
            for ones, others in _beside(hashes, table):
                wanted = together(filled[ones], filled[others])
                a, b = ones[wanted], others[wanted]
                common = (hashes[a] == hashes[b]).mean(axis=1, dtype=np.float32)
                enough = common >= LEAST
                found.append((filled[a[enough]], filled[b[enough]], common[enough]))
            if found:
                closest.add(*map(np.concatenate, zip(*found, strict=True)))
            progress(table + 1)
        return closest.all()

    def _hashes(self, sizes: Ints, filled: Ints) -> NDArray[np.int32]:
        """The smallest hashes of the words of texts that have some, a row each."""
        import numpy as np

        flat = np.fromiter((word for words in self._words for word in words), np.int64, int(sizes.sum()))
        starts = np.concatenate(([0], sizes.cumsum()))[filled]
        random = np.random.default_rng(SEED)
        hashes = np.empty((len(filled), TABLES * ROWS), np.int32)
        for number, (factor, start) in enumerate(random.integers(1, PRIME, (TABLES * ROWS, 2))):
            if len(filled):
                hashes[:, number] = np.minimum.reduceat((flat * factor + start) % PRIME, starts)
        return hashes

    def share(self, a: int, b: int) -> float:
        common = sum(map(self._weights.__getitem__, self._words[a] & self._words[b]))
        return (common / self._totals[a] + common / self._totals[b]) / 2 if common else 0.0


def _beside(hashes: NDArray[np.int32], table: int) -> Iterator[tuple[Ints, Ints]]:
    """Pairs of rows that have the hashes of a table in common: of many, each with those beside it."""
    import numpy as np

    own = hashes[:, table * ROWS : (table + 1) * ROWS]
    following = hashes[:, (table + 1) * ROWS % hashes.shape[1]]  # of one block, the more alike stand together
    order = np.lexsort((following, *own.T))
    in_order = own[order]
    for step in range(1, min(BLOCK, len(order))):
        same = (in_order[step:] == in_order[:-step]).all(axis=1)
        if not same.any():
            return
        yield order[:-step][same], order[step:][same]


def blocks(keys: NDArray[np.uint64]) -> Iterator[Ints]:
    """The places of equal keys, where there are several, in order."""
    import numpy as np

    order = np.argsort(keys, kind="stable")
    edges = np.flatnonzero(np.diff(keys[order])) + 1
    yield from (block for block in np.split(order, edges) if len(block) > 1)


def _near(vectors: Vectors, places: Ints, together: Together, progress: Callable[[int], None]) -> set[tuple[int, int]]:
    """
    Pairs of places, the lower one first, whose vectors are alike.

    Args:
        places: Of the vectors; -1 is none.
    """
    import numpy as np

    random = np.random.default_rng(SEED)
    powers = (1 << np.arange(PLANES)).astype(np.uint64)
    closest = _Closest()
    for table in range(SIDES):
        sides = vectors @ random.standard_normal((vectors.shape[1], PLANES)).astype(np.float32)
        found = []
        for block in blocks((sides > 0).astype(np.uint64) @ powers):
            rows = block[np.argsort(sides[block, 0])]
            rows = rows[places[rows] >= 0]
            parts = [rows[at : at + SIDE] for at in range(0, len(rows), SIDE)]
            found += [_alike(vectors[part], places[part], together) for part in parts]
        if found:
            ones, others, cosines = map(np.concatenate, zip(*found, strict=True))
            closest.add(ones, others, cosines)
        progress(table + 1)
    return closest.all()


def _alike(vectors: Vectors, places: Ints, together: Together) -> tuple[Ints, Ints, NDArray[np.float32]]:
    """The `NEAREST` of each place whose cosine is `ALIKE` or more, with that."""
    import numpy as np

    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1.0)
    busy = np.flatnonzero((cosines >= ALIKE).any(axis=1))
    some = cosines[busy]
    some[~together(places[busy][:, None], places[None, :])] = -1.0
    nearest = np.argpartition(-some, min(NEAREST, len(places)) - 1, axis=1)[:, :NEAREST]
    found = np.take_along_axis(some, nearest, axis=1)
    row, column = np.nonzero(found >= ALIKE)
    return places[busy[row]], places[nearest[row, column]], found[row, column]

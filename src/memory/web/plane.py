"""A map: memories as points of the plane, near each other as far as two dimensions can say so, and their regions."""

from __future__ import annotations

import re
from collections import Counter
from math import log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memory.schema.memory import Memory, MemoryId
from memory.text.terms import STOP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from memory.schema.space import Vectors
    from memory.store import Store

    Floats = NDArray[np.float32]
    Numbers = NDArray[np.int64]

MOST = 20_000
"""How many memories a map has at most: those of a larger store are drawn evenly."""

PAGE = 2_000  # vectors read at once
KEPT = 16  # dimensions in which regions are looked for
REGIONS = 12
A_REGION = 20  # memories there are to a region, at least
TRIES, ROUNDS = 4, 20
WORDS = 3  # that name a region
BEGINNING = 400  # characters of a memory that are looked at for these


class Region(NamedTuple):
    """
    Memories that are near each other.

    Attributes:
        words: What is said more often in it than elsewhere.
        members: Places in `Plane.ids`, the most typical first.
        at: Its middle, as in `Plane.at`.
    """

    words: tuple[str, ...]
    members: Sequence[int]
    at: tuple[float, float]


class Plane(NamedTuple):
    """
    Attributes:
        ids: Of the memories.
        at: Where each is, shape (n, 2), float32, 0..1.
        regions: Most members first; every memory is in one.
        whole: How many memories have a vector; if more than are here, these are drawn evenly.
    """

    ids: Sequence[MemoryId]
    at: Floats
    regions: tuple[Region, ...]
    whole: int


def plane(
    store: Store,
    generation: int,
    read: Callable[[Sequence[MemoryId]], Mapping[MemoryId, Memory]],
    progress: Callable[[int, int], None],
    *,
    most: int = MOST,
) -> Plane | None:
    """
    The map of a store: regions by k-means (Lloyd, 1957) among the vectors on their principal axes (Pearson, 1901), and
    the plane in which the regions lie farthest apart. The same vectors give the same map.

    Args:
        generation: Whose vectors.
        read: Memories by their ids, for the words of their beginnings.
        progress: Called with how many memories are read, and of how many.
        most: Memories on the map; of more they are drawn evenly.

    Returns: None if there are fewer than two vectors.
    """
    ids, vectors, whole = _drawn(store, generation, progress, most)
    if len(ids) < 2:
        return None
    axes = _on_axes(vectors)
    labels = _regions(axes, max(1, min(REGIONS, len(ids) // A_REGION)))
    at = _framed(_flat(axes, labels))
    titles = read(ids)
    words = _named([_words(titles[id]) if id in titles else frozenset() for id in ids], labels)
    return Plane(ids, at, tuple(_listed(axes, at, labels, words)), whole)


def _drawn(
    store: Store, generation: int, progress: Callable[[int, int], None], most: int
) -> tuple[list[MemoryId], Vectors, int]:
    """Memories with the vectors of their beginnings, evenly drawn, and how many there are of them."""
    ids: list[MemoryId] = []
    pages: list[Vectors] = []
    step, seen, total = 1, 0, store.counts().memories
    for found, vectors in _heads(store, generation):
        first = -seen % step  # so that every step-th of all is taken, whatever the pages
        ids += found[first::step]
        pages.append(vectors[first::step])
        seen += len(found)
        progress(min(seen, total), total)
        while len(ids) > most:  # half of them stay: nobody knows how many come
            step *= 2
            ids, pages = ids[::2], [np.concatenate(pages)[::2]]
    return ids, np.concatenate(pages) if pages else np.zeros((0, 1), np.float32), seen


def _heads(store: Store, generation: int) -> Iterator[tuple[list[MemoryId], Vectors]]:
    after = MemoryId(0)
    while len((page := store.vectors.heads(generation, after, PAGE))[0]):
        ids, vectors = page
        after = ids[-1]
        sound: Numbers = np.flatnonzero(np.isfinite(vectors).all(axis=1))  # a damaged vector has no place
        yield [ids[at] for at in sound], vectors[sound]


def _on_axes(vectors: Vectors) -> Floats:
    """The vectors on their principal axes, the widest first; each axis so that its third moment is not negative."""
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)  # the largest eigenvalue is the last
    found = _signed(centred @ axes[:, : -KEPT - 1 : -1])
    return found if found.shape[1] > 1 else np.pad(found, ((0, 0), (0, 1)))


def _signed(points: Floats) -> Floats:
    """Each axis so that its third moment is not negative: an eigenvector has no sign of its own."""
    return (points * np.where((points**3).sum(axis=0) < 0, -1, 1)).astype(np.float32)


def _flat(axes: Floats, labels: Numbers) -> Floats:
    """
    The points on the principal axes of the regions' middles, each as heavy as its region. Of the ten nearest of a memory
    as many or more are among the nearest hundred in this plane than in that of the two principal axes of all: 18.5 % and
    18.5, 22.2 and 18.8, 14.4 and 14.1, in trial runs on scifact, locomo and cosqa.
    """
    sizes = np.bincount(labels)
    used = np.flatnonzero(sizes)
    if len(used) <= 2:
        return axes[:, :2]
    middles = np.stack([axes[labels == label].mean(axis=0) for label in used])
    _, plane = np.linalg.eigh((middles * sizes[used, None]).T @ middles)
    return _signed(axes @ plane[:, :-3:-1])


def _framed(points: Floats) -> Floats:
    low, high = points.min(axis=0), points.max(axis=0)
    found: Floats = ((points - low) / np.where(high > low, high - low, 1.0)).astype(np.float32)
    return found


def _regions(axes: Floats, count: int) -> Numbers:
    """The region of each point: the best of some runs of k-means."""
    drawing = np.random.default_rng(0)  # always the same draws: the same vectors give the same map
    runs = [_settled(axes, _begun(axes, count, drawing)) for _ in range(TRIES)]
    return min(runs, key=lambda run: run[0])[1]


def _begun(axes: Floats, count: int, drawing: np.random.Generator) -> Floats:
    """Points to begin with, each drawn by its squared distance from those before (Arthur and Vassilvitskii, 2007)."""
    centres = axes[[int(drawing.integers(len(axes)))]]
    while len(centres) < count:
        far = np.maximum(_distances(axes, centres).min(axis=1), 0).astype(np.float64)
        share = far / far.sum() if far.any() else None
        centres = np.vstack([centres, axes[int(drawing.choice(len(axes), p=share))]])
    return centres


def _settled(axes: Floats, centres: Floats) -> tuple[float, Numbers]:
    """How far the points are from the middles of their regions, squared and summed, and their regions."""
    far = _distances(axes, centres)
    labels: Numbers = far.argmin(axis=1)
    for _ in range(ROUNDS):
        centres = _middles(axes, labels, centres)
        far = _distances(axes, centres)
        former, labels = labels, far.argmin(axis=1)
        if (former == labels).all():
            break
    return float(far.min(axis=1).sum()), labels


def _middles(axes: Floats, labels: Numbers, centres: Floats) -> Floats:
    """The middle of each region; of one that lost all its points the former."""
    return np.stack(
        [
            axes[labels == label].mean(axis=0) if (labels == label).any() else centre
            for label, centre in enumerate(centres)
        ]
    )


def _distances(axes: Floats, centres: Floats) -> Floats:
    """Squares of the distances, shape (points, centres)."""
    found: Floats = (axes**2).sum(axis=1)[:, None] - 2 * axes @ centres.T + (centres**2).sum(axis=1)
    return found


def _listed(axes: Floats, at: Floats, labels: Numbers, words: Mapping[int, tuple[str, ...]]) -> Iterator[Region]:
    sizes = Counter(labels.tolist())
    for label, _ in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        members = np.flatnonzero(labels == label)
        near = ((axes[members] - axes[members].mean(axis=0)) ** 2).sum(axis=1)
        x, y = np.median(at[members], axis=0).tolist()
        yield Region(words[label], members[np.argsort(near, kind="stable")].tolist(), (x, y))


# Words ------------------------------------------------------------------

_WORD = re.compile(r"[^\W\d_][\w-]{2,30}")


def _words(memory: Memory) -> frozenset[str]:
    text = f"{memory.title} {memory.what}"[:BEGINNING].lower()
    return frozenset(word for word in _WORD.findall(text) if word not in STOP)


def _named(texts: Sequence[frozenset[str]], labels: Numbers) -> dict[int, tuple[str, ...]]:
    """
    For each region, the words that most of its memories begin with, and few others: a log-likelihood ratio (Dunning, 1993), by
    its part for the region alone.
    """
    everywhere = Counter(word for words in texts for word in words)
    inside: dict[int, Counter[str]] = {}
    sizes = Counter(labels.tolist())
    for words, label in zip(texts, labels.tolist(), strict=True):
        inside.setdefault(label, Counter()).update(words)

    def weight(label: int, word: str) -> float:
        found = inside[label][word]
        return found * log(found * len(texts) / (sizes[label] * everywhere[word]))

    return {
        label: tuple(sorted(found, key=lambda word: (-weight(label, word), word))[:WORDS])
        for label, found in inside.items()
    }

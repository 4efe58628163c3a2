"""Learning term vectors: what each term of a store stands for, from the vectors of the passages that hold it."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memory.rank.fuse import shrunk
from memory.schema.errors import NotFound
from memory.schema.memory import ChunkId, Excerpt
from memory.search.term_vectors import LEAST, TermEmbedder, terms, words
from memory.search.term_vectors.ridge import Product, Sparse, ridge
from memory.store import Learned, Store, TermVector
from memory.text.tokens import passage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from memory.schema.space import Vectors

GROWN = 0.05
"""They are learned again once this share of the passages has come or gone."""

DRIFT = 0.15
"""They are learned again once they fit new passages worse by this than those they were tested on."""

AXES = 192
"""Axes kept of the model's dimensions, those along which passages differ most; more changed no judged set."""

MOST_TERMS = 40_000
"""8 MB. The rarest are dropped first, pairs before words."""

MOST_SEEN = 1_000_000
"""Different terms held while reading, 200 MB. Pairs first seen later are ignored: only common terms are kept anyway."""

MOST_PASSAGES = 50_000
MOST_BYTES = 1 << 27
"""Bytes of vectors held while learning. Of a larger store, every n-th passage is read."""

HELD = 200
"""The most passages held back for testing, and also at most a twentieth of all."""

WEIGHT, STEPS = 0.3, 5

PAGE = 2_000


class _Material(NamedTuple):
    """
    counts: How often each term occurs in each passage.
    names: The terms.
    wanted: The target vector of each passage, shape (passages, dimension), minus the store's centre.
    last: The highest chunk id.
    """

    counts: Sparse
    names: Sequence[str]
    wanted: Vectors
    last: ChunkId


def due(store: Store, generation: int, passages: int, former: Learned | None) -> bool:
    """
    Whether term vectors should be learned: there are none, too many passages came or went, or they fit new ones badly.

    Args:
        passages: How many have a vector now.
    """
    if former is None or abs(passages - former.passages) > GROWN * former.passages:
        return True
    fresh = store.term_vectors.lessons(generation, former.last, HELD)
    if len(fresh) * 20 < HELD:
        return False
    return _fit(TermEmbedder(store, generation), fresh) < former.fit - DRIFT


def learn(
    store: Store, generation: int, *, moment: datetime, if_due: bool = False, going: Callable[[], bool] = lambda: True
) -> Learned | None:
    """
    Learn the term vectors of a generation from all its vectors, replacing the former ones.

    Args:
        if_due: Only if they are due; see `due`.
        going: Whether to continue; asked from time to time.

    Returns:
        None if it was not due, there are fewer than `LEAST` passages, it was stopped, the generation was dropped, or
        another process learned meanwhile.
    """
    try:
        former, passages = store.term_vectors.learned(generation), store.generations.size(generation).chunks
        if passages < LEAST or (if_due and not due(store, generation, passages, former)):
            return None
        centre = shrunk(*store.vectors.centre(generation))
        material = _read(store, generation, passages, centre, going)
    except NotFound:
        return None
    if material is None:
        return None
    tried, basis, term_vectors = _solved(material)
    if not going():
        return None
    learned = Learned(passages, material.last, tried, moment, basis)
    return learned if store.term_vectors.learn(generation, learned, term_vectors, instead_of=former) else None


def _read(store: Store, generation: int, passages: int, centre: Vectors, going: Callable[[], bool]) -> _Material | None:
    most = max(1, min(MOST_PASSAGES, MOST_BYTES // (4 * len(centre))))
    stride = -(-passages // most)
    ids: defaultdict[str, int] = defaultdict(count().__next__)  # gives a new term the next number
    found, times, lengths = array("i"), array("i"), array("i")
    rows: list[Vectors] = []
    after, place = ChunkId(0), 0
    while lessons := store.term_vectors.lessons(generation, after, PAGE):
        if not going():
            return None
        for excerpt, vectors in lessons:
            place += 1
            if place % stride:
                continue
            told = len(ids) < MOST_SEEN
            mentions = Counter([ids[term] for term in _terms_of(excerpt) if told or " " not in term or term in ids])
            found.extend(mentions.keys())
            times.extend(mentions.values())
            lengths.append(len(mentions))
            rows.append(vectors.mean(axis=0) - centre)
        after = lessons[-1][0].id
    if not rows:
        return None
    of = np.repeat(np.arange(len(rows)), np.frombuffer(lengths, np.int32))
    columns, values = np.frombuffer(found, np.int32).astype(np.int64), np.frombuffer(times, np.int32)
    sparse = Sparse(of, columns, values.astype(np.float32), (len(rows), len(ids)))
    return _Material(sparse, list(ids), np.stack(rows).astype(np.float32, copy=False), after)


def _terms_of(excerpt: Excerpt) -> list[str]:
    """
    The terms of a passage; those of its title count twice.

    Without the text before the chunk: a pair across the border would belong to two chunks, and outlive one of them.
    """
    return [*words(excerpt.title), *terms(passage(excerpt, 0))]


def _solved(material: _Material) -> tuple[float, Vectors, list[TermVector]]:
    """The fit, the basis, and the term vectors."""
    height = material.counts.shape[0]
    held = np.zeros(height, bool)
    held[:: max(20, height // HELD)] = True
    kept, weights = _kept(material, ~held[material.counts.rows])
    matrix = _weighed(material.counts, kept, weights)
    basis = axes(material.wanted, AXES)
    wanted = material.wanted @ basis.T
    solution = ridge(_rows(matrix, ~held), wanted[~held], weight=WEIGHT, steps=STEPS)
    tried = Product(_rows(matrix, held))(solution)
    fit = float(np.mean(cosines(tried @ basis, material.wanted[held])))
    names = [material.names[i] for i in np.flatnonzero(kept).tolist()]
    return fit, basis, _term_vectors(names, solution * weights[kept][:, None])


def _kept(material: _Material, trained: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Vectors]:
    """Which terms to keep, and the inverse document frequency of each."""
    counts = material.counts
    of = np.bincount(counts.columns[trained], minlength=counts.shape[1])
    pairs = np.array([" " in name for name in material.names])
    order = np.lexsort((-of, pairs))  # words before pairs, the common ones first
    order = order[of[order] > pairs[order]][:MOST_TERMS]  # a pair that occurs once says less than its words
    kept = np.zeros(len(of), bool)
    kept[order] = True
    return kept, np.log1p(counts.shape[0] / np.maximum(of, 1)).astype(np.float32)


def _weighed(counts: Sparse, kept: NDArray[np.bool_], weights: Vectors) -> Sparse:
    """Rows of tf-idf, (1 + ln n) · ln(1 + N / df), of length 1; columns are the terms kept."""
    inside = kept[counts.columns]
    rows, columns = counts.rows[inside], counts.columns[inside]
    values = (1 + np.log(counts.values[inside])) * weights[columns]
    lengths = np.sqrt(np.bincount(rows, values.astype(np.float64) ** 2, minlength=counts.shape[0]))
    numbered = np.cumsum(kept) - 1
    scaled = (values / lengths[rows]).astype(np.float32)
    return counts._replace(
        rows=rows, columns=numbered[columns], values=scaled, shape=(counts.shape[0], int(kept.sum()))
    )


def _rows(matrix: Sparse, wanted: NDArray[np.bool_]) -> Sparse:
    """Some of the rows, renumbered."""
    inside = wanted[matrix.rows]
    numbered = np.cumsum(wanted) - 1
    shape = (int(wanted.sum()), matrix.shape[1])
    return matrix._replace(
        rows=numbered[matrix.rows[inside]], columns=matrix.columns[inside], values=matrix.values[inside], shape=shape
    )


def axes(rows: Vectors, most: int) -> Vectors:
    """
    Orthonormal axes along which rows differ most, approximately.

    Two steps of subspace iteration from a fixed random start (Halko, Martinsson and Tropp, SIAM Review 53, 2011).
    A full decomposition would take minutes at 3,072 dimensions.

    Args:
        rows: Shape (n, dimension), centred.

    Returns:
        Shape (up to most, dimension), float32; fewer if rows differ along fewer, but at least one.
    """
    dimension = rows.shape[1]
    if dimension <= most:
        return np.eye(dimension, dtype=np.float32)
    start = np.random.default_rng(0).standard_normal((dimension, most)).astype(np.float32)
    once = orthonormal((rows.T @ (rows @ start)).T)
    return orthonormal((rows.T @ (rows @ once.T)).T)


def orthonormal(rows: Vectors) -> Vectors:
    """
    Gram-Schmidt, each row twice. Rows that depend on earlier ones are dropped; if all are zero, one axis remains.

    Not LAPACK, which shares even such small work among threads and then waits up to a second for a busy processor.
    """
    made = np.zeros(rows.shape, np.float64)
    count = 0
    for row in rows.astype(np.float64):
        length = np.sqrt(np.vecdot(row, row))
        rest = row
        for _ in range(2):
            rest = rest - np.einsum("i,ij->j", np.vecdot(made[:count], rest), made[:count])
        left = np.sqrt(np.vecdot(rest, rest))
        if left > 1e-5 * length:
            made[count] = rest / left
            count += 1
    if not count:
        made[0, 0] = count = 1
    return np.ascontiguousarray(made[:count], np.float32)


def _term_vectors(names: Sequence[str], vectors: Vectors) -> list[TermVector]:
    scales = np.maximum(np.abs(vectors).max(axis=1) / 127, 1e-12)
    codes = np.rint(vectors / scales[:, None]).astype(np.int8)
    return [
        TermVector(name, scale, code.tobytes()) for name, scale, code in zip(names, scales.tolist(), codes, strict=True)
    ]


def _fit(embedder: TermEmbedder, lessons: Sequence[tuple[Excerpt, Vectors]]) -> float:
    """Mean cosine between the vectors of passages and what term vectors predict for them."""
    guesses = np.stack([embedder.direction(_terms_of(excerpt))[0] for excerpt, _ in lessons])
    wanted = np.stack([vectors.mean(axis=0) for _, vectors in lessons]) - embedder.centre
    return float(np.mean(cosines(guesses, wanted)))


def cosines(first: Vectors, second: Vectors) -> Vectors:
    """Row by row; 0 if either row is zero."""
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    products: Vectors = np.einsum("ij,ij->i", first, second) / np.maximum(lengths, 1e-12)
    return products

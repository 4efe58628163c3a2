"""Learning term vectors: each passage whose vector is stored corrects the rows of the terms that it holds, once."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from memory.schema.space import SHRINK
from memory.store import Learned, Prior, Store
from memory.store.narrow import rounded
from memory.vectors.term_vectors import word_vectors
from memory.vectors.term_vectors.filter import Vocabulary, page_of, rounded as coded, taught

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from memory.schema.memory import ChunkId, Excerpt
    from memory.schema.space import Plain, Vectors
    from memory.store import TermVector
    from memory.vectors.words import WordVectors

    Passages = Sequence[tuple[Excerpt, Vectors]]

MOST_TERMS = 40_000
"""About 8 MB. Beyond, the rarest go, pairs before words; no judged set is better off with more."""

BEHIND = 32
"""Passages wait until they are one in so many: term vectors are never more than some 3 % behind their store."""

WAITING = 64
"""So many are always enough: they share most of the rows that they will ever share, and are learned from in 0.1 s."""

PAGE = 512
"""Passages learned from in one transaction, at most: an eighth of a second, for which other writers wait."""

CHARACTERS = 1 << 18
"""A page ends with the passage that brings it to so many: what is learned is as much as is read."""

NUMBERS = 1 << 20
"""Of vectors of more dimensions, so many numbers: 4 MB."""

REMEMBERED = 1 << 18
"""Of so many spellings the numbers are remembered: some 30 MB. Texts have hardly more, but for names and numbers."""

RECENT = 200
"""The fit is a mean over about so many passages, the last ones."""

AXES = 128
"""Axes kept of the model's dimensions, those along which passages differ most; more changed no judged set, fewer did."""

FIRST = 384
"""The most axes of a store that is too small for its own: as many as a small model has dimensions."""

OWN_AXES = 372
"""From so many passages on a store has axes of its own: fewer say little about where others will differ."""

GRID = 1 << 20
"""Steps of a centre in 1. Sums of the same vectors in other orders differ by 1e-13, centres by less: all the same here."""

UNSHARED = 1 << 18
"""Products in one multiplication of matrices: OpenBLAS shares more among threads, which wait for one another."""


def enough(passages: int) -> int:
    """
    How many passages wait until they are learned from together, in a store that learned from so many: rows that they
    share are read and written once.
    """
    return max(1, min(WAITING, passages // BEHIND))


def learn(
    store: Store,
    generation: int,
    *,
    anew: bool = False,
    prior: bool = True,
    whole: bool = True,
    going: Callable[[], bool] = lambda: True,
) -> int:
    """
    Learn from all passages of a generation that were not learned from yet, a page at a time.

    Args:
        anew: Learn from all passages again. That happens too if more passages are gone than are left, or if word vectors
            are there now that were not when it began. What is known answers until then: what is learned again stands
            beside it, and takes its place when nothing is left to learn from. The next call goes on where one stopped.
        prior: Whether to begin with word vectors.
        whole: Learn also from fewer than `enough`.
        going: Whether to continue; asked before each page. What is learned by then is kept.

    Returns:
        From how many passages.
    """
    words = word_vectors(store, generation) if prior else None
    into = _into(store, generation, words, anew=anew)
    if into == generation and not whole and not pending(store, generation):
        return 0
    count, vocabulary = 0, Vocabulary()
    goes_on = into != generation and store.term_vectors.learned(into) is not None
    while going() and store.term_vectors.pending(into, 1):  # no write lock for nothing
        if len(vocabulary) > REMEMBERED:
            vocabulary = Vocabulary()
        if not (done := learn_page(store, into, PAGE, lambda: words, vocabulary, goes_on=goes_on)):
            break
        count, goes_on = count + done, into != generation
    if into != generation and not store.term_vectors.pending(into, 1):
        store.term_vectors.switch(generation)
    return count


def _into(store: Store, generation: int, words: WordVectors | None, *, anew: bool) -> int:
    """Which term vectors learn: those that answer, or those beside (see `TermVectors`), which begin if it is time for them."""
    answering, beside = (store.term_vectors.learned(number) for number in (generation, -generation))
    left = store.generations.size(generation).chunks if answering or beside else 0
    if beside and (anew or _outdated(beside, left, words)):
        store.term_vectors.learn(-generation, None)
    again = answering is not None and (anew or _outdated(answering, left, words))
    return -generation if again or beside else generation


def _outdated(known: Learned, left: int, words: WordVectors | None) -> bool:
    """Whether more passages are gone than are left, or word vectors are there that were not when it began."""
    late = words is not None and words.whole and words.count > known.prior.words
    return late or known.passages > 2 * left


def learn_stored(
    store: Store,
    generation: int,
    count: int,
    words: Callable[[], WordVectors | None] = lambda: None,
    *,
    going: Callable[[], bool] = lambda: True,
    patience: float | None = None,
) -> int:
    """
    After vectors were stored, learn from those that wait, if these are `enough`.

    Args:
        count: How many passages got vectors. If others wait longer, as many of those, and as many as are enough.
        words: Gives what new terms begin with.
        going: Whether to continue; asked before each page.
        patience: See `learn_page`.

    Returns:
        From how many passages.

    Raises:
        StoreBusy: Somebody else writes for longer than `patience`; what was learned by then is kept.
    """
    left = count = pending(store, generation, count)
    vocabulary = Vocabulary()
    while left and going():
        done = learn_page(store, generation, min(left, PAGE), words, vocabulary, patience=patience)
        if not done:
            break
        left -= done
    return count - left


def pending(store: Store, generation: int, count: int = 0) -> int:
    """
    From how many of the passages that wait to learn after so many got vectors: from no more of those that others left than
    are enough; 0 if they are not enough.
    """
    progress = store.term_vectors.progress(generation, WAITING + count)
    least = enough(progress.passages)
    return min(progress.waiting, least + count) if progress.waiting >= least else 0


def learn_page(
    store: Store,
    generation: int,
    most: int,
    words: Callable[[], WordVectors | None],
    vocabulary: Vocabulary,
    *,
    goes_on: bool = False,
    patience: float | None = None,
) -> int:
    """
    Learn from passages that were not learned from yet, in one transaction; how many those were.

    Args:
        most: Upper bound. Returns 0 only if nothing is pending.
        words: Gives what new terms begin with. It is asked only if the first ones began with any: term vectors that began
            without are learned anew once there are all words, see `learn`.
        goes_on: Something was learned before. If it is gone, another process has put it in its place: nothing is done.
        patience: Seconds to wait for others that write, if not as long as configured.
    """
    with store.transaction(durable=False, patience=patience):
        former, waiting, total, vectors = store.term_vectors.page(generation, most + 1)
        if (goes_on and former is None) or not waiting:
            return 0
        dimension = waiting[0][1].shape[1]
        nothing = np.zeros(len(folding(dimension)))
        own = words() if former is None or former.prior.words else None
        former = former or Learned(0, 0.0, nothing, None, Prior(own.count if own else 0))
        if former.passages >= OWN_AXES and former.basis is None:  # enough for axes of the store's own
            former = _on_own_axes(store, generation, former)
        size = _page(waiting, most)
        saved = len(waiting) <= min(size, enough(former.passages))  # no other waits
        waiting = waiting[:size]
        lies = _lies(waiting, total, vectors, saved=saved)
        if former.passages < OWN_AXES:  # never beyond the turn to own axes: these are the same however large pages are
            waiting, lies = waiting[: OWN_AXES - former.passages], lies[: OWN_AXES - former.passages]
        sound = np.flatnonzero(np.isfinite(lies).all(axis=1))  # a damaged vector teaches nothing
        lies, across = lies[sound], basis(former, dimension)
        page = page_of([waiting[number][0] for number in sound.tolist()], vocabulary)
        terms, wanted = vocabulary.terms(page.keys), projected(lies, across)
        known = store.term_vectors.of_terms(generation, terms, once=True) if former.passages else {}
        new = own.of([term for term in terms if " " not in term and term not in known]) if own else {}
        begin = {term: across @ vector for term, vector in new.items()}
        made = taught(page, terms, known, wanted, former.passages + 1 + sound, words=begin, prior=former.prior)
        fit = _fit(former, made.foretold, wanted, lies)
        spread = former.spread + np.einsum("ij,ij->j", wanted, wanted, dtype=np.float64)
        learned = Learned(former.passages + len(waiting), fit, spread, former.basis, made.prior)
        chunks: dict[ChunkId, list[str]] = {excerpt.id: [] for excerpt, _ in waiting}
        chunks |= {waiting[number][0].id: pairs for number, pairs in zip(sound.tolist(), made.first, strict=True)}
        store.term_vectors.learn(generation, learned, made.term_vectors, chunks, most=MOST_TERMS)
        return len(waiting)


def _page(waiting: Passages, most: int) -> int:
    """How many of these are learned from together, at least one."""
    read = accumulate(len(excerpt.text) for excerpt, _ in waiting)
    texts = 1 + sum(length < CHARACTERS for length in read)
    dimension: int = waiting[0][1].shape[1]
    return min(most, texts, max(PAGE // 8, NUMBERS // dimension))


def _on_own_axes(store: Store, generation: int, former: Learned) -> Learned:
    """
    Turn all that is known to axes of the store's own: those along which passages differ. That takes 0.1 to 0.5 s, once a
    store.
    """
    passages = store.term_vectors.pending(generation, OWN_AXES, learned=True)
    means = np.stack([vectors.mean(axis=0) for _, vectors in passages])
    means = means[np.isfinite(means).all(axis=1)]  # those that are not damaged
    differences = means - centre(means.sum(axis=0, dtype=np.float64), len(means))
    own = rounded(axes(differences.astype(np.float32), AXES))
    spread = np.sum((differences @ own.T).astype(np.float64) ** 2, axis=0)
    learned = former._replace(spread=spread * (former.passages / max(1, len(means))), basis=own)
    # In one order, in whichever a store has them: how BLAS rounds a row depends on where in the matrix it stands.
    known = sorted(store.term_vectors.of_terms(generation, None).values())
    rows = turned(known, basis(former, own.shape[1]) @ own.T)
    rows.sort(key=lambda one: (-one.passages, one.term))  # the commonest are written with each page: on few pages
    store.term_vectors.learn(generation, learned, rows)
    return learned


def _lies(waiting: Passages, sums: Plain, count: int, *, saved: bool) -> Vectors:
    """
    Where passages lie, seen from the centre of all vectors, shape (passages, dimension), float32.

    Args:
        sums, count: Of all vectors there are.
        saved: Whether these passages came last, by saves: each lies where it lay when it was the last one, so that it is
            all one how many are learned from together.
    """
    means = np.concatenate([own if len(own) == 1 else own.mean(axis=0, keepdims=True) for _, own in waiting])
    total = np.asarray(sums)
    centres = [centre(total, count)]
    for _, vectors in reversed(waiting[1:]) if saved else ():
        own = vectors.sum(axis=0, dtype=np.float64)
        if np.isfinite(own).all():  # else it is damaged, and was not when it was added
            total, count = total - own, count - len(vectors)
        centres.append(centre(total, count))
    return (means - np.stack(centres[::-1])).astype(np.float32, copy=False)


def _fit(former: Learned, foretold: Vectors, wanted: Vectors, lies: Vectors) -> float:
    """
    See `Learned`, after a page.

    Args:
        wanted, lies: Where passages lie, along the axes and in all dimensions.
    """
    lengths = np.einsum("ij,ij->i", foretold, foretold, dtype=np.float64)
    lengths *= np.einsum("ij,ij->i", lies, lies, dtype=np.float64)
    cosines = np.einsum("ij,ij->i", foretold, wanted, dtype=np.float64)
    cosines /= np.sqrt(np.where((lengths > 0) & (lengths < inf), lengths, inf))
    fit = former.fit
    for passages, cosine in enumerate(cosines.tolist(), start=former.passages + 1):
        fit += (cosine - fit) / min(passages, RECENT)
    return fit


# Axes --------------------------------------------------------------------------
#
# The few axes along which term vectors are kept: of a large model's dimensions, those along which passages differ. A small
# store begins with sums of dimensions; once it learned from `OWN_AXES` passages, it has axes of its own.


@lru_cache(maxsize=4)
def folding(dimension: int) -> Vectors:
    """
    Axes for any passages: each is the sum of some neighbouring dimensions, of one if there are at most `FIRST`.

    As good as random axes, if dimensions have no order (Charikar, Chen and Farach-Colton, ICALP 2002): believed, and
    exact up to `FIRST` dimensions.

    Returns:
        Shape (up to FIRST, dimension), float32, rows orthonormal.
    """
    each = -(-dimension // FIRST)
    rows = np.zeros((-(-dimension // each), dimension), np.float32)
    rows[np.arange(dimension) // each, np.arange(dimension)] = 1
    rows /= np.sqrt(rows.sum(axis=1, keepdims=True))
    rows.flags.writeable = False
    return rows


def basis(learned: Learned, dimension: int) -> Vectors:
    """The axes of term vectors, shape (axes, dimension), float32, rows orthonormal."""
    return folding(dimension) if learned.basis is None else learned.basis


def axes(rows: Vectors, most: int) -> Vectors:
    """
    Orthonormal axes along which rows differ most, approximately, those of most difference first.

    Two steps of subspace iteration from a fixed random start (Halko, Martinsson and Tropp, SIAM Review 53, 2011).
    A full decomposition would take minutes at 3,072 dimensions.

    Args:
        rows: Shape (n, dimension), centred.

    Returns:
        Shape (up to most, dimension), float32; fewer if rows differ along fewer, but at least one.
    """
    dimension = rows.shape[1]
    start = np.random.default_rng(0).standard_normal((dimension, min(most, dimension))).astype(np.float32)
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


def centre(total: NDArray[np.float64], count: int) -> Vectors:
    """As `memory.search.fuse.shrunk`, for whom numpy is there; rounded, for a sum depends on the order of its terms."""
    return (np.rint(total / (count + SHRINK) * GRID) / GRID).astype(np.float32)


def projected(rows: Vectors, across: Vectors) -> Vectors:
    """The rows · acrossᵀ, in pieces that no library shares among threads."""
    axes, dimension = across.shape
    width = next(one for one in range(min(64, dimension), 0, -1) if dimension % one == 0)
    parts = np.ascontiguousarray(across.T).reshape(-1, width, axes)
    height = max(2, UNSHARED // (axes * width))
    found = np.empty((len(rows), axes), np.float32)
    for start in range(0, len(rows), height):
        some = rows[start : start + height].reshape(-1, len(parts), width).transpose(1, 0, 2)
        found[start : start + height] = (some @ parts).sum(axis=0)
    return found


def turned(term_vectors: Sequence[TermVector], turn: Vectors) -> list[TermVector]:
    """
    Term vectors along other axes.

    Args:
        turn: Shape (axes, new axes), float32.
    """
    codes = np.frombuffer(b"".join([one.code for one in term_vectors]), np.int8).reshape(-1, len(turn))
    rows = codes * np.array([one.scale for one in term_vectors], np.float32)[:, None]
    scales, codes = coded(rows.astype(np.float32, copy=False) @ turn)
    values = zip(term_vectors, scales.tolist(), map(bytes, codes), strict=True)
    return [one._replace(scale=scale, code=code) for one, scale, code in values]

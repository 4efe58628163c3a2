"""Learning term vectors: each passage whose vector is stored corrects the rows of the terms that it holds, once."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from itertools import chain, islice
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memory.search.term_vectors import hidden, paired, plain, word_vectors, words
from memory.search.term_vectors.axes import AXES, axes, basis, folding
from memory.search.term_vectors.held import Held
from memory.search.term_vectors.pages import longer, sentences
from memory.search.term_vectors.rows import Lesson, Rows
from memory.search.term_vectors.step import RECENT, centre
from memory.store import Learned, Prior, State
from memory.text.tokens import passage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from memory.embed.words import WordVectors
    from memory.schema.memory import ChunkId, Excerpt
    from memory.schema.space import Plain, Vectors
    from memory.search.term_vectors import HeldWords
    from memory.search.term_vectors.ahead import Ahead
    from memory.store import Store, TermVector

SETTLED = 400
"""From so many passages on a store has axes of its own: fewer say little about where others will differ."""

MOST_TERMS = 40_000
"""About 8 MB. Beyond, the rarest go, pairs before words; no judged set is better off with more."""

BEHIND = 32
"""Passages wait until they are one in so many: term vectors are never more than some 3 % behind their store."""

WAITING = 64
"""So many are always enough: they share most of the rows that they will ever share, and are learned from in 0.1 s."""

PAGE = 2048
"""Passages learned from in one transaction, where nobody waits: about two fifths of a second."""

NUMBERS = 1 << 20
"""Of vectors of more dimensions, so many numbers: 4 MB."""

BESIDE = 12_000
"""If more passages wait, a process beside pays, also where other programs have much of the cores."""


def enough(passages: int) -> int:
    """
    How many passages wait until they are learned from together, in a store that learned from so many: rows that they
    share are read and written once. What comes of it is the same, number by number.
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
    beside: int = BESIDE,
) -> int:
    """
    Learn from all passages of a generation that were not learned from yet, a page at a time.

    Args:
        anew: Forget first what is known. That happens too if more passages are gone than are left, or if word vectors
            are there now that were not when it began.
        prior: Whether to begin with word vectors.
        whole: Learn also from fewer than `enough`.
        going: Whether to continue; asked before each page. What is learned by then is kept.
        beside: If more passages wait, a process beside learns from them, while their texts are read here.

    Returns:
        From how many passages.
    """
    former = store.term_vectors.learned(generation)
    words = word_vectors(store, generation) if prior else None
    late = former and words and words.whole and words.count > former.prior.words
    if former and (anew or late or former.passages > 2 * store.generations.size(generation).chunks):
        store.term_vectors.learn(generation, None)
    if not whole and not _due_now(store, generation, 0):
        return 0
    [dimension] = [one.space.dimension for one in store.generations.every() if one.id == generation] or [1]
    page = min(PAGE, max(PAGE // 8, NUMBERS // dimension))
    waiting = store.term_vectors.progress(generation, max(page, beside) + 1).waiting
    held = Held(store, generation, many=waiting > page)
    count = 0
    with _ahead(store, generation, held, page) if waiting > beside else nullcontext() as ahead:
        while going() and store.term_vectors.lessons(generation, 1):  # no write lock for nothing
            words = word_vectors(store, generation) if prior else None
            if ahead and (done := ahead.page(words)):
                count += done
                continue
            own = _own_axes(store, generation) if _due(store.term_vectors.learned(generation)) else None
            count += learn_some(store, generation, page, words, own=own, held=held)
    return count


def _ahead(store: Store, generation: int, held: Held, page: int) -> Ahead:
    from memory.search.term_vectors.ahead import Ahead  # sockets and pickles: not for a save

    return Ahead(store, generation, held, size=page, least=WAITING + 1, most=MOST_TERMS)


def learn_stored(store: Store, count: int, words: HeldWords, *, settle: bool = True) -> bool:
    """
    After vectors were stored, learn from those that wait, if these are `enough`.

    Args:
        count: How many passages got vectors. If others wait longer, as many of those, and as many as are enough.
        words: What new terms of a generation begin with.
        settle: Whether a store may get axes of its own now: that takes 0.1 to 0.5 s, once. Else, when it is time for
            them, passages wait as lessons.

    Returns:
        Whether passages wait for that.
    """
    waiting = False
    for generation in store.generations.every():
        left = 0 if generation.state is State.RETIRED else _due_now(store, generation.id, count)
        while left and (done := learn_some(store, generation.id, min(left, PAGE), words.of(generation), settle=settle)):
            left -= done
        waiting |= left > 0 and not settle
    return waiting


def _due_now(store: Store, generation: int, count: int) -> int:
    """From how many of the passages that wait to learn after so many got vectors; 0 if they are not enough."""
    progress = store.term_vectors.progress(generation, WAITING + count)
    least = enough(progress.passages)
    return min(progress.waiting, least + count) if progress.waiting >= least else 0


def learn_some(
    store: Store,
    generation: int,
    most: int,
    words: WordVectors | None,
    *,
    settle: bool = True,
    own: OwnAxes | None = None,
    held: Held | None = None,
) -> int:
    """
    Learn from passages that were not learned from yet, in one transaction; how many those were.

    Args:
        most: At most so many, of which fewer may be taken: 0 only if there are none, or not `settle` and it is due.
        words: What new terms begin with.
        own: The store's own axes if they were found already: nobody else can write while they are looked for here.
    """
    with store.transaction(durable=False):
        former = store.term_vectors.learned(generation)
        if _due(former) and not settle:
            return 0
        if former is None:
            store.term_vectors.learn(generation, None)  # what is left of damaged ones
        progress = store.term_vectors.progress(generation, WAITING + 1)
        if not (waiting := store.term_vectors.lessons(generation, most)):
            return 0
        left_by_saves = len(waiting) == progress.waiting <= enough(progress.passages)
        dimension = waiting[0][1].shape[1]
        if former is None:
            former = _nothing_yet(dimension, words)
        at_once = _at_once(former, most)
        if _due(former):
            former = _settled(store, generation, former, own or _own_axes(store, generation), dimension)
        if left_by_saves:
            made = _one_by_one(
                store, generation, former, waiting, words, at_once=at_once, room=MOST_TERMS - progress.terms
            )
        else:
            held = held or Held(store, generation)
            made = held.page(former, progress.terms, waiting[:at_once], words, most=MOST_TERMS)
        store.term_vectors.learn(generation, *made, most=MOST_TERMS)
        if held:
            held.state = store.term_vectors.state()
        return len(made[-1])


def _one_by_one(
    store: Store,
    generation: int,
    former: Learned,
    waiting: Sequence[tuple[Excerpt, Vectors]],
    words: WordVectors | None,
    *,
    at_once: int,
    room: int,
) -> tuple[Learned, list[TermVector], dict[ChunkId, list[str]]]:
    """
    Learn from passages that saves left, bit by bit as if each had been learned from in its own save.

    Args:
        at_once: From so many of them.
        room: So many terms may come.
    """
    centres = _centres(waiting, *store.vectors.centre(generation))
    lessons = [_lesson(*one) for one in islice(zip(waiting, centres, strict=True), at_once)]
    held = dict.fromkeys(chain.from_iterable([one.counts for one in lessons]))
    known = store.term_vectors.of_terms(generation, list(held), once=True)
    rows = _rows(former, known, held, words, len(centres[0]))
    learned, first = _corrected(former, rows, lessons, room=room)
    chunks = {excerpt.id: pairs for (excerpt, _), pairs in zip(waiting, first, strict=False)}
    return learned, rows.term_vectors(), chunks


def _at_once(former: Learned, most: int) -> int:
    """Never beyond the turn to own axes, so that these are the same however many passages are learned at once."""
    return most if former.passages >= SETTLED else min(most, SETTLED - former.passages)


def _nothing_yet(dimension: int, words: WordVectors | None) -> Learned:
    return Learned(0, 0.0, np.zeros(len(folding(dimension))), None, Prior(words.count if words else 0))


def _rows(
    former: Learned, known: Mapping[str, TermVector], held: Iterable[str], words: WordVectors | None, dimension: int
) -> Rows:
    """The rows of the terms that are held; those of unknown words begin with their word vectors."""
    unknown = [term for term in held if " " not in term and term not in known]
    across = basis(former, dimension)
    begun = {term: across @ vector for term, vector in words.of(unknown).items()} if words else {}
    return Rows(known, held, len(former.spread), words=begun, prior=former.prior)


def _corrected(former: Learned, rows: Rows, lessons: Sequence[Lesson], *, room: int) -> tuple[Learned, list[list[str]]]:
    """
    What is known after some lessons, which correct the rows; and the pairs that each is the first to say.

    Args:
        room: So many new terms may be known. With the lesson that brings more it ends, as if each came by itself.
    """
    across = basis(former, len(lessons[0].wanted))
    passages, fit, spread = former.passages, former.fit, former.spread
    first: list[list[str]] = []
    for lesson in lessons:
        passages += 1
        if not np.isfinite(lesson.wanted).all():  # a damaged vector teaches nothing
            first.append([])
            continue
        wanted = across @ lesson.wanted
        foretold = rows.correct(lesson, wanted, passages)
        fit += (_cosine(foretold, wanted, lesson.wanted) - fit) / min(passages, RECENT)
        spread = spread + wanted.astype(np.float64) ** 2
        first.append(rows.first_said(lesson.counts))
        if rows.added > room:
            break
    return Learned(passages, fit, spread, former.basis, rows.prior), first


def _cosine(foretold: Vectors, wanted: Vectors, whole: Vectors) -> float:
    """The cosine of two vectors, one of which lies along the axes; `wanted` is what of the other does."""
    lengths = float(foretold @ foretold) * float(whole @ whole)
    return float(foretold @ wanted) / lengths**0.5 if 0 < lengths < inf else 0.0


def _lesson(found: tuple[Excerpt, Vectors], centre: Vectors) -> Lesson:
    """
    The terms of a passage and where it lies; terms of its title count twice.

    Without the text before the chunk: a pair across the border would belong to two chunks, and outlive one of them.
    """
    excerpt, vectors = found
    text = passage(excerpt, 0)
    cut = sentences(text)
    said, unseen = [plain(sentence) for sentence in cut], hidden(text)
    counts = Counter(words(excerpt.title) + paired([*chain.from_iterable(said), *unseen]))
    parts = [Counter(paired(said[n] + hidden(cut[n]) if unseen else said[n])) for n in longer(cut)]
    return Lesson(counts, parts, (vectors.mean(axis=0) - centre).astype(np.float32, copy=False))


def _centres(waiting: Sequence[tuple[Excerpt, Vectors]], sums: Plain, count: int) -> Sequence[Vectors]:
    """
    From where it is said where each passage lies: where their centre lay when that passage was the last one.

    Args:
        sums, count: Of all vectors there are.
    """
    total = np.asarray(sums)
    centres: list[Vectors] = []
    for _, vectors in reversed(waiting):
        centres.append(centre(total, count))
        later = vectors.sum(axis=0, dtype=np.float64)
        if np.isfinite(later).all():  # else it is damaged, and was not when it was added
            total, count = total - later, count - len(vectors)
    return centres[::-1]


class OwnAxes(NamedTuple):
    """
    Attributes:
        basis: As in `Learned`.
        spread: The same of so many passages.
        passages: Those whose vectors are not damaged.
    """

    basis: Vectors
    spread: NDArray[np.float64]
    passages: int


def _due(learned: Learned | None) -> bool:
    """Whether there are enough passages for axes of the store's own, which it does not have."""
    return learned is not None and learned.passages >= SETTLED and learned.basis is None


def _own_axes(store: Store, generation: int) -> OwnAxes:
    """Those along which the passages differ that were learned from first."""
    lessons = store.term_vectors.lessons(generation, SETTLED, learned=True)
    vectors = np.stack([vectors.mean(axis=0) for _, vectors in lessons])
    vectors = vectors[np.isfinite(vectors).all(axis=1)]
    differences = vectors - centre(vectors.sum(axis=0, dtype=np.float64), len(vectors))
    own = axes(differences.astype(np.float32), AXES)
    return OwnAxes(own, np.sum((differences @ own.T).astype(np.float64) ** 2, axis=0), len(differences))


def _settled(store: Store, generation: int, former: Learned, own: OwnAxes, dimension: int) -> Learned:
    """Turn all that is known to the axes of the store's own passages."""
    learned = former._replace(spread=own.spread * (former.passages / max(1, own.passages)), basis=own.basis)
    # In one order, in whichever a store has them: how BLAS rounds a row depends on where in the matrix it stands.
    known = dict(sorted(store.term_vectors.of_terms(generation, None).items()))
    turned = Rows(known, (), len(former.spread))
    turned.turn(basis(former, dimension) @ own.basis.T)
    commonest_first = sorted(turned.term_vectors(), key=lambda one: (-one.passages, one.term))  # then on few pages
    store.term_vectors.learn(generation, learned, commonest_first)
    return learned

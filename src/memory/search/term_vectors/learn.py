"""Learning term vectors: each passage whose vector is stored corrects the rows of the terms that it holds, once."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from itertools import chain, islice
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from memory.search.term_vectors import hidden, paired, plain, word_vectors, words
from memory.search.term_vectors.axes import basis, folding
from memory.search.term_vectors.held import Held
from memory.search.term_vectors.own_axes import SETTLED, due, own_axes, settled
from memory.search.term_vectors.pages import longer, sentences
from memory.search.term_vectors.rows import Lesson, Rows
from memory.search.term_vectors.step import RECENT, centre
from memory.store import Learned, Prior, State
from memory.text.tokens import passage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from memory.embed.words import WordVectors
    from memory.schema.memory import ChunkId, Excerpt
    from memory.schema.space import Plain, Vectors
    from memory.search.term_vectors import HeldWords
    from memory.search.term_vectors.ahead import Ahead
    from memory.search.term_vectors.own_axes import OwnAxes
    from memory.store import Store, TermVector

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
        anew: Learn from all passages again. That happens too if more passages are gone than are left, or if word vectors
            are there now that were not when it began. What is known answers until then: what is learned again stands
            beside it, and takes its place when nothing is left to learn from. The next call goes on where one stopped.
        prior: Whether to begin with word vectors.
        whole: Learn also from fewer than `enough`.
        going: Whether to continue; asked before each page. What is learned by then is kept.
        beside: If more passages wait, a process beside learns from them, while their texts are read here.

    Returns:
        From how many passages.
    """
    into = _into(store, generation, word_vectors(store, generation) if prior else None, anew=anew)
    if into == generation and not whole and not _due_now(store, generation, 0):
        return 0
    count = _learn_into(store, into, prior=prior, going=going, beside=beside)
    if into != generation and not store.term_vectors.lessons(into, 1):
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


def _learn_into(store: Store, into: int, *, prior: bool, going: Callable[[], bool], beside: int) -> int:
    """Learn from all lessons, a page at a time, unless `going` says no; from how many passages."""
    generation = abs(into)
    [dimension] = [one.space.dimension for one in store.generations.every() if one.id == generation] or [1]
    page = min(PAGE, max(PAGE // 8, NUMBERS // dimension))
    waiting = store.term_vectors.progress(into, max(page, beside) + 1).waiting
    held = Held(store, into, many=waiting > page)
    count = 0
    with _ahead(store, into, held, page) if waiting > beside else nullcontext() as ahead:
        while going() and store.term_vectors.lessons(into, 1):  # no write lock for nothing
            words = word_vectors(store, generation) if prior else None
            if ahead and (done := ahead.page(words)):
                count += done
                continue
            own = own_axes(store, into) if due(store.term_vectors.learned(into)) else None
            count += learn_some(store, into, page, words, own=own, held=held)
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
        if due(former) and not settle:
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
        if due(former):
            former = settled(store, generation, former, own or own_axes(store, generation), dimension)
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
    centres = _centres(waiting, *store.vectors.centre(abs(generation)))
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

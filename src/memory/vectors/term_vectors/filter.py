"""
The filter that corrects term vectors: passage by passage, each once, and within it sentence by sentence.

A Kalman filter (Kalman 1960) for vectors = rows of tf-idf times W, whose covariance is taken for diagonal: each term has
a step of its own, which shrinks as the term is met. One pass over the passages is as good as ridge regression.

How far a term was met when a passage comes (S), and so how large its step is, depends on texts alone: that is worked out
for a page of passages at once. What is left to do passage by passage is to multiply twice with the rows of its terms, and
to round them as they are stored. First the terms of the page are counted with one array operation, which takes a fifth of
the time of a `Counter` for each passage.
"""

from __future__ import annotations

import re
from itertools import chain, islice, pairwise, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memory.store import HEARD, Prior, TermVector
from memory.text.fold import folds
from memory.text.lookup import spellings, stemmed
from memory.text.terms import unseen
from memory.text.tokens import passages
from memory.vectors.term_vectors import PAIR, stop_stems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from memory.schema.memory import Excerpt
    from memory.schema.space import Vectors

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int8]
    Bools = NDArray[np.bool_]
    Numbers = NDArray[np.int64]


FIRST, SENTENCE = 8, 15
"""Sentences of a passage that are learned from, its first ones, and the characters that each has more than."""

STEPS = 1 + FIRST
"""Of a passage: itself, and its sentences."""

PAIRS = 1 << 32
"""A key below is a word: the number of its stem. Others are pairs: PAIRS · (number of the first + 1) + number of the second."""

_END = re.compile(r"\s(?:(?<=[.!?。！？]\s)|(?<=\n))\s*")  # looks behind white space alone: half the time


def sentences(text: str) -> list[str]:
    """The sentences of a passage, and what stands on lines of its own; some may be empty."""
    return [sentence.strip() for sentence in _END.split(text)]


def longer(texts: Sequence[str]) -> list[int]:
    """Which of these sentences are learned from."""
    return [number for number, sentence in enumerate(texts) if len(sentence) > SENTENCE][:FIRST]


class Vocabulary(dict[str, int]):
    """The number of the stem of each spelling of a word; -1 for stop words. Stems are numbered as they are first met."""

    def __init__(self) -> None:
        super().__init__()
        self._stems: dict[str, int] = {}

    def numbers(self, *texts: str) -> list[list[int]]:
        """The stems of texts without stop words, in order."""
        spelled = spellings(folds(texts))
        if new := [word for words in spelled for word in words if word not in self]:
            stop = stop_stems()
            for word, stem in zip(new, stemmed(new), strict=True):
                self[word] = -1 if stem in stop else self._stems.setdefault(stem, len(self._stems))
        return [[number for number in map(self.__getitem__, words) if number >= 0] for words in spelled]

    def terms(self, keys: Numbers) -> list[str]:
        """The terms with these keys."""
        stems = [*self._stems]
        firsts, seconds = (keys // PAIRS - 1).tolist(), (keys % PAIRS).tolist()
        return [stems[b] if a < 0 else f"{stems[a]} {stems[b]}" for a, b in zip(firsts, seconds, strict=True)]


class PassagePage(NamedTuple):
    """
    Attributes:
        keys: The terms of all passages, ascending.
        owners, terms, times: Of each term of each passage, by passage and then by term: the passage, the place of the
            term in `keys`, and how often it stands there.
        steps, held, often: The same of the sentences, by sentence: `steps` counts these, each passage's from
            STEPS times its number on, and 1 for its first sentence; `held` are places in `owners`.
        sentences: How many each passage has.
    """

    keys: Numbers
    owners: Numbers
    terms: Numbers
    times: Numbers
    steps: Numbers
    held: Numbers
    often: Numbers
    sentences: Numbers


class _Occurrences:
    """Terms as they stand in texts, and the number of each text."""

    def __init__(self) -> None:
        self._keys: list[int] = []
        self._texts: list[int] = []
        self._lengths: list[int] = []

    def add(self, text: int, words: Sequence[int], title: Sequence[int] = ()) -> None:
        """Words and each two adjacent ones; those of the title alone."""
        length = len(self._keys)
        self._keys += title
        self._keys += words
        self._keys += [PAIRS * (a + 1) + b for a, b in pairwise(words)]
        self._texts.append(text)
        self._lengths.append(len(self._keys) - length)

    def arrays(self) -> tuple[Numbers, Numbers]:
        """Of each occurrence the key of its term, and the number of its text."""
        return np.array(self._keys, np.int64), np.repeat(np.array(self._texts, np.int64), self._lengths)


def page_of(excerpts: Sequence[Excerpt], vocabulary: Vocabulary) -> PassagePage:
    """
    The terms of passages, whose numbers are their places; words of their titles count once more.

    Without the text before a chunk: a pair across the border would belong to two chunks, and outlive one of them.
    """
    whole, parts, counts = _Occurrences(), _Occurrences(), list[int]()
    texts, titles = passages(excerpts, 0), [excerpt.title for excerpt in excerpts]
    cuts, hidden = [sentences(text) for text in texts], unseen([*texts, *titles])
    of_titles = map(" ".join, zip(titles, hidden[len(texts) :], strict=True))
    every = ([*cut, more, of_title] for cut, more, of_title in zip(cuts, hidden, of_titles, strict=False))
    numbered = iter(vocabulary.numbers(*chain.from_iterable(every)))
    for owner, cut in enumerate(cuts):
        *words, more_words, title_words = islice(numbered, len(cut) + 2)
        whole.add(owner, [*chain.from_iterable(words), *more_words], title_words)
        numbers = longer(cut)
        own = vocabulary.numbers(*unseen([cut[number] for number in numbers])) if more_words else repeat([])
        for step, (number, parted) in enumerate(zip(numbers, own, strict=False), start=1):
            parts.add(owner * STEPS + step, words[number] + parted)
        counts.append(len(numbers))
    return _page(whole, parts, np.array(counts, np.int64))


def _page(whole: _Occurrences, parts: _Occurrences, sentences: Numbers) -> PassagePage:
    every, owners = whole.arrays()
    keys, places = np.unique(every, return_inverse=True)
    count = max(1, len(keys))
    cells, times = np.unique(owners * count + places, return_counts=True)
    every, steps = parts.arrays()
    places = _places(keys, every)
    held = np.where(places >= 0, _places(cells, steps // STEPS * count + places), -1)
    own = held >= 0  # a pair of a sentence's last word and a part of its name need not stand in the passage
    size = max(1, len(cells))
    some, often = np.unique((steps * size + held)[own], return_counts=True)
    return PassagePage(keys, *np.divmod(cells, count), times, *np.divmod(some, size), often, sentences)


def _places(keys: Numbers, wanted: Numbers) -> Numbers:
    """Where these stand among ascending keys; -1 of those that do not."""
    if not len(keys):
        return np.full(len(wanted), -1)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, places, -1)


# The filter ---------------------------------------------------------------------

NOISE = 0.3
"""λ: how much what is learned of a term at first is distrusted; as in ridge regression."""

SENTENCES = 0.5
"""What all sentences of a passage weigh together beside it."""

LEAST_SCALE = 1e-12

_UNKNOWN = TermVector("", 0, -HEARD - 1, 0.0, 0.0, b"")


class Taught(NamedTuple):
    """
    What a page of passages taught.

    Attributes:
        term_vectors: The rows of all its terms that have one now.
        foretold: Where the rows foretold each passage before it corrected them, shape (passages, axes).
        first: Of each passage the pairs that it was the first to say; of the last `HEARD` alone that were that of any.
        prior: How far word vectors count now.
    """

    term_vectors: list[TermVector]
    foretold: Vectors
    first: list[list[str]]
    prior: Prior


def taught(
    page: PassagePage,
    terms: Sequence[str],
    known: Mapping[str, TermVector],
    wanted: Vectors,
    passages: Numbers,
    *,
    words: Mapping[str, Vectors],
    prior: Prior,
) -> Taught:
    """
    What a page of passages teaches.

    Args:
        terms: Those of the page, in the order of its keys.
        known: What is known of them; see `TermVectors.of_terms` with `once`.
        wanted: Where each passage lies, shape (passages, axes), float32.
        passages: Of each how many there are with it.
        words: What the model makes of some words that are not known, rows of that length: these they begin with.
        prior: How far word vectors count until now.
    """
    rows = [known.get(term, _UNKNOWN) for term in terms]
    there = np.array([bool(one.code) for one in rows], np.bool_)
    held, last, met = (np.array([one[field] for one in rows], np.float64) for field in (1, 2, 3))
    own = _counted(page, np.where(there, held, 0).astype(np.int64), last.astype(np.int64))
    coded = np.flatnonzero(own.passages)
    rows, names = [rows[place] for place in coded.tolist()], [terms[place] for place in coded.tolist()]
    axes = wanted.shape[1]  # zeros for what has no vector yet; as numbers, for numpy multiplies two kinds slowly
    signs = np.frombuffer(b"".join([one.code or bytes(axes) for one in rows]), np.int8).reshape(-1, axes)
    matrix = signs.astype(np.float32) * np.array([one.scale for one in rows], np.float32)[:, None]
    met, begin = met[coded], {row: words[name] for row, name in enumerate(names) if name in words}
    met[list(begin)] = NOISE  # a word vector counts as one meeting
    weighed = _weighed(page, own, met, passages)
    foretold, prior = _corrected(matrix, weighed, wanted, begin, prior)
    scales, codes = rounded(matrix)
    numbers = (own.passages[coded], passages[own.last[coded]], weighed.met.astype(np.float32), scales)
    columns = zip(names, *[column.tolist() for column in numbers], map(bytes, codes), strict=True)
    return Taught(list(map(TermVector._make, columns)), foretold, _first(page, own, terms), prior)


def _first(page: PassagePage, own: TermCounts, terms: Sequence[str]) -> list[list[str]]:
    """See `Taught.first`."""
    pairs: list[list[str]] = [[] for _ in page.sentences]
    said = ~own.coded & (own.noted[page.owners] >= own.noted[-1] - HEARD)
    for owner, place in zip(page.owners[said].tolist(), page.terms[said].tolist(), strict=True):
        pairs[owner].append(terms[place])
    return pairs


class TermCounts(NamedTuple):
    """
    Which terms of a page have a row, and how many passages hold them.

    Attributes:
        coded: Of each occurrence whether its term has a row by then.
        held: Of each occurrence how many passages hold its term, with this one; 1 if it has no row.
        passages: How many hold each term in the end; 0 if it has no row.
        last: The last passage of the page that holds each term.
        noted: How many passages before each one, and in all, were the first to say a pair.
    """

    coded: Bools
    held: Numbers
    passages: Numbers
    last: Numbers
    noted: Numbers


def _counted(page: PassagePage, before: Numbers, said: Numbers) -> TermCounts:
    """
    Count passages. A word has a row at once; a pair only when it is said again, for one said once says less than its
    words: if it was said by one of the last passages that were the first to say any. Which these are, and which pairs
    they were the first to say, depends on each other: from passage to passage.

    Args:
        before: How many passages held each term until now; 0 if it has no row.
        said: Of each pair without a row which passage said it, from -1, the last one.
    """
    count, each = len(page.terms), len(page.sentences)
    order = np.argsort(page.terms * (1 + each) + page.owners)
    terms, owners, place = page.terms[order], page.owners[order], np.arange(count)
    begins = np.flatnonzero(np.diff(terms, prepend=-1))
    ends = np.append(begins, count)[1:]
    once = (page.keys >= PAIRS) & (before == 0)
    noted, guessed = np.arange(1 + each), None
    while guessed is None or not np.array_equal(noted, guessed):  # each time right for one passage more, mostly for all
        former = np.roll(noted[owners], 1)
        former[begins] = said
        again = (noted[owners] - former <= HEARD) | ~once[terms]
        first = np.minimum.reduceat(np.where(again, place, count), begins) if count else begins
        own = place >= first[terms]
        noted, guessed = np.append(0, np.cumsum(np.bincount(owners[~own], minlength=each) > 0)), noted
    before = before + once
    coded, held = np.zeros(count, np.bool_), np.ones(count, np.int64)
    coded[order] = own
    held[order] = np.where(own, before[terms] + place - first[terms] + 1, 1)
    return TermCounts(coded, held, np.where(first < count, before + ends - first, 0), owners[ends - 1], noted)


class Weighed(NamedTuple):
    """
    tf-idf of each passage and of its sentences. Of a passage there is a matrix with a row for each step, the first one for
    itself, and a column for each of its terms.

    Attributes:
        rows: Which row of the term vectors each column belongs to, passage by passage.
        widths: How many columns each passage has.
        heights: How many steps, at least 2: a single one would be multiplied by several threads.
        x, gains: What a term weighs, and how far that corrects its row: all matrices, one after the other.
        met: S of each row after the page.
    """

    rows: Numbers
    widths: Numbers
    heights: Numbers
    x: Vectors
    gains: Vectors
    met: Floats


def _weighed(page: PassagePage, own: TermCounts, met: Floats, passages: Numbers) -> Weighed:
    """
    Args:
        met: S of each row before the page.
        passages: Of each passage how many there are with it.
    """
    owners, terms = page.owners[own.coded], page.terms[own.coded]
    columns = (np.cumsum(own.passages > 0) - 1)[terms]
    rarity = np.log1p(passages[owners] / own.held[own.coded])
    rarity[page.keys[terms] >= PAIRS] *= PAIR
    # Passages, then their sentences: which step, and which column.
    own_place, said = np.cumsum(own.coded) - 1, own.coded[page.held]
    steps = np.concatenate([owners * STEPS, page.steps[said]])
    held = np.concatenate([np.arange(len(owners)), own_place[page.held[said]]])
    x = rarity[held] * (1 + np.log(np.concatenate([page.times[own.coded], page.often[said]])))
    x /= np.sqrt(np.bincount(steps, x * x))[steps] if len(x) else 1
    gains, met = _gains(x, steps, columns[held], met, page.sentences)
    widths, heights = np.bincount(owners, minlength=len(passages)), np.maximum(2, 1 + page.sentences)
    sizes = widths * heights
    begins, firsts, owner = np.cumsum(sizes) - sizes, np.cumsum(widths) - widths, owners[held]
    at = begins[owner] + (steps - owner * STEPS) * widths[owner] + held - firsts[owner]
    dense = np.zeros((2, int(sizes.sum())), np.float32)
    dense[0, at], dense[1, at] = x, gains
    return Weighed(columns, widths, heights, dense[0], dense[1], met)


def _gains(x: Floats, steps: Numbers, rows: Numbers, met: Floats, sentences: Numbers) -> tuple[Floats, Floats]:
    """The steps g / (1 / trust + x · g) with g = x / (λ + S), where S is what all earlier steps left; and S after the page."""
    each = np.ones((len(sentences), STEPS))
    each[:, 1:] = (SENTENCES / np.maximum(1, sentences))[:, None]
    trust = each.ravel()
    order = np.argsort(rows * len(trust) + steps)
    row, added = rows[order], (trust[steps] * x**2)[order]
    begins = np.flatnonzero(np.diff(row, prepend=-1))
    earlier = np.cumsum(added) - added
    before = np.empty(len(x))
    before[order] = earlier - np.repeat(earlier[begins], np.diff(begins, append=len(row))) + met[row]
    gains = x / (NOISE + before)
    gains /= (1 / trust + np.bincount(steps, x * gains, minlength=len(trust)))[steps]
    return gains, met + np.bincount(row, added, minlength=len(met))


def _resolved(given: Weighed) -> Vectors:
    """
    With what is multiplied what all steps of a passage would miss, if none came before another, for what each of them does.

    E = R - L E, where L says how far what an earlier step corrects changes what a later one foretells: (I + L)^-1.

    Returns:
        Shape (passages, steps, steps).
    """
    most = int(given.heights.max(initial=2))
    found = np.zeros((len(given.widths), most, most), np.float32)
    start = 0
    for own, width, height in zip(found, given.widths.tolist(), given.heights.tolist(), strict=True):
        x, gains = (part[start : start + width * height].reshape(height, width) for part in (given.x, given.gains))
        own[:height, :height] = x @ gains.T
        start += width * height
    inverse = np.zeros_like(found)
    inverse[:, 0, 0] = 1
    for step in range(1, most):
        inverse[:, step : step + 1, :step] = -(found[:, step : step + 1, :step] @ inverse[:, :step, :step])
        inverse[:, step, step] = 1
    return inverse


def _corrected(
    matrix: Vectors, given: Weighed, wanted: Vectors, begin: Mapping[int, Vectors], prior: Prior
) -> tuple[Vectors, Prior]:
    """
    Let one passage after the other correct rows.

    Args:
        matrix: The rows, which are changed.
        wanted: Where each passage lies.
        begin: What the model makes of words that are new, by their rows.

    Returns:
        Where the rows foretold each passage; how far word vectors count now.
    """
    foretold, new = np.empty_like(wanted), np.zeros(len(matrix), np.bool_)
    new[list(begin)] = True
    start = first = 0
    sizes = zip(given.widths.tolist(), given.heights.tolist(), _resolved(given), strict=True)
    for number, (width, height, inverse) in enumerate(sizes):
        stop = start + width * height
        x, gains = (part[start:stop].reshape(height, width) for part in (given.x, given.gains))
        rows = given.rows[first : first + width]
        own = matrix[rows]
        missed = x @ own
        if begin and len(fresh := np.flatnonzero(new[rows])):
            # New words begin with their word vectors, scaled by the least squares of what the other terms do not foretell.
            new[rows] = False
            vectors = np.stack([begin[row] for row in rows[fresh].tolist()])
            likely = x[0, fresh] @ vectors
            prior = prior.met(float(likely @ (wanted[number] - missed[0])), float(likely @ likely))
            own[fresh] = np.float32(prior.scale) * vectors
            missed = x @ own
        foretold[number] = missed[0]
        own += gains.T @ (inverse[:height, :height] @ (wanted[number] - missed))
        # As they are stored after each passage, where passages come one by one: what was learned is the same then.
        scales = _scales(own)
        matrix[rows] = np.rint(own / scales) * scales
        start, first = stop, first + width
    return foretold, prior


def rounded(matrix: Vectors) -> tuple[Vectors, Codes]:
    """Rows as they are stored: their scales, shape (rows,), float32, and codes, shape (rows, axes), int8."""
    scales = _scales(matrix)
    return scales[:, 0], np.rint(matrix / scales).astype(np.int8)


def _scales(rows: Vectors) -> Vectors:
    """What each row is divided by so that its numbers go to 127, shape (rows, 1)."""
    scales: Vectors = np.maximum(np.abs(rows).max(axis=1, keepdims=True, initial=0) / np.float32(127), LEAST_SCALE)
    return scales

"""
Many passages at once: the filter of `rows`, with what does not depend on vectors worked out for all of them before.

How far a term was met when a passage comes (S), and so how large its step is, depends on texts alone. What is left to do
passage by passage is to look up its rows, to multiply with them twice and to put them back, rounded as they are stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memory.search.term_vectors import PAIR
from memory.search.term_vectors.known import Columns, rounded, scaled
from memory.search.term_vectors.pages import PAIRS, STEPS, place_in
from memory.search.term_vectors.rows import NOISE, SENTENCES
from memory.store import HEARD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from memory.schema.space import Vectors
    from memory.search.term_vectors.known import Known
    from memory.search.term_vectors.pages import Numbers, Page
    from memory.store import Prior

    Floats = NDArray[np.float64]

NEVER = -HEARD - 1


class Taught(NamedTuple):
    """
    Attributes:
        known: All that is known after a page.
        changed: Which of its rows are others than before, by their places.
        foretold: Where the rows foretold each passage, shape (passages, axes).
        owners, pairs: Pairs that passages were the first to say, by their keys: of the last `HEARD` that were that of any.
        noted: How many passages that were, of any pairs.
        prior: How far word vectors count now.
    """

    known: Known
    changed: Numbers
    foretold: Vectors
    owners: Numbers
    pairs: Numbers
    noted: int
    prior: Prior


def taught(
    page: Page, former: Known, wanted: Vectors, passages: Numbers, *, words: Mapping[int, Vectors], prior: Prior
) -> Taught:
    """
    What is known after a page of passages.

    Args:
        wanted: Where each lies, shape (passages, axes).
        passages: Of each how many there are with it.
        words: What the model makes of some words that have no row yet, by their keys.
        prior: How far word vectors count until now.
    """
    place = place_in(former.keys, page.keys)
    own = counted(
        page, _at(former.columns.passages, place, 0), _at(former.said, place_in(former.heard, page.keys), NEVER)
    )
    coded = np.flatnonzero(own.passages)
    keys, place = page.keys[coded], place[coded]
    matrix, met = former.rows(place)
    new = np.fromiter((key in words for key in keys.tolist()), np.bool_, len(keys)) if words else place < -1
    met[new] = NOISE  # a word vector counts as one meeting
    rows = np.cumsum(own.passages > 0) - 1
    given = _weighed(page, own, rows, met, passages)
    begun = {
        owner: (columns, np.stack([words[key] for key in keys[given.rows[at]].tolist()]))
        for owner, columns, at in _begun(given, new)
    }
    foretold, prior = corrected(matrix, given, wanted, begun, prior)
    last, met_now = passages[own.last[coded]], given.met.astype(np.float32)
    columns = Columns(own.passages[coded], last, met_now, *rounded(matrix))
    known, changed = former.merged(keys, columns)
    noted, every = own.noted[page.owners], int(own.noted[-1])
    once = ~own.coded & (noted >= every - HEARD)
    owners, pairs = page.owners[once], page.keys[page.terms[once]]
    return Taught(known.hearing(pairs, noted[once] - every, every), changed, foretold, owners, pairs, every, prior)


def _at(column: Numbers, places: Numbers, other: int) -> Numbers:
    """What stands there; another number where the place is -1."""
    return np.where(places >= 0, np.append(column, other)[places], other)


class Counted(NamedTuple):
    """
    Which terms of a page have a row, and how many passages hold them.

    Attributes:
        coded: Of each occurrence whether its term has a row by then.
        held: Of each occurrence how many passages hold its term, with this one; 1 if it has no row.
        passages: How many hold each term in the end; 0 if it has no row.
        last: The last passage of the page that holds each term.
        noted: How many passages before each one, and in all, were the first to say a pair.
    """

    coded: NDArray[np.bool_]
    held: Numbers
    passages: Numbers
    last: Numbers
    noted: Numbers


def counted(page: Page, before: Numbers, said: Numbers) -> Counted:
    """
    Count passages. A pair has a row from its second mention on, if it was said by one of the last that were the first to
    say any. Which these are, and which pairs they were the first to say, depends on each other: from passage to passage.

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
    return Counted(coded, held, np.where(first < count, before + ends - first, 0), owners[ends - 1], noted)


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


def _weighed(page: Page, own: Counted, rows: Numbers, met: Floats, passages: Numbers) -> Weighed:
    """
    Args:
        rows: Of each term which row it has.
        met: S of each row before the page.
        passages: Of each passage how many there are with it.
    """
    owners, terms = page.owners[own.coded], page.terms[own.coded]
    columns = rows[terms]
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


def _begun(given: Weighed, new: NDArray[np.bool_]) -> list[tuple[int, Numbers, Numbers]]:
    """Passages that are the first to say words that begin with word vectors: their columns of these, and where these are."""
    if not new.any():
        return []
    at = np.flatnonzero(new[given.rows])
    at = np.sort(at[np.unique(given.rows[at], return_index=True)[1]])
    stops = np.cumsum(given.widths)
    owners = np.searchsorted(stops, at, side="right")
    parts = np.split(at, np.flatnonzero(np.diff(owners)) + 1)
    every = np.unique(owners)
    firsts = (stops - given.widths)[every].tolist()
    return [(owner, part - first, part) for owner, first, part in zip(every.tolist(), firsts, parts, strict=True)]


def resolved(given: Weighed) -> Vectors:
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


def corrected(
    matrix: Vectors, given: Weighed, wanted: Vectors, begun: Mapping[int, tuple[Numbers, Vectors]], prior: Prior
) -> tuple[Vectors, Prior]:
    """
    Let one passage after the other correct rows.

    Args:
        matrix: The rows, which are changed.
        wanted: Where each passage lies.
        begun: Of some passages the columns of new words, and what the model makes of these.

    Returns:
        Where the rows foretold each passage; how far word vectors count now.
    """
    foretold = np.empty_like(wanted)
    widest, highest = int(given.widths.max(initial=0)), int(given.heights.max(initial=2))
    owns, rooms, misses = (np.empty((count, matrix.shape[1]), np.float32) for count in (widest, widest, highest))
    start = first = 0
    sizes = zip(given.widths.tolist(), given.heights.tolist(), resolved(given), strict=True)
    for number, (width, height, inverse) in enumerate(sizes):
        stop = start + width * height
        x, gains = given.x[start:stop].reshape(height, width), given.gains[start:stop].reshape(height, width)
        rows = given.rows[first : first + width]
        own, room = matrix.take(rows, axis=0, out=owns[:width], mode="clip"), rooms[:width]  # else it is copied twice
        missed = np.matmul(x, own, out=misses[:height])
        if number in begun:
            new, vectors = begun[number]
            likely = x[0, new] @ vectors
            prior = prior.met(float(likely @ (wanted[number] - missed[0])), float(likely @ likely))
            own[new] = np.float32(prior.scale) * vectors
            np.matmul(x, own, out=missed)
        foretold[number] = missed[0]
        np.subtract(wanted[number], missed, out=missed)
        own += np.matmul(gains.T, inverse[:height, :height] @ missed, out=room)
        matrix[rows] = _rounded(own, room)
        start, first = stop, first + width
    return foretold, prior


def _rounded(rows: Vectors, room: Vectors) -> Vectors:
    """As they are stored after each passage, where passages come one by one: what was learned is the same then."""
    scales = scaled(rows, room)
    np.rint(rows, out=rows)
    rows *= scales
    return rows

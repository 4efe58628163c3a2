"""What an answer is worth: whether what was found is likely to be what was asked for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from memory.schema.query import Outcome, Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CALIBRATED = ("all-minilm-l6-v2", "all-minilm")
"""Models, without what stands before a slash and behind a colon, whose cosines the numbers below are for."""

FITS, PERHAPS = 0.80, 0.55
"""
Cosine of the nearest hit + half of the best coverage, from which an answer is one, and below which nothing fits.

Chosen on four judged sets, each asked its own questions and those of the others: docs/ranking.md, "What an answer is worth".
"""

COVERED, TOUCHED = 0.5, 0.35
"""The same for the best coverage alone, where no model was asked or its cosines are not known."""

NEAR, NEARLY = 0.45, 0.35
"""The same for the cosine alone, where words tell nothing: none was looked for, or more than `LONG`."""

USUAL, SPREAD = 5_000, 0.06
"""
Vectors of the sets that the numbers were chosen on, and how far cosines with what has nothing to do with a question spread:
the nearest of n such is about SPREAD · √(2 ln n) above their mean, so in a small store less is much.
"""

SMALL = 300
"""
Vectors up to which only what shares no word with the query, and is not `FAINT`ly like it, is called irrelevant: people ask a
small store in few words of their own, and the thresholds above were chosen on questions that say much. From there to
`USUAL` the one passes into the other (docs/decisions/0024-a-small-store-denies-little.md).
"""

FAINT = 0.20
"""Cosine from which the nearest of a small store is perhaps relevant though no word is shared: under it lie most questions of strangers."""

LONG = 12
"""Terms of a query from which few words in common tell nothing: whoever describes a task names much that no memory says."""


class Evidence(Protocol):
    """What speaks for a hit; see `memory.schema.query.Hit`."""

    @property
    def coverage(self) -> float: ...

    @property
    def cosine(self) -> float | None: ...


def worth(
    hits: Sequence[Evidence], tier: Tier, model: str, terms: int, vectors: Callable[[], int] = lambda: USUAL
) -> tuple[Outcome, str]:
    """
    What hits are worth, and why, a clause. Not for an answer whose scope is empty or whose model failed.

    Args:
        terms: Of the query; 0 if no word was looked for.
        model: Whose vectors were compared; of one whose cosines nobody has calibrated, only words can tell that nothing
            fits, and they do not tell it for certain.
        vectors: Counts those that were compared, filters aside, or where none was, the memories that there are. Called only
            where it matters.
    """
    asked = tier in {Tier.HYBRID, Tier.VECTOR}
    if not hits:
        why = _missing(tier, terms)
        if asked or not terms or large(vectors()):
            return Outcome.NOTHING_RELEVANT, why
        return Outcome.WEAK, f"{why}, which tells little of so few memories"
    coverage = max(hit.coverage for hit in hits)
    held = f"the best holds {coverage:.0%} of the query"
    if not asked:
        return _by_words(coverage, terms, vectors), held
    nearest = max((hit.cosine for hit in hits if hit.cosine is not None), default=0.0)
    near = f"the nearest is {nearest:.2f} like it"
    if model.lower().rpartition("/")[2].partition(":")[0] in CALIBRATED:
        short = 0 < terms <= LONG
        return _by_both(coverage, nearest, vectors(), short=short), f"{held}, {near}" if short else near
    if not terms:
        return Outcome.WEAK, f"{near}, which may be much or little with this model"
    return (Outcome.ANSWERED if coverage >= TOUCHED else Outcome.WEAK), held


def large(vectors: int) -> float:
    """How far a store is from a small one: 0 up to `SMALL` vectors, 1 from `USUAL` on, in between in proportion."""
    return min(1.0, max(0.0, (vectors - SMALL) / (USUAL - SMALL)))


def _by_words(coverage: float, terms: int, vectors: Callable[[], int]) -> Outcome:
    if coverage >= COVERED:
        return Outcome.ANSWERED
    irrelevant = terms <= LONG and coverage < TOUCHED and coverage < 2 * large(vectors())
    return Outcome.NOTHING_RELEVANT if irrelevant else Outcome.WEAK


def _by_both(coverage: float, nearest: float, vectors: int, *, short: bool) -> Outcome:
    """By words and the cosine together, or of what is not `short` by the cosine alone."""
    less = SPREAD * (_extreme(USUAL) - min(_extreme(USUAL), _extreme(vectors)))
    fits, perhaps = (FITS - less, PERHAPS - less) if short else (NEAR - less, NEARLY - less)
    evidence = nearest + coverage / 2 if short else nearest
    if evidence >= fits:
        return Outcome.ANSWERED
    share = large(vectors)
    faint = min(FAINT, perhaps)
    irrelevant = evidence < perhaps and nearest < faint + share * (perhaps - faint) and coverage <= 2 * share
    return Outcome.NOTHING_RELEVANT if irrelevant else Outcome.WEAK


def _extreme(count: int) -> float:
    """How many standard deviations the largest of so many lies above the mean, about."""
    return math.sqrt(2 * math.log(max(1, count)))


def _missing(tier: Tier, terms: int) -> str:
    if tier is Tier.VECTOR:
        return "no memory in scope has a vector"
    return "no memory in scope holds any of the words" if terms else "the query holds no word to look for"

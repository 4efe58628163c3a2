"""What an answer is worth: whether what was found is likely to be what was asked for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from memory.query import Outcome, Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.query import Hit

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

LONG = 12
"""Terms of a query from which few words in common tell nothing: whoever describes a task names much that no memory says."""


def worth(hits: Sequence[Hit], tier: Tier, model: str, terms: int, vectors: int = USUAL) -> tuple[Outcome, str]:
    """
    What hits are worth, and why, a clause. Not for an answer whose scope is empty or whose model failed.

    Args:
        terms: Of the query; 0 if no word was looked for.
        model: Whose vectors were compared; of one whose cosines nobody has calibrated, only words can tell that nothing
            fits, and they do not tell it for certain.
        vectors: That were compared, filters aside.
    """
    if not hits:
        return Outcome.NOTHING_RELEVANT, _missing(tier, terms)
    coverage = max(hit.coverage for hit in hits)
    held = f"the best holds {coverage:.0%} of the query"
    if tier not in {Tier.HYBRID, Tier.VECTOR}:
        return _graded(coverage, COVERED, 0.0 if terms > LONG else TOUCHED), held
    nearest = max((hit.cosine for hit in hits if hit.cosine is not None), default=0.0)
    near = f"the nearest is {nearest:.2f} like it"
    if model.lower().rpartition("/")[2].partition(":")[0] in CALIBRATED:
        less = SPREAD * (_extreme(USUAL) - min(_extreme(USUAL), _extreme(vectors)))
        if 0 < terms <= LONG:
            return _graded(nearest + coverage / 2, FITS - less, PERHAPS - less), f"{held}, {near}"
        return _graded(nearest, NEAR - less, NEARLY - less), near
    if not terms:
        return Outcome.WEAK, f"{near}, which may be much or little with this model"
    return (Outcome.ANSWERED if coverage >= TOUCHED else Outcome.WEAK), held


def _extreme(count: int) -> float:
    """How many standard deviations the largest of so many lies above the mean, about."""
    return math.sqrt(2 * math.log(max(1, count)))


def _missing(tier: Tier, terms: int) -> str:
    if tier is Tier.VECTOR:
        return "no memory in scope has a vector"
    return "no memory in scope holds any of the words" if terms else "the query holds no word to look for"


def _graded(evidence: float, fits: float, perhaps: float) -> Outcome:
    if evidence >= fits:
        return Outcome.ANSWERED
    return Outcome.WEAK if evidence >= perhaps else Outcome.NOTHING_RELEVANT

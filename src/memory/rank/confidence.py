"""How far an answer can be trusted: whether what was found is likely to be what was asked for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from memory.schema.answer import Outcome, Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CALIBRATED_MODELS = ("all-minilm-l6-v2", "all-minilm")
"""Models, without what stands before a slash and behind a colon, whose cosines the numbers below are for."""

ANSWERED_MIN, WEAK_MIN = 0.80, 0.55
"""
Best cosine + half of the best coverage from which an answer is ANSWERED, and below which nothing fits.

Chosen on four judged sets, each asked its own questions and those of the others:
docs/ranking.md, "What an answer is worth".
"""

ANSWERED_MIN_COVERAGE, WEAK_MIN_COVERAGE = 0.5, 0.35
"""The same for the best coverage alone, where no model was asked or its cosines are not known."""

ANSWERED_MIN_COSINE, WEAK_MIN_COSINE = 0.45, 0.35
"""The same for the cosine alone, where words tell nothing: none was looked for, or more than `LONG_QUERY`."""

CALIBRATED_SIZE, COSINE_SPREAD = 5_000, 0.06
"""
Vectors of the sets that the numbers were chosen on, and how far cosines with what has nothing to do with a question
spread: the highest of n such is about COSINE_SPREAD · √(2 ln n) above their mean, so in a small store less is much.
"""

SMALL_SIZE = 300
"""
Vectors up to which only what shares no word with the query, and is less like it than `FAINT_COSINE`, is called
irrelevant: people ask a small store in few words of their own, and the thresholds above were chosen on questions that
say much. From there to `CALIBRATED_SIZE` the one passes into the other
(docs/decisions/0024-a-small-store-denies-little.md).
"""

FAINT_COSINE = 0.20
"""Cosine from which the best of a small store is perhaps relevant though no word is shared: under it lie most questions
of strangers."""

LONG_QUERY = 12
"""Terms of a query from which few words in common tell nothing: whoever describes a task names much that no memory says."""


class Evidence(Protocol):
    """What speaks for a hit; see `memory.schema.answer.Hit`."""

    @property
    def coverage(self) -> float: ...

    @property
    def cosine(self) -> float | None: ...


def confidence(
    hits: Sequence[Evidence], tier: Tier, model: str, terms: int, vectors: Callable[[], int] = lambda: CALIBRATED_SIZE
) -> tuple[Outcome, str]:
    """
    How far hits can be trusted, and why, a clause. Not for an answer whose scope is empty or whose model failed.

    Args:
        terms: Of the query; 0 if no word was looked for.
        model: Whose vectors were compared; of one whose cosines nobody has calibrated, only words can tell that nothing
            fits, and they do not tell it for certain.
        vectors: Counts those that were compared, filters aside, or where none was, the memories that there are. Called
            only where it matters.
    """
    asked = tier in {Tier.HYBRID, Tier.VECTOR}
    if not hits:
        why = _missing(tier, terms)
        if asked or not terms or largeness(vectors()):
            return Outcome.NOTHING_RELEVANT, why
        return Outcome.WEAK, f"{why}, which tells little of so few memories"
    coverage = max(hit.coverage for hit in hits)
    words_clause = f"the best holds {coverage:.0%} of the query"
    if not asked:
        return _by_words(coverage, terms, vectors), words_clause
    best_cosine = max((hit.cosine for hit in hits if hit.cosine is not None), default=0.0)
    cosine_clause = f"the nearest is {best_cosine:.2f} like it"
    if model.lower().rpartition("/")[2].partition(":")[0] in CALIBRATED_MODELS:
        short = 0 < terms <= LONG_QUERY
        why = f"{words_clause}, {cosine_clause}" if short else cosine_clause
        return _by_both(coverage, best_cosine, vectors(), short=short), why
    if not terms:
        return Outcome.WEAK, f"{cosine_clause}, which may be much or little with this model"
    return (Outcome.ANSWERED if coverage >= WEAK_MIN_COVERAGE else Outcome.WEAK), words_clause


def largeness(vectors: int) -> float:
    """How far a store is from a small one: 0 up to `SMALL_SIZE` vectors, 1 from `CALIBRATED_SIZE` on."""
    return min(1.0, max(0.0, (vectors - SMALL_SIZE) / (CALIBRATED_SIZE - SMALL_SIZE)))


def _by_words(coverage: float, terms: int, vectors: Callable[[], int]) -> Outcome:
    if coverage >= ANSWERED_MIN_COVERAGE:
        return Outcome.ANSWERED
    irrelevant = terms <= LONG_QUERY and coverage < WEAK_MIN_COVERAGE and coverage < 2 * largeness(vectors())
    return Outcome.NOTHING_RELEVANT if irrelevant else Outcome.WEAK


def _by_both(coverage: float, best_cosine: float, vectors: int, *, short: bool) -> Outcome:
    """By words and the cosine together, or of what is not `short` by the cosine alone."""
    less = COSINE_SPREAD * (_extreme(CALIBRATED_SIZE) - min(_extreme(CALIBRATED_SIZE), _extreme(vectors)))
    answered_min, weak_min = (
        (ANSWERED_MIN - less, WEAK_MIN - less) if short else (ANSWERED_MIN_COSINE - less, WEAK_MIN_COSINE - less)
    )
    evidence = best_cosine + coverage / 2 if short else best_cosine
    if evidence >= answered_min:
        return Outcome.ANSWERED
    share = largeness(vectors)
    faint = min(FAINT_COSINE, weak_min)
    irrelevant = evidence < weak_min and best_cosine < faint + share * (weak_min - faint) and coverage <= 2 * share
    return Outcome.NOTHING_RELEVANT if irrelevant else Outcome.WEAK


def _extreme(count: int) -> float:
    """How many standard deviations the largest of so many lies above the mean, about."""
    return math.sqrt(2 * math.log(max(1, count)))


def _missing(tier: Tier, terms: int) -> str:
    if tier is Tier.VECTOR:
        return "no memory in scope has a vector"
    return "no memory in scope holds any of the words" if terms else "the query holds no word to look for"

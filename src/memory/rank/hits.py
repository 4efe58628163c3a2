"""From a ranking to hits: passages of the requested size, their scores, and how far an answer can be trusted."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memory.rank.fuse import RRF_K, Fusing
from memory.rank.match import coverage_by_memory, strengths
from memory.schema.answer import Outcome, Ranking, Scored, Tier
from memory.schema.query import Granularity, Merge, Term

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.schema.memory import ChunkId, MemoryId

SECTIONS_OF = 5
"""Chunks to rank for each section requested (CAP A22)."""


class Passage(NamedTuple):
    """
    What one hit shows.

    Attributes:
        best: Its best chunk.
        score: What it is ranked by: the score of its best chunk, or the mean of the matching ones.
        matching: Its matching chunks, with their scores; empty if it only fills up an answer.
        chunks: All its chunks, in order.
        start, stop: Code points into the body; equal if only the chunk is shown.
        topup: See `memory.schema.answer.Hit`.
    """

    best: Scored
    score: float
    matching: tuple[Scored, ...]
    chunks: tuple[ChunkId, ...]
    start: int = 0
    stop: int = 0
    topup: str = ""


def alone(scored: Scored, topup: str = "") -> Passage:
    """A passage of one chunk."""
    return Passage(scored, scored.score, () if topup else (scored,), (scored.chunk,), topup=topup)


def rollup(ranking: Ranking, granularity: Granularity, limit: int) -> list[Passage]:
    """At most `limit` chunks (FINE), or the best chunk of each memory (COARSE), best first."""
    if granularity is Granularity.FINE:
        return [alone(scored) for scored in ranking[:limit]]
    firsts: dict[MemoryId, Scored] = {}
    for scored in ranking:
        firsts.setdefault(scored.memory, scored)
    return [alone(scored) for scored in islice(firsts.values(), limit)]


def measured(
    passages: Sequence[Passage],
    ranking: Ranking,
    terms: Sequence[Term],
    tier: Tier,
    *,
    proximity: Mapping[ChunkId, float],
    fusing: Fusing,
) -> list[tuple[float, float, float]]:
    """
    The score, the coverage and the relevance of each passage, best first, as hits have them.

    Args:
        ranking: All results.
        proximity: See `match_strength`.
    """
    held = coverage_by_memory(terms, ranking)
    shares = [held.get(passage.best.memory, 0.0) for passage in passages]
    if tier is Tier.KEYWORD:
        best = max((scored.keyword or 0.0 for scored in ranking), default=0.0)
        scores = by_words(passages, terms, best=best, proximity=proximity)
    else:
        scores = [passage.score for passage in passages]
    first = shares[0] if shares else 0.0
    relevance = relevances(scores, tier, coverage=first, weights=fusing.weights, merge=fusing.merge)
    return list(zip(scores, shares, relevance, strict=True))


def by_words(
    passages: Sequence[Passage], terms: Sequence[Term], *, best: float, proximity: Mapping[ChunkId, float]
) -> list[float]:
    """
    How well passages found by keyword alone match the query, 0..1, best first.

    The mean `match_strength` of the chunks that match, as in the merge. BM25 itself says nothing in a small store,
    where it is 0.000001.
    BM25 decides the order, so no passage scores above the one before it. One without a matching chunk scores 0.

    Args:
        passages: Best first.
        best: The best BM25 of all results.
        proximity: See `match_strength`.
    """
    matching = [scored for passage in passages for scored in passage.matching]
    parts = iter(strengths(terms, matching, best=best, proximity=proximity))
    scores: list[float] = []
    for passage in passages:
        mean = sum(islice(parts, len(passage.matching))) / (len(passage.matching) or 1)
        scores.append(min(mean, scores[-1] if scores else 1.0))
    return scores


def relevances(
    scores: Sequence[float], tier: Tier, *, coverage: float, weights: tuple[float, float], merge: Merge
) -> list[float]:
    """
    The scores of one answer as shares of the best possible score, 0..1, in the same order.

    KEYWORD: the first hit gets its coverage, the others proportionally less. VECTOR: the cosine,
    or 0 if that is negative.
    HYBRID, DISTILLED: the merged score divided by the sum of the weights; with RRF,
    by what ranking first in both gives.

    Args:
        scores: Highest first.
        coverage: Share of the query's weight that the first hit holds, 0..1.
        weights, merge: See `memory.rank.fuse.fuse`.
    """
    match tier:
        case Tier.KEYWORD:
            scale = coverage / scores[0] if scores and scores[0] > 0 else 0.0
        case Tier.VECTOR:
            scale = 1.0
        case Tier.HYBRID | Tier.DISTILLED:
            scale = (RRF_K + 1 if merge is Merge.RRF else 1) / (sum(weights) or 1.0)
    return [min(1.0, max(0.0, score * scale)) for score in scores]


# Confidence: whether the hits are likely to be what the query asked for --------

CALIBRATED_MODELS = ("all-minilm-l6-v2", "all-minilm")
"""Models whose cosines the thresholds below fit; names without the part before a slash or after a colon."""

ANSWERED_MIN, WEAK_MIN = 0.80, 0.55
"""
An answer is ANSWERED if best cosine + best coverage / 2 reaches the first, and nothing fits below the second.

Chosen on four judged sets. Each was asked its own questions and those of the other sets:
docs/ranking.md, "What an answer is worth".
"""

ANSWERED_MIN_COVERAGE, WEAK_MIN_COVERAGE = 0.5, 0.35
"""The same thresholds for the best coverage alone: no model was asked, or its cosines are not calibrated."""

ANSWERED_MIN_COSINE, WEAK_MIN_COSINE = 0.45, 0.35
"""The same thresholds for the cosine alone: the query has no terms, or more than `LONG_QUERY`."""

CALIBRATED_SIZE, COSINE_SPREAD = 5_000, 0.06
"""
How many vectors the sets behind these thresholds have, and how far cosines of unrelated text spread.

The highest of n unrelated cosines lies about COSINE_SPREAD · √(2 ln n) above their mean,
so in a small store a lower cosine is already good evidence.
"""

SMALL_SIZE = 300
"""
Up to this many vectors, a hit is irrelevant only if it shares no word with the query and its cosine is below
`FAINT_COSINE`.

People put short queries, in words of their own, to a small store; the thresholds above come from long questions.
Between here and `CALIBRATED_SIZE` one rule blends into the other (docs/decisions/0024-a-small-store-denies-little.md).
"""

FAINT_COSINE = 0.20
"""
In a small store the best hit may be relevant from this cosine on, even without a shared word.

Most unrelated questions stay below it.
"""

LONG_QUERY = 12
"""
A query with more terms than this describes a task: it names much that no memory mentions,
so low coverage says little.
"""


class Evidence(Protocol):
    """The evidence for one hit; see `memory.schema.answer.Hit`."""

    @property
    def coverage(self) -> float: ...

    @property
    def cosine(self) -> float | None: ...


def confidence(
    hits: Sequence[Evidence], tier: Tier, model: str, terms: int, vectors: Callable[[], int] = lambda: CALIBRATED_SIZE
) -> tuple[Outcome, str]:
    """
    How far the hits can be trusted, and why, as a clause.

    Not for an answer whose scope is empty or whose model failed.

    Args:
        terms: How many terms the query has; 0 if no word was looked for.
        model: The model whose vectors were compared. If its cosines are not calibrated,
            words decide, and hits that hold few of them make the answer WEAK, never NOTHING_RELEVANT.
        vectors: Counts the vectors compared, ignoring filters; if none were, the memories in the store. Called only
            when the number matters.
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
    """How large a store is: 0 up to `SMALL_SIZE` vectors, 1 from `CALIBRATED_SIZE` on, linear in between."""
    return min(1.0, max(0.0, (vectors - SMALL_SIZE) / (CALIBRATED_SIZE - SMALL_SIZE)))


def _by_words(coverage: float, terms: int, vectors: Callable[[], int]) -> Outcome:
    if coverage >= ANSWERED_MIN_COVERAGE:
        return Outcome.ANSWERED
    irrelevant = terms <= LONG_QUERY and coverage < WEAK_MIN_COVERAGE and coverage < 2 * largeness(vectors())
    return Outcome.NOTHING_RELEVANT if irrelevant else Outcome.WEAK


def _by_both(coverage: float, best_cosine: float, vectors: int, *, short: bool) -> Outcome:
    """Judge by words and cosine together, or by the cosine alone if the query is not `short`."""
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
    """About how many standard deviations the largest of `count` values lies above their mean."""
    return math.sqrt(2 * math.log(max(1, count)))


def _missing(tier: Tier, terms: int) -> str:
    if tier is Tier.VECTOR:
        return "no memory in scope has a vector"
    return "no memory in scope holds any of the words" if terms else "the query holds no word to look for"

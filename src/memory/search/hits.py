"""From a ranking to hits: passages of the requested size, and their scores."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Ranking, Scored, Tier
from memory.schema.query import Granularity, Merge, Term
from memory.search.fuse import RRF_K, Fusing
from memory.search.match import coverages, held_by_memory, strengths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.memory import Chunk, ChunkId

SECTIONS_OF = 5
"""Chunks to rank for each section requested."""


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
        part: The part of the best chunk that it was found by; None if that chunk has no parts.
        sections: How many sections the best chunk holds.
    """

    best: Scored
    score: float
    matching: tuple[Scored, ...]
    chunks: tuple[ChunkId, ...]
    start: int = 0
    stop: int = 0
    topup: str = ""
    part: Chunk | None = None
    sections: int = 1


def alone(scored: Scored, topup: str = "") -> Passage:
    """A passage of one chunk."""
    return Passage(scored, scored.score, () if topup else (scored,), (scored.chunk,), topup=topup)


def rollup(ranking: Ranking, granularity: Granularity, limit: int) -> list[Passage]:
    """At most `limit` chunks (FINE), or the best chunk of each memory (COARSE), best first."""
    if granularity is Granularity.FINE:
        return [alone(scored) for scored in ranking[:limit]]
    return [alone(scored) for scored in ranking.by_memory()[:limit]]


def behind(ranking: Ranking, other: Ranking) -> Ranking:
    """
    What another ranking by keyword has beside a ranking, to come behind all of that.

    Scores of two rankings do not compare: these are so far below the lowest that no age (`memory.search.fuse.aged`) brings
    them before it. There is no BM25 to show, since it is not of the query's own words.
    """
    known, lowest, best = {*ranking.chunks}, min(ranking.scores, default=1.0), max(other.scores, default=1.0)
    places = [place for place, chunk in enumerate(other.chunks) if chunk not in known]
    shares = [other.scores[place] / best for place in places]
    found = other.at(places, [lowest / 2 * share if lowest > 0 else 2 * lowest - 1 + share for share in shares])
    found.keywords = [None] * len(places)
    return found


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
        proximity: See `match_strengths`.
    """
    held = held_by_memory(ranking)
    shares = coverages(terms, [held.get(passage.best.memory, 0) for passage in passages])
    if tier is Tier.KEYWORD and not fusing.documented:
        best = max((keyword or 0.0 for keyword in ranking.keywords), default=0.0)
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

    The mean `match_strengths` of the chunks that match, as in the merge. BM25 itself says nothing in a small store,
    where it is 0.000001.
    BM25 decides the order, so no passage scores above the one before it. One without a matching chunk scores 0.

    Args:
        passages: Best first.
        best: The best BM25 of all results.
        proximity: See `match_strengths`.
    """
    matching = Ranking.of([scored for passage in passages for scored in passage.matching])
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
        weights, merge: See `memory.search.fuse.fuse`.
    """
    match tier:
        case Tier.KEYWORD:
            scale = coverage / scores[0] if scores and scores[0] > 0 else 0.0
        case Tier.VECTOR:
            scale = 1.0
        case Tier.HYBRID | Tier.DISTILLED:
            scale = (RRF_K + 1 if merge is Merge.RRF else 1) / (sum(weights) or 1.0)
    return [min(1.0, max(0.0, score * scale)) for score in scores]

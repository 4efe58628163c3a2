"""
How well a chunk matches a query: the share of the query's words it holds (coverage), the share that is adjacent in it
(proximity) and its similarity. And `relevances`: one number for each hit of an answer, in the order of the hits.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from memory.schema.answer import Tier
from memory.schema.query import Merge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.rank.rollup import Passage
    from memory.schema.answer import Ranking, Scored
    from memory.schema.memory import ChunkId, MemoryId
    from memory.schema.query import Term

RRF_K = 60
"""The constant of reciprocal rank fusion; Cormack, Clarke and Büttcher, SIGIR 2009, found 60 best."""

NEIGHBOURS = 0.65
"""Weight of proximity in the keyword part, where BM25 has 1."""


def coverage(terms: Sequence[Term], matched: int) -> float:
    """Share of the query's weight held by the terms whose bits are set in `matched`, 0..1."""
    total = sum(term.weight for term in terms)
    held = sum(term.weight for i, term in enumerate(terms) if matched >> i & 1)
    return held / total if total else 0.0


def match_strength(coverage: float, keyword: float, proximity: float) -> float:
    """
    How well a chunk matches the words of a query, 0..1.

    Args:
        coverage: Share of the query's weight that it holds, 0..1.
        keyword: BM25 over the best BM25, 0..1.
        proximity: Share of the query's weight whose words are adjacent in it, 0..1.
    """
    return (2 * coverage + keyword + NEIGHBOURS * proximity) / (3 + NEIGHBOURS)


def strengths(
    terms: Sequence[Term], chunks: Sequence[Scored], *, best: float, proximity: Mapping[ChunkId, float]
) -> list[float]:
    """
    `match_strength` of each chunk.

    Args:
        best: The best BM25 of all results.
        proximity: For each chunk, the share of the query's weight whose words are adjacent in it, 0..1.
    """
    held = {bits: coverage(terms, bits) for bits in {one.matched for one in chunks}}
    return [
        match_strength(held[one.matched], (one.keyword or 0.0) / (best or 1.0), proximity.get(one.chunk, 0.0))
        for one in chunks
    ]


def similarity(terms: Sequence[Term], scored: Scored) -> float:
    """
    How similar a chunk is to the query, 0..1: its cosine, or 0 if that is negative (CAP A13, X17).

    Without a known cosine, the share of the query's weight that it holds.
    """
    if scored.cosine is None:
        return coverage(terms, scored.matched)
    return min(1.0, max(0.0, scored.cosine))


def held_by_memory(ranking: Ranking) -> Mapping[MemoryId, int]:
    """For each memory, best first: the terms that its chunks hold between them, as bits like `Scored.matched`."""
    held: dict[MemoryId, int] = {}
    for scored in ranking:
        held[scored.memory] = held.get(scored.memory, 0) | scored.matched
    return held


# Adjacent words: evidence for the same phrase, which BM25 does not see ----------

PROXIMITY_DEPTH = 30
"""Chunks to look at: reading a hundred changed no judged set by more than 0.0001 of nDCG@10."""

KEYWORD_SHARE = 0.4
"""What a chunk that has all pairs of a query gains in the keyword ranking, as a share of the best BM25."""

_WORD = re.compile(r"\w+")


def neighbours(text: str, terms: Sequence[Term]) -> Mapping[str, float]:
    """
    The pairs of adjacent words in a query, as ` a b `, each with its share of the query's weight.

    A pair weighs the mean of its words' weights. Stop words weigh nothing,
    so "is the" is dropped and "in memory" counts a little.
    """
    weights: dict[str, float] = {}
    for term in terms:
        words = _WORD.findall(term.text.lower())
        for word in words:
            weights[word] = max(weights.get(word, 0.0), term.weight / len(words))
    total = sum(term.weight for term in terms) or 1.0
    words = _WORD.findall(text.lower())
    pairs = {f" {a} {b} ": (weights.get(a, 0.0) + weights.get(b, 0.0)) / 2 / total for a, b in pairwise(words)}
    return {pair: share for pair, share in pairs.items() if share > 0}


def proximities(pairs: Mapping[str, float], texts: Mapping[ChunkId, str]) -> Mapping[ChunkId, float]:
    """
    For each text, the share of the query's weight whose pairs it has, 0..1; the first and last word count half,
    so it stays below 1.

    Words must be equal but for case: matching inflected forms too gained nothing on the judged sets.
    """
    found = {}
    for chunk, text in texts.items():
        plain = f" {' '.join(_WORD.findall(text.lower()))} "
        found[chunk] = min(1.0, sum(share for pair, share in pairs.items() if pair in plain))
    return found


def lifted(ranking: Ranking, proximity: Mapping[ChunkId, float]) -> Ranking:
    """
    A keyword ranking with the bonus for adjacent words: score = BM25 + 0.4 · best BM25 · share.

    Only the first `PROXIMITY_DEPTH` are rescored; the others stay behind them in their order.
    """
    if not ranking or not proximity:
        return ranking
    best = max(scored.score for scored in ranking)
    first = [
        scored._replace(score=scored.score + KEYWORD_SHARE * best * proximity.get(scored.chunk, 0.0))
        for scored in ranking[:PROXIMITY_DEPTH]
    ]
    return (*sorted(first, key=lambda scored: (-scored.score, scored.chunk)), *ranking[PROXIMITY_DEPTH:])


# Scores of an answer ----------------------------------------------------------


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
    scores: list[float] = []
    for passage in passages:
        parts = strengths(terms, passage.matching, best=best, proximity=proximity)
        mean = sum(parts) / len(parts) if parts else 0.0
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

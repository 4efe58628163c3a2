"""
How well a chunk says what a query says: what share of its words it holds (coverage), what share of them stands together
in it (proximity), how similar it is; and one number for each hit of an answer that its rows are in the order of.
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
"""Cormack, Clarke and Büttcher, SIGIR 2009, found it best."""

NEIGHBOURS = 0.65
"""What the share of a query's weight that stands together in a chunk counts in the keyword part."""


def coverage(terms: Sequence[Term], matched: int) -> float:
    """Share of the terms' weight that a set of them has, 0..1."""
    total = sum(term.weight for term in terms)
    held = sum(term.weight for i, term in enumerate(terms) if matched >> i & 1)
    return held / total if total else 0.0


def match_strength(coverage: float, keyword: float, proximity: float) -> float:
    """
    How well a chunk says what a query says, 0..1.

    Args:
        coverage: Share of the query's weight that it holds, 0..1.
        keyword: BM25 over the best BM25, 0..1.
        proximity: Share of the query's weight that stands together in it, 0..1.
    """
    return (2 * coverage + keyword + NEIGHBOURS * proximity) / (3 + NEIGHBOURS)


def strengths(
    terms: Sequence[Term], chunks: Sequence[Scored], *, best: float, proximity: Mapping[ChunkId, float]
) -> list[float]:
    """
    `match_strength` of each of some chunks.

    Args:
        best: The best BM25 of all that was found.
        proximity: For chunks the share of the query's weight that stands together in them, 0..1.
    """
    held = {bits: coverage(terms, bits) for bits in {one.matched for one in chunks}}
    return [
        match_strength(held[one.matched], (one.keyword or 0.0) / (best or 1.0), proximity.get(one.chunk, 0.0))
        for one in chunks
    ]


def similarity(terms: Sequence[Term], scored: Scored) -> float:
    """
    How similar a chunk is to the query, 0..1: its cosine, what is below 0 taken as 0 (CAP A13, X17); of one whose vector
    was not looked at, the share of the terms' weight that it holds.
    """
    if scored.cosine is None:
        return coverage(terms, scored.matched)
    return min(1.0, max(0.0, scored.cosine))


def held_by_memory(ranking: Ranking) -> Mapping[MemoryId, int]:
    """For each memory, best first: the terms that its chunks hold together, as in `Scored.matched`."""
    held: dict[MemoryId, int] = {}
    for scored in ranking:
        held[scored.memory] = held.get(scored.memory, 0) | scored.matched
    return held


# Words that stand together: a sign of the same thing said, which BM25 does not see ----------

PROXIMITY_DEPTH = 30
"""Chunks that are looked at: reading a hundred changed no judged set by more than 0.0001 of nDCG@10."""

KEYWORD_SHARE = 0.4
"""What a chunk that has all pairs of a query gains in the keyword ranking, in shares of the best BM25."""

_WORD = re.compile(r"\w+")


def neighbours(text: str, terms: Sequence[Term]) -> Mapping[str, float]:
    """
    The pairs of words that stand together in a query, as ` a b `, with the share of its weight that each is worth.

    A pair weighs the mean of its words' weights; stop words weigh nothing themselves, yet "is the" tells nothing and "in
    memory" something.
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
    For each text the share of the query's weight whose pairs it has, 0..1 and less than 1 by the words at both ends.

    Words are compared as they are written, but for capitals: inflected neighbours gained nothing more on judged sets.
    """
    found = {}
    for chunk, text in texts.items():
        plain = f" {' '.join(_WORD.findall(text.lower()))} "
        found[chunk] = min(1.0, sum(share for pair, share in pairs.items() if pair in plain))
    return found


def lifted(ranking: Ranking, proximity: Mapping[ChunkId, float]) -> Ranking:
    """
    A keyword ranking with what neighbours add: score = BM25 + 0.4 · best BM25 · share, for the first `PROXIMITY_DEPTH`; the others
    stay behind them, in their order.
    """
    if not ranking or not proximity:
        return ranking
    best = max(scored.score for scored in ranking)
    first = [
        scored._replace(score=scored.score + KEYWORD_SHARE * best * proximity.get(scored.chunk, 0.0))
        for scored in ranking[:PROXIMITY_DEPTH]
    ]
    return (*sorted(first, key=lambda scored: (-scored.score, scored.chunk)), *ranking[PROXIMITY_DEPTH:])


# Of an answer ----------------------------------------------------------------


def by_words(
    passages: Sequence[Passage], terms: Sequence[Term], *, best: float, proximity: Mapping[ChunkId, float]
) -> list[float]:
    """
    How well passages that words alone have found say what the query says, 0..1: what `match_strength`
    makes of each chunk, as in the merge; its mean over the chunks that match. BM25 itself tells nothing in a small store,
    where it is 0.000001.

    None is above that of a passage before it: BM25 decides the order. One without a chunk that matches has 0.

    Args:
        passages: Best first.
        best: The best BM25 of all that was found.
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
    The scores of one answer as shares of the best that there could be, 0..1, in the same order.

    KEYWORD: The first hit has the share of the query's weight that it holds, and the others as much less as their scores
    are. VECTOR: the cosine, what is below 0 as 0.
    HYBRID, DISTILLED: the merged score over the weights of both retrievers; of RRF over what the first place in both
    gives.

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

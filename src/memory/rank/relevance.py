"""How well each hit of an answer answers: one number, 0..1, that its rows are in the order of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.rank.coverage import coverage, match_strength
from memory.rank.fuse import RRF_K
from memory.schema.answer import Tier
from memory.schema.query import Merge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.rank.rollup import Passage
    from memory.schema.memory import ChunkId
    from memory.schema.query import Term


def by_words(
    passages: Sequence[Passage], terms: Sequence[Term], *, best: float, proximity: Mapping[ChunkId, float]
) -> list[float]:
    """
    How well passages that words alone have found say what the query says, 0..1: what `memory.rank.coverage.match_strength`
    makes of each chunk, as in the merge; its mean over the chunks that match. BM25 itself tells nothing in a small store,
    where it is 0.000001.

    None is above that of a passage before it: BM25 decides the order. One without a chunk that matches has 0.

    Args:
        passages: Best first.
        best: The best BM25 of all that was found.
        proximity: See `memory.rank.coverage.match_strength`.
    """
    scores: list[float] = []
    for passage in passages:
        parts = [
            match_strength(
                coverage(terms, one.matched), (one.keyword or 0.0) / (best or 1.0), proximity.get(one.chunk, 0.0)
            )
            for one in passage.matching
        ]
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
